"""When a local search must stop."""

import time
from dataclasses import dataclass

import numpy as np

from smdeclust.assignment.budget import Budget

NO_LIMIT = np.iinfo(np.int64).max

# Falling by less than this share of the objective is rounding, not falling.
LEAST_FALL = 1e-14

# Multiplications that a compiled loop may make at a stretch (10 to 20 ms): nothing interrupts it.
STRIDE = 10**8

# What a method that makes many local searches spends on each proof on a dense core: a fraction of a
# second. (Elsewhere every assignment is proven at once.)
PROOF_PIVOTS = 2_000


def is_past(deadline: float | None) -> bool:
    """Whether that moment of ``time.perf_counter()`` is over (never, if there is none)."""
    return deadline is not None and time.perf_counter() >= deadline


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    max_iter: int = NO_LIMIT  # most iterations
    # simplex pivots for each proof on a dense core; then the best labels found are used
    proof_pivots: float = np.inf
    # A moment of ``time.perf_counter()``, kept after at least one iteration
    deadline: float = np.inf

    @classmethod
    def of(
        cls,
        max_iter: int | None = None,
        proof_pivots: float | None = None,
        deadline: float | None = None,
    ) -> "Limits":
        """The same with ``None`` for no limit."""
        return cls(
            NO_LIMIT if max_iter is None else max_iter,
            np.inf if proof_pivots is None else proof_pivots,
            np.inf if deadline is None else deadline,
        )

    def is_late(self) -> bool:
        """Whether the deadline is past."""
        return time.perf_counter() >= self.deadline

    def budget(self) -> Budget:
        """What one proof may cost."""
        return Budget(deadline=self.deadline, max_pivots=self.proof_pivots)
