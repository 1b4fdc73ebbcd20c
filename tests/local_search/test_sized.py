"""Local searches under cluster sizes: every storage, with pairs, bounds that differ, swaps."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.assignment import Status, exact_assignment
from smdeclust.assignment.status import SOLVED
from smdeclust.assignment.transport import transport
from smdeclust.local_search import Limits, last_proof, local_search
from smdeclust.local_search.sized_lloyd import sized_lloyd
from smdeclust.problem import Problem
from tests.points.made import made

STORAGES = ["dense", "blocks", "sparse"]


def settled(problem, solution, judge=None):
    """Whether the labels are an optimal assignment to their own means, within the bounds."""
    labels, judge = problem.expand(solution.labels), judge or problem
    found = exact_assignment(judge, judge.centers(solution.labels))
    assert found.status is Status.OPTIMAL
    assert problem.violations(labels) == (0, 0)
    assert problem.bounds.hold(problem.held(solution.labels)[0])
    assert problem.objective(solution.labels) == pytest.approx(solution.objective)
    return found.cost == pytest.approx(solution.objective, rel=1e-9)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("paired", [False, True])
def test_every_storage_ends_at_an_exact_assignment(storage, paired):
    """The bounds and pairs hold, and no other labels are cheaper for the same centers."""
    X, k, must, cannot = made(n=600)
    pairs = (must[:40], cannot[:60]) if paired else (None, None)
    sizes = {"size_min": 95, "size_max": 105}
    problem = Problem.build(X, k, *pairs, storage=storage, **sizes)
    judge = Problem.build(X, k, *pairs, **sizes)
    for seed in range(2):
        rows = np.random.default_rng(seed).choice(len(X), k, replace=False)
        solution = local_search(problem, problem.enter(X[rows]))
        assert solution.proven
        assert settled(problem, solution, judge)


def test_storages_agree():
    """Same start, same objective, whichever loop runs."""
    X, k, _, _ = made(n=900)
    values = []
    for storage in STORAGES:
        problem = Problem.build(X, k, storage=storage, size_min=140, size_max=160)
        values.append(local_search(problem, problem.enter(X[:k])).objective)
    assert values == pytest.approx([values[0]] * len(values), rel=1e-9)


def test_one_iteration_is_exact_from_any_prices():
    """The compiled loop, which looks at few points, finds what the whole transport finds: loose
    and tight bounds, good and bad prices, few points and many."""
    rng = np.random.default_rng(5)
    for trial in range(120):
        n, k = int(rng.choice([60, 300, 5000], p=[0.5, 0.4, 0.1])), int(rng.integers(2, 8))
        X = rng.normal(size=(n, 2)) * rng.choice([1.0, 5.0]) + rng.integers(0, 3, (n, 1)) * 4
        low = np.maximum(1, n // k - rng.integers(0, n // k + 1, k))
        high = low + rng.integers(0, n // 2, k)
        high += max(0, n - high.sum())
        problem = Problem.build(X, k)
        contracted, centers = problem.contracted, problem.enter(X[rng.choice(n, k, replace=False)])
        costs = ((contracted.points[:, None] - centers[None]) ** 2).sum(axis=2)
        judged, labels = np.empty(n, dtype=np.int64), np.full(n, -1)
        assert transport(costs, low, high, np.zeros(k), judged, np.inf) == SOLVED
        prices = rng.choice([0.0, 1.0, 30.0]) * rng.normal(size=k)
        if trial % 2:
            sized_lloyd(
                contracted.points,
                *contracted.lanes,
                low,
                high,
                centers.copy(),
                prices,
                labels.copy(),
                0,
                3,
            )
        sized_lloyd(
            contracted.points,
            *contracted.lanes,
            low,
            high,
            centers.copy(),
            prices,
            labels,
            0,
            1,
        )
        held = np.bincount(labels, minlength=k)
        assert ((held >= low) & (held <= high)).all()
        rows = np.arange(n)
        assert costs[rows, labels].sum() == pytest.approx(costs[rows, judged].sum(), rel=1e-12)


def test_many_points_are_guessed_from_few():
    """Where prices are first guessed from a sample the answer is exact all the same."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(9000, 2)), rng.normal(size=(1000, 2)) + 8])
    for storage in ("dense", "blocks"):
        problem = Problem.build(X, 4, storage=storage, size_min=2450, size_max=2550)
        solution = local_search(problem, problem.enter(X[[0, 1, 2, 9999]]), max_iter=3)
        sizes = problem.held(solution.labels)[0]
        assert sizes.min() >= 2450
        assert sizes.max() <= 2550


def test_bounds_that_differ_find_their_clusters():
    """Clusters of 20, 50 and 130 points get the bounds of their size, in whatever order these are
    given, and that is proven."""
    rng = np.random.default_rng(1)
    counts = [20, 50, 130]
    X = np.concatenate([rng.normal(size=(n, 2)) + 9 * i for i, n in enumerate(counts)])
    free = Problem.build(X, 3)
    best = free.objective(free.group_labels(np.repeat(np.arange(3), counts)))
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        sizes = np.array(counts)[order]
        problem = Problem.build(X, 3, size_min=sizes, size_max=sizes)
        solution = local_search(problem, problem.enter(X[[0, 30, 100]]))
        assert solution.objective == pytest.approx(best)
        assert solution.proven


def test_swaps_keep_the_sizes():
    """Deep searches are never worse than plain ones, and stay within the bounds."""
    X, k, must, cannot = made(n=300, seed=3)
    problem = Problem.build(X, k, must[:20], cannot[:30], size_min=42, size_max=60)
    for seed in range(5):
        rows = np.random.default_rng(seed).choice(len(X), k, replace=False)
        start = problem.enter(X[rows])
        plain, deep = local_search(problem, start), local_search(problem, start, deep=True)
        assert deep.objective <= plain.objective * (1 + 1e-12)
        assert problem.bounds.hold(problem.held(deep.labels)[0])


def test_weights_count_where_asked():
    """With size_by="weight" the weights of clusters are bounded, not their points."""
    rng = np.random.default_rng(5)
    X, weight = rng.normal(size=(40, 2)), rng.uniform(0.5, 3.0, 40)
    most = weight.sum() / 3 * 1.05
    problem = Problem.build(X, 3, sample_weight=weight, size_max=most, size_by="weight")
    solution = local_search(problem, problem.enter(X[:3]))
    held = np.bincount(problem.expand(solution.labels), weight)
    assert held.max() <= most * (1 + 1e-9)
    assert settled(problem, solution)


def test_a_device_keeps_sizes():
    """Sizes by points and pairs on a device: where blocks of rows end (a dense copy has a compiled
    way to good labels, and may end elsewhere), proven at last."""
    pytest.importorskip("torch", reason="needs PyTorch: smdeclust[torch]")
    X = np.random.default_rng(3).normal(size=(90, 3))
    known = {"must_link": [(0, 1), (1, 2)], "cannot_link": [(3, 4), (5, 6)]}
    found = []
    for storage in ("blocks", "torch"):
        problem = Problem.build(X, 3, **known, storage=storage, size_min=28, size_max=32)
        solution = local_search(problem, problem.enter(X[:3]))
        assert problem.group_bounds.hold(np.asarray(solution.labels))
        found.append(last_proof(problem, solution, Limits()))
    assert found[1].proven
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-9)
