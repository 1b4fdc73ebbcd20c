"""HG-means, DILS, CVQE, LCVQE, Kempe swaps, VNS, non-smooth, repetitive
branch and bound, and k-means under bounds on sizes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from smdeclust import (
    CVQE,
    DILS,
    LCVQE,
    HGMeans,
    KempeSwapKMeans,
    NonsmoothClustering,
    RepetitiveBB,
    SizedKMeans,
    SMDEClust,
    VNSClustering,
)
from smdeclust.baselines.cvqe import _linear_step, _step
from smdeclust.baselines.dils import penalty
from smdeclust.baselines.hg_means import Individual, tournament
from smdeclust.baselines.kempe_swap import swap_chains
from smdeclust.baselines.nonsmooth import penalized
from smdeclust.memetic.operators import RelocationMutation, exact_reassign
from smdeclust.problem import Problem

NONE = np.empty((0, 2), dtype=np.int64)


def instance(seed, n=9, k=3, m=6):
    """Points and pairs that a planted clustering keeps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    truth = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    pairs = rng.integers(0, n, (m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return X, pairs[same], pairs[~same]


def brute(X, k, must, cannot):
    """The least sum of squares of all feasible labels."""
    best = np.inf
    for rest in itertools.product(range(k), repeat=len(X) - 1):
        labels = np.array((0, *rest))
        if (labels[must[:, 0]] != labels[must[:, 1]]).any():
            continue
        if (labels[cannot[:, 0]] == labels[cannot[:, 1]]).any():
            continue
        inside = [X[labels == c] for c in range(k)]
        best = min(best, sum(((p - p.mean(axis=0)) ** 2).sum() for p in inside if len(p)))
    return best


class TestRepetitive:
    """Exact: equal to enumeration, and honest where it is cut short."""

    @pytest.mark.parametrize("seed", range(12))
    def test_equals_enumeration(self, seed):
        """The optimum under pairs, and the bound that proves it."""
        X, must, cannot = instance(seed)
        model = RepetitiveBB(3, random_state=0).fit(X, must_link=must, cannot_link=cannot)
        assert model.inertia_ == pytest.approx(brute(X, 3, must, cannot), rel=1e-9)
        assert model.optimal_
        assert model.lower_bound_ == pytest.approx(model.inertia_, rel=1e-8)

    def test_a_poor_first_solution_does_not_matter(self):
        """From labels that are far from optimal the same optimum is found."""
        from smdeclust.baselines.repetitive import repetitive

        rng = np.random.default_rng(3)
        X = rng.normal(size=(14, 2))
        contracted = Problem.build(X, 3, None, [(0, 1), (1, 2)], None).contracted
        poor = np.arange(14) % 3
        proof = repetitive(contracted, poor)
        again = RepetitiveBB(3, random_state=0).fit(X, cannot_link=[(0, 1), (1, 2)])
        assert proof.optimal
        assert proof.cost == pytest.approx(again.inertia_, rel=1e-9)

    def test_cut_short(self):
        """With few nodes it says that nothing is proven, and its bound is below the optimum."""
        X = np.random.default_rng(0).normal(size=(40, 3))
        model = RepetitiveBB(4, max_nodes=200, random_state=0).fit(X)
        assert not model.optimal_
        assert 0 <= model.lower_bound_ < model.inertia_


class TestHGMeans:
    """Facts of the paper: tournaments, one center moves, the known optimum of easy data."""

    def test_tournament_prefers_the_better(self):
        """Of two solutions the better wins three times in four."""
        made = [Individual(np.zeros(1), np.zeros((1, 1)), float(f)) for f in (1.0, 2.0)]
        rng = np.random.default_rng(0)
        wins = sum(tournament(made, rng).objective == 1.0 for _ in range(2000))
        assert 0.7 < wins / 2000 < 0.8

    def test_relocation_moves_one_center_onto_a_point(self):
        """All centers but one stay; with alpha 1 a point that coincides with a center is not it."""
        X = np.array([[0.0], [0.0], [0.0], [9.0]])
        problem = Problem.build(X, 2, None, None, None)
        centers = problem.enter(np.array([[0.0], [0.0]]))
        for seed in range(20):
            move = RelocationMutation(problem, exact_reassign, 1.0, rate=lambda _: 1.0)
            moved = move(centers, 0, np.random.default_rng(seed))
            assert sorted((moved[:, 0] - centers[0, 0]).tolist()) == [0.0, 9.0]

    def test_finds_what_the_default_finds(self):
        """On small data both find the same objective."""
        X = np.random.default_rng(1).normal(size=(100, 2))
        ours = SMDEClust(5, random_state=0).fit(X)
        theirs = HGMeans(5, max_no_improvement=100, random_state=0).fit(X)
        assert theirs.inertia_ == pytest.approx(ours.inertia_, rel=1e-9)


class TestDILS:
    """Its own fitness, from its definition."""

    @pytest.mark.parametrize("seed", range(4))
    def test_fitness_is_what_it_says(self, seed):
        """Mean of mean distances plus penalty a broken pair, for the labels returned."""
        X, must, cannot = instance(seed, n=30, m=20)
        model = DILS(3, max_evaluations=3000, random_state=seed)
        model.fit(X, must_link=must, cannot_link=cannot)
        spread = [
            np.linalg.norm(X[model.labels_ == k] - model.cluster_centers_[k], axis=1).mean()
            for k in range(3)
        ]
        once = np.unique(np.sort(must, axis=1), axis=0), np.unique(np.sort(cannot, axis=1), axis=0)
        largest = np.linalg.norm(X[:, None] - X[None], axis=2).max()
        assert model.n_violations_ <= len(once[0]) + len(once[1])
        expected = np.mean(spread) + model.n_violations_ * largest / (len(must) + len(cannot))
        assert model.objective_ == pytest.approx(expected, rel=1e-9)

    def test_evaluations_are_limited(self):
        """No more relabelings than allowed are weighed, but for the first two solutions' share."""
        X = np.random.default_rng(0).normal(size=(50, 2))
        model = DILS(4, max_evaluations=500, random_state=0).fit(X)
        assert model.n_evaluations_ <= 502

    def test_penalty(self):
        """The largest distance over the number of pairs."""
        X = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])
        assert penalty(X, 10, np.random.default_rng(0)) == pytest.approx(0.5)


class TestCVQE:
    """Charges and combined rule, worked out by hand."""

    points = np.array([[0.0], [4.0], [5.0]])
    centers = np.array([[0.0], [5.0]])

    def step(self, kernel, must, cannot):
        labels = np.empty(3, dtype=np.int64)
        sums, totals = np.zeros((2, 1)), np.zeros(2)
        must = np.array(must, dtype=np.int64).reshape(-1, 2)
        cannot = np.array(cannot, dtype=np.int64).reshape(-1, 2)
        weights = np.ones(3)
        error = kernel(self.points, weights, must, cannot, self.centers, labels, sums, totals)
        return error, labels.tolist(), sums[:, 0].tolist(), totals.tolist()

    def test_must_link_pays_the_distance_of_the_centers(self):
        """Together in the first 16, in the second 25 + 1, apart 1 + 25: together wins."""
        error, labels, sums, totals = self.step(_step, [(0, 1)], [])
        assert (error, labels) == (16.0, [0, 0, 1])
        assert (sums, totals) == ([4.0, 5.0], [2.0, 1.0])

    def test_cannot_link_pays_the_nearest_other_center(self):
        """Together in the second 1 + 25, apart 16 + 0: the point 4 goes to the first."""
        error, labels, _, _ = self.step(_step, [], [(1, 2)])
        assert (error, labels) == (16.0, [0, 0, 1])

    def test_linear_must_link(self):
        """Apart 0 + 1 + (25 + 16) / 2, both in the first 0 + 16, both in the second 26."""
        error, labels, _, _ = self.step(_linear_step, [(0, 1)], [])
        assert (error, labels) == (16.0, [0, 0, 1])

    def test_linear_cannot_link_moves_the_farther(self):
        """Of 4 and 5 the first is farther from its center, and goes to the other one."""
        error, labels, _, _ = self.step(_linear_step, [], [(1, 2)])
        assert (error, labels) == (16.0, [0, 0, 1])

    @pytest.mark.parametrize("method", [CVQE, LCVQE])
    def test_without_pairs_it_is_k_means(self, method):
        """The error is the sum of squares, and the labels are nearest centers."""
        X = np.random.default_rng(0).normal(size=(60, 2))
        model = method(4, random_state=0).fit(X)
        assert model.objective_ == pytest.approx(model.inertia_, rel=1e-9)
        assert np.array_equal(model.predict(X), model.labels_)


class TestKempeSwaps:
    """Cannot-links hold after every swap."""

    @pytest.mark.parametrize("seed", range(5))
    def test_swaps_keep_links_and_lower_costs(self, seed):
        """From any proper colouring, labels stay proper and costs fall."""
        rng = np.random.default_rng(seed)
        X, _, cannot = instance(seed, n=40, k=4, m=40)
        problem = Problem.build(X, 4, None, cannot, None)
        contracted = problem.contracted
        from smdeclust.local_search import local_search

        labels = np.array(local_search(problem, contracted.points[:4].copy(), max_iter=1).labels)
        costs = rng.random((problem.n_groups, 4))
        before = costs[np.arange(len(labels)), labels].sum()
        swaps = swap_chains(costs, contracted.graph.indptr, contracted.graph.indices, labels)
        assert problem.violations(problem.expand(labels)) == (0, 0)
        assert swaps > 0
        assert costs[np.arange(len(labels)), labels].sum() < before

    @pytest.mark.parametrize("seed", range(3))
    def test_never_better_than_the_default(self, seed):
        """Its solutions are feasible, so none is below the default's."""
        X, must, cannot = instance(seed, n=60, k=3, m=30)
        pairs = {"must_link": must, "cannot_link": cannot}
        theirs = KempeSwapKMeans(3, random_state=seed).fit(X, **pairs)
        ours = SMDEClust(3, random_state=seed).fit(X, **pairs)
        assert theirs.inertia_ >= ours.inertia_ * (1 - 1e-9)


class TestVNS:
    """Must-links always hold; cannot-links where the penalty is large."""

    def test_super_points_never_part(self):
        """Even a penalty of nothing leaves must-links whole."""
        X, must, cannot = instance(1, n=40, m=30)
        model = VNSClustering(3, penalty=0.0, max_no_improvement=10, random_state=0)
        model.fit(X, must_link=must, cannot_link=cannot)
        assert np.array_equal(model.labels_[must[:, 0]], model.labels_[must[:, 1]])

    def test_reaches_the_default_on_easy_data(self):
        """Few pairs, separate blobs: the same objective, nothing broken."""
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(3), 20)
        X = rng.normal(size=(60, 2)) + 5 * y[:, None]
        pairs = {"must_link": [(0, 1), (20, 21)], "cannot_link": [(0, 20), (1, 40), (5, 6)]}
        model = VNSClustering(3, random_state=0).fit(X, **pairs)
        ours = SMDEClust(3, random_state=0).fit(X, **pairs)
        assert model.n_violations_ == 0
        assert model.inertia_ == pytest.approx(ours.inertia_, rel=1e-9)


class TestNonsmooth:
    """The objective, its slope, and its zero penalty where pairs are kept."""

    def test_slope_is_the_derivative(self):
        """Central differences agree where the objective is smooth."""
        X, must, cannot = instance(2, n=20, m=20)
        weights = np.random.default_rng(1).random(20) + 0.5
        centers = np.random.default_rng(2).normal(size=(3, 2))
        _, slope = penalized(X, weights, must, cannot, centers, 3.0)
        step = 1e-6
        for k, j in np.ndindex(3, 2):
            ends = []
            for sign in (1, -1):
                moved = centers.copy()
                moved[k, j] += sign * step
                value = penalized(X, weights, must, cannot, moved, 3.0)[0]
                ends.append(value)
            assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slope[k, j], rel=1e-4)

    def test_kept_pairs_cost_nothing(self):
        """Where nearest centers keep every pair the objective is the plain sum."""
        X = np.array([[0.0], [1.0], [10.0]])
        centers = np.array([[0.5], [10.0]])
        must, cannot = np.array([[0, 1]]), np.array([[1, 2]])
        value = penalized(X, np.ones(3), must, cannot, centers, 100.0)[0]
        assert value == pytest.approx(0.5)

    def test_pairs_draw_the_centers(self):
        """A cannot-link inside a tight pair of points is kept only where breaking it costs much."""
        X = np.array([[0.0], [0.2], [4.0], [4.2], [9.0], [9.2]])
        cannot = [(0, 1)]
        free = NonsmoothClustering(3, penalty=0.0, random_state=0).fit(X, cannot_link=cannot)
        strong = NonsmoothClustering(3, penalty=1000.0, random_state=0).fit(X, cannot_link=cannot)
        assert (free.n_violations_, strong.n_violations_) == (1, 0)


class TestSizedKMeans:
    """Facts of the paper: sizes hold, without them it is k-means, each assignment is the best."""

    def test_without_bounds_it_is_k_means(self):
        """Labels are nearest centers."""
        X = np.random.default_rng(0).normal(size=(80, 2))
        model = SizedKMeans(4, random_state=0).fit(X)
        assert np.array_equal(model.predict(X), model.labels_)

    @pytest.mark.parametrize("seed", range(4))
    def test_no_cheaper_assignment_keeps_the_sizes(self, seed):
        """At the end no labels within the bounds are cheaper for the centers: a matching agrees."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 2)) * [3, 1]
        model = SizedKMeans(3, size_min=9, size_max=11, random_state=seed).fit(X)
        assert model.cluster_sizes_.min() >= 9
        assert model.cluster_sizes_.max() <= 11
        squares = cdist(X, model.cluster_centers_, "sqeuclidean")
        least = np.inf
        for sizes in itertools.product(range(9, 12), repeat=3):
            if sum(sizes) == 30:
                seats = squares[:, np.repeat(np.arange(3), sizes)]
                least = min(least, seats[linear_sum_assignment(seats)].sum())
        assert model.inertia_ == pytest.approx(least, rel=1e-9)

    def test_no_cluster_stays_small(self):
        """Where k-means leaves a cluster of one far point, the bound fills it."""
        X = np.concatenate([np.random.default_rng(0).normal(size=(40, 1)), [[90.0]]])
        assert SizedKMeans(2, random_state=0).fit(X).inertia_ < 100
        model = SizedKMeans(2, size_min=10, random_state=0).fit(X)
        assert sorted(model.cluster_sizes_) == [10, 31]

    def test_never_better_than_the_default(self):
        """The best of ten starts is feasible, so it is not below the default's."""
        X = np.random.default_rng(5).normal(size=(90, 2))
        bounds = {"size_min": 14, "size_max": 16, "random_state": 0}
        ours = SMDEClust(6, **bounds).fit(X)
        assert SizedKMeans(6, **bounds).fit(X).inertia_ >= ours.inertia_ * (1 - 1e-9)
