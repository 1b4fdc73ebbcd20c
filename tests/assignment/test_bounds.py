"""Several bounds at once: exact against enumeration, feasible labels first, prices that prove."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.assignment import Budget, assign
from smdeclust.assignment.bounded import assign_bounded
from smdeclust.assignment.linear_prices import NO_PAIRS, find_prices
from smdeclust.local_search import local_search
from smdeclust.problem import Problem
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph, cannot_link_graph
from smdeclust.structure.tabu import mend
from tests.fuzz_bounds import check


@pytest.mark.parametrize("seed", range(40))
def test_several_bounds_agree_with_the_judges(seed):
    assert check(seed) is None


def school(n, k, rng):
    """Sizes, and how many of one kind, both within a tenth."""
    kind = rng.random(n) < 0.4
    low, high = np.floor(0.9 * n / k), np.ceil(1.1 * n / k)
    share = kind.mean()
    counts = [np.ones(n), kind - 0.9 * share, kind - 1.1 * share]
    lows = [np.full(k, low), np.zeros(k), np.full(k, -np.inf)]
    highs = [np.full(k, high), np.full(k, np.inf), np.zeros(k)]
    return Bounds.of(counts, lows, highs)


def test_prices_of_the_linear_program_bound_the_cost():
    rng = np.random.default_rng(0)
    bounds = school(600, 5, rng)
    points, centers = rng.normal(size=(600, 2)), rng.normal(size=(5, 2))
    costs = ((points[:, None] - centers) ** 2).sum(axis=2)
    prices, shares = find_prices(costs, bounds, np.zeros((3, 5)), Budget())
    bound = bounds.priced(costs, prices).min(axis=1).sum() - bounds.charge(prices)
    assert bound == pytest.approx((shares * costs).sum(), rel=1e-9)
    found = assign_bounded(costs, NO_PAIRS, bounds)
    assert bounds.hold(found.labels)
    assert found.bound == found.cost
    assert found.dual <= found.cost <= bound * 1.01


def test_a_share_moves_with_the_size_of_the_cluster():
    """At least half of each cluster is of a kind: two clusters of any size, negative counts."""
    kind = np.array([1, 1, 1, 0, 0, 0])
    costs = np.array([[0.0, 5], [0, 5], [0, 5], [5, 0], [5, 0], [5, 0]])
    bounds = Bounds.of([np.ones(6), kind - 0.5], [[1, 1], [0, 0]], [[np.inf] * 2] * 2)
    labels, cost, bound = assign(costs, NO_PAIRS, bounds)
    assert bounds.hold(labels)
    assert cost == bound == 15.0


def test_first_labels_under_dense_pairs_and_exact_sizes():
    """Cannot-links of half of all pairs, sizes exactly n / k: found without any program."""
    rng = np.random.default_rng(0)
    n, k = 120, 4
    truth = np.arange(n) % k
    edges = np.array([(i, j) for i in range(n) for j in range(i) if truth[i] != truth[j]])
    edges = edges[rng.random(len(edges)) < 0.5]
    graph = PairGraph.hard(*cannot_link_graph(edges, n))
    bounds = Bounds.of(np.ones(n), np.full(k, n / k), np.full(k, n / k))
    labels = mend(rng.random((n, k)), graph, bounds, np.zeros(n, dtype=np.int64))
    assert bounds.hold(labels)
    assert graph.penalty(labels) == 0.0


@pytest.mark.parametrize("seed", [0, 1])
def test_large_groups_in_conflict_move_although_that_breaks_their_bound(seed):
    """Groups of one to 18 points, four cannot-links each, exact sizes: one answer is planted."""
    rng = np.random.default_rng(seed)
    n, k = 600, 8
    planted, sizes = rng.permutation(np.arange(n) % k), rng.choice([1, 1, 1, 2, 3], n)
    sizes[:2] = 18, 9
    many = rng.choice(n, (1400, 2), p=sizes / sizes.sum())
    edges = np.unique(np.sort(many[planted[many[:, 0]] != planted[many[:, 1]]], axis=1), axis=0)
    graph = PairGraph.hard(*cannot_link_graph(edges, n))
    held = np.bincount(planted, sizes, k)
    bounds = Bounds.of(sizes.astype(float), held, held)
    labels = mend(rng.random((n, k)), graph, bounds, rng.integers(0, k, n))
    assert bounds.hold(labels)
    assert graph.penalty(labels) == 0.0


@pytest.mark.parametrize("slack", [0.05, 0.02])
def test_weights_within_a_small_slack_are_packed_even_without_time(slack):
    rng = np.random.default_rng(1)
    weights, k = rng.lognormal(size=400), 8
    mean = weights.sum() / k
    bounds = Bounds.of(weights, np.full(k, mean * (1 - slack)), np.full(k, mean * (1 + slack)))
    costs = rng.random((400, k)) * weights[:, None]
    labels, cost, bound = assign(costs, NO_PAIRS, bounds, None, Budget(deadline=0.0))
    assert bounds.hold(labels)
    assert bound <= cost


@pytest.mark.parametrize("storage", ["dense", "blocks", "sparse", "torch"])
def test_searches_take_several_bounds_on_every_storage(storage):
    """Quotas beside sizes: every storage ends within all bounds, at the same objective."""
    if storage == "torch":
        pytest.importorskip("torch", reason="needs PyTorch: smdeclust[torch]")
    rng = np.random.default_rng(2)
    X = np.abs(rng.normal(size=(300, 2)))
    known = Problem.build(X, 4, must_link=[(0, 1), (2, 3)], storage=storage, size_min=60)
    kind = (rng.random(300) < 0.4) * 1.0
    of_group = np.bincount(known.group_of_point, kind)
    share, sizes = kind.mean(), known.group_bounds.counts[0]
    both = Bounds.of(
        [sizes, of_group - 0.9 * share * sizes, of_group - 1.1 * share * sizes],
        [np.full(4, 60.0), np.zeros(4), np.full(4, -np.inf)],
        [np.full(4, np.inf), np.full(4, np.inf), np.zeros(4)],
    )
    vars(known)["group_bounds"] = both
    found = local_search(known, known.enter(X[[5, 50, 150, 250]]), max_iter=30)
    assert both.hold(np.asarray(found.labels))
    assert found.proven == known.points.abilities.exact
    assert found.objective == pytest.approx(EXPECTED.setdefault("value", found.objective))


EXPECTED: dict[str, float] = {}
