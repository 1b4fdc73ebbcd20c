"""The rules of Algorithm 1: replacement (lines 10 to 14) and stopping (line 4).

Rules keep no state of their own, so one rule can serve many runs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from smdeclust.local_search.state import is_past
from smdeclust.memetic.population import State, is_among
from smdeclust.problem import Solution

# ---- replacement: an offspring takes its target's place if it is better

# A gain of a smaller share of what clusters can change makes no difference to a population.
LEAST_CHANGE = 1e-6


@dataclass(frozen=True)
class Replacement:
    """Immediate replacement: the next target of the same generation already sees it."""

    # better means better by at least this, times the objective if `relative`
    least_gain: float = 1e-6
    # whether `least_gain` is a share of the objective (the paper's is absolute)
    relative: bool = False
    # the part of every objective that no clustering changes
    constant: float = 0.0

    def is_better(self, child: Solution, than: Solution) -> bool:
        """Whether the gain is more than rounding."""
        scale = abs(than.objective) if self.relative else 1.0
        return than.objective - child.objective >= self.least_gain * scale > 0

    def __call__(self, state: State, target: int, child: Solution) -> None:
        """Put the child in its target's place if it is better, and keep count."""
        improved = change = False
        before = state.population[target]
        if self.is_better(child, before):
            least = LEAST_CHANGE * abs(before.objective - self.constant)
            change = before.objective - child.objective >= least
            change = change and not is_among(state.population, child)
            state.population[target] = child
            improved = self.update_best(state, child)
        state.n_without_improvement = 0 if improved else state.n_without_improvement + 1
        state.n_without_change = 0 if change else state.n_without_change + 1

    def update_best(self, state: State, child: Solution) -> bool:
        """Make the child the best solution if it is; returns whether that counts as better."""
        best = state.best
        if best is None or child.objective < best.objective:
            state.best = child
        return best is None or self.is_better(child, best)


# ---- stopping: rules look at the state and answer why to stop, or None

StoppingRule = Callable[[State], "str | None"]


def any_of(*rules: StoppingRule | None) -> StoppingRule:
    """The first reason that any of these rules gives."""
    active = [rule for rule in rules if rule is not None]

    def stop(state: State) -> str | None:
        for rule in active:
            if reason := rule(state):
                return reason
        return None

    return stop


def stopping(
    *,
    searches: float | None = None,
    deadline: float | None = None,
    tol: float | None = None,
    relative: bool = False,
    patience: int | None = None,
    idle: float = math.inf,
    generations: int | None = None,
) -> StoppingRule:
    """All rules below for which there is a limit, as one."""
    return any_of(
        None if searches is None else max_local_searches(searches),
        past(deadline),
        None if tol is None else collapse(tol, relative),
        None if patience is None else no_improvement(patience, idle),
        None if generations is None else max_generations(generations),
    )


def _between_generations(reason: str, done: Callable[[State], bool]) -> StoppingRule:
    """Asked once the first population, and after it each generation, is complete."""

    def stop(state: State) -> str | None:
        asked = state.complete and not state.mid_generation
        return reason if asked and done(state) else None

    return stop


def no_improvement(limit: int, idle: float = math.inf) -> StoppingRule:
    """N_MAX offspring in a row without a better best solution, or `idle` of them that brought
    nothing new to the population; asked between generations."""
    return _between_generations(
        "no_improvement",
        lambda state: state.n_without_improvement >= limit or state.n_without_change >= idle,
    )


def collapse(tol: float, relative: bool = False) -> StoppingRule:
    """The objectives of the population have become one: their pairwise differences sum to <= tol
    (times the best objective, if relative); asked between generations."""

    def done(state: State) -> bool:
        assert state.best is not None
        return state.diversity() <= tol * (abs(state.best.objective) if relative else 1.0)

    return _between_generations("collapse", done)


def reached(low: float, high: float, n_solutions: int) -> StoppingRule:
    """So many objectives are between these two, and none is lower; asked between generations."""

    def done(state: State) -> bool:
        values = state.objectives()
        return bool(values.min() >= low and (values <= high).sum() >= n_solutions)

    return _between_generations("reached", done)


def max_generations(limit: int) -> StoppingRule:
    """So many generations; asked between generations."""
    return _between_generations("max_generations", lambda state: state.generation >= limit)


def max_local_searches(limit: float) -> StoppingRule:
    """About this many local searches, of all populations together; checked after each of them.

    They are counted by starts and offspring, and a population that has begun is completed first.
    """

    def stop(state: State) -> str | None:
        done = state.complete and state.n_local_searches >= limit
        return "max_local_searches" if done else None

    return stop


def past(deadline: float | None) -> StoppingRule | None:
    """At that moment of ``time.perf_counter()``, if any; asked after every local search."""
    return None if deadline is None else lambda state: "max_time" if is_past(deadline) else None
