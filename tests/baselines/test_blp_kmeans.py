"""BLP-KM: three ways to solve its assignment, one answer."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from smdeclust import BLPKMeans, InvalidInputError

BACKENDS = ["highs", *(["gurobi"] if importlib.util.find_spec("gurobipy") else [])]


def make(seed, n=40, k=3, m=25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    truth = rng.integers(0, k, n)
    pairs = rng.integers(0, n, (m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return X, pairs[same], pairs[~same]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(3))
def test_backends_agree(backend, seed):
    """The plain MILP walks the same path as our own assignment, from the same starts."""
    X, ml, cl = make(seed)
    ours = BLPKMeans(3, n_init=2, random_state=seed).fit(X, must_link=ml, cannot_link=cl)
    theirs = BLPKMeans(3, n_init=2, random_state=seed, solver=backend)
    theirs.fit(X, must_link=ml, cannot_link=cl)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)


def test_backends_agree_where_there_are_more_columns_than_points():
    """The rotation onto the span of the points does not change the result."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 50))
    ours = BLPKMeans(3, n_init=3, random_state=1).fit(X, cannot_link=[(0, 1), (1, 2), (0, 2)])
    theirs = BLPKMeans(3, n_init=3, random_state=1, solver="highs")
    theirs.fit(X, cannot_link=[(0, 1), (1, 2), (0, 2)])
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)


@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_hand_worked_case(init):
    """Two pairs of near points, torn apart by cannot-links, give the best pairing that is left.

    Rows at 0, 1, 10, 11 with (0, 1) and (2, 3) apart and K = 2: both pairings of the rest,
    {0, 10}, {1, 11} (cost 50 + 50) and {0, 11}, {1, 10} (60.5 + 40.5), are feasible; the first
    is better.
    """
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = BLPKMeans(2, init=init, random_state=0).fit(X, cannot_link=[(0, 1), (2, 3)])
    assert model.inertia_ == pytest.approx(100.0)
    assert model.labels_[0] == model.labels_[2]


def test_gurobi_absent_is_said(monkeypatch):
    """Where gurobipy is not installed, the error says how to get it."""
    monkeypatch.setitem(__import__("sys").modules, "gurobipy", None)
    with pytest.raises(InvalidInputError, match=r"smdeclust\[gurobi\]"):
        BLPKMeans(2, solver="gurobi").fit(np.arange(6.0)[:, None])


def test_more_starts_are_never_worse():
    """The starts of a longer run begin with those of a shorter one."""
    X, ml, cl = make(7, n=120, k=6, m=60)
    inertia = [
        BLPKMeans(6, n_init=n, random_state=0).fit(X, must_link=ml, cannot_link=cl).inertia_
        for n in (1, 5, 20)
    ]
    assert inertia == sorted(inertia, reverse=True)
