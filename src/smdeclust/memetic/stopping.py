"""Stopping (line 4): rules that look at the state and answer why to stop, or None.

Rules keep no state of their own, so one rule can serve many runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from smdeclust.local_search.limits import is_past
from smdeclust.memetic.population import State

StoppingRule = Callable[[State], "str | None"]


def any_of(*rules: StoppingRule | None) -> StoppingRule:
    """The first reason that any of these rules gives."""
    active = [rule for rule in rules if rule is not None]

    def stop(state: State) -> str | None:
        for rule in active:
            reason = rule(state)
            if reason is not None:
                return reason
        return None

    return stop


def no_improvement(limit: int, idle: float = math.inf) -> StoppingRule:
    """N_MAX offspring in a row without a better best solution, or `idle` of them that brought
    nothing new to the population; asked between generations."""

    def stop(state: State) -> str | None:
        if not state.complete or state.mid_generation:
            return None
        done = state.n_without_improvement >= limit or state.n_without_change >= idle
        return "no_improvement" if done else None

    return stop


def collapse(tol: float, relative: bool = False) -> StoppingRule:
    """The objectives of the population have become one: their pairwise differences sum to <= tol
    (times the best objective, if relative); asked between generations."""

    def stop(state: State) -> str | None:
        if not state.complete or state.mid_generation or state.best is None:
            return None
        scale = abs(state.best.objective) if relative else 1.0
        return "collapse" if state.diversity() <= tol * scale else None

    return stop


def reached(low: float, high: float, n_solutions: int) -> StoppingRule:
    """So many objectives of the population are between these two, and none is lower; asked between
    generations."""

    def stop(state: State) -> str | None:
        if not state.complete or state.mid_generation:
            return None
        values = state.objectives()
        done = values.min() >= low and (values <= high).sum() >= n_solutions
        return "reached" if done else None

    return stop


def max_generations(limit: int) -> StoppingRule:
    """So many generations; asked between generations."""

    def stop(state: State) -> str | None:
        done = state.complete and not state.mid_generation
        return "max_generations" if done and state.generation >= limit else None

    return stop


def max_local_searches(limit: float) -> StoppingRule:
    """About this many local searches, of all populations together; checked after each of them.

    They are counted by starts and offspring, and a population that has begun is completed first.
    """

    def stop(state: State) -> str | None:
        done = state.complete and state.n_local_searches >= limit
        return "max_local_searches" if done else None

    return stop


def past(deadline: float | None) -> StoppingRule:
    """At that moment of ``time.perf_counter()``, if any; asked after every local search."""
    return lambda state: "max_time" if is_past(deadline) else None
