"""The one search loop, at prices, which are zero if there are no bounds on clusters.

Each iteration sends the centers and prices to the points, assigns the linked groups exactly with
the free points that bounds leave undecided, and moves the centers to the means. Good labels will do
while the objective falls; then optimal ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.batch import Engine
from smdeclust.local_search.kempe import swap_chains
from smdeclust.local_search.limits import Limits
from smdeclust.local_search.state import State, partition
from smdeclust.problem import Problem, Solution
from smdeclust.structure.bounds import Bounds

# Other orders of the bounds that are tried for one set of centers.
MOST_ORDERS = 24


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
    bounds = all_bounds.ordered(state.order)
    labels, centers = np.array(state.labels, dtype=np.int64), state.centers.copy()
    own = state.objective - problem.constant
    if not swap_chains(problem.contracted, labels, centers, own, bounds):
        return False
    value = problem.objective(labels) + problem.penalty(labels)
    return bounds.hold(labels) and state.takes(labels, centers, value)
