"""Initialization (line 2): K different random points as centers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smdeclust.problem import Problem


def random_points(problem: Problem) -> Callable[[np.random.Generator], np.ndarray]:
    """Draw K different points, with the chances that their weights give them."""
    weights = problem.sample_weight
    share = None if weights is None else weights / weights.sum()

    def initialize(rng: np.random.Generator) -> np.ndarray:
        rows = rng.choice(problem.n_points, size=problem.n_clusters, replace=False, p=share)
        return problem.enter(problem.points.fetch(rows))

    return initialize
