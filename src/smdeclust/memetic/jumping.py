"""Local searches that jump (not in the paper), and a thorough look at what populations agree on.

Without cannot-links a start jumps first and is searched once, afterwards. With them the search
comes first, every jump is followed by an exact search, and only what that confirms is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from smdeclust.local_search.jumps import jump_descent
from smdeclust.memetic.algorithm import Operators
from smdeclust.memetic.crossover import exchange
from smdeclust.problem import Contracted, Solution

Search = Callable[[np.ndarray], Solution]
Confirm = Callable[[Solution], Solution]

# Trials in a row that may fail: of an offspring, and of a solution that populations agree on.
IDLE = 2
THOROUGH_IDLE = 100
# With fewer clusters populations find nearly the same without jumps, and faster.
FEW_CLUSTERS = 10
# Multiplications of compiled code at a stretch, a fraction of a second: nothing interrupts it.
STRIDE = 10**9
# A gain smaller than this share of the objective is rounding.
LEAST_GAIN = 1e-10


def jumping_kinds(
    operators: Operators, core: Contracted, deadline: float | None = None
) -> tuple[list[Operators], Confirm]:
    """Two kinds of populations that jump and take turns, and what confirms their agreement.

    They differ in their crossover: two kinds seldom end in the same trap. With few clusters the
    first kind does not jump, and under cannot-links it is the only one.
    """
    search = operators.local_search
    confirm = thorough(core, search, deadline)
    few = core.n_clusters < FEW_CLUSTERS
    if few and core.n_linked > 0:
        return [operators], confirm
    jumping = with_jumps(core, search, deadline=deadline)

    def search_all(starts: list[np.ndarray]) -> list[Solution]:
        return [jumping(start) for start in starts]

    together = None if operators.search_all is None else search_all
    first = replace(operators, local_search=jumping, search_all=together)
    return [operators if few else first, replace(first, crossover=exchange)], confirm


def with_jumps(
    core: Contracted, search: Search, max_idle: int = IDLE, deadline: float | None = None
) -> Search:
    """A local search that jumps as well.

    Parameters
    ----------
    core
        The contracted problem.
    search
        The exact local search: centers -> solution.
    max_idle
        Trials in a row that may fail.
    deadline
        No jump begins after this moment of ``time.perf_counter()``.
    """

    def jump_first(centers: np.ndarray) -> Solution:
        moved = np.array(centers, dtype=np.float64, order="C")
        jump(core, moved, max_idle, deadline)
        return search(moved)

    def search_first(centers: np.ndarray) -> Solution:
        return _confirmed_jumps(core, search(centers), search, max_idle, deadline)

    return jump_first if core.n_linked == 0 else search_first


def thorough(core: Contracted, search: Search, deadline: float | None = None) -> Confirm:
    """Try many jumps from a solution: returns a better one, or the same."""

    def confirm(solution: Solution) -> Solution:
        return _confirmed_jumps(core, solution, search, THOROUGH_IDLE, deadline)

    return confirm


def jump(
    core: Contracted, centers: np.ndarray, max_idle: int, deadline: float | None = None
) -> int:
    """Jump while it helps and time is left. Changes `centers`; returns the number of jumps."""
    at_a_stretch = max(1, STRIDE // (max_idle * core.points.size * core.n_clusters))
    n_jumps = 0
    while deadline is None or time.perf_counter() < deadline:
        made = _jump_up_to(core, centers, max_idle, at_a_stretch)
        n_jumps += made
        if made < at_a_stretch:
            break
    return n_jumps


def _jump_up_to(core: Contracted, centers: np.ndarray, max_idle: int, most: int) -> int:
    if core.n_clusters < 3:  # whatever is emptied must go to what is split
        return 0
    return jump_descent(
        core.points, core.weights, *core.graph.hard_part.arrays[:2], centers, max_idle, most
    )


def _confirmed_jumps(
    core: Contracted, best: Solution, search: Search, max_idle: int, deadline: float | None
) -> Solution:
    """Jump once and search, as long as that finds a better solution."""
    most = 1 if core.n_linked else 1000
    while deadline is None or time.perf_counter() < deadline:
        moved = best.centers.copy()
        if _jump_up_to(core, moved, max_idle, most) == 0:
            break
        found = search(moved)
        found = replace(found, n_iterations=best.n_iterations + found.n_iterations)
        if not found.objective < best.objective * (1 - LEAST_GAIN):
            break
        best = found
    return best
