"""Large data in memory: block by block, without a copy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from smdeclust import SMDEClust
from smdeclust.local_search import compiled, local_search
from smdeclust.points import row_batch
from smdeclust.points.arrays import BlockPoints
from smdeclust.problem import Problem
from tests.points.made import made


def by_blocks(X, k, *pairs, n_threads=None):
    """A problem whose points are worked on block by block."""

    def storage(X, coupling, weight):
        return BlockPoints(X, coupling, weight, n_threads)

    return Problem.build(X, k, *pairs, storage=storage)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_whole_searches_agree(dtype, shift):
    """Bounds, blocks and sums by differences end where the plain loop ends."""
    X, k, must, cannot = made(dtype=dtype, shift=shift)
    problem, small = by_blocks(X, k, must, cannot), Problem.build(X, k, must, cannot)
    rng = np.random.default_rng(1)
    for _ in range(5):
        start = problem.enter(X[rng.choice(len(X), k, replace=False)])
        one, two = local_search(problem, start), local_search(small, start)
        assert one.objective == pytest.approx(two.objective, rel=1e-9)
        assert problem.violations(problem.expand(one.labels)) == (0, 0)
        assert one.objective == pytest.approx(problem.objective(one.labels), rel=1e-9)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    """One thread or four: the same labels and the same objective to the last bit."""
    monkeypatch.setattr(row_batch, "LEAST_ROWS", 64)
    X, k, must, cannot = made()
    problems = [by_blocks(X, k, must, cannot, n_threads=t) for t in (1, 2, 4)]
    results = [local_search(problem, problem.enter(X[:k])) for problem in problems]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].labels, other.labels)
        assert results[0].objective == other.objective


def test_the_data_are_not_copied():
    """A search on large data holds no second copy of them and no N x K table."""
    import tracemalloc

    n, d, k = 120_000, 40, 40
    X = np.random.default_rng(0).normal(size=(n, d))
    problem = Problem.build(X, k, must_link=[(0, 1)], cannot_link=[(2, 3), (3, 4)])
    assert isinstance(problem.points, BlockPoints)
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
    X, k, must, cannot = made()

    def no_copy(self):
        raise AssertionError("a copy of the points was made")

    monkeypatch.setattr(BlockPoints, "means", property(no_copy))
    model = SMDEClust.from_paper(
        variant, n_clusters=k, population_size=5, max_generations=3, random_state=0
    )
    model._storage = "blocks"
    model.fit(X, must_link=must, cannot_link=cannot)
    problem = Problem.build(X, k, must, cannot)
    assert problem.violations(model.labels_) == (0, 0)
    gaps = X - model.cluster_centers_[model.labels_]
    assert model.inertia_ == pytest.approx(float((gaps * gaps).sum()))


def test_memory_mapped_points_stay_on_disk(tmp_path):
    """A memory-mapped float32 file is read where it is, with the result of an array."""
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
    problem = by_blocks(X, 3)
    start = problem.enter(X[[0, 300, 600]])
    solution = local_search(problem, start, max_iter=1)
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
    problem, small = by_blocks(X, k, None, cannot), Problem.build(X, k, cannot_link=cannot)
    start = problem.enter(X[rng.choice(n, k, replace=False)])
    one, two = local_search(problem, start), local_search(small, start)
    assert one.objective == pytest.approx(two.objective, rel=1e-7)
    assert one.n_iterations >= two.n_iterations - 1


@pytest.mark.parametrize("storage", ["dense", "blocks"])
def test_one_problem_in_two_threads(storage):
    """Searches of one problem at the same time do not disturb each other."""
    X, k, must, cannot = made(n=30_000, d=12, k=8)
    problem = Problem.build(X, k, must, cannot, storage=storage)
    assert problem.X.size * k >= compiled.LONG
    starts = [problem.enter(X[i : i + k]) for i in range(0, 40, 10)]

    def objective(start):
        return local_search(problem, start).objective

    alone = [objective(start) for start in starts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(objective, starts))
    assert alone == together
