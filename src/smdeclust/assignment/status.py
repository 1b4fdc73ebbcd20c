"""Outcome codes of the kernels, and what an assignment gives back."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

# Codes returned by the compiled steps (plain integers: kernels know no enums).
SOLVED = 0  # optimal, proven
HARD = 1  # a cycle, a dense core or an empty cluster is left for the next solver
INFEASIBLE = 3  # no labels satisfy the cannot-links
PAUSED = 4  # may continue
STUCK = 5  # labels differ, but the objective does not fall
ROUGH = 6  # may continue, from labels that are not proven to be optimal


class Status(Enum):
    """How much is known about an assignment."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"  # a budget ended the search before any labels were found


@dataclass(frozen=True)
class Assignment:
    """The result of an assignment.

    Attributes
    ----------
    labels
        The cluster of each point, or ``None`` if no feasible assignment was found.
    cost
        The sum of squared distances from the points to their centers, or infinity.
    bound
        A lower bound on the cost of every feasible assignment.
    status
        A `Status`, which is OPTIMAL only if optimality is proven.
    nodes
        The number of branch-and-bound nodes.
    """

    labels: np.ndarray | None
    cost: float
    bound: float
    status: Status
    nodes: int = 0

    @property
    def gap(self) -> float:
        """The relative difference between cost and bound, which is 0 for a proven optimum."""
        if self.cost == self.bound:
            return 0.0
        return (self.cost - self.bound) / max(abs(self.cost), np.finfo(float).tiny)
