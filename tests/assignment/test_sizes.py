"""Cluster sizes in the exact assignment: transport, prices, pairs, groups, weights, orders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from smdeclust.assignment import Budget, assign
from smdeclust.assignment.bounded import assign_bounded
from smdeclust.assignment.status import INFEASIBLE, PAUSED, SOLVED
from smdeclust.assignment.transport import drop_idle_prices, transport
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph
from tests.fuzz_sizes import disagreement

NO_PAIRS = PairGraph.hard(np.zeros(1, np.int64), np.zeros(0, np.int64))


def best_cost(costs, low, high):
    """The least cost over all labels of unit points, by trying each."""
    n, k = costs.shape
    labels = np.array(list(itertools.product(range(k), repeat=n)), dtype=int).reshape(k**n, n)
    held = np.stack([(labels == j).sum(axis=1) for j in range(k)], axis=1)
    ok = ((held >= low) & (held <= high)).all(axis=1)
    return costs[np.arange(n), labels].sum(axis=1)[ok].min(initial=np.inf)


def test_transport_is_optimal_from_any_prices():
    """Against enumeration, ties and bounds that cannot be met included, from good and bad prices;
    and prices prove it: every point at its least cost + price, prices only on tight bounds."""
    rng = np.random.default_rng(0)
    n_feasible = 0
    for _ in range(400):
        k, n = int(rng.integers(1, 5)), int(rng.integers(1, 7))
        costs = rng.integers(0, 4, (n, k)) + rng.choice([0.0, 1.0]) * rng.normal(size=(n, k))
        low = np.maximum(0, n // k - rng.integers(-1, 3, k))
        high = low + rng.integers(0, 3, k)
        prices = rng.choice([0.0, 1.0, 3.0]) * rng.normal(size=k)
        drop_idle_prices(low, high, n, prices)
        labels = np.empty(n, dtype=np.int64)
        status = transport(costs, low, high, prices, labels, np.inf)
        optimum = best_cost(costs, low, high)
        assert (status == SOLVED) == np.isfinite(optimum)
        assert status in (SOLVED, INFEASIBLE)
        if status == SOLVED:
            n_feasible += 1
            held = np.bincount(labels, minlength=k)
            assert ((held >= low) & (held <= high)).all()
            assert costs[np.arange(n), labels].sum() == pytest.approx(optimum, abs=1e-9)
            priced = costs + prices
            assert (priced[np.arange(n), labels] <= priced.min(axis=1) + 1e-9).all()
            assert (held[prices > 1e-9] == high[prices > 1e-9]).all()
            assert (held[prices < -1e-9] == low[prices < -1e-9]).all()
    assert 100 < n_feasible < 400


def test_a_limit_moves_prices_no_further():
    """With a limit, either the answer is the optimum, or prices moved by no more than that."""
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(200):
        costs = rng.random((40, 4))
        low, high = np.full(4, 9), np.full(4, 11)
        labels, other = np.empty(40, dtype=np.int64), np.empty(40, dtype=np.int64)
        prices, free = np.zeros(4), np.zeros(4)
        limit = float(rng.choice([0.02, 0.1, 0.5, 1.0]))
        status = transport(costs, low, high, prices, labels, limit)
        assert transport(costs, low, high, free, other, np.inf) == SOLVED
        seen.add(status)
        if status == SOLVED:
            rows = np.arange(40)
            assert costs[rows, labels].sum() == pytest.approx(costs[rows, other].sum())
        else:
            assert status == PAUSED
            assert max(0, prices.max()) - min(0, prices.min()) <= limit * (1 + 1e-9)
    assert seen == {SOLVED, PAUSED}


@pytest.mark.parametrize("seed", range(4))
def test_a_share_of_the_fuzz(seed):
    """Sizes x pairs x groups x weights x ties x infeasible ones agree with the judges."""
    wrong = [disagreement(np.random.default_rng((7, seed, i))) for i in range(40)]
    assert [line for line in wrong if line] == []


def test_no_cluster_empty_is_least_size_one():
    """The general solver finds what the special one finds."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        n, k = int(rng.integers(3, 12)), int(rng.integers(2, 4))
        costs = rng.random((n, k)) + np.where(np.arange(k) == 0, 0, rng.integers(0, 4))
        ones, none = np.ones(n), np.zeros(k)
        labels, cost, bound = assign(costs, NO_PAIRS, Bounds.none_empty(ones, none))
        found = assign_bounded(
            costs, NO_PAIRS, Bounds.of(ones, np.ones(k), np.full(k, np.inf), none)
        )
        assert labels is not None
        assert found.cost == pytest.approx(cost)
        assert found.bound == found.cost
        assert bound == cost


def test_prices_prove_labels_with_pairs():
    """With cannot-links and groups of several points, prices, reduced costs and the small rest
    leave no gap; the bound is the cost."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        n, k, n_linked = 60, 4, 30
        costs = rng.random((n, k))
        edges = np.unique(np.sort(rng.integers(0, n_linked, (25, 2)), axis=1), axis=0)
        edges = edges[edges[:, 0] != edges[:, 1]]
        graph = PairGraph.from_edges(
            edges, np.full(len(edges), np.inf), np.zeros(len(edges), bool), n_linked
        )
        counted = rng.choice([1.0, 1.0, 1.0, 3.0], n)
        mean = counted.sum() / k
        sizes = Bounds.of(counted, np.full(k, mean - 2), np.full(k, mean + 2), np.zeros(k))
        labels, cost, bound = assign(costs, graph, sizes)
        assert labels is not None
        assert sizes.hold(labels)
        assert np.isfinite(graph.penalty(labels[:n_linked]))
        assert bound == cost == pytest.approx(costs[np.arange(n), labels].sum())


def test_a_spent_budget_is_honest():
    """Without nodes for the proof, labels keep the sizes and the bound is a true one."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        costs = rng.random((24, 3))
        counted = rng.integers(1, 5, 24).astype(float)
        mean = counted.sum() / 3
        sizes = Bounds.of(
            counted, np.full(3, np.floor(mean)), np.full(3, np.ceil(mean)), np.zeros(3)
        )
        exact = assign_bounded(costs, NO_PAIRS, sizes)
        quick = assign_bounded(costs, NO_PAIRS, sizes, budget=Budget(max_nodes=0))
        assert quick.bound <= exact.cost * (1 + 1e-12)
        if quick.labels is not None:
            assert sizes.hold(quick.labels)
            assert quick.cost >= exact.cost * (1 - 1e-12)


def test_a_solver_that_fails_is_asked_again():
    """Here the presolve of HiGHS ends in a solve error; there are no labels, and it says so."""
    assert disagreement(np.random.default_rng((717, 18678))) is None
