"""A few local searches under all constraints: what a distance is learned from, round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from smdeclust.local_search import search_all
from smdeclust.problem import Problem

# Simplex pivots for a proof on a dense core: rounds need good labels, not proven ones.
QUICK_PIVOTS = 200


@dataclass(frozen=True)
class QuickClusters:
    """Clusters points that differ from those of `problem` only in their coordinates.

    Attributes
    ----------
    problem
        The constraints, on any points.
    rng
        Draws the starts.
    deadline
        Moment of ``time.perf_counter()`` after which the first search is the last.
    """

    problem: Problem
    rng: np.random.Generator
    deadline: float | None = None

    def __call__(self, points: Any, labels: np.ndarray | None, n_starts: int) -> np.ndarray:
        """Return the (N,) labels of the best of several local searches."""
        problem = self.problem.with_points(points)
        starts = [] if labels is None else [problem.enter(self._centers(problem, labels))]
        for _ in range(n_starts):
            starts.append(problem.enter(problem.points.fetch(self._draw())))
        limits: dict[str, Any] = {"proof_pivots": QUICK_PIVOTS, "deadline": self.deadline}
        solutions = search_all(problem, starts, deep=True, **limits)
        best = min(solutions, key=lambda solution: solution.objective)
        return problem.expand(best.labels)

    def _draw(self) -> np.ndarray:
        weights = self.problem.sample_weight
        share = None if weights is None else weights / weights.sum()
        n_points, n_clusters = self.problem.n_points, self.problem.n_clusters
        return self.rng.choice(n_points, n_clusters, replace=False, p=share)

    def _centers(self, problem: Problem, labels: np.ndarray) -> np.ndarray:
        centers = problem.centers(problem.group_labels(labels))
        empty = np.isnan(centers).any(axis=1)
        if empty.any():  # clusters of no weight
            centers[empty] = problem.points.fetch(self._draw()[: np.count_nonzero(empty)])
        return centers
