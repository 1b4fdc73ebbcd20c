"""Soft pairs in the exact assignment: every way of solving against enumeration and HiGHS."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust.assignment import Budget, assign
from smdeclust.assignment.cores import solve_core
from smdeclust.constraints import PairGraph
from smdeclust.local_search.kempe import kempe_descent
from smdeclust.structure.bounds import Bounds
from tests.fuzz import disagreement_of_soft, random_soft


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_agrees_with_the_judge(seed):
    """Hard and soft pairs of both kinds, ties, mixed scales: the cost is the judge's, and proven;
    so it is by branch and cut alone."""
    assert disagreement_of_soft(random_soft(np.random.default_rng(seed))) is None


def test_one_pair_breaks_even():
    """A soft cannot-link is broken below, and kept above, what keeping it costs; a soft must-link
    likewise; a price of zero changes nothing."""
    costs = np.array([[0.0, 3.0], [0.0, 2.0]])
    for price, labels in ((0.0, [0, 0]), (1.9, [0, 0]), (2.1, [0, 1])):
        graph = PairGraph.from_edges(np.array([[0, 1]]), [price], [False], 2)
        found, cost, bound = assign(costs, graph, None)
        assert found.tolist() == labels
        assert cost == bound == costs[[0, 1], found].sum() + graph.penalty(found)
    costs = np.array([[0.0, 3.0], [2.0, 0.0]])
    for price, labels in ((1.9, [0, 1]), (2.1, [0, 0])):
        graph = PairGraph.from_edges(np.array([[0, 1]]), [price], [True], 2)
        assert assign(costs, graph, None)[0].tolist() == labels


@pytest.mark.parametrize("seed", range(4))
def test_a_large_price_is_a_hard_pair(seed):
    """With prices above all costs the answer is that of hard cannot-links."""
    rng = np.random.default_rng(seed)
    edges = np.array([(i, j) for i in range(14) for j in range(i) if rng.random() < 0.3])
    costs = rng.random((14, 5))
    soft = PairGraph.from_edges(edges, np.full(len(edges), 1e3), np.zeros(len(edges), bool), 14)
    hard = PairGraph.from_edges(edges, np.full(len(edges), np.inf), np.zeros(len(edges), bool), 14)
    expected = assign(costs, hard, None)[1]
    assert assign(costs, soft, None)[1] == pytest.approx(expected, rel=1e-12)
    assert solve_core(costs, soft).cost == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_no_empty_cluster_with_soft_pairs(seed):
    """Branching over empty clusters and the last resort agree where pairs are soft."""
    rng = np.random.default_rng(seed)
    edges = np.array([(i, j) for i in range(9) for j in range(i) if rng.random() < 0.4])
    kinds = rng.random(len(edges)) < 0.4
    graph = PairGraph.from_edges(edges, rng.random(len(edges)), kinds, 9)
    costs = rng.random((12, 5)) + np.array([0, 0, 0, 2.0, 2.0])
    sizes = Bounds.none_empty(np.ones(12), np.zeros(5))
    labels, cost, bound = assign(costs, graph, sizes)
    assert len(set(labels)) == 5
    assert cost == pytest.approx(bound)


def test_what_broken_pairs_cost_counts_when_clusters_are_filled():
    """Moving a group out of a component may save what its broken pairs cost: the bound on such a
    move must know it."""
    assert disagreement_of_soft(random_soft(np.random.default_rng((0, 2291)))) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_budget_gives_true_bounds(seed):
    """Without any budget for the proof: bound <= optimum <= cost, and hard pairs hold."""
    rng = np.random.default_rng(seed)
    edges = np.array([(i, j) for i in range(30) for j in range(i) if rng.random() < 0.4])
    price = np.where(rng.random(len(edges)) < 0.2, np.inf, rng.random(len(edges)))
    kinds = np.isfinite(price) & (rng.random(len(edges)) < 0.3)
    graph = PairGraph.from_edges(edges, price, kinds, 30)
    costs = rng.random((30, 6))
    quick = assign(costs, graph, None, budget=Budget(max_pivots=0))
    longer = assign(costs, graph, None, budget=Budget(max_pivots=3000))
    assert quick[1] < np.inf
    assert max(quick[2], longer[2]) <= min(quick[1], longer[1]) * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_kempe_swaps_lower_squares_plus_prices(seed):
    """The deep search falls in the objective with prices, keeps hard pairs and empties nothing."""
    rng = np.random.default_rng(seed)
    n, k = 16, 3
    points, weights = rng.normal(size=(n, 2)), rng.uniform(0.5, 2.0, n)
    edges = np.array([(i, j) for i in range(12) for j in range(i) if rng.random() < 0.2])
    labels = rng.integers(0, k, n)
    labels[:k] = np.arange(k)
    differ = labels[edges[:, 0]] != labels[edges[:, 1]]
    price = np.where(differ & (rng.random(len(edges)) < 0.5), np.inf, rng.random(len(edges)))
    kinds = np.isfinite(price) & (rng.random(len(edges)) < 0.5)
    graph = PairGraph.from_edges(edges, price, kinds, 12)

    def objective(labels):
        centers = np.array(
            [np.average(points[labels == c], 0, weights[labels == c]) for c in range(k)]
        )
        squares = (((points - centers[labels]) ** 2).sum(axis=1) * weights).sum()
        return squares + graph.penalty(labels[:12]), centers

    before, centers = objective(labels)
    found = labels.copy()
    bounds = np.ones((1, n)), np.ones((1, k)), np.full((1, k), np.inf)
    pairs = *graph.hard_part.arrays[:2], graph.soft_part.arrays
    swaps = kempe_descent(points, weights, *pairs, found, centers, before, *bounds)
    after, means = objective(found)
    assert (after < before) if swaps else (after == before)
    np.testing.assert_allclose(centers, means, atol=1e-9)
