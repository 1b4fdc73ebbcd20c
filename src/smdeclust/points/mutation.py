"""Mutation (Algorithm 3) where the points are too many to hold one label each in many ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.exact import assign_points
from smdeclust.assignment.greedy import greedy
from smdeclust.assignment.greedy_repair import greedy_repair
from smdeclust.local_search import PROOF_PIVOTS
from smdeclust.local_search.streaming import as_small
from smdeclust.memetic.mutation import paper_rate
from smdeclust.problem import Core

# linked groups, centers -> their labels, or None if it failed
ReassignLinked = Callable[[Core, np.ndarray], "np.ndarray | None"]


def _exact(core: Core, centers: np.ndarray) -> np.ndarray | None:
    enough = np.ones(len(centers), dtype=np.int64)
    labels, _, _ = assign_points(core, centers, None, Budget(max_pivots=PROOF_PIVOTS), enough)
    return labels


def _greedy(core: Core, centers: np.ndarray) -> np.ndarray | None:
    return greedy(core, centers)


def _repaired(core: Core, centers: np.ndarray) -> np.ndarray | None:
    return greedy_repair(core)(centers)


REASSIGN_LINKED: dict[str, ReassignLinked] = {
    "greedy": _greedy,
    "exact": _exact,
    "greedy-repair": _repaired,
}


class StreamingMutation:
    """A random center moves onto a point, likelier onto one far from its remaining center.

    Parameters
    ----------
    problem
        A problem in memory or on a cluster.
    free
        Its free points.
    reassign
        How the linked groups are labelled with one center less (line 3); see ``REASSIGN_LINKED``.
    alpha
        0: every point is as likely a new center; 1: in proportion to its distance to its center.
    rate
        Probability of mutation by generation.
    """

    def __init__(
        self,
        problem: Any,
        free: Any,
        reassign: ReassignLinked,
        alpha: float,
        rate: Callable[[int], float] = paper_rate,
    ) -> None:
        self.problem, self.free = problem, free
        self.reassign, self.alpha, self.rate = reassign, alpha, rate

    def __call__(
        self, centers: np.ndarray, generation: int, rng: np.random.Generator
    ) -> np.ndarray:
        if len(centers) < 2 or rng.random() >= self.rate(generation):
            return centers
        removed = int(rng.integers(len(centers)))
        mutated = centers.copy()
        mutated[removed] = self._pick_point(np.delete(centers, removed, axis=0), rng)
        return mutated

    def _pick_point(self, fewer: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Roulette wheel over the points: the mixture of two wheels is one of them, drawn."""
        problem = self.problem
        if rng.random() < self.alpha:
            linked = self._reassign(fewer)
            if linked is not None:
                return self._far_point(fewer, linked, rng)
        weights = problem.sample_weight
        share = None if weights is None else weights / weights.sum()
        row = int(rng.choice(problem.n_points, p=share))
        return np.asarray(problem.enter(problem.fetch(np.array([row])))[0])

    def _reassign(self, fewer: np.ndarray) -> np.ndarray | None:
        """Labels of the linked groups with one center less; ``None`` where that failed."""
        core = self.problem.linked_core
        if core.n_linked == 0:
            return np.empty(0, dtype=np.int64)
        if not isinstance(core.points, np.ndarray):
            core, fewer = as_small(core, core.points.squared_distances(fewer))
        return self.reassign(core, fewer)

    def _far_point(
        self, fewer: np.ndarray, linked: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """A point drawn in proportion to its distance to its center."""
        problem, free = self.problem, self.free
        free.forget()
        with free.working():
            free.assign(fewer)
            totals = free.far_totals()
        compound = np.concatenate([linked, free.compound_labels()]).astype(np.int64)
        groups, points, weights = problem.compound_rows
        held = _lengths(points, fewer, compound[groups]) * weights
        ends = np.cumsum(np.concatenate([totals, held]))
        target = rng.random() * ends[-1]
        place = min(int(np.searchsorted(ends, target, side="right")), len(ends) - 1)
        if place >= len(totals):
            return _row(points, place - len(totals))
        return np.asarray(free.pick_far(place, target - (ends[place - 1] if place else 0.0)))


def _lengths(points: Any, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Distances of points, dense or sparse, to the centers of their labels."""
    if isinstance(points, np.ndarray):
        return np.linalg.norm(points - centers[labels], axis=1)
    return np.sqrt(points.own_squares(centers, labels))


def _row(points: Any, i: int) -> np.ndarray:
    return np.array(points[i] if isinstance(points, np.ndarray) else points.dense(np.array([i]))[0])
