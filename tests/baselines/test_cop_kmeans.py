"""COP-KM: hand-worked placements, honest failure."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from smdeclust import BLPKMeans, COPKMeans, NoFeasibleSolutionError
from smdeclust.assignment.exact import assign_points
from smdeclust.baselines.pck_means import place
from smdeclust.problem import Problem


def place_groups(problem, centers, order):
    """The labels of the groups after one placement, or None where it fails."""
    points, weights = problem.contracted.points, problem.contracted.weights
    labels = np.empty(problem.n_groups, dtype=np.int64)
    rest = np.setdiff1d(np.arange(problem.n_groups), order)
    order = np.concatenate([order, rest]).astype(np.int64)
    slots = np.arange(problem.n_groups)
    rows = np.empty((problem.n_groups, problem.n_clusters))
    graph = problem.graph.with_free(problem.n_groups)
    pairs = graph.indptr, graph.indices, -np.array(graph.price)
    placed = place(points, weights, *pairs, order, centers, labels, slots, rows)
    return labels if placed else None


def one_placement(problem, centers, order):
    """The labels of the rows after one placement, or None where it fails."""
    start = problem.enter(np.asarray(centers, dtype=float))
    labels = place_groups(problem, start, problem.group_of_point[list(order)])
    return None if labels is None else problem.expand(labels)


class TestThreeCollinearPoints:
    """Points 0, 1, 2 on a line, K = 2, row 2 apart from rows 0 and 1: {0, 1}, {2} is feasible."""

    X = np.array([[0.0], [1.0], [2.0]])
    CANNOT = ((0, 2), (1, 2))

    def test_some_orders_fail(self):
        """With centers 0.1 and 0.9 the orders that place row 0 and 1 first and apart fail.

        Rows 0 and 1 take their nearest centers, which differ, and row 2 is shut out. Where row 2
        comes first, or second, the rest falls into place.
        """
        problem = Problem.build(self.X, 2, cannot_link=self.CANNOT)
        outcome = {
            order: one_placement(problem, [[0.1], [0.9]], order)
            for order in itertools.permutations(range(3))
        }
        failed = {order for order, labels in outcome.items() if labels is None}
        # Row 2's nearest center is the second; placed after row 0 it takes that, and row 1 must
        # then join row 0. Placed after row 1, it takes the first, and row 0 must join row 1.
        assert failed == {(0, 1, 2), (1, 0, 2)}
        for order, labels in outcome.items():
            if order not in failed:
                assert labels[0] == labels[1] != labels[2]

    def test_ours_does_not_fail(self):
        """The exact assignment gives the only feasible clustering from every pair of starts."""
        for seed in range(10):
            model = BLPKMeans(2, n_init=1, random_state=seed).fit(self.X, cannot_link=self.CANNOT)
            assert model.labels_.tolist() == [0, 0, 1]

    def test_failures_are_counted(self):
        """Some of many starts fail, are counted, and the others give the clustering."""
        model = COPKMeans(2, n_init=200, random_state=0).fit(self.X, cannot_link=self.CANNOT)
        assert 0 < model.n_failed_starts_ < 200
        assert model.labels_.tolist() == [0, 0, 1]

    def test_error_where_all_starts_fail(self):
        """With one start and an unlucky seed there is no solution, and no claim of a proof."""
        many = [COPKMeans(2, n_init=1, random_state=seed) for seed in range(60)]
        messages = []
        for model in many:
            try:
                model.fit(self.X, cannot_link=self.CANNOT)
            except NoFeasibleSolutionError as error:
                messages.append(str(error))
        assert 0 < len(messages) < 60
        assert all("may still exist" in message for message in messages)


def test_hand_worked_placement():
    """A blocked point goes to the nearest center that is left, and its must-link group with it.

    Centers 0, 10, 20; rows at 1, 2, 3 and 21. Row 0 takes center 0; row 1 is apart from it, so it
    goes to center 10; rows 2 and 3 are one group (mean 12), apart from row 1: 0 or 20, and 20 is
    nearer.
    """
    X = np.array([[1.0], [2.0], [3.0], [21.0]])
    problem = Problem.build(X, 3, must_link=[(2, 3)], cannot_link=[(0, 1), (1, 3)])
    labels = one_placement(problem, [[0.0], [10.0], [20.0]], (0, 1, 2))
    assert labels.tolist() == [0, 1, 2, 2]


def test_without_pairs_it_is_lloyd():
    """Without pairs COP-KM and BLP-KM are the same method, start by start."""
    X = np.random.default_rng(1).normal(size=(100, 3))
    for seed in range(5):
        cop = COPKMeans(4, n_init=1, random_state=seed).fit(X)
        blp = BLPKMeans(4, n_init=1, random_state=seed).fit(X)
        assert cop.inertia_ == pytest.approx(blp.inertia_, rel=1e-12)


def test_never_better_than_an_exact_assignment():
    """From the same centers, a greedy placement costs at least what the exact one does."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    truth = rng.integers(0, 5, 60)
    pairs = rng.integers(0, 60, (80, 2))
    pairs = pairs[truth[pairs[:, 0]] != truth[pairs[:, 1]]]
    problem = Problem.build(X, 5, cannot_link=pairs)
    n_compared = 0
    for _ in range(20):
        centers = problem.enter(X[rng.choice(60, 5, replace=False)])
        labels = place_groups(problem, centers, rng.permutation(problem.n_linked))
        if labels is None:
            continue
        n_compared += 1
        gaps = problem.contracted.points - centers[labels]
        _, cost, _ = assign_points(problem.contracted, centers)
        assert (gaps**2).sum() >= cost - 1e-9
        assert problem.violations(problem.expand(labels)) == (0, 0)
    assert n_compared > 0
