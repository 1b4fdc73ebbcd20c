"""Outcome codes of the kernels, and what an assignment gives back."""

from __future__ import annotations

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
    """Labels for given centers.

    Attributes
    ----------
    labels
        (N,) cluster of each point, or ``None`` if no feasible assignment was found.
    cost
        Sum of squared distances from the points to their given centers (infinite without labels).
    bound
        A true lower bound on the cost of every feasible assignment.
    status
        OPTIMAL only if proven; FEASIBLE if a budget ended the proof.
    nodes
        Branch and bound nodes that the proof took (0 if none were needed).
    """

    labels: np.ndarray | None
    cost: float
    bound: float
    status: Status
    nodes: int = 0

    @property
    def gap(self) -> float:
        """Relative distance between cost and bound, 0 if proven optimal."""
        if self.cost == self.bound:
            return 0.0
        return (self.cost - self.bound) / max(abs(self.cost), np.finfo(float).tiny)
