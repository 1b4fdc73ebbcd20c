"""Going on from an earlier solution: never worse than it, same numbers, less work."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris

from smdeclust import Constraints, InvalidInputError, Problem, SMDEClust

X, Y = load_iris(return_X_y=True)
KNOWN = Constraints([(0, 1), (100, 101)], [(0, 100), (50, 149)], n_points=150)


def broken_pair(labels):
    """A true pair that these labels break."""
    pairs = np.argwhere((labels[:, None] == labels[None]) & (Y[:, None] != Y[None]))
    return tuple(pairs[0].tolist())


@pytest.fixture(scope="module")
def first():
    return SMDEClust(3, warm_start=True, random_state=0).fit(X, constraints=KNOWN)


def refit(model, constraints, **changes):
    """A warm fit of a copy that has the state of `model`."""
    copy = clone(model).set_params(**changes)
    vars(copy).update({k: v for k, v in vars(model).items() if k not in copy.get_params()})
    return copy.fit(X, constraints=constraints)


def test_a_pair_that_is_kept_already_changes_nothing(first):
    """More pairs never allow a better solution: none of them broken, no search is made."""
    i, j = np.flatnonzero(first.labels_ == 1)[[3, 9]]
    again = refit(first, KNOWN.add(must_link=[(i, j)]))
    np.testing.assert_array_equal(again.labels_, first.labels_)
    assert again.inertia_ == first.inertia_
    assert again.stop_reason_ == "unchanged"
    assert again.n_local_searches_ == 0


def test_a_broken_pair_is_repaired_with_stable_numbers(first):
    """The refit keeps all pairs, is as good as a full fit, needs no more populations, and renumbers
    nothing."""
    more = KNOWN.add(cannot_link=[broken_pair(first.labels_)])
    full = SMDEClust(3, random_state=1).fit(X, constraints=more)
    warm = refit(first, more)
    assert Problem.build(X, 3, more.must_link, more.cannot_link).violations(warm.labels_) == (0, 0)
    assert warm.inertia_ <= full.inertia_ * (1 + 1e-9)
    assert warm.n_populations_ <= full.n_populations_
    assert (warm.labels_ != first.labels_).mean() < 0.2
    for k in range(3):
        np.testing.assert_allclose(warm.cluster_centers_[k], X[warm.labels_ == k].mean(axis=0))


@pytest.mark.parametrize("kind", ["model", "labels", "centers", "names", "partial"])
def test_init(first, kind):
    """Labels, centers and models are all a start, and give their numbers."""
    order = np.array([2, 0, 1])  # numbers that no sorting would give
    labels = order[first.labels_]
    centers = first.cluster_centers_[np.argsort(order)]
    init = {
        "model": None,
        "labels": labels,
        "centers": centers,
        "names": np.array(["a", "b", "c"])[labels],
        "partial": np.where(np.arange(150) % 3 == 0, -1, labels),
    }[kind]
    if kind == "model":
        init = clone(first)
        init.labels_, init.cluster_centers_ = labels, centers
    model = SMDEClust(3, init=init, random_state=0).fit(X, constraints=KNOWN)
    assert model.inertia_ == pytest.approx(first.inertia_)
    if kind == "names":  # classes are numbered as they first occur
        names = {name: k for k, name in enumerate(dict.fromkeys(init.tolist()))}
        labels = np.array([names[name] for name in init])
    np.testing.assert_array_equal(model.labels_, labels)
    centers = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, centers)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("k-means++", "init must be labels"),
        (SMDEClust(3), "not fitted"),
        (np.zeros(3), "3 labels, but X has 150 rows"),
        (np.zeros((2, 4)), "2 clusters of points with 4 features"),
        (np.zeros((3, 5)), "5 features"),
        (np.full((3, 4), np.nan), "finite"),
        (np.zeros(150, dtype=int), "1 clusters"),
    ],
)
def test_init_mistakes(init, message):
    """What is no earlier solution of this problem is refused."""
    with pytest.raises(InvalidInputError, match=message):
        SMDEClust(3, init=init).fit(X)
    with pytest.raises(InvalidInputError, match="warm_start must be"):
        SMDEClust(3, warm_start="yes").fit(X)


def test_other_data_and_other_settings_are_fitted(first):
    """A warm fit looks again where points, weights, settings changed or pairs were taken away."""
    fewer = refit(first, KNOWN.drop(cannot_link=[(0, 100)]))
    assert fewer.stop_reason_ != "unchanged"
    other = refit(first, KNOWN, alpha=0.4)
    assert other.stop_reason_ != "unchanged"
    more_clusters = refit(first, KNOWN, n_clusters=4)
    assert len(more_clusters.cluster_centers_) == 4
    cold = SMDEClust(3, random_state=0).fit(X, constraints=KNOWN)
    assert cold.fit(X, constraints=KNOWN).stop_reason_ == "agreement"


@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
def test_rows_in_another_order_are_other_rows(first, metric):
    """As many rows need not be the same rows: then centers say which cluster is which."""
    model = SMDEClust(3, metric=metric, warm_start=True, random_state=0).fit(X, constraints=KNOWN)
    before = model.cluster_centers_
    turned = np.roll(np.arange(150), 50)
    moved = SMDEClust(3, init=model, random_state=0).fit(X[turned])
    assert np.abs(moved.cluster_centers_ - before).max() < 1
    assert np.abs(model.fit(X[turned]).cluster_centers_ - before).max() < 1


def test_sparse_and_large():
    """Sparse points and points in blocks go on too."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 3)) + 4 * rng.integers(0, 3, (400, 1))
    quick = {"max_populations": 1, "max_no_improvement": 10, "random_state": 0}
    for storage, data in (("sparse", csr_array(points)), ("blocks", points)):
        model = SMDEClust(3, warm_start=True, **quick)
        model._storage = storage
        model.fit(data)
        before = model.labels_
        i, j = np.flatnonzero(before == 0)[:2]
        model.fit(data, cannot_link=[(i, j)])
        assert model.labels_[i] != model.labels_[j]
        assert (model.labels_ != before).mean() < 0.1


@pytest.mark.parametrize("metric", ["learned", "diagonal"])
def test_learned_distance_goes_on(metric):
    """In a learned distance too, numbers follow the earlier solution."""
    known = Constraints.from_labels(np.where(np.arange(150) % 5 == 0, Y, -1))
    quick = {"metric": metric, "max_populations": 1, "max_no_improvement": 10, "random_state": 0}
    first = SMDEClust(3, **quick).fit(X, constraints=known)
    order = np.array([2, 0, 1])
    again = SMDEClust(3, init=order[first.labels_], **quick).fit(X, constraints=known)
    assert (again.labels_ == order[first.labels_]).mean() > 0.95


def test_what_was_solved_is_forgotten_when_another_fit_comes_between():
    """A fit with soft pairs replaces the labels: the hard fit before it is no longer solved."""
    model = SMDEClust(3, warm_start=True, random_state=0).fit(X, constraints=KNOWN)
    before = model.inertia_
    apart = [(i, i + 1, 0.999) for i in range(0, 40, 2)]
    model.fit(X, constraints=KNOWN.add(soft_cannot_link=apart))
    model.fit(X, constraints=KNOWN)
    assert model.stop_reason_ != "unchanged"
    assert model.inertia_ == pytest.approx(before, rel=1e-9)
