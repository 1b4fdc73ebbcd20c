"""What one fit leaves behind for the next: nothing but what was asked for."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from smdeclust import BLPKMeans, Constraints, InvalidInputError, SMDEClust


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 2)) + 4 * rng.integers(0, 5, (300, 1))


def stop_at_once(state):
    """A callback that ends the run after its first local search."""
    return True


def test_warm_start_after_a_fit_that_was_cut_off(data):
    """A solution that a limit or a callback cut off is where the next fit starts, not its end."""
    pairs = np.random.default_rng(1).integers(0, 300, (40, 2))
    known = Constraints(cannot_link=pairs[pairs[:, 0] != pairs[:, 1]], n_points=300)
    cold = SMDEClust(12, random_state=0).fit(data, constraints=known)
    for limit in ({"callback": stop_at_once}, {"max_time": 0.0}):
        model = SMDEClust(12, random_state=0, warm_start=True, **limit)
        model.fit(data, constraints=known)
        assert model.stop_reason_ in ("max_time", "callback")
        model.set_params(callback=None, max_time=None).fit(data, constraints=known)
        assert model.stop_reason_ != "unchanged"
        assert model.inertia_ == pytest.approx(cold.inertia_, rel=1e-9)
        assert model.fit(data, constraints=known).stop_reason_ == "unchanged"


def test_nothing_of_an_earlier_fit_is_left(data):
    """Sizes and weights of features go with the bounds and the metric that made them."""
    quick = {"max_populations": 1, "max_no_improvement": 5, "random_state": 0}
    model = SMDEClust(3, size_min=50, metric="diagonal", **quick).fit(data, must_link=[(0, 1)])
    assert model.cluster_sizes_.sum() == 300
    assert len(model.feature_weights_) == 2
    model.set_params(size_min=None, metric="euclidean").fit(data)
    for name in ("cluster_sizes_", "size_bounds_", "feature_weights_", "held_out_"):
        assert not hasattr(model, name)
    sized = BLPKMeans(3, size_min=50, random_state=0).fit(data)
    assert not hasattr(sized.set_params(size_min=None).fit(data), "cluster_sizes_")


def test_a_fit_that_fails_leaves_the_last_one(data):
    """The same estimator still predicts as before."""
    model = SMDEClust(3, max_populations=1, max_no_improvement=5, random_state=0).fit(data)
    before = model.labels_
    with pytest.raises(InvalidInputError):
        model.fit(data, must_link=[(0, 999)])
    assert model.labels_ is before
    assert not hasattr(model, "_last")


def test_verbose_is_for_one_model(data, capsys):
    """A model with verbose=1 shows its own lines, and later models are silent again."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        quick = {"max_populations": 1, "max_no_improvement": 5, "random_state": 0}
        SMDEClust(3, verbose=1, **quick).fit(data)
        assert "generation" in capsys.readouterr().err
        SMDEClust(3, local_search="deep", size_min=10, **quick).fit(data)
        BLPKMeans(3, random_state=0).fit(data)
        assert capsys.readouterr().err == ""
        assert logging.getLogger("smdeclust").handlers == []
    finally:
        root.handlers = handlers
