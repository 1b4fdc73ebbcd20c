"""Large data: block by block gives what the compiled loop gives."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust.assignment.exact import exact_assignment
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.local_search import local_search, search
from smdeclust.local_search.streaming import streaming_search
from smdeclust.points import array_points
from smdeclust.points.array_points import ArrayPoints
from smdeclust.problem import Problem
from tests.fuzz import random_instance


def made(n=3000, d=5, k=6, seed=0, dtype=np.float64, shift=0.0):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, k, n)
    X = (rng.normal(size=(k, d)) * 3)[classes] + rng.normal(size=(n, d)) + shift
    pairs = rng.integers(0, n, (400, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return X.astype(dtype), k, pairs[same], pairs[~same]


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_one_iteration_is_the_exact_assignment(seed):
    """From any start, empty clusters and dense cannot-links included, one iteration reaches the
    cost of the exact assignment, feasibly."""
    instance = random_instance(np.random.default_rng(seed))
    try:
        problem = Problem.build(
            instance["X"], instance["k"], instance["must"], instance["cannot"], instance["weight"]
        )
    except InfeasibleConstraintsError:
        return
    if problem.n_features > problem.n_groups:
        return
    start = problem.enter(instance["centers"])

    def cost_at_start(labels):
        gaps = problem.means - start[labels]
        return float(np.einsum("ij,ij->i", gaps, gaps) @ problem.weights)

    streamed = streaming_search(problem, ArrayPoints(problem), start, max_iter=1)
    judge = exact_assignment(problem, instance["centers"])
    assert problem.violations(problem.expand(streamed.labels)) == (0, 0)
    assert len(np.unique(streamed.labels)) == problem.n_clusters
    optimum = judge.cost - problem.scatter
    slack = 1e-9 * max(optimum, float(np.ptp(problem.X)) ** 2)
    assert cost_at_start(streamed.labels) == pytest.approx(optimum, abs=slack)
    assert streamed.objective == pytest.approx(problem.objective(streamed.labels), abs=slack)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_whole_searches_agree(dtype, shift):
    """Bounds, blocks and sums by differences end where the plain loop ends."""
    X, k, must, cannot = made(dtype=dtype, shift=shift)
    problem = Problem.build(X, k, must, cannot)
    free = ArrayPoints(problem)
    rng = np.random.default_rng(1)
    for _ in range(5):
        start = problem.enter(X[rng.choice(len(X), k, replace=False)])
        one, two = streaming_search(problem, free, start), local_search(problem, start)
        assert one.objective == pytest.approx(two.objective, rel=1e-9)
        assert problem.violations(problem.expand(one.labels)) == (0, 0)
        assert one.objective == pytest.approx(problem.objective(one.labels), rel=1e-9)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    """One thread or four: the same labels and the same objective to the last bit."""
    monkeypatch.setattr(array_points, "LEAST_ROWS", 64)
    X, k, must, cannot = made()
    problem = Problem.build(X, k, must, cannot)
    start = problem.enter(X[:k])
    results = [streaming_search(problem, ArrayPoints(problem, t), start) for t in (1, 2, 4)]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].labels, other.labels)
        assert results[0].objective == other.objective


def test_large_problems_take_this_road(monkeypatch):
    """local_search chooses by size, weights and must-link groups included."""
    from smdeclust.problem import problem as module

    X, k, must, cannot = made()
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    weight[np.unique(cannot)] = 1.0
    problem = Problem.build(X, k, must, cannot, weight)
    start = problem.enter(X[:k])
    small = local_search(problem, start)
    monkeypatch.setattr(module, "LARGE", 1)
    assert problem.is_large
    large = local_search(problem, start)
    assert large.labels.dtype == np.int32
    assert large.objective == pytest.approx(small.objective, rel=1e-9)


def test_the_data_are_not_copied():
    """A search on large data holds no second copy of them and no N x K table."""
    import tracemalloc

    n, d, k = 120_000, 40, 40
    X = np.random.default_rng(0).normal(size=(n, d))
    problem = Problem.build(X, k, must_link=[(0, 1)], cannot_link=[(2, 3), (3, 4)])
    assert problem.is_large
    local_search(problem, problem.enter(X[:k]), max_iter=1)
    tracemalloc.start()
    local_search(problem, problem.enter(X[:k]), max_iter=3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.3 * X.nbytes


@pytest.mark.parametrize("variant", ["SM-MDE", "SMG-MDE"])
def test_mutation_on_large_data_makes_no_copy(monkeypatch, variant):
    """A whole run with mutation never asks for the contracted copy of the points, and keeps all
    pairs."""
    from smdeclust import SMDEClust
    from smdeclust.problem import problem as module

    X, k, must, cannot = made()
    monkeypatch.setattr(module, "LARGE", 1)

    def no_copy(self):
        raise AssertionError("a copy of the points was made")

    monkeypatch.setattr(Problem, "core", property(no_copy))
    monkeypatch.setattr(Problem, "means", property(no_copy))
    model = SMDEClust.from_paper(
        variant, n_clusters=k, population_size=5, max_generations=3, random_state=0
    ).fit(X, must_link=must, cannot_link=cannot)
    problem = Problem.build(X, k, must, cannot)
    assert problem.violations(model.labels_) == (0, 0)
    gaps = X - model.cluster_centers_[model.labels_]
    assert model.inertia_ == pytest.approx(float((gaps * gaps).sum()))


def test_streaming_mutation_prefers_far_points():
    """With alpha = 1 a lone far point is drawn almost always, with alpha = 0 almost never."""
    from smdeclust.points.mutation import REASSIGN_LINKED, StreamingMutation

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) * 1e-3
    X[123] = 100.0
    problem = Problem.build(X, 2, must_link=[(5, 6)], cannot_link=[(7, 8)])
    free = ArrayPoints(problem)
    centers = problem.enter(X[[0, 1]])
    hits = []
    for alpha in (0.0, 1.0):
        mutate = StreamingMutation(
            problem, free, REASSIGN_LINKED["greedy"], alpha, rate=lambda generation: 1.0
        )
        found = [mutate(centers, 0, rng) for _ in range(40)]
        far = problem.enter(X[123:124])[0]
        hits.append(sum(bool(np.isclose(each, far).all(axis=1).any()) for each in found))
    assert hits[0] <= 3
    assert hits[1] >= 37


def test_memory_mapped_points_stay_on_disk(tmp_path):
    """A memory-mapped float32 file is read where it is, with the result of an array."""
    from smdeclust import SMDEClust

    X, k, must, cannot = made(dtype=np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(Problem.build(mapped, k).X, mapped)
    results = [
        SMDEClust.from_paper(n_clusters=k, population_size=4, max_generations=1, random_state=0)
        .fit(points, must_link=must, cannot_link=cannot)
        .inertia_
        for points in (X, mapped)
    ]
    assert results[0] == results[1]


def test_clusters_far_from_the_mean_are_told_apart():
    """Products in single precision cannot tell these centers apart; the labels are right."""
    rng = np.random.default_rng(0)
    X = np.concatenate([1e4 + 1e-4 * rng.normal(size=(500, 3)), -1e4 + rng.normal(size=(500, 3))])
    X[:250] += 1e-3
    problem = Problem.build(X, 3)
    start = problem.enter(X[[0, 300, 600]])
    solution = streaming_search(problem, ArrayPoints(problem), start, max_iter=1)
    gaps = X[:, None] - X[[0, 300, 600]][None]
    nearest = np.einsum("ikj,ikj->ik", gaps, gaps).argmin(axis=1)
    np.testing.assert_array_equal(problem.expand(solution.labels), nearest)


@pytest.mark.parametrize("apart", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("d", [3, 20])
def test_far_apart_blobs(apart, d):
    """Points far apart take digits from sums over all of them: block by block still ends where
    the plain loop ends, linked groups included."""
    rng = np.random.default_rng(0)
    n, k = 1500, 6
    X = rng.normal(size=(n, d))
    X[: n // 2] += apart
    cannot = np.array([(i, i + 1) for i in range(0, 300, 2)])
    problem = Problem.build(X, k, cannot_link=cannot)
    start = problem.enter(X[rng.choice(n, k, replace=False)])
    one = streaming_search(problem, ArrayPoints(problem), start)
    two = local_search(problem, start)
    assert one.objective == pytest.approx(two.objective, rel=1e-7)
    assert one.n_iterations >= two.n_iterations - 1


@pytest.mark.parametrize("by_blocks", [False, True])
def test_one_problem_in_two_threads(by_blocks):
    """Searches of one problem at the same time do not disturb each other."""
    X, k, must, cannot = made(n=30_000, d=12, k=8)
    problem = Problem.build(X, k, must, cannot)
    assert problem.X.size * k >= search.LONG
    starts = [problem.enter(X[i : i + k]) for i in range(0, 40, 10)]

    def objective(start):
        if by_blocks:
            return streaming_search(problem, ArrayPoints(problem), start).objective
        return local_search(problem, start).objective

    alone = [objective(start) for start in starts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(objective, starts))
    assert alone == together
