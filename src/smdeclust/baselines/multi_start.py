"""Run a method from several starts and keep the best."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smdeclust.problem import Solution

logger = logging.getLogger("smdeclust")


@dataclass(frozen=True)
class Attempt:
    """One start: its solution, or ``None`` where it failed, and the iterations it took."""

    solution: Solution | None
    n_iterations: int


@dataclass(frozen=True)
class Starts:
    """What several starts gave.

    Attributes
    ----------
    best
        The solution of least objective (the first of equals), or ``None`` where all failed.
    n_starts, n_failed
        Starts made, and those among them that failed.
    n_iterations
        Iterations of all starts, failed ones included.
    """

    best: Solution | None
    n_starts: int
    n_failed: int
    n_iterations: int


def multi_start(
    attempt: Callable[[np.random.Generator], Attempt],
    n_starts: int,
    rng: np.random.Generator,
    *,
    deadline: float | None = None,
    verbose: bool = False,
) -> Starts:
    """Call `attempt` up to `n_starts` times; none begins after the `deadline`."""
    best: Solution | None = None
    n_done = n_failed = n_iterations = 0
    begin = time.perf_counter()
    for _ in range(n_starts):
        outcome = attempt(rng)
        n_done += 1
        n_iterations += outcome.n_iterations
        found = outcome.solution
        if found is None:
            n_failed += 1
        elif best is None or found.objective < best.objective:
            best = found
        elapsed = time.perf_counter() - begin
        if verbose:
            logger.info(
                "start %d: %s, best %s, %d iterations, %.1f s",
                n_done,
                "failed" if found is None else f"{found.objective:.6g}",
                "none" if best is None else f"{best.objective:.6g}",
                outcome.n_iterations,
                elapsed,
            )
        if deadline is not None and time.perf_counter() >= deadline:
            break
    return Starts(best, n_done, n_failed, n_iterations)
