"""Where a local search stands, and when it must stop."""

import time
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from smdeclust.assignment.status import Budget
from smdeclust.problem import Problem, Solution

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


@dataclass
class State:
    """The best labels, their means and objective; under bounds also prices, and which bounds each
    cluster has.

    `settled` says that another such iteration would change nothing, `exact` that good labels helped
    no more, `gap` what the last labels cost above what their prices account for.
    """

    centers: Any
    labels: Any = None
    objective: float = np.inf
    n_done: int = 0
    proven: bool = True
    prices: Any = None
    order: Any = None
    settled: bool = False
    exact: bool = False
    gap: float = 0.0

    @classmethod
    def at(cls, problem: Problem, centers: np.ndarray) -> Self:
        """The start of a search from these centers."""
        state = cls(np.array(centers, dtype=np.float64, order="C"))
        if problem.group_bounds is not None:
            state.prices = np.zeros(problem.group_bounds.low.shape)
            state.order = np.arange(problem.n_clusters)
        return state

    def copy(self) -> Self:
        """The same with arrays of its own."""
        return replace(self, labels=self.labels.copy(), centers=self.centers.copy())

    def takes(self, labels: Any, centers: Any, objective: float) -> bool:
        """Keep these if they are better; returns whether they are."""
        if not objective < self.objective * (1 - LEAST_FALL):
            return False
        self.labels, self.centers, self.objective = labels, centers, objective
        return True

    def as_solution(self, constant: float = 0.0, earlier: int = 0) -> Solution:
        """The best so far; `constant` is what the objective is without, `earlier` are iterations
        before this search."""
        value, n_iterations = self.objective + constant, self.n_done + earlier
        return Solution(self.labels, self.centers, value, n_iterations, self.proven)


def partition(labels: np.ndarray) -> bytes:
    """The same for the same clusters, however they are numbered."""
    n = len(labels)
    first = np.full(int(labels.max()) + 1, n)
    first[labels[::-1]] = np.arange(n)[::-1]  # (of several for one cluster the last one stays)
    numbers = np.argsort(np.argsort(first))[labels].astype(np.int32)
    return blake2b(numbers.tobytes(), digest_size=16).digest()
