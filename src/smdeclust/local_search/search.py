"""The local search of the paper (BLP-KM's step), its deep form, and the last proof.

There is one loop, at prices, which are zero if there are no bounds on clusters. Each iteration
sends the centers and prices to the points, assigns the linked groups exactly with the free points
that bounds leave undecided, and moves the centers to the means. Good labels will do while the
objective falls; then optimal ones. (Small dense points without bounds have it compiled.)
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.batch import Engine
from smdeclust.local_search.compiled import CompiledSearch, last_proof_compiled
from smdeclust.local_search.kempe import swap_chains
from smdeclust.local_search.state import LEAST_FALL, Limits, State, partition
from smdeclust.problem import Problem, Solution
from smdeclust.structure.bounds import Bounds

# Points times features times clusters from which on a search is not deep: single points hardly
# move clusters of thousands, and a pass over all of them takes its time.
DEEPEST = 2**23
# A search that ends further than this share behind the best so far needs no optimal last labels.
FAR_BEHIND = 0.01
# Rounding of an objective in single precision.
SINGLE = 1e-6
# Other orders of the bounds that are tried for one set of centers.
MOST_ORDERS = 24


def can_go_deep(problem: Problem) -> bool:
    """Whether Kempe swaps can follow the local searches of this problem."""
    return problem.points.abilities.contracted and problem.size <= DEEPEST


def local_search(
    problem: Problem,
    centers: np.ndarray,
    *,
    max_iter: int | None = None,
    deep: bool = False,
    proof_pivots: float | None = None,
    deadline: float | None = None,
) -> Solution:
    """Assign exactly and move centers in turn, until the objective does not fall.

    Parameters
    ----------
    problem
        The problem.
    centers
        (K, d') start, as ``problem.enter`` gives it.
    max_iter
        Most iterations, or ``None``.
    deep
        Whether to swap Kempe chains where Lloyd stops, and to stop only when neither helps.
        (Only where :func:`can_go_deep` says so.)
    proof_pivots
        Simplex pivots for each proof on a dense core; then the best labels found are used.
        ``None``: no limit. Whether the last assignment was proven is in the solution.
    deadline
        Stop at this moment of ``time.perf_counter()``, after at least one iteration.
    """
    return Searches(problem, deep, Limits.of(max_iter, proof_pivots, deadline))(centers)


def search_all(
    problem: Problem, starts: Sequence[np.ndarray], *, deep: bool = False, **limits: Any
) -> list[Solution]:
    """The same from several starts, together where the storage refines them together."""
    return Searches(problem, deep, Limits.of(**limits)).all(starts)


class Searches:
    """The local search as a function of its start: all that is the same for many starts is done.

    One that finds no labels in its time, after others did, gives the best of those again, and each
    is told from which objective on it is far behind them.
    """

    def __init__(self, problem: Problem, deep: bool, limits: Limits) -> None:
        self.problem, self.deep, self.limits = problem, deep and can_go_deep(problem), limits
        self.together = problem.group_bounds is None and not problem.points.abilities.contracted
        self.best: Solution | None = None
        # Partitions that need no further proof, where labels are at hand.
        self.proven: set[bytes] | None = set() if problem.points.abilities.contracted else None
        self.compiled = None
        if problem.group_bounds is None and problem.points.abilities.contracted:
            self.compiled = CompiledSearch(problem, self.deep, limits)

    def all(self, starts: Sequence[np.ndarray]) -> list[Solution]:
        """From several starts, together where the storage refines them together."""
        if self.together:
            return search_at_prices(self.problem, starts, self.limits)
        return [self(start) for start in starts]

    @property
    def steps(
        self,
    ) -> tuple[Callable[[np.ndarray], Solution], Callable[[Solution], Solution]] | None:
        """Two steps, where there are two: without labels that take long to prove, and the rest."""
        if self.compiled is None or not (self.deep and self.problem.n_linked):
            return None
        return partial(self, rough=True), lambda found: found if found.proven else self(found)

    def __call__(self, start: np.ndarray | Solution, rough: bool = False) -> Solution:
        """From one start, or from where a rough search has ended."""
        best = self.best
        lead = np.inf if best is None else best.objective
        try:
            if self.compiled is not None:
                found = self.compiled(start, rough, lead)
            else:
                assert not isinstance(start, Solution)  # (one step: nothing is rough)
                hopeless = lead * (1 + FAR_BEHIND)
                given = self.problem, [start], self.limits, self.deep, hopeless, self.proven
                (found,) = search_at_prices(*given)
        except NoFeasibleSolutionError:
            if best is None:
                raise
            return replace(best, n_iterations=0)
        if best is None or found.objective < best.objective:
            self.best = found
        return found


def last_proof(problem: Problem, solution: Solution, limits: Limits) -> Solution:
    """Continue from a solution that is not proven, in double precision, at least once."""
    if solution.proven:
        return solution
    abilities, bounded = problem.points.abilities, problem.group_bounds is not None
    if not abilities.exact:
        # The same points in double precision; searches see them in the same coordinates.
        problem = Problem.of(problem, problem.X)
    elif abilities.contracted and not bounded:
        return last_proof_compiled(problem, solution, limits)
    try:
        found = Searches(problem, False, limits)(solution.centers)
    except NoFeasibleSolutionError:
        if not bounded:
            raise
        return solution
    most = solution.objective * (1 + (LEAST_FALL if abilities.exact else SINGLE))
    if bounded and found.objective > most:
        return solution  # no better, and not as good: nothing is proven
    return replace(found, n_iterations=solution.n_iterations + found.n_iterations)


def search_at_prices(
    problem: Problem,
    starts: Sequence[np.ndarray],
    limits: Limits,
    deep: bool = False,
    hopeless: float = np.inf,
    proven: set[bytes] | None = None,
) -> list[Solution]:
    """Search from (K, d') starts, as many at once as the storage refines together.

    `deep`: where Lloyd stops, continue with swaps within the bounds. Under bounds the last labels
    are optimal unless the objective is `hopeless`. `proven` are partitions that need no further
    proof; more are added.
    """
    bounds, found = problem.group_bounds, []

    def needs_proof(state: State) -> bool:
        """Whether nothing is known of the labels yet (under bounds that are the same for all)."""
        if proven is None or bounds is None or bounds.any_order:
            return not state.proven
        if state.proven and state.exact:
            proven.add(partition(state.labels))
        state.proven = state.proven or partition(state.labels) in proven
        return not state.proven

    def tries_on(state: State, fell: bool) -> bool:
        if bounds is None:
            return fell
        if (fell and not state.settled) or (deep and _swap(problem, bounds, state)):
            state.exact = False
        elif state.objective < hopeless and needs_proof(state) and not state.exact:
            state.exact = True
        elif bounds.any_order and _reorder(bounds, engine, state, limits):
            state.exact = False
        else:
            return False
        return True

    step = 1 if bounds is not None else problem.points.abilities.at_once
    for first in range(0, len(starts), step):
        states = going = [State.at(problem, start) for start in starts[first : first + step]]
        with Engine(problem, states) as engine:
            if bounds is not None and bounds.any_order:
                going[0].order = bounds.match(engine.unbounded(going[0]))
            while going:
                try:
                    fell = engine.iterate(going, limits)
                except NoFeasibleSolutionError:
                    if going[0].labels is None:
                        raise
                    going[0].proven = False  # the last ones are feasible
                    break
                which, ended, late = [], [], limits.is_late()
                for s, state in enumerate(going):
                    if state.n_done > 0 and (late or state.n_done >= limits.max_iter):
                        # Other orders were not looked at.
                        state.proven &= bounds is None or not bounds.any_order
                    elif tries_on(state, fell[s]):
                        which.append(s)
                        continue
                    ended.append(s)
                engine.finish(ended, going)
                if len(which) < len(going):
                    going = [going[s] for s in which]
                    if going:
                        engine.keep(which)
            engine.evaluate()
        found += [state.as_solution() for state in states]
    return found


def _reorder(bounds: Bounds, engine: Engine, state: State, limits: Limits) -> bool:
    """Give clusters other bounds where the prices say that this could be cheaper.

    The prices bound the cost under every order of the bounds: where no other order has a lower
    bound, this one is optimal for the centers. Returns whether a better one was found.
    """
    orders, complete = bounds.cheaper_orders(state.prices, state.order, state.gap)
    provable = complete and len(orders) <= MOST_ORDERS  # (else good labels are enough to try)
    for order in orders[:MOST_ORDERS]:
        trial = replace(state, order=order, prices=state.prices.copy(), exact=provable)
        try:
            fell = not limits.is_late() and engine.iterate([trial], limits)[0]
        except NoFeasibleSolutionError:
            fell = trial.proven = False
        if limits.is_late():
            trial.proven = False
        if fell:
            vars(state).update(vars(trial))
            return True
        state.n_done = trial.n_done
        state.proven &= trial.proven
    state.proven &= provable
    return False


def _swap(problem: Problem, all_bounds: Bounds, state: State) -> bool:
    """Go on by Kempe chains that keep the sizes; returns whether the objective fell."""
    bounds = all_bounds.with_order(state.order)
    labels, centers = np.array(state.labels, dtype=np.int64), state.centers.copy()
    own = state.objective - problem.constant
    if not swap_chains(problem.contracted, labels, centers, own, bounds):
        return False
    value = problem.objective(labels) + problem.penalty(labels)
    return bounds.hold(labels) and state.takes(labels, centers, value)
