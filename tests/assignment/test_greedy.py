"""Algorithm 2, both uses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust import InvalidInputError, greedy_assignment
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.problem import Problem
from tests.fuzz import random_instance


def algorithm_2(problem, centers, labels=None, removed=None):
    """The listing of the paper, word by word, on groups."""
    points = problem.means + problem.offset
    placed = {}
    if labels is not None:
        placed = {g: k for g, k in enumerate(labels) if k != removed}
    for g in range(problem.n_groups):
        if g in placed:
            continue
        taken = set()
        if g < problem.n_linked:
            neighbors = problem.cl_indices[problem.cl_indptr[g] : problem.cl_indptr[g + 1]]
            taken = {placed[h] for h in neighbors if h in placed}
        every = [k for k in range(len(centers)) if k != removed]
        allowed = [k for k in every if k not in taken] or every
        placed[g] = min(allowed, key=lambda k: ((points[g] - centers[k]) ** 2).sum())
    return np.array([placed[g] for g in range(problem.n_groups)])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_follows_the_listing(seed):
    """All groups, then the groups of a removed center: the same labels as a plain transcription,
    and the violations are those of the labels."""
    instance = random_instance(np.random.default_rng(seed))
    X = instance["X"] + 0.01 * np.std(instance["X"]) * np.random.default_rng(seed).normal(
        size=instance["X"].shape
    )
    try:
        problem = Problem.build(X, instance["k"], instance["must"], instance["cannot"])
    except InfeasibleConstraintsError:
        return
    centers = instance["centers"] + 1e-3 * np.arange(instance["k"])[:, None] * np.std(X)
    found = greedy_assignment(problem, centers)
    expected = algorithm_2(problem, centers)
    np.testing.assert_array_equal(found.labels, problem.expand(expected))
    assert found.violations == problem.violations(found.labels)[1]
    direct = ((X - centers[found.labels]) ** 2).sum()
    assert found.cost == pytest.approx(direct, rel=1e-9, abs=1e-12)
    if instance["k"] > 1:
        again = greedy_assignment(problem, centers, labels=found.labels, removed=0)
        expected = algorithm_2(problem, centers, problem.group_labels(found.labels), 0)
        np.testing.assert_array_equal(again.labels, problem.expand(expected))
        assert not (again.labels == 0).any()


def test_a_violation_is_counted():
    """Where no center is left for a group it takes the nearest, and that is said."""
    X = np.array([[0.0], [1.0], [2.0]])
    problem = Problem.build(X, 2, cannot_link=[(0, 2), (1, 2)])
    centers = np.array([[0.0], [0.9]])
    assert greedy_assignment(problem, centers).violations == 1


def test_labels_and_removed_go_together():
    """The second use needs both."""
    problem = Problem.build(np.arange(4.0)[:, None], 2)
    with pytest.raises(InvalidInputError, match="go together"):
        greedy_assignment(problem, np.zeros((2, 1)), removed=0)
    with pytest.raises(InvalidInputError, match="0 to 1"):
        greedy_assignment(problem, np.zeros((2, 1)), labels=[0, 0, 1, 1], removed=2)
    for bad in (1.5, True, "a"):
        with pytest.raises(InvalidInputError, match="removed must be a cluster"):
            greedy_assignment(problem, np.zeros((2, 1)), labels=[0, 0, 1, 1], removed=bad)
    alone = Problem.build(np.arange(4.0)[:, None], 1)
    with pytest.raises(InvalidInputError, match="no other cluster"):
        greedy_assignment(alone, np.zeros((1, 1)), labels=[0, 0, 0, 0], removed=0)
