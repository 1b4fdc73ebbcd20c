"""The greedy assignment with repair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust import Problem, SMDEClust
from smdeclust.assignment import exact_assignment, greedy_assignment, greedy_repair_assignment


def random_case(seed):
    """A feasible problem with a planted clustering, and random centers."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(8, 60)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, 2))
    classes = np.r_[np.arange(k), rng.integers(k, size=n - k)]
    pairs = rng.integers(n, size=(int(rng.integers(0, 3 * n)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    problem = Problem.build(X, k, pairs[same][: n // 5], pairs[~same])
    return problem, X[rng.choice(n, k, replace=False)]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6))
def test_violations_and_cost_are_told_truly(seed):
    """What it says about its labels is so, must-links hold, and it never beats the exact step."""
    problem, centers = random_case(seed)
    found = greedy_repair_assignment(problem, centers)
    assert problem.violations(found.labels) == (0, found.violations)
    gaps = problem.X - centers[found.labels]
    assert found.cost == pytest.approx((gaps**2).sum())
    if found.violations == 0 and len(np.unique(found.labels)) == problem.n_clusters:
        assert found.cost >= exact_assignment(problem, centers).cost * (1 - 1e-9)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6))
def test_always_feasible_on_small_problems(seed):
    """On these small planted problems it is always feasible, as Algorithm 2 is not."""
    problem, centers = random_case(seed)
    assert greedy_repair_assignment(problem, centers).violations == 0


def test_algorithm_2_fails_where_repair_does_not():
    """A path 0 - 2 - 3 - 1 whose ends are placed first, in the same cluster."""
    X = np.array([[0.0], [0.1], [10.0], [10.1]])
    problem = Problem.build(X, 2, cannot_link=[(0, 2), (1, 3), (2, 3)])
    centers = np.array([[0.0], [10.0]])
    assert greedy_assignment(problem, centers).violations == 1
    assert greedy_repair_assignment(problem, centers).violations == 0


def test_nearest_where_nothing_is_broken():
    """Components that the nearest centers serve stay there, so the result is Algorithm 2's."""
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    problem = Problem.build(X, 2, cannot_link=[(0, 2), (1, 3)])
    centers = np.array([[0.5], [10.5]])
    found = greedy_repair_assignment(problem, centers)
    assert found.labels.tolist() == [0, 0, 1, 1]
    assert found.cost == greedy_assignment(problem, centers).cost


def test_honest_where_it_cannot_be_feasible():
    """Mutation asks for K - 1 clusters, which may be too few: labels come back all the same."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    links = {"cannot_link": [(0, 1), (1, 2), (0, 2)]}
    model = SMDEClust(3, assignment="greedy-repair", random_state=0).fit(X, **links)
    assert Problem.build(X, 3, **links).violations(model.labels_) == (0, 0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_components_are_the_graph(seed):
    """Put together, the parts have the edges of the whole."""
    problem, _ = random_case(seed)
    contracted = problem.contracted
    edges = set()
    for nodes in contracted.graph.components:
        part = contracted.graph.component(nodes)
        edges |= set(zip(nodes[part.ends].tolist(), nodes[part.indices].tolist(), strict=True))
    owner = np.repeat(np.arange(contracted.n_linked), np.diff(contracted.graph.indptr))
    assert edges == set(zip(owner.tolist(), contracted.graph.indices.tolist(), strict=True))
