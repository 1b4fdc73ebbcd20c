"""Assign exactly, move centers: the objective falls, everything stays feasible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from smdeclust.assignment import exact_assignment
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.local_search import Limits, Searches, compiled, local_search
from smdeclust.local_search.lloyd import lloyd, lloyd_on_threads
from smdeclust.problem import Problem
from smdeclust.structure.graph import SoftPairs
from tests.fuzz import random_instance


def _problem(seed):
    instance = random_instance(np.random.default_rng(seed))
    try:
        problem = Problem.build(
            instance["X"], instance["k"], instance["must"], instance["cannot"], instance["weight"]
        )
    except InfeasibleConstraintsError:
        return None, None
    return problem, problem.enter(instance["centers"])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_invariants(seed):
    """Feasible, no cluster empty, the stated objective is the real one, it never rises from one
    iteration to the next; the same for a deep search."""
    problem, centers = _problem(seed)
    if problem is None:
        return
    previous = np.inf
    slack = 1e-9 * float(np.ptp(problem.X)) ** 2 * problem.weights.sum()
    for _ in range(4):
        solution = local_search(problem, centers, max_iter=1)
        assert problem.violations(problem.expand(solution.labels)) == (0, 0)
        assert len(np.unique(solution.labels)) == problem.n_clusters
        assert solution.objective == pytest.approx(problem.objective(solution.labels), abs=slack)
        assert solution.objective <= previous + slack
        assert solution.n_iterations == 1
        previous, centers = solution.objective, solution.centers
    deep = local_search(problem, centers, deep=True)
    assert problem.violations(problem.expand(deep.labels)) == (0, 0)
    assert len(np.unique(deep.labels)) == problem.n_clusters
    assert deep.objective == pytest.approx(problem.objective(deep.labels), abs=slack)


def test_no_constraints_is_lloyd():
    """From the same start scikit-learn's k-means ends at the same objective."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + rng.integers(0, 3, (300, 1)) * 4
    start = X[:3]
    problem = Problem.build(X, 3)
    ours = local_search(problem, problem.enter(start))
    theirs = KMeans(3, init=start, n_init=1, algorithm="lloyd", tol=0).fit(X)
    assert ours.objective == pytest.approx(theirs.inertia_, rel=1e-9)


def test_the_start_is_not_changed():
    """Centers given as a start stay as they were."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    problem = Problem.build(X, 3, cannot_link=[(0, 1)])
    start = problem.enter(X[:3])
    before = start.copy()
    local_search(problem, start, deep=True)
    np.testing.assert_array_equal(start, before)


def test_wide_data_are_rotated():
    """With d > N the result is the same as in the original coordinates."""
    rng = np.random.default_rng(0)
    low = rng.normal(size=(20, 3))
    wide = low @ np.linalg.qr(rng.normal(size=(200, 3)))[0].T + 7.0
    pairs = {"must_link": [(0, 1)], "cannot_link": [(0, 2), (3, 4)]}
    narrow_problem = Problem.build(low, 3, **pairs)
    wide_problem = Problem.build(wide, 3, **pairs)
    assert wide_problem.contracted.points.shape == (19, 20)
    one = local_search(narrow_problem, narrow_problem.enter(low[[5, 6, 7]]))
    two = local_search(wide_problem, wide_problem.enter(wide[[5, 6, 7]]))
    assert one.objective == pytest.approx(two.objective)
    np.testing.assert_array_equal(one.labels, two.labels)


@pytest.mark.parametrize("n_threads", [2, 3, 5])
def test_threads_change_nothing(n_threads):
    """The loop on several threads is the compiled loop to the last bit, also where it is cut."""
    rng = np.random.default_rng(n_threads)
    X = rng.normal(size=(700, 5))
    problem = Problem.build(X, 4, [(0, 9), (9, 30)], [(i, i + 1) for i in range(40, 200, 2)])
    contracted, start = problem.contracted, problem.enter(X[:4])
    results = []
    for threaded in (False, True):
        centers, labels, n_done = start.copy(), np.full(problem.n_groups, -1), 0
        for limit in (3, 1000):
            if threaded:
                status, f, n_done = lloyd_on_threads(
                    contracted, False, centers, labels, n_done, Limits(max_iter=limit), n_threads
                )
            else:
                status, f, n_done = lloyd(
                    contracted.points,
                    *contracted.lanes,
                    *contracted.graph.arrays,
                    False,
                    centers,
                    labels,
                    n_done,
                    limit,
                )
        results.append((status, f, n_done, labels.tolist(), centers.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("heavy", [1e6, 1e9, 1e12])
def test_heavy_groups_leave_no_rounding_behind(heavy):
    """Sums kept up to date by differences lose digits when a heavy group leaves a cluster: the
    centers returned are the exact means all the same, and the search has converged."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    weight = np.ones(200)
    weight[rng.choice(200, 10, replace=False)] = heavy
    problem = Problem.build(X, 5, cannot_link=[(0, 1), (2, 3)], sample_weight=weight)
    found = local_search(problem, problem.enter(X[:5]))
    exact = problem.enter(problem.centers(found.labels))
    np.testing.assert_allclose(found.centers, exact, rtol=0, atol=1e-12)
    again = local_search(problem, exact)
    assert again.objective >= found.objective * (1 - 1e-12)


@pytest.mark.parametrize("deep", [False, True])
def test_fewer_places_than_clusters(deep):
    """Where clusters share a place the objective is nothing but rounding: the search ends."""
    rng = np.random.default_rng(0)
    for X, k, cannot in (
        (rng.integers(-2, 3, (22, 1)).astype(float), 6, [(7, 11), (16, 12), (1, 13), (17, 3)]),
        (rng.random((2, 2))[[0, 1, 1, 0, 0, 0, 1, 1, 1, 1]], 4, [(0, 1), (1, 2), (3, 4)]),
        (np.full((9, 12), 0.1), 4, [(0, 1), (1, 2)]),
    ):
        problem = Problem.build(X, k, cannot_link=cannot)
        for _ in range(20):
            start = problem.enter(X[rng.choice(len(X), k, replace=False)])
            found = local_search(problem, start, deep=deep)
            assert found.n_iterations < 200
            weight = rng.choice([1.0, 1e12], len(X))
            heavy = Problem.build(X, k, cannot_link=cannot, sample_weight=weight)
            start = heavy.enter(rng.normal(size=(k, X.shape[1])))
            assert local_search(heavy, start, deep=deep).n_iterations < 200


@pytest.mark.parametrize("heavy", [1e8, 1e12, 1e16])
def test_heavy_groups_do_not_swap_for_ever(heavy):
    """Swaps that only rounding calls gains come to an end, and are taken back."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        X = rng.normal(size=(6, 1))
        problem = Problem.build(X, 4, cannot_link=[(0, 1)], sample_weight=[1, heavy, 1, 1, 1, 1])
        start = problem.enter(X[rng.choice(6, 4, replace=False)])
        deep, plain = local_search(problem, start, deep=True), local_search(problem, start)
        assert deep.objective <= plain.objective * (1 + 1e-12)


def test_empty_clusters_are_filled_exactly():
    """A search is never worse than its first iteration, which is exact also where clusters are
    empty at first."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(8, 2))
        problem = Problem.build(X, 4, cannot_link=[(0, 1), (1, 2), (0, 2)])
        start = problem.enter(np.repeat(X[:1], 4, 0) + 0.1 * rng.normal(size=(4, 2)))
        once = local_search(problem, start, max_iter=1)
        assert local_search(problem, start).objective <= once.objective * (1 + 1e-12)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_deep_searches_hurry_and_say_what_they_know(seed, soft):
    """Where pairs form cycles, good labels are enough on the way: they keep all hard pairs, the
    end is no worse than its own exact assignment where it is called proven, and a second search
    that ends in the same clusters says the same."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(60, 3)).astype(float) + rng.normal(0, 1e-3, (60, 3))
    pairs = rng.integers(0, 60, size=(90, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    price = rng.uniform(0.1, 2.0, len(pairs[::2]))
    known = SoftPairs(pairs[::2], price, pairs[:0], price[:0]) if soft else None
    problem = Problem.build(X, 6, None, pairs[1::2] if soft else pairs, soft=known)
    search = Searches(problem, deep=True, limits=Limits())
    for start in (X[:6], X[:6], X[20:26]):
        found = search(problem.enter(start))
        labels = problem.expand(found.labels)
        hard = problem.cannot_link
        assert (labels[hard[:, 0]] != labels[hard[:, 1]]).all()
        assert found.objective == pytest.approx(
            problem.objective(found.labels) + problem.penalty(found.labels)
        )
        best = exact_assignment(problem, problem.points.leave(found.centers))
        assert best.cost <= found.objective * (1 + 1e-9)  # forced prices of soft pairs included
        assert best.cost >= found.objective * (1 - 1e-9) or not found.proven


def test_cores_change_no_result(monkeypatch):
    """Large data: one thread and several make the same search, to the last bit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8))
    problem = Problem.build(X, 100)
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr(compiled, "available_threads", lambda n=n_threads: n)
        found.append(local_search(problem, problem.enter(X[:100])))
    assert found[0].n_iterations > 20
    assert found[0].objective == found[1].objective
    np.testing.assert_array_equal(found[0].centers, found[1].centers)


def test_a_search_that_meets_the_same_partition_ends_where_the_first_one_did():
    """Optimal labels on dense cannot-links are found once; limits leave nothing behind."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 5)).astype(float)
    pairs = np.array([(i, j) for i in range(60) for j in range(i) if rng.random() < 0.12])
    problem = Problem.build(X, 8, cannot_link=pairs)
    search = Searches(problem, deep=True, limits=Limits(proof_pivots=2000))
    starts = [problem.enter(X[rng.choice(60, 8, replace=False)]) for _ in range(20)]
    first = [search(start) for start in starts]
    ended = dict(search.compiled.ended)
    assert ended
    for start, solution in zip(starts, first, strict=True):
        again = search(start)
        assert again.objective == solution.objective
        assert again.proven == solution.proven
    assert search.compiled.ended.keys() == ended.keys()
    short = Searches(problem, deep=True, limits=Limits(max_iter=1, proof_pivots=2000))
    short(starts[0])
    assert not short.compiled.ended


def test_two_steps_end_where_labels_are_optimal():
    """The first step leaves optimal labels out, the second goes on from there and never rises."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (60, 5)).astype(float)
    pairs = np.array([(i, j) for i in range(60) for j in range(i) if rng.random() < 0.12])
    problem = Problem.build(X, 8, cannot_link=pairs)
    search = Searches(problem, deep=True, limits=Limits(max_iter=500, proof_pivots=2000))
    first, second = search.steps
    for _ in range(5):
        rough = first(problem.enter(X[rng.choice(60, 8, replace=False)]))
        found = second(rough)
        assert found.objective <= rough.objective * (1 + 1e-12)
        assert problem.violations(problem.expand(found.labels)) == (0, 0)
        centers = problem.points.leave(found.centers)
        best = exact_assignment(problem, centers)
        assert best.cost >= found.objective * (1 - 1e-9) or not found.proven
        # Iterations before it, as of jumps, are not those of the second step.
        many = 10**9
        again = second(replace(rough, n_iterations=many))
        assert again.objective == found.objective
        assert again.n_iterations >= many
    plain = Problem.build(X, 8)
    assert Searches(plain, deep=True, limits=Limits()).steps is None


def test_a_search_behind_the_best_ends_without_another_proof():
    """On a dense core it keeps the pairs, is no better than with all proofs, and not called proven
    unless it ends in the same place."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (80, 5)).astype(float)
    pairs = np.array([(i, j) for i in range(80) for j in range(i) if rng.random() < 0.12])
    problem = Problem.build(X, 8, cannot_link=pairs)
    n_shorter, limits = 0, Limits(proof_pivots=2000)
    for _ in range(6):
        start = problem.enter(X[rng.choice(80, 8, replace=False)])
        every, behind = (
            Searches(problem, deep=True, limits=limits).compiled(start, lead=lead)
            for lead in (np.inf, problem.constant + 1.0)
        )
        assert problem.violations(problem.expand(behind.labels)) == (0, 0)
        assert behind.objective >= every.objective * (1 - 1e-12)
        assert behind.objective <= every.objective * (1 + 1e-12) or not behind.proven
        n_shorter += behind.n_iterations < every.n_iterations
    assert n_shorter > 0


def test_a_search_that_is_given_up_is_not_proven() -> None:
    """A continued search far behind the best one ends early, and claims no optimal labels."""
    rng = np.random.default_rng(1)
    classes, X = np.arange(60) % 5, rng.normal(size=(60, 2))
    apart = [(i, j) for i in range(60) for j in range(i) if classes[i] != classes[j]]
    problem = Problem.build(X, 5, cannot_link=[pair for pair in apart if rng.random() < 0.08])
    searches = Searches(problem, True, Limits.of(proof_pivots=2000))
    assert searches.steps is not None
    rough, whole = searches.steps
    for _ in range(4):
        found = whole(rough(problem.enter(X[rng.choice(60, 5, replace=False)])))
        if found.proven:
            best = exact_assignment(problem, problem.centers(found.labels))
            assert best.cost == pytest.approx(found.objective, rel=1e-12)
