"""Cluster sizes as people ask for them: parameters, attributes, errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_iris

from smdeclust import BLPKMeans, Constraints, SizedKMeans, SMDEClust
from smdeclust.exceptions import InfeasibleConstraintsError, InvalidInputError

X = load_iris().data


def test_iris_in_three_times_fifty():
    """The published optimum for sizes 50, 50, 50 is 81.2778."""
    model = SMDEClust(3, size_min=50, size_max=50, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(81.2778, abs=5e-5)
    assert model.cluster_sizes_.tolist() == [50, 50, 50]
    assert model.n_unproven_ == 0


@pytest.mark.parametrize("estimator", [SMDEClust, BLPKMeans])
def test_bounds_hold_and_are_reported(estimator):
    """Sizes are those of the labels, and the bounds belong to the clusters that took them."""
    model = estimator(3, size_min=[10, 20, 60], size_max=[30, 70, 90], random_state=0).fit(X)
    assert model.cluster_sizes_.tolist() == np.bincount(model.labels_).tolist()
    low, high = model.size_bounds_.T
    assert sorted(low) == [10, 20, 60]
    assert sorted(high) == [30, 70, 90]
    assert (low <= model.cluster_sizes_).all()
    assert (model.cluster_sizes_ <= high).all()


def test_no_bounds_no_attributes():
    """Without bounds everything is as before."""
    assert not hasattr(BLPKMeans(3, random_state=0).fit(X), "cluster_sizes_")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"size_min": 60, "size_max": 40}, "size_min=60 is more than size_max=40"),
        ({"size_min": [1, 2]}, "one for each of the n_clusters=3 clusters, got 2 numbers"),
        ({"size_min": 1.5}, "whole number of points, got 1.5"),
        ({"size_max": -1}, "size_max must not be negative or infinite, got -1"),
        ({"size_max": "many"}, "could not convert string to float: 'many'"),
        ({"size_max": 60, "size_by": "mass"}, "size_by must be"),
    ],
)
def test_bad_bounds_are_named(given, words):
    """An error names the parameter and the numbers."""
    with pytest.raises(InvalidInputError, match=words):
        SMDEClust(3, **given).fit(X)


def test_sums_that_cannot_fit():
    """The sum that is in the way, and the nearest bounds that would work."""
    with pytest.raises(InfeasibleConstraintsError, match="only 150") as error:
        SMDEClust(3, size_min=51).fit(X)
    assert error.value.reason == "size_min_sum"
    assert error.value.details["nearest_size_min"] == 50
    with pytest.raises(InfeasibleConstraintsError, match="there are 150") as error:
        SMDEClust(4, size_max=[30, 30, 40, 40]).fit(X)
    assert error.value.details["nearest_size_max"] == 38


def test_groups_that_are_too_large_or_do_not_pack():
    """The group, or the groups, and bounds that would work: those are indeed feasible."""
    chain = [(i, i + 1) for i in range(19)]
    with pytest.raises(InfeasibleConstraintsError, match="one group of 20 points") as error:
        SMDEClust(12, size_max=15).fit(X, must_link=chain)
    assert error.value.details["rows"] == list(range(20))
    # Five groups of 30 points fill three clusters of 50 with one group each, and two are left.
    blocks = [(30 * b + i, 30 * b + i + 1) for b in range(5) for i in range(29)]
    with pytest.raises(InfeasibleConstraintsError, match="cannot be packed") as error:
        SMDEClust(3, size_max=50).fit(X, must_link=blocks)
    would = error.value.details["nearest_size_max"]
    model = SMDEClust(3, size_max=would, random_state=0).fit(X, must_link=blocks)
    assert model.cluster_sizes_.max() <= would == 60


def test_cannot_links_that_need_room():
    """Three pairs of points in two clusters of three fit only where they may be taken apart; two
    groups that must be apart leave no room for a third."""
    tied = [(0, 1), (2, 3), (4, 5)]
    with pytest.raises(InfeasibleConstraintsError, match="1 cannot-links between groups") as error:
        SMDEClust(2, size_max=3).fit(X[:6], must_link=tied, cannot_link=[(0, 4)])
    assert error.value.details["nearest_size_max"] == 4
    model = SMDEClust(2, size_max=4, random_state=0)
    model.fit(X[:6], must_link=tied, cannot_link=[(0, 4)])
    assert sorted(model.cluster_sizes_) == [2, 4]


@pytest.mark.parametrize("estimator", [SMDEClust, SizedKMeans, BLPKMeans])
@pytest.mark.parametrize("at", [(0,), (2,), (0, 1)])
def test_no_cluster_may_hold_nothing(estimator, at):
    """A 0 in a list of largest sizes cannot be, whatever room the other clusters have: never an
    empty cluster, a center that is NaN, or fewer centers than asked for."""
    largest = [0 if j in at else 12 for j in range(3)]
    for known in ({}, {"must_link": [(0, 1)], "cannot_link": [(2, 3)]}):
        with pytest.raises(InfeasibleConstraintsError, match=f"size_max is 0 in entry {at[0]}"):
            estimator(3, size_max=largest).fit(X[:12], **known)


def test_points_without_weight_are_refused():
    """A point of no weight has no say where its cluster is, but would fill it."""
    with pytest.raises(InvalidInputError, match="row 2 has no weight"):
        SMDEClust(2, size_max=3).fit(X[:6], sample_weight=[1, 1, 0, 1, 1, 1])


def test_predict_within_sizes():
    """New rows go where they are cheapest within the bounds, pairs and old rows included: against
    trying all labels. The order of the bounds is that of the centers."""
    rng = np.random.default_rng(4)
    model = SMDEClust(3, random_state=0).fit(X)
    for trial in range(20):
        new = X[rng.choice(len(X), 6, replace=False)] + rng.normal(size=(6, X.shape[1]))
        low, high = rng.integers(0, 3, 3), rng.integers(2, 4, 3)
        first = len(X)
        must = [(first, first + 1)] if trial % 2 else []
        cannot = [(first + 2, first + 3), (first + 4, 0)] if trial % 3 == 0 else []
        known = Constraints(must, cannot, n_points=first + 6)
        costs = model.transform(new) ** 2
        every = np.array(list(itertools.product(range(3), repeat=6)))
        held = np.stack([(every == j).sum(axis=1) for j in range(3)], axis=1)
        ok = ((held >= low) & (held <= high)).all(axis=1)
        if must:
            ok &= every[:, 0] == every[:, 1]
        if cannot:
            ok &= (every[:, 2] != every[:, 3]) & (every[:, 4] != model.labels_[0])
        best = costs[np.arange(6), every[ok]].sum(axis=1).min(initial=np.inf)
        if np.isinf(best):
            with pytest.raises(InfeasibleConstraintsError):
                model.predict(new, known, size_min=low, size_max=high)
            continue
        labels = model.predict(new, known, size_min=low, size_max=high)
        sizes = np.bincount(labels, minlength=3)
        assert ((sizes >= low) & (sizes <= high)).all()
        assert costs[np.arange(6), labels].sum() == pytest.approx(best)


def test_predict_says_which_sum_does_not_fit():
    """Bounds of new rows that cannot be kept: the sum and the rows are named."""
    model = SMDEClust(3, random_state=0).fit(X)
    with pytest.raises(InfeasibleConstraintsError, match="size_max adds up to 6 .* 10 new rows"):
        model.predict(X[:10], size_max=2)
    with pytest.raises(InfeasibleConstraintsError, match="size_min adds up to 12"):
        model.predict(X[:10], size_min=4)
