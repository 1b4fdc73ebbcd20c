"""Matching, crossover, initialisation and mutation, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust import Problem
from smdeclust.memetic import operators
from smdeclust.memetic.operators import (
    DifferentialCrossover,
    RelocationMutation,
    exact_reassign,
    greedy_reassign,
    match,
    no_mutation,
    paper_rate,
    random_points,
    spread_points,
)
from smdeclust.points.stored import spin
from smdeclust.problem import Solution

RNG = np.random.default_rng


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 4))
def test_matching_is_the_cheapest_order(seed, n_clusters, n_features):
    """No permutation of the centers is closer; they are only reordered."""
    rng = RNG(seed)
    centers, onto = rng.normal(size=(2, n_clusters, n_features))
    matched = match(centers, onto)
    least = min(
        ((centers[list(order)] - onto) ** 2).sum()
        for order in itertools.permutations(range(n_clusters))
    )
    assert ((matched - onto) ** 2).sum() == pytest.approx(least)
    np.testing.assert_array_equal(np.sort(matched, axis=0), np.sort(centers, axis=0))


def test_very_many_centers_are_matched_by_mutual_neighbors_first(monkeypatch):
    """Every center is used once; those that have hardly moved find their place, others the rest."""
    monkeypatch.setattr(operators, "VERY_MANY", 10)
    rng = RNG(0)
    onto = 10 * rng.normal(size=(30, 3))
    order = rng.permutation(30)
    centers = onto[order] + 0.01 * rng.normal(size=(30, 3))
    centers[:4] = 10 * rng.normal(size=(4, 3))
    matched = match(centers, onto)
    np.testing.assert_array_equal(np.sort(matched, axis=0), np.sort(centers, axis=0))
    np.testing.assert_array_equal(matched[order[4:]], centers[4:])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 5))
def test_near_parents_are_crossed_as_the_formula_says_to_the_last_bit(seed, n_clusters, d):
    """Where no two centers share their nearest one, these are matched; else it says so."""
    rng = RNG(seed)
    base = rng.normal(size=(n_clusters, d))
    near = [(base + 0.2 * rng.normal(size=base.shape))[rng.permutation(len(base))] for _ in "12"]
    child = np.empty(base.shape)
    places = [((centers[:, None] - base) ** 2).sum(axis=2).argmin(axis=1) for centers in near]
    found = operators.cross_near(*near, base, 0.6, child)
    assert found == all(len(set(place)) == len(base) for place in places)
    if found:
        first, second = (match(centers, base) for centers in near)
        np.testing.assert_array_equal(child, first + 0.6 * (second - base))


def test_spread_points_are_different_groups_and_far_apart():
    """One center in each of 40 tight groups nearly always; copies of points do no harm."""
    rng = RNG(0)
    places = np.repeat(rng.normal(size=(40, 4)), 5, axis=0)
    X = places + 0.01 * rng.normal(size=places.shape)
    problem = Problem.build(X, 40, [(0, 1)], [(0, 5)])
    (start,) = spread_points(problem)(1, rng)
    drawn = problem.points.leave(start)
    assert len(np.unique(drawn, axis=0)) == 40
    nearest = ((drawn[:, None] - places[::5]) ** 2).sum(axis=2).argmin(axis=1)
    assert len(set(nearest)) >= 38
    copies = Problem.build(places, 60, None, None)
    (start,) = spread_points(copies)(1, rng)
    assert start.shape == (60, 4)


def test_crossover_is_the_formula_and_ignores_labels():
    """psi = S1 + F (S2 - S3) after matching; permuted parents give the same offspring."""
    rng = RNG(0)
    first, second, base = rng.normal(size=(3, 5, 3))
    parents = [Solution(np.zeros(1, np.int64), c, 0.0) for c in (first, second, base)]
    child = DifferentialCrossover((0.6, 0.6))(*parents, RNG(1))
    np.testing.assert_allclose(child, match(first, base) + 0.6 * (match(second, base) - base))
    shuffled = [
        Solution(np.zeros(1, np.int64), c[rng.permutation(5)], 0.0) for c in (first, second)
    ]
    again = DifferentialCrossover((0.6, 0.6))(*shuffled, parents[2], RNG(1))
    np.testing.assert_allclose(child, again)


def test_crossover_draws_its_factor_from_the_interval():
    """With S1 = S3 = 0 and S2 = 1 the offspring is F itself."""
    zero, one = (Solution(np.zeros(1, np.int64), np.full((1, 1), v), 0.0) for v in (0.0, 1.0))
    rng = RNG(0)
    cross = DifferentialCrossover((0.5, 0.8))
    factors = np.array([cross(zero, one, zero, rng)[0, 0] for _ in range(500)])
    assert factors.min() >= 0.5
    assert factors.max() <= 0.8
    assert factors.mean() == pytest.approx(0.65, abs=0.02)


@pytest.mark.parametrize("n_features", [2, 40])
def test_initial_centers_are_different_points(n_features):
    """K different rows of the data, also where the points are rotated (d > G); no row of no
    weight."""
    X = RNG(0).normal(size=(12, n_features))
    weight = np.r_[np.ones(6), np.zeros(6)]
    problem = Problem.build(X, 5, sample_weight=weight)
    (centers,) = random_points(problem)(1, RNG(3))
    entered = problem.enter(X[:6])
    gaps = np.linalg.norm(centers[:, None] - entered[None], axis=2)
    assert len(set(gaps.argmin(axis=1))) == 5
    assert gaps.min(axis=1).max() < 1e-9


def test_spin_follows_the_shares():
    """Frequencies approach the shares, and a share of nothing is never drawn."""
    rng = RNG(0)
    share = np.array([0.0, 3.0, 0.0, 1.0, 0.0])
    ends = np.cumsum(share)
    drawn = np.bincount([spin(ends, rng)[0] for _ in range(4000)], minlength=5) / 4000
    assert drawn[[0, 2, 4]].tolist() == [0, 0, 0]
    assert drawn[1] == pytest.approx(0.75, abs=0.03)
    assert spin(np.zeros(3), rng)[0] is None


def small_problem():
    X = np.array([[0.0], [0.1], [1.0], [1.1], [50.0], [5.0]])
    return X, Problem.build(X, 3, must_link=[(0, 1)], cannot_link=[(0, 2), (2, 3)])


def test_mutation_rate_is_the_papers():
    """Probability 1 / (generation + 1): always in generation 0, then fading."""
    assert [paper_rate(g) for g in (0, 1, 3)] == [1, 0.5, 0.25]
    X, problem = small_problem()
    centers = problem.enter(X[[0, 2, 5]])
    mutate = RelocationMutation(problem, greedy_reassign)
    rng = RNG(0)
    changed = [(mutate(centers, 3, rng) != centers).any() for _ in range(800)]
    assert 0.12 < np.mean(changed) < 0.3  # 1/4, less where a center lands on its own place


@pytest.mark.parametrize("reassign", [greedy_reassign, exact_reassign])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_mutation_moves_one_center_onto_a_point(reassign, alpha):
    """Exactly one center differs, and it is a row of the data; the input stays as it was."""
    X, problem = small_problem()
    centers = problem.enter(X[[0, 2, 5]] + 0.01)
    before = centers.copy()
    mutate = RelocationMutation(problem, reassign, alpha)
    rng = RNG(1)
    for _ in range(30):
        mutated = mutate(centers, 0, rng)
        moved = np.flatnonzero((mutated != centers).any(axis=1))
        assert len(moved) == 1
        assert np.abs(problem.enter(X) - mutated[moved]).min() < 1e-12
    np.testing.assert_array_equal(centers, before)


def test_mutation_prefers_badly_served_points():
    """With alpha = 1 the lone far point is drawn most of the time; with 0 one time in six."""
    X, problem = small_problem()
    centers = problem.enter(X[[0, 2, 5]])
    far = problem.enter(X[4:5])[0]
    hits = {}
    for alpha in (0.0, 1.0):
        mutate = RelocationMutation(problem, greedy_reassign, alpha)
        rng = RNG(0)
        hits[alpha] = np.mean([(mutate(centers, 0, rng) == far).any() for _ in range(600)])
    assert hits[1.0] > 0.75
    assert hits[0.0] == pytest.approx(1 / 6, abs=0.06)


@pytest.mark.parametrize("storage", ["dense", "blocks", "sparse"])
def test_mutation_measures_points_inside_their_groups(storage):
    """A point far from its group's mean is far, though its group is well placed: rows are drawn in
    proportion to their own distances, 10, 10, 0.5 and 0."""
    X = np.array([[-10.0], [10.0], [0.5], [3.0]])
    problem = Problem.build(X, 2, must_link=[(0, 1)], storage=storage)
    centers = problem.enter(np.array([[0.0], [3.0]]))
    rng, none = RNG(0), np.empty(0, dtype=np.int64)
    drawn = [problem.points.draw_far(centers, none, rng)[0] + X.mean() for _ in range(600)]
    shares = [np.mean(np.isclose(drawn, x)) for x in X.ravel()]
    np.testing.assert_allclose(shares, np.array([10, 10, 0.5, 0]) / 20.5, atol=0.06)


def test_no_mutation_and_one_cluster():
    """Where there is nothing to mutate the offspring is returned as it is."""
    X, _ = small_problem()
    problem = Problem.build(X, 1)
    centers = problem.enter(X[:1])
    assert no_mutation(centers, 0, RNG(0)) is centers
    assert RelocationMutation(problem, greedy_reassign)(centers, 0, RNG(0)) is centers


def test_exact_reassign_fails_where_all_clusters_are_needed():
    """A triangle of cannot-links needs all three clusters, and mutation still works."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    problem = Problem.build(X, 3, cannot_link=[(0, 1), (1, 2), (0, 2)])
    centers = problem.enter(X[:3])
    assert exact_reassign(problem.points.costs(centers), problem.graph, 0) is None
    assert (RelocationMutation(problem, exact_reassign)(centers, 0, RNG(2)) != centers).any()
