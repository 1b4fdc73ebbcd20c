"""Variable neighbourhood search for semi-supervised MSSC (GERAD G-2026-09).

Must-links make super-points, cannot-links cost a penalty where they are broken. The best solution
is shaken by moving 1, 2, ... of its centers onto points; a penalised k-means follows; what is
better becomes the best, and the shakes start small once more.
"""

from __future__ import annotations

import time

import numpy as np

from smdeclust.baselines.pck_means import pck_means
from smdeclust.baselines.soft_pairs import SoftPairs
from smdeclust.problem import Problem, Solution

# Iterations of the penalised k-means after a shake.
MOST_ITERATIONS = 50


def vns(
    problem: Problem,
    pairs: SoftPairs,
    start: np.ndarray,
    rng: np.random.Generator,
    largest_shake: int,
    max_no_improvement: int,
    deadline: float | None = None,
) -> tuple[Solution, int]:
    """Run the search; returns the best solution and the number of local searches.

    Parameters
    ----------
    problem
        The super-points, without cannot-links.
    pairs
        Cannot-links between super-points, and what breaking one costs.
    start
        (K, d') first centers.
    rng
        Draws the shakes and the orders of the points.
    largest_shake
        Most centers that move at once; then shakes start small once more.
    max_no_improvement
        Stop after so many shakes in a row that find nothing better.
    deadline
        Stop at this moment of ``time.perf_counter()``.
    """
    best = pck_means(problem, pairs, start, rng, MOST_ITERATIONS).solution
    assert best is not None
    points = problem.contracted.points
    n_done, idle, size = 1, 0, 1
    while idle < max_no_improvement and (deadline is None or time.perf_counter() < deadline):
        centers = best.centers.copy()
        moved = rng.choice(len(centers), size=min(size, len(centers)), replace=False)
        centers[moved] = points[rng.choice(len(points), size=len(moved), replace=False)]
        found = pck_means(problem, pairs, centers, rng, MOST_ITERATIONS).solution
        assert found is not None
        n_done += 1
        if found.objective < best.objective * (1 - 1e-10):
            best, idle, size = found, 0, 1
        else:
            idle += 1
            size = 1 if size >= largest_shake else size + 1
    return best, n_done
