"""Good labels within several bounds keep all of them; searches end where exact ones do."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.local_search import Limits, Searches, batch, local_search
from smdeclust.local_search.trades import climb, trade
from smdeclust.problem import Problem
from smdeclust.structure.bounds import Bounds


def sizes_and_shares(n, k, rng, slack=0.1):
    """Sizes, and the shares of two categories, within a slack."""
    rows = [(np.ones(n), np.floor((1 - slack) * n / k), np.ceil((1 + slack) * n / k))]
    for part in (0.4, 0.3):
        inside = (rng.random(n) < part) * 1.0
        rows.append((inside - (1 - slack) * inside.mean(), 0.0, np.inf))
        rows.append((inside - (1 + slack) * inside.mean(), -np.inf, 0.0))
    counts, low, high = (np.array(column) for column in zip(*rows, strict=True))
    wide = np.ones((1, k))
    return Bounds.of(counts, low[:, None] * wide, high[:, None] * wide)


def test_trades_end_within_the_bounds_and_say_so():
    """Where moves are found the labels keep all bounds, and the sums are those of the labels."""
    rng = np.random.default_rng(0)
    n_kept = 0
    for _ in range(60):
        n, k = int(rng.integers(30, 200)), int(rng.integers(2, 6))
        bounds, costs = sizes_and_shares(n, k, rng, 0.3), rng.random((n, k))
        labels = costs.argmin(axis=1)
        held = bounds.held(labels)
        counts = np.ascontiguousarray(bounds.counts.T)
        if trade(costs, counts, bounds.low, bounds.high, held, labels, 50):
            assert bounds.hold(labels)
            n_kept += 1
        np.testing.assert_allclose(held, bounds.held(labels), atol=1e-9)
    assert n_kept > 40


def _off(bounds, costs):
    """How far sums are outside their bounds where everybody takes the least cost."""
    held = bounds.held(costs.argmin(axis=1))
    return np.abs(held - np.clip(held, bounds.low, bounds.high)).sum()


def test_prices_climb():
    """Steps up the dual bring sums much nearer to their bounds."""
    rng = np.random.default_rng(1)
    n, k = 2000, 5
    bounds, costs = sizes_and_shares(n, k, rng), rng.random((n, k)) + np.arange(k) / k
    prices, before = np.zeros(bounds.low.shape), _off(bounds, costs)
    climb(
        costs, np.ascontiguousarray(bounds.counts.T), bounds.low, bounds.high,
        bounds.least_prices, bounds.largest_prices, prices, 0.3, 0.9, 40,
    )  # fmt: skip
    after = _off(bounds, bounds.priced(costs, prices))
    assert before > 500
    assert after < 0.1 * before


@pytest.mark.parametrize("linked", [False, True])
def test_searches_by_trades_are_as_good(linked, monkeypatch):
    """With pairs and without, a search by good labels ends proven, within the bounds, and not far
    from where exact assignments lead (two local optima)."""
    rng = np.random.default_rng(2)
    n, k = 1200, 4
    X, pairs = rng.normal(size=(n, 3)), rng.choice(n, (40, 2), replace=False)
    cannot = pairs if linked else None
    problem = Problem.build(X, k, cannot_link=cannot, size_min=1)
    vars(problem)["group_bounds"] = bounds = sizes_and_shares(n, k, rng)
    found = local_search(problem, problem.enter(X[:k]))
    assert found.proven
    assert bounds.hold(found.labels)
    assert problem.violations(problem.expand(found.labels)) == (0, 0)
    monkeypatch.setattr(batch.Engine, "_good", lambda *given: None)
    exact = local_search(problem, problem.enter(X[:k]))
    assert found.objective == pytest.approx(exact.objective, rel=0.02)


def test_prices_stay_finite_where_nobody_is_free():
    """Without free points, or without a second cluster, prices stay as they are."""
    low, high = np.zeros((1, 2)), np.ones((1, 2))
    free = np.full((1, 2), np.inf)
    for n, reach in ((0, 1.0), (3, np.inf), (3, np.nan)):
        prices = np.full((1, 2), 0.5)
        climb(np.ones((n, 2)), np.ones((n, 1)), low, high, -free, free, prices, reach, 0.9, 5)
        assert (prices == 0.5).all()


def test_a_partition_is_proven_once(monkeypatch):
    """Searches of one problem that end at the same clusters ask for one proof, and all have it."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 2)) + 8 * rng.integers(0, 3, (90, 1))
    problem = Problem.build(X, 3, cannot_link=[[0, 1], [2, 3]], size_min=20, size_max=40)
    asked, real = [], batch.Engine._assign

    def counted(self, state, limits, quick):
        asked.append(quick)
        return real(self, state, limits, quick)

    monkeypatch.setattr(batch.Engine, "_assign", counted)
    search = Searches(problem, deep=True, limits=Limits())
    starts = [problem.enter(X[rng.choice(90, 3, replace=False)]) for _ in range(6)]
    found = [search(start) for start in starts]
    assert all(solution.proven for solution in found)
    assert asked.count(False) <= len({round(solution.objective, 6) for solution in found}) + 1
