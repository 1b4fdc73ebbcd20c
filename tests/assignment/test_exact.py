"""exact_assignment against enumeration and against an independent MILP."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from smdeclust import InvalidInputError, exact_assignment
from smdeclust.assignment import Status, assign, milp_assignment
from smdeclust.assignment.cores import solve_core
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.problem import Problem
from smdeclust.structure.bounds import Bounds
from tests.fuzz import disagreement, enumerate_optimum, random_instance


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_agrees_with_the_judge(seed):
    """On instances of every shape (ties, duplicates, dense cannot-links, forced empty clusters,
    infeasible pairs) the status is OPTIMAL, the cost is the judge's, every constraint holds."""
    assert disagreement(random_instance(np.random.default_rng(seed))) is None


def _feasible(seed):
    instance = random_instance(np.random.default_rng(seed))
    try:
        problem = Problem.build(
            instance["X"], instance["k"], instance["must"], instance["cannot"], instance["weight"]
        )
    except InfeasibleConstraintsError:
        return None, None
    return problem, instance["centers"]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_road_leads_to_the_same_cost(seed):
    """The compiled easy way, the general solver and the last resort are interchangeable."""
    problem, centers = _feasible(seed)
    if problem is None:
        return
    cost = exact_assignment(problem, centers).cost - problem.scatter
    inside = problem.enter(centers)
    contracted = problem.contracted
    costs = cdist(contracted.points, inside, metric="sqeuclidean") * contracted.weights[:, None]
    sizes = Bounds.none_empty(contracted.weights, np.zeros(problem.n_clusters))
    _, general, bound = assign(costs, contracted.graph, sizes)
    scale = 1e-9 * max(cost, float(np.ptp(problem.X)) ** 2)
    assert general == pytest.approx(cost, abs=scale)
    assert bound == pytest.approx(cost, abs=scale)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1]))
def test_a_budget_gives_true_bounds(seed, nodes):
    """With hardly any budget: bound <= optimum <= cost, and the labels are feasible."""
    problem, centers = _feasible(seed)
    if problem is None:
        return
    optimum = exact_assignment(problem, centers).cost
    found = exact_assignment(problem, centers, max_nodes=nodes)
    slack = 1e-9 * max(optimum, float(np.ptp(problem.X)) ** 2)
    assert found.bound <= optimum + slack
    assert found.cost >= optimum - slack
    if found.labels is not None:
        assert problem.violations(found.labels) == (0, 0)
        assert len(np.unique(found.labels)) == problem.n_clusters
    if found.status is Status.OPTIMAL:
        assert found.cost == pytest.approx(optimum, abs=slack)
        assert found.gap == 0


def test_dense_core_with_a_warm_start():
    """A dense cannot-link graph goes through the core solver; feasible labels given beforehand do
    not change the optimum."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 2))
    classes = rng.integers(0, 5, 40)
    pairs = [p for p in itertools.combinations(range(40), 2) if rng.random() < 0.3]
    cannot = [(i, j) for i, j in pairs if classes[i] != classes[j]]
    problem = Problem.build(X, 5, cannot_link=cannot)
    centers = X[:5]
    cold = exact_assignment(problem, centers)
    warm = exact_assignment(problem, centers, upper_labels=classes)
    judge = milp_assignment(problem, centers)
    assert cold.status is warm.status is Status.OPTIMAL
    assert cold.cost == pytest.approx(judge.cost, rel=1e-9)
    assert warm.cost == pytest.approx(judge.cost, rel=1e-9)


def test_k_equals_n():
    """K = N is an assignment problem: every point gets a cluster of its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    problem = Problem.build(X, 60)
    found = exact_assignment(problem, rng.normal(size=(60, 2)))
    assert sorted(found.labels) == list(range(60))
    assert found.status is Status.OPTIMAL


def test_ties_everywhere():
    """All points and all centers equal: any labels cost the same, and no cluster is empty."""
    problem = Problem.build(np.ones((7, 3)), 4, cannot_link=[(0, 1), (1, 2)])
    found = exact_assignment(problem, np.ones((4, 3)))
    assert found.cost == 0
    assert len(np.unique(found.labels)) == 4


def test_centers_outside_the_span():
    """With d > N centers may stick out of the span of the points; the costs are still right."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6, 30))
    problem = Problem.build(X, 3, cannot_link=[(0, 1), (2, 3)])
    centers = rng.normal(size=(3, 30))
    found = exact_assignment(problem, centers)
    assert found.cost == pytest.approx(enumerate_optimum(problem, centers))
    direct = ((X - centers[found.labels]) ** 2).sum()
    assert found.cost == pytest.approx(direct)


@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_shift_and_scale(shift, scale):
    """Shifting by 1e8 or scaling by 1e-8 and 1e8 changes no label (a shift costs digits of the
    data themselves, so only one is applied at a time)."""
    if shift and scale != 1.0:
        return
    rng = np.random.default_rng(2)
    X = rng.integers(0, 1000, (40, 2)).astype(float)
    cannot = [(0, 1), (1, 2), (2, 3), (10, 11)]
    centers = X[:4] + 0.5
    plain = exact_assignment(Problem.build(X, 4, cannot_link=cannot), centers)
    moved = Problem.build(X * scale + shift, 4, cannot_link=cannot)
    found = exact_assignment(moved, centers * scale + shift)
    np.testing.assert_array_equal(found.labels, plain.labels)


@pytest.mark.parametrize(
    "centers",
    [
        np.zeros((3, 2)),
        np.zeros((2, 3)),
        [[0, np.nan], [1, 1]],
        np.full((2, 2), 1e160),
        [["a"] * 2] * 2,
    ],
)
def test_bad_centers(centers):
    """Centers of another shape, or not finite, are an error."""
    problem = Problem.build(np.random.default_rng(0).normal(size=(5, 2)), 2)
    with pytest.raises(InvalidInputError, match="centers must"):
        exact_assignment(problem, centers)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([0, 1], r"shape \(5,\)"),
        ([0, 1, 0, 1, 7], "from 0 to 1"),
        ([0, 1, 0, 1, -1], "from 0 to 1"),
        ([0, 1, 0, 1, 0.5], "whole numbers"),
        ([0, 1, 0, 1, 1], "must-linked points together"),
    ],
)
def test_bad_labels(labels, says):
    """Labels given for a start are checked: one per point, clusters, must-links kept."""
    X = np.random.default_rng(0).normal(size=(5, 2))
    problem = Problem.build(X, 2, must_link=[(0, 4)])
    with pytest.raises(InvalidInputError, match=says):
        exact_assignment(problem, X[:2], upper_labels=labels)


@pytest.mark.parametrize("budget", [{"max_time": -1}, {"max_nodes": -1}, {"max_time": np.nan}])
def test_bad_budgets(budget):
    """A budget is not negative."""
    X = np.random.default_rng(0).normal(size=(5, 2))
    with pytest.raises(InvalidInputError, match=next(iter(budget))):
        exact_assignment(Problem.build(X, 2), X[:2], **budget)


def test_more_budget_is_never_worse():
    """What was found before the last resort is kept if that finds nothing better in its time."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(26, 2))
    classes = rng.permutation(np.arange(26) % 8)
    pairs = [p for p in itertools.combinations(range(26), 2) if rng.random() < 0.6]
    cannot = [(i, j) for i, j in pairs if classes[i] != classes[j]]
    problem = Problem.build(X, 8, cannot_link=cannot)
    centers = np.vstack([X[:4], 30 * rng.normal(size=(4, 2))])
    costs = [exact_assignment(problem, centers, max_nodes=nodes).cost for nodes in (10, 50, 100)]
    assert costs[1] <= costs[0] + 1e-9
    assert costs[2] <= costs[1] + 1e-9


def test_light_groups_beside_heavy_ones():
    """What is to be decided may be a tiny share of the cost, all the rest being forced."""
    X = np.array([0.0, 0, 1, 0, 0, 1, 0])[:, None]
    pairs = "02 03 05 06 12 16 24 25 35 36 45 56"
    cannot = [(int(a), int(b)) for a, b in pairs.split()]
    weight = [1e12, 1e12, 1, 1, 1e12, 1, 1]
    problem = Problem.build(X, 4, cannot_link=cannot, sample_weight=weight)
    found = exact_assignment(problem, [[1.0], [100.0], [200.0], [100.0]])
    assert found.cost == found.bound == 3000000069402  # by enumeration in whole numbers


def test_long_tail_on_a_cycle():
    """A cycle with a tree of any size hanging on it is peeled down to the cycle."""
    rng = np.random.default_rng(0)
    n = 700
    cannot = [(i, i + 1) for i in range(n - 1)] + [(0, 2)]
    X = np.zeros((n, 1)) + 1e-3 * rng.normal(size=(n, 1))
    problem = Problem.build(X, 5, cannot_link=cannot)
    centers = rng.normal(size=(5, 1))
    costs = cdist(problem.contracted.points, problem.enter(centers), metric="sqeuclidean")
    labels, cost, bound = assign(costs, problem.contracted.graph, None)
    assert problem.violations(problem.expand(labels)) == (0, 0)
    assert bound == cost
    contracted = solve_core(costs, problem.contracted.graph, upper_labels=labels)
    assert contracted.proven
    assert cost == pytest.approx(contracted.cost, rel=1e-12)
