"""Mutation (Algorithm 3): a random center moves onto a point, likelier onto a badly served one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smdeclust.assignment.exact import assign
from smdeclust.assignment.general import Budget
from smdeclust.assignment.greedy import greedy
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
        labels = self.reassign(centers, removed)
        mutated = centers.copy()
        mutated[removed] = self._pick_point(centers, labels, rng)
        return mutated

    def _pick_point(
        self, centers: np.ndarray, labels: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        """Roulette wheel over the points (lines 5 and 6)."""
        problem = self.problem
        weights = problem.sample_weight
        share = np.ones(problem.n_points) if weights is None else weights
        share = share / share.sum()
        if labels is not None:  # a failed exact step means alpha = 0
            far = share * self._distances(centers, labels)
            if far.sum() > 0:
                share = (1 - self.alpha) * share + self.alpha * far / far.sum()
        row = rng.choice(problem.n_points, p=share / share.sum())
        return problem.enter(problem.X[row : row + 1])[0]

    def _distances(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(N,) distance of every point to the center of its group."""
        problem = self.problem
        own = centers[labels]
        far = np.linalg.norm(problem.core.points - own, axis=1)[problem.group_of_point]
        rows = np.flatnonzero(problem.grouping.size[problem.group_of_point] > 1)
        if len(rows):
            inside = problem.enter(problem.X[rows])
            far[rows] = np.linalg.norm(inside - own[problem.group_of_point[rows]], axis=1)
        return far


def exact_reassign(problem: Problem, proof_time: float | None) -> Reassign:
    """The exact step without one center; fails where the cannot-links need all of them."""

    def reassign(centers: np.ndarray, removed: int) -> np.ndarray | None:
        fewer = np.delete(centers, removed, axis=0)
        labels, _, _ = assign(problem.core, fewer, budget=Budget(max_time=proof_time))
        return None if labels is None else labels + (labels >= removed)

    return reassign


def greedy_reassign(problem: Problem) -> Reassign:
    """Algorithm 2 twice: for all groups, then for the groups of the removed center."""

    def reassign(centers: np.ndarray, removed: int) -> np.ndarray | None:
        labels = greedy(problem.core, centers)
        return greedy(problem.core, centers, labels, removed)

    return reassign
