"""Outcome codes of the kernels, what an assignment gives back, and what it may cost."""

import time
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


@dataclass
class Budget:
    """Limits on a proof: one budget for every step of an assignment."""

    deadline: float = float("inf")  # A moment of ``time.perf_counter()``; infinite for none
    # Branch and bound nodes and simplex pivots; infinite for no limit. They are the same on
    # every machine, seconds are not.
    max_nodes: float = float("inf")
    max_pivots: float = float("inf")
    # nodes and pivots used so far
    nodes: int = 0
    pivots: int = 0

    @classmethod
    def of(
        cls,
        *,
        max_time: float | None = None,
        max_nodes: float | None = None,
        max_pivots: float | None = None,
    ) -> "Budget":
        """Make a budget that starts now. ``None`` means no limit."""
        infinite = float("inf")
        return cls(
            infinite if max_time is None else time.perf_counter() + max_time,
            infinite if max_nodes is None else max_nodes,
            infinite if max_pivots is None else max_pivots,
        )

    def time_left(self) -> float:
        """The number of seconds that are left."""
        return max(0.0, self.deadline - time.perf_counter())

    def is_late(self) -> bool:
        """Whether the time or the pivots are used up."""
        return self.pivots >= self.max_pivots or time.perf_counter() >= self.deadline

    def is_spent(self) -> bool:
        """Whether the time, the pivots or the nodes are used up."""
        return self.nodes >= self.max_nodes or self.is_late()
