"""Sizes that differ by cluster: what is called proven is the least over all orders of them."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.assignment import exact_assignment
from smdeclust.local_search import local_search
from smdeclust.problem import Problem


@pytest.mark.parametrize("seed", range(1000, 1020))
def test_proven_means_optimal_for_the_centers_in_every_order(seed):
    """Groups of several points leave a gap that prices do not close: other orders are tried."""
    X = np.round(np.random.default_rng(seed).normal(size=(9, 1)), 2)
    groups = [(0, 1), (1, 2), (3, 4), (5, 6)]
    problem = Problem.build(X, 3, groups, size_min=[1, 2, 4], size_max=[2, 4, 5])
    found = local_search(problem, problem.enter(X[[0, 3, 7]] + 0.01))
    best = exact_assignment(problem, problem.centers(found.labels)).cost
    assert found.proven
    assert found.objective <= best * (1 + 1e-9)
