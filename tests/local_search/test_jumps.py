"""Jumps: what they must find, and what they must leave alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from smdeclust import SMDEClust
from smdeclust.local_search import jumps, local_search, state
from smdeclust.local_search.jumps import jump_descent
from smdeclust.memetic import jumping
from smdeclust.memetic.jumping import Jumps, jump
from smdeclust.problem import Problem


def blobs(seed, k=6, n=20, d=2):
    rng = np.random.default_rng(seed)
    places = 100.0 * np.arange(k)[:, None] * np.ones(d)
    return (places[:, None, :] + rng.normal(size=(k, n, d))).reshape(-1, d), places


def bad_start(problem, places):
    """Two centers in the first blob, one between the last two: Lloyd cannot leave this."""
    centers = places.copy()
    centers[-1] = (places[-1] + places[-2]) / 2
    centers[-2] = places[0] + 1.0
    return problem.enter(centers)


def test_a_jump_leaves_a_trap():
    """K-means is caught with two centers in one blob; a jump finds the right clusters."""
    X, places = blobs(0)
    problem = Problem.build(X, 6, None, None, None)
    start = bad_start(problem, places)
    caught = local_search(problem, start, deep=True)
    right = local_search(problem, problem.enter(places))
    assert caught.objective > 10 * right.objective
    moved = start.copy()
    assert jump(problem.contracted, moved, 2) >= 1
    assert local_search(problem, moved).objective == pytest.approx(right.objective)


@pytest.mark.parametrize("seed", range(6))
def test_never_worse_than_k_means(seed):
    """From the same start, jumps and k-means end no higher than where the jumps began."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3)) * (1 + rng.integers(0, 4, (150, 1)))
    problem = Problem.build(X, 8, None, None, rng.random(150))
    start = local_search(problem, problem.enter(X[:8]))
    moved = start.centers.copy()
    jump(problem.contracted, moved, 5)
    assert local_search(problem, moved).objective <= start.objective * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_cannot_links_hold_and_nothing_gets_worse(seed):
    """Under cannot-links the search with jumps is feasible and never above the search alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2)) + 4 * rng.integers(0, 6, (80, 1))
    cannot = rng.integers(0, 80, (60, 2))
    cannot = cannot[cannot[:, 0] != cannot[:, 1]]
    problem = Problem.build(X, 7, None, cannot, None)

    def search(centers):
        return local_search(problem, centers, deep=True)

    start = problem.enter(X[:7])
    alone = search(start)
    found = Jumps(problem.contracted, search)(start)
    assert problem.violations(problem.expand(found.labels)) == (0, 0)
    assert found.objective <= alone.objective
    better = Jumps(problem.contracted, search).confirm(found)
    assert better.objective <= found.objective


@pytest.mark.parametrize(("k", "n"), [(3, 3), (4, 9), (9, 9)])
def test_few_or_equal_points(k, n):
    """As many clusters as points, and equal points, are no trouble."""
    for X in (np.zeros((n, 2)), np.arange(2.0 * n).reshape(n, 2)):
        problem = Problem.build(X, k, None, None, None)
        centers = problem.enter(X[:k]).copy()
        jump(problem.contracted, centers, 5)
        assert np.isfinite(centers).all()


def test_ends_at_its_limit():
    """No more jumps than asked for."""
    X, places = blobs(1)
    problem = Problem.build(X, 6, None, None, None)
    ground = problem.contracted
    start = problem.enter(np.repeat(places[:1], 6, axis=0) + np.arange(6)[:, None]).copy()
    given = ground.points, ground.weights, *ground.graph.arrays[:2], start
    assert jump_descent(*given, np.zeros((7, 6), dtype=np.int32), 3, 2, 100)[0] == 2


def test_a_past_deadline_means_no_jump():
    """No jump begins after the deadline."""
    X, places = blobs(2)
    problem = Problem.build(X, 6, None, None, None)
    start = bad_start(problem, places)
    moved = start.copy()
    assert jump(problem.contracted, moved, 2, deadline=0.0) == 0
    assert np.array_equal(moved, start)


@pytest.mark.parametrize("seed", range(6))
def test_trials_that_fail_change_nothing(seed):
    """Where no jump helps, centers stay: also where a trial only renumbers clusters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)) + 6 * rng.integers(0, 5, (60, 1))
    problem = Problem.build(X, 5, None, None, None)

    def search(centers):
        return local_search(problem, centers)

    best = Jumps(problem.contracted, search).confirm(search(problem.enter(X[:5])))
    moved = best.centers.copy()
    assert jump(problem.contracted, moved, 50) == 0
    assert moved == pytest.approx(best.centers)


def test_a_deadline_is_looked_at_between_stretches(monkeypatch):
    """Under a deadline each call makes few trials, together they find what one call finds; without
    one there is a single call, however many jumps it makes."""
    monkeypatch.setattr(jumping, "JUMPING_STRIDE", 1)
    calls = []

    def watched(*given):
        calls.append(jump_descent(*given))
        return calls[-1]

    monkeypatch.setattr(jumping, "jump_descent", watched)
    X, places = blobs(4)
    problem = Problem.build(X, 6, None, None, None)
    start = problem.enter(np.repeat(places[:1], 6, axis=0) + np.arange(6)[:, None])
    at_once, cut = start.copy(), start.copy()
    jump(problem.contracted, at_once, 20)
    ((made, trials),) = calls
    assert made > 1
    assert trials >= 20
    calls.clear()
    jump(problem.contracted, cut, 20, deadline=np.inf)
    assert max(trials for _, trials in calls) == 1
    assert sum(trials for _, trials in calls) >= 20
    found, expected = (local_search(problem, centers).objective for centers in (cut, at_once))
    assert found == pytest.approx(expected)
    moments = iter(range(100))
    monkeypatch.setattr(state, "time", SimpleNamespace(perf_counter=lambda: next(moments)))
    calls.clear()
    jump(problem.contracted, start.copy(), 20, deadline=3)
    assert len(calls) == 3


def test_jumps_lead_out_of_a_trap_under_sizes():
    """Jumps do not see bounds, but each one must stand a search within them."""
    X, places = blobs(3, k=6, n=20)
    problem = Problem.build(X, 6, size_min=5, size_max=45)
    start = bad_start(problem, places)

    def search(centers):
        return local_search(problem, centers)

    right = search(problem.enter(places)).objective
    trapped = search(start)
    assert trapped.objective > 2 * right
    found = Jumps(problem.contracted, search, bounded=True)(start)
    assert found.objective == pytest.approx(right)
    assert problem.group_bounds.hold(found.labels)
    model = SMDEClust(6, size_min=5, size_max=45, random_state=0).fit(X)
    assert not any("Jumps were left out" in note for note in model.notes_)


@pytest.mark.parametrize("storage", ["blocks", "sparse"])
def test_large_storages_jump_on_a_sample(storage, monkeypatch):
    """Where points are not contracted, jumps weighed on some of them lead all of them out of a
    trap; under too few points a cluster there are none."""
    monkeypatch.setattr(jumping, "SAMPLE", 2 * 300)
    X, places = blobs(3, k=6, n=200)
    problem = Problem.build(X, 6, None, None, None, storage=storage)
    ground = jumping.ground_to_jump_on(problem)
    assert ground.points.shape == (300, 2)
    start = bad_start(problem, places)

    def search(centers):
        return local_search(problem, centers)

    right = search(problem.enter(places)).objective
    assert search(start).objective > 10 * right
    assert Jumps(ground, search)(start).objective == pytest.approx(right)
    monkeypatch.setattr(jumping, "SAMPLE", 2 * 100)
    assert jumping.ground_to_jump_on(problem) is None


def test_jumps_far_apart_share_a_pass():
    """Eight traps of four blobs each are left by at least eight jumps, however few passes."""
    rng = np.random.default_rng(0)
    places = np.array([(1000.0 * (i // 4) + 30 * (i % 4), 0.0) for i in range(32)])
    X = (places[:, None, :] + rng.normal(size=(32, 20, 2))).reshape(-1, 2)
    centers = places.copy()
    for trap in range(0, 32, 4):
        centers[trap] = (places[trap] + places[trap + 1]) / 2
        centers[trap + 1] = places[trap + 3] + 1.0
    problem = Problem.build(X, 32, None, None, None)
    right = local_search(problem, problem.enter(places)).objective
    moved = problem.enter(centers).copy()
    assert jump(problem.contracted, moved, 2) >= 8
    assert local_search(problem, moved).objective == pytest.approx(right)


def test_the_best_pair_is_that_of_a_plain_search_over_all_pairs():
    """Sorted lists find the same least change as looking at every pair (emptied, split)."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        k = int(rng.integers(1, 12))
        loss, gain = rng.integers(0, 5, (2, k)).astype(float)
        loss[rng.random(k) < 0.1] = np.inf
        when = rng.integers(0, 4, (k + 1, k)).astype(np.int32)  # the last row: clusters changed
        tried, busy = when[:k] > np.maximum(when[k][:, None], when[k]), rng.random(k) < 0.3
        cheapest, widest = np.empty((2, k), dtype=np.int64)
        jumps.sort_places(loss, 1.0, cheapest)
        jumps.sort_places(gain, -1.0, widest)
        allowed = ~tried & ~busy & ~busy[:, None] & (gain > 0) & ~np.eye(k, dtype=bool)
        change = np.where(allowed, loss[:, None] - gain, np.inf)
        a, b = jumps._best_pair(loss, gain, cheapest, widest, when, busy)
        assert (change[a, b] if a >= 0 else np.inf) == change.min()
