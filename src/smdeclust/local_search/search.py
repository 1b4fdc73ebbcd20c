"""The local search of the paper (BLP-KM's step), and its deep form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.exact import assign_points
from smdeclust.assignment.status import PAUSED, SOLVED
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.kempe import kempe_descent
from smdeclust.local_search.lloyd import LEAST_FALL, lloyd, lloyd_on_threads
from smdeclust.local_search.streaming import is_past, streaming_search
from smdeclust.points.array_points import ArrayPoints, available_threads
from smdeclust.points.centers import move_centers, sum_of_squares
from smdeclust.problem import Core, Problem, Solution

NO_LIMIT = np.iinfo(np.int64).max

# Multiplications that a compiled loop may make at a stretch (10 to 20 ms): nothing interrupts it.
STRIDE = 10**8

# Multiplications in an iteration that make another thread worth while.
LONG = 2**21

# Points times features times clusters from which on a search is not deep.
DEEPEST = 2**23

# What a method that makes many local searches spends on each proof on a dense core: a fraction of a
# second. (Elsewhere every assignment is proven at once.)
PROOF_PIVOTS = 2_000


def local_search(
    problem: Problem,
    centers: np.ndarray,
    *,
    max_iter: int | None = None,
    deep: bool = False,
    proof_pivots: int | None = None,
    deadline: float | None = None,
    free: ArrayPoints | None = None,
) -> Solution:
    """Assign exactly and move centers in turn, until the objective does not fall.

    Parameters
    ----------
    problem
        The problem.
    centers
        (K, d') start, in the coordinates of ``problem.core``.
    max_iter
        Most iterations, or ``None``.
    deep
        Whether to go on by swaps of Kempe chains where Lloyd stops, and stop when neither helps.
        (Not on large problems: single points hardly move clusters of thousands, and a pass over
        all of them takes its time.)
    proof_pivots
        Simplex pivots for each proof on a dense core; then the best labels found are used.
        ``None``: no limit. Whether the last assignment was proven is in the solution.
    deadline
        Stop at this moment of ``time.perf_counter()``, after at least one iteration.
    free
        Work space for large problems, to be used by one search at a time; made anew if ``None``.
    """
    deep = deep and problem.X.size * problem.n_clusters <= DEEPEST
    if problem.is_large:
        return streaming_search(
            problem,
            free or ArrayPoints(problem),
            centers,
            max_iter=max_iter,
            proof_pivots=proof_pivots,
            deadline=deadline,
        )
    core = problem.core
    state = _State(
        labels=np.full(problem.n_groups, -1, dtype=np.int64),
        centers=np.array(centers, dtype=np.float64, order="C"),
    )
    limit = NO_LIMIT if max_iter is None else max_iter
    iterate = _loop(core)
    kept: _State | None = None  # what the last swaps of chains started from
    polished: np.ndarray | None = None  # labels that no chain improves
    lowest = np.inf  # what the loop must fall below before it is helped again
    while True:
        n_before, before = state.n_done, state.objective
        status, state.objective, state.n_done = iterate(state, limit)
        state.proven |= state.n_done > n_before
        if state.n_done > 0 and (state.n_done >= limit or is_past(deadline)):
            break
        if status == PAUSED and state.objective < before * (1 - LEAST_FALL):
            continue
        if status not in (PAUSED, SOLVED) and (state.n_done == 0 or state.objective < lowest):
            # Cycles, an empty cluster, or a dense core. There, labels of any quality will do as
            # long as the objective falls; where it stops, and in the last iteration, they must be
            # optimal or at the end of the budget.
            lowest = state.objective * (1 - LEAST_FALL)  # else rounding could go on for ever
            last = state.n_done == limit - 1
            if not last and _assign_and_move(core, state, Budget(max_pivots=0)):
                continue
            pivots = proof_pivots if state.n_done else None  # the first labels are needed
            budget = Budget.of(max_pivots=pivots)
            if state.n_done < limit and _assign_and_move(core, state, budget):
                continue
        if not deep or (kept is not None and not _fell(state, kept)):
            break
        if polished is not None and (state.labels == polished).all():
            break
        kept = state.copy()
        if not _swap_chains(core, state):
            break
        polished = state.labels.copy()
    if kept is not None and not _fell(state, kept):
        # The swaps gained nothing: rounding, where weights are of very different size.
        kept.n_done = state.n_done
        state = kept
    return _as_solution(problem, state)


def prove(
    problem: Problem,
    solution: Solution,
    *,
    proof_pivots: int | None = None,
    deadline: float | None = None,
) -> Solution:
    """Go on from a solution whose last assignment was not proven, with a larger budget.

    Parameters
    ----------
    problem, solution
        A solution of the problem.
    proof_pivots
        Simplex pivots for each proof, or ``None`` for no limit.
    deadline
        Stop at this moment of ``time.perf_counter()``, or ``None``.
    """
    if solution.proven:
        return solution
    state = _State(
        labels=np.array(solution.labels, dtype=np.int64),
        centers=solution.centers.copy(),
        objective=solution.objective - problem.scatter,
        n_done=solution.n_iterations,
    )
    while True:
        budget = Budget.of(max_pivots=proof_pivots)
        budget.deadline = np.inf if deadline is None else deadline
        late = is_past(deadline)
        if not _assign_and_move(problem.core, state, budget) or late:
            break
    return _as_solution(problem, state)


def _as_solution(problem: Problem, state: _State) -> Solution:
    return Solution(
        labels=state.labels,
        centers=state.centers,
        objective=state.objective + problem.scatter,
        n_iterations=state.n_done,
        proven=state.proven,
    )


@dataclass
class _State:
    """Where a local search stands: the best labels, their means, their objective."""

    labels: np.ndarray
    centers: np.ndarray
    objective: float = np.inf
    n_done: int = 0
    proven: bool = True

    def copy(self) -> _State:
        return replace(self, labels=self.labels.copy(), centers=self.centers.copy())


def _fell(state: _State, before: _State) -> bool:
    return state.objective < before.objective * (1 - LEAST_FALL)


def _loop(core: Core) -> Callable[[_State, int], tuple[int, float, int]]:
    """The compiled loop for this problem: iterates from a state to a limit, or a while."""
    n_products = core.points.size * core.n_clusters
    stride = max(1, STRIDE // n_products)
    n_threads = min(available_threads(), len(core.lanes), 1 + n_products // LONG)

    arrays = core.graph.arrays

    def iterate(state: _State, limit: int) -> tuple[int, float, int]:
        pause = min(limit, state.n_done + stride)
        if n_threads > 1:
            return lloyd_on_threads(
                core, state.centers, state.labels, state.n_done, pause, n_threads
            )
        return lloyd(
            core.points, core.lanes, core.lane_weights, *arrays,
            state.centers, state.labels, state.n_done, pause,
        )  # fmt: skip

    return iterate


def _assign_and_move(core: Core, state: _State, budget: Budget) -> bool:
    """One iteration by the complete assignment; returns whether the objective fell."""
    upper = None if state.n_done == 0 else state.labels
    found, cost, bound = assign_points(core, state.centers, upper, budget)
    if found is None and budget.max_pivots == 0:
        return False  # quick labels were not found: a search may find some
    if found is None:
        raise NoFeasibleSolutionError()
    state.n_done += 1
    state.proven = bound >= cost
    moved = np.empty_like(state.centers)
    move_centers(core.points, core.weights, found, moved)
    objective = float(sum_of_squares(core.points, core.weights, found, moved))
    if not objective < state.objective * (1 - LEAST_FALL):
        return False
    state.labels, state.centers, state.objective = found, moved, objective
    return True


def _swap_chains(core: Core, state: _State) -> bool:
    """Go on by Kempe chains; returns whether any was swapped (the objective is out of date then)"""
    swaps = kempe_descent(
        core.points, core.weights, core.indptr, core.indices, state.labels, state.centers,
        state.objective,
    )  # fmt: skip
    return swaps > 0
