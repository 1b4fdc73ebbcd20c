"""The local search on small dense points: the compiled loop, helped where it stops."""

from dataclasses import replace

import numpy as np

from smdeclust.assignment.exact import assign_points
from smdeclust.assignment.status import PAUSED, ROUGH, SOLVED, Budget
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.kempe import swap_chains
from smdeclust.local_search.lloyd import lloyd, lloyd_on_threads
from smdeclust.local_search.state import LEAST_FALL, STRIDE, Limits, State, partition
from smdeclust.points.centers import move_centers, sum_of_squares
from smdeclust.points.threads import available_threads
from smdeclust.problem import Contracted, Problem, Solution

# What a linked group costs in an iteration where many pairs are broken, in multiplications.
A_LINK = 100

# Simplex pivots for first labels where quick ways find none: within seconds. Where this is not
# enough either, the search fails.
FIRST_PIVOTS = 20_000

# A search this share behind the best is not proven again on dense cores: that gains less, mostly.
BEHIND = 1e-3

# Labels of ended searches that are kept at most.
MOST_LABELS = 2**22

# Multiplications in an iteration that make another thread worth while.
LONG = 2**21


class CompiledSearch:
    """Searches from (K, d') centers of one contracted problem; `deep`: with swaps after Lloyd."""

    def __init__(self, problem: Problem, deep: bool, limits: Limits) -> None:
        contracted = self.contracted = problem.contracted
        self.deep, self.limits = deep, limits
        self.n_groups, self.constant = len(contracted.weights), problem.constant
        n_products = contracted.points.size * contracted.n_clusters
        links = A_LINK * problem.n_linked * contracted.n_clusters
        self.stride = max(1, STRIDE // (n_products + links))
        self.n_threads = 0
        if n_products >= LONG:
            n_blocks = len(contracted.lanes[0])
            self.n_threads = min(available_threads(), n_blocks, 1 + n_products // LONG)
        self.arrays = contracted.points, *contracted.lanes, *contracted.graph.arrays, deep
        # Where searches have ended that needed optimal labels for some partition.
        self.ended: dict[bytes, State] = {}

    def _begin(self, start: np.ndarray | Solution) -> State:
        if not isinstance(start, Solution):
            labels = np.empty(self.n_groups, dtype=np.int64)
            labels.fill(-1)
            return State(np.array(start, dtype=np.float64, order="C"), labels)
        # (The limit on iterations is of this search alone: those before it do not count.)
        centers, value = start.centers, start.objective - self.constant
        return State(centers, start.labels, value, 1, start.proven).copy()

    def _iterate(self, state: State) -> tuple[int, float, int]:
        """The compiled loop, from a state to the limit, or a while."""
        work = state.centers, state.labels, state.n_done
        if self.n_threads > 0:  # (with one, too: the cores of a machine change no result)
            return lloyd_on_threads(self.contracted, self.deep, *work, self.limits, self.n_threads)
        pause = min(self.limits.max_iter, state.n_done + self.stride)
        return lloyd(*self.arrays, *work, pause)  # type: ignore[no-any-return]

    def __call__(
        self, start: np.ndarray | Solution, rough: bool = False, lead: float = np.inf
    ) -> Solution:
        """Search from these centers, or continue from a solution; `rough`: without optimal labels
        where they take long. `lead` is the best objective so far."""
        contracted, deep, limits = self.contracted, self.deep, self.limits
        limit = limits.max_iter
        earlier = start.n_iterations - 1 if isinstance(start, Solution) else 0
        state = self._begin(start)
        passed: list[bytes] = []  # partitions that needed optimal labels
        kept: State | None = None  # what the last swaps of chains started from
        # Labels that no chain improves: a search that is continued ended with such.
        polished: np.ndarray | None = start.labels if isinstance(start, Solution) else None
        dense, enough = False, (lead - self.constant) * (1 + BEHIND)
        helped = proven_at = np.inf  # what the objective must fall below to be helped again
        while True:
            n_before, before = state.n_done, state.objective
            status, state.objective, state.n_done = self._iterate(state)
            if state.n_done > n_before:
                state.proven = not self.deep or status in (PAUSED, SOLVED)
            if state.n_done > 0 and (state.n_done >= limit or limits.is_late()):
                break
            if status in (PAUSED, ROUGH) and state.objective < before * (1 - LEAST_FALL):
                continue
            # Cycles, an empty cluster, or a dense core. There, labels of any quality will do as
            # long as the objective falls; where it stops and no chain helps, and in the last
            # iteration, they must be optimal or at the end of the budget (but for a deep search
            # that ends at its limit in a hurry: then they are not called proven).
            stuck = status not in (PAUSED, SOLVED)
            if (
                deep
                and state.n_done > 0
                and (kept is None or _fell(state, kept))
                and (polished is None or (state.labels != polished).any())
            ):
                kept = replace(state.copy(), proven=state.proven and not stuck)
                if swap_chains(contracted, state.labels, state.centers, state.objective):
                    state.proven = False
                    polished = state.labels.copy()
                    continue
            # (Where no chain helps, quick labels do not help either.)
            last = state.n_done == limit - 1
            quickly = state.n_done == 0 or (not deep and state.objective < helped)
            if stuck and not last and quickly:
                helped = state.objective * (1 - LEAST_FALL)  # else rounding could continue forever
                quick = Budget(deadline=limits.deadline, max_pivots=0)
                if _assign_and_move(contracted, state, quick):
                    continue
            if not stuck or not (state.n_done == 0 or state.objective < proven_at):
                break
            if (rough and state.n_done > 0) or (dense and state.objective > enough):
                state.proven = False
                break
            if deep and state.n_done > 0:
                passed.append(partition(state.labels))
                if passed[-1] in self.ended:
                    state = replace(self.ended[passed[-1]].copy(), n_done=state.n_done)
                    break
            proven_at = state.objective * (1 - LEAST_FALL)
            budget = limits.budget()
            if state.n_done == 0:  # quick ways found none, and labels are needed
                budget.max_pivots = max(budget.max_pivots, FIRST_PIVOTS)
            fell = _assign_and_move(contracted, state, budget)
            dense = budget.pivots > 0
            if not fell:
                break
        if kept is not None and not _fell(state, kept):
            # The swaps gained nothing: rounding, where weights are of very different size.
            kept.n_done = state.n_done
            kept.proven |= state.proven and partition(state.labels) == partition(kept.labels)
            state = kept
        if passed and state.n_done < limit and not limits.is_late():
            for name in passed:
                self.ended.pop(name, None)
                self.ended[name] = state
            while len(self.ended) * self.n_groups > MOST_LABELS:
                del self.ended[next(iter(self.ended))]
        return state.as_solution(self.constant, earlier)


def last_proof_compiled(problem: Problem, solution: Solution, limits: Limits) -> Solution:
    """Go on from a solution by complete assignments, until one does not lower the objective."""
    state = State(
        labels=np.array(solution.labels, dtype=np.int64),
        centers=solution.centers.copy(),
        objective=solution.objective - problem.constant,
        n_done=solution.n_iterations,
    )
    while True:
        late = limits.is_late()
        if not _assign_and_move(problem.contracted, state, limits.budget()) or late:
            break
    return state.as_solution(problem.constant)


def _fell(state: State, before: State) -> bool:
    return state.objective < before.objective * (1 - LEAST_FALL)


def _assign_and_move(contracted: Contracted, state: State, budget: Budget) -> bool:
    """One iteration by the complete assignment; returns whether the objective fell."""
    upper = None if state.n_done == 0 else state.labels
    found, cost, bound = assign_points(contracted, state.centers, upper, budget)
    if found is None and budget.max_pivots == 0:
        state.proven = False
        return False  # quick labels were not found: a search may find some
    if found is None:
        raise NoFeasibleSolutionError()
    state.n_done += 1
    state.proven = bound >= cost
    moved = np.empty_like(state.centers)
    move_centers(contracted.points, contracted.weights, found, moved)
    objective = float(sum_of_squares(contracted.points, contracted.weights, found, moved))
    if not contracted.graph.is_hard:
        objective += contracted.graph.penalty(found[: contracted.n_linked])
    return state.takes(found, moved, objective)
