"""Where a start begins: K centers in the coordinates of the core."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smdeclust.memetic.initialization import random_points
from smdeclust.problem import Problem

Initialize = Callable[[np.random.Generator], np.ndarray]


def spread_groups(problem: Problem) -> Initialize:
    """k-means++: group means drawn one by one, likelier the farther they are from those drawn."""
    from sklearn.cluster import kmeans_plusplus  # a quarter of a second to import

    contracted = problem.contracted

    def initialize(rng: np.random.Generator) -> np.ndarray:
        centers, _ = kmeans_plusplus(
            contracted.points,
            contracted.n_clusters,
            sample_weight=contracted.weights,
            random_state=int(rng.integers(2**31)),
        )
        return np.ascontiguousarray(centers)

    return initialize


INITIALIZATIONS: dict[str, Callable[[Problem], Initialize]] = {
    "random": random_points,
    "k-means++": spread_groups,
}
