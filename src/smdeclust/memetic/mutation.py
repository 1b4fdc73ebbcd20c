"""Mutation (Algorithm 3): a random center moves onto a point, likelier onto a badly served one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.exact import assign_points
from smdeclust.assignment.greedy import greedy
from smdeclust.assignment.greedy_repair import greedy_repair
from smdeclust.local_search import PROOF_PIVOTS
from smdeclust.problem import Problem

# centers, removed cluster -> labels of the groups without that cluster, or None if it failed
Reassign = Callable[[np.ndarray, int], "np.ndarray | None"]


def no_mutation(centers: np.ndarray, generation: int, rng: np.random.Generator) -> np.ndarray:
    """Leave the offspring as it is (variants S-MDE and SG-MDE)."""
    return centers


def paper_rate(generation: int) -> float:
    """The probability of mutation: it fades as the population ages."""
    return 1.0 / (generation + 1)


class RelocationMutation:
    """Algorithm 3.

    Parameters
    ----------
    problem
        The problem.
    reassign
        The assignment step with K - 1 centers (line 3): exact or greedy.
    alpha
        0: every point is as likely a new center; 1: in proportion to its distance to its center.
    rate
        Probability of mutation by generation.
    """

    def __init__(
        self,
        problem: Problem,
        reassign: Reassign,
        alpha: float = 0.5,
        rate: Callable[[int], float] = paper_rate,
    ) -> None:
        self.problem, self.reassign, self.alpha, self.rate = problem, reassign, alpha, rate

    def __call__(
        self, centers: np.ndarray, generation: int, rng: np.random.Generator
    ) -> np.ndarray:
        if len(centers) < 2 or rng.random() >= self.rate(generation):
            return centers
        removed = int(rng.integers(len(centers)))
        mutated = centers.copy()
        labels = self.reassign(centers, removed)
        share = self._even_share
        if labels is not None:  # a failed exact step means alpha = 0
            far = share * self._distances(centers, labels)
            if far.sum() > 0:
                share = (1 - self.alpha) * share + self.alpha * far / far.sum()
        row = spin(share, rng)
        mutated[removed] = self.problem.core.enter(self.problem.X[row : row + 1])[0]
        return mutated

    @cached_property
    def _even_share(self) -> np.ndarray:
        """(N,) share of each point on the wheel where alpha = 0."""
        weights = self.problem.sample_weight
        if weights is None:
            return np.full(self.problem.n_points, 1.0 / self.problem.n_points)
        return weights / weights.sum()

    @cached_property
    def _joined(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the points that share their group with others, and where they lie."""
        problem = self.problem
        rows = np.flatnonzero(problem.grouping.size[problem.group_of_point] > 1)
        return rows, problem.core.enter(problem.X[rows])

    def _distances(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(N,) distance of every point to the center of its group."""
        problem = self.problem
        far = _lengths(problem.core.points - centers[labels])[problem.group_of_point]
        rows, points = self._joined
        if len(rows):
            far[rows] = _lengths(points - centers[labels[problem.group_of_point[rows]]])
        return far


def _lengths(vectors: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ij,ij->i", vectors, vectors))


def spin(share: np.ndarray, rng: np.random.Generator) -> int:
    """Roulette wheel: position i with probability share[i] / sum(share)."""
    edges = np.cumsum(share)
    position = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
    return min(position, len(share) - 1)


def exact_reassign(problem: Problem) -> Reassign:
    """The exact step without one center; fails where the cannot-links need all of them."""

    def reassign(centers: np.ndarray, removed: int) -> np.ndarray | None:
        fewer = np.delete(centers, removed, axis=0)
        labels, _, _ = assign_points(problem.core, fewer, budget=Budget(max_pivots=PROOF_PIVOTS))
        return None if labels is None else labels + (labels >= removed)

    return reassign


def greedy_reassign(problem: Problem) -> Reassign:
    """Algorithm 2 twice: for all groups, then for the groups of the removed center."""

    def reassign(centers: np.ndarray, removed: int) -> np.ndarray | None:
        labels = greedy(problem.core, centers)
        return greedy(problem.core, centers, labels, removed)

    return reassign


def repaired_reassign(problem: Problem) -> Reassign:
    """The greedy step with repair, without one center."""
    assign_repaired = greedy_repair(problem.core)

    def reassign(centers: np.ndarray, removed: int) -> np.ndarray | None:
        labels = assign_repaired(np.delete(centers, removed, axis=0))
        return labels + (labels >= removed)

    return reassign
