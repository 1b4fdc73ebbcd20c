"""What a proof may cost: one budget for every step of an assignment."""

import time
from dataclasses import dataclass


@dataclass
class Budget:
    """Limits on a proof."""

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
