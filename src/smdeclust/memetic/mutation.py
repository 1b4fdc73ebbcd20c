"""Mutation (Algorithm 3): a random center moves to a point, likely one far from its center."""

from collections.abc import Callable

import numpy as np

from smdeclust.assignment.bounded import assign
from smdeclust.assignment.budget import Budget
from smdeclust.assignment.greedy import greedy_labels, repaired_labels
from smdeclust.local_search import PROOF_PIVOTS
from smdeclust.points.stored import spin
from smdeclust.problem import Problem
from smdeclust.structure.graph import PairGraph

# (L, K) costs of the linked groups, pairs, removed cluster -> labels, numbered without it, or None:
# failed
Reassign = Callable[[np.ndarray, PairGraph, int], "np.ndarray | None"]


def no_mutation(centers: np.ndarray, generation: int, rng: np.random.Generator) -> np.ndarray:
    """Leave the offspring as it is (variants S-MDE and SG-MDE)."""
    return centers


def paper_rate(generation: int) -> float:
    """The probability of mutation: it fades as the population ages."""
    return 1.0 / (generation + 1)


class RelocationMutation:
    """Algorithm 3, on the points wherever they are.

    `reassign` is the assignment step of the linked groups with K - 1 centers (line 3); see
    ``REASSIGN``. The other groups go to their nearest center in any case. Bounds on sizes say
    nothing here: K - 1 clusters need not have room for all. The local search that follows keeps
    them. `alpha` 0: every point is as likely a new center; 1: in proportion to its distance to its
    center. `rate` is the probability of mutation by generation.
    """

    def __init__(
        self,
        problem: Problem,
        reassign: Reassign,
        alpha: float = 0.5,
        rate: Callable[[int], float] = paper_rate,
    ) -> None:
        self.problem, self.reassign, self.alpha, self.rate = problem, reassign, alpha, rate
        weights = problem.sample_weight
        self._ends = None if weights is None else np.cumsum(weights)

    def __call__(
        self, centers: np.ndarray, generation: int, rng: np.random.Generator
    ) -> np.ndarray:
        if len(centers) < 2 or rng.random() >= self.rate(generation):
            return centers
        removed = int(rng.integers(len(centers)))
        mutated = centers.copy()
        mutated[removed] = self._pick_point(centers, removed, rng)
        return mutated

    def _pick_point(
        self, centers: np.ndarray, removed: int, rng: np.random.Generator
    ) -> np.ndarray:
        """A mixture of two roulette wheels is one of them, drawn."""
        points = self.problem.points
        if rng.random() < self.alpha:
            linked: np.ndarray | None = np.empty(0, dtype=np.int64)
            if self.problem.n_linked:
                linked = self.reassign(points.costs(centers), self.problem.graph, removed)
            if linked is not None:  # a failed exact step means alpha = 0
                far = points.draw_far(np.delete(centers, removed, axis=0), linked, rng)
                if far is not None:
                    return far
        row = rng.integers(points.n_points) if self._ends is None else spin(self._ends, rng)[0]
        return points.enter(points.fetch(np.array([row])))[0]


def exact_reassign(costs: np.ndarray, graph: PairGraph, removed: int) -> np.ndarray | None:
    """The exact step without one center; fails where the cannot-links need all of them."""
    fewer = np.delete(costs, removed, axis=1)
    return assign(fewer, graph, None, budget=Budget(max_pivots=PROOF_PIVOTS))[0]


def greedy_reassign(costs: np.ndarray, graph: PairGraph, removed: int) -> np.ndarray | None:
    """Algorithm 2 twice: for all groups, then for the groups of the removed center."""
    labels = greedy_labels(costs, graph, greedy_labels(costs, graph), removed)
    return labels - (labels > removed)


def repaired_reassign(costs: np.ndarray, graph: PairGraph, removed: int) -> np.ndarray | None:
    """The greedy step with repair, without one center."""
    return repaired_labels(np.delete(costs, removed, axis=1), graph)


REASSIGN: dict[str, Reassign] = {
    "greedy": greedy_reassign,
    "exact": exact_reassign,
    "greedy-repair": repaired_reassign,
}
