"""Algorithm 1: memetic differential evolution. Start reading here.

The loop knows nothing about clustering: operators are plain callables, and a solution is anything
with an ``objective`` and ``n_iterations``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from smdeclust.memetic.population import State, pick_parents
from smdeclust.memetic.rules import Replacement, StoppingRule
from smdeclust.problem import Solution

# number of solutions, rng -> start centers of each
Initialize = Callable[[int, np.random.Generator], Iterable[np.ndarray]]


@dataclass(frozen=True)
class Operators:
    """The steps of Algorithm 1, each a plain callable."""

    initialize: Initialize  # the first population (line 2)
    # (S1, S2, S3, rng) -> centers of the offspring (line 7)
    crossover: Callable[[Solution, Solution, Solution, np.random.Generator], np.ndarray]
    # (centers, generation, rng) -> centers (line 8); returns them unchanged where it is off
    mutate: Callable[[np.ndarray, int, np.random.Generator], np.ndarray]
    local_search: Callable[[np.ndarray], Solution]  # centers -> solution (line 9)
    # the same in two steps, the second one from where the first has ended
    in_two_steps: tuple[Callable[[np.ndarray], Solution], Callable[[Solution], Solution]] | None = (
        None
    )
    # the same for all offspring of a generation together; then all of them come from the
    # population before it (not in the paper, which replaces at once)
    search_all: Callable[[list[np.ndarray]], list[Solution]] | None = None


def evolve(
    operators: Operators,
    population_size: int,
    replacement: Replacement,
    stop: StoppingRule,
    rng: np.random.Generator,
    on_offspring: Callable[[State], bool | None] | None = None,
    on_generation: Callable[[State], None] | None = None,
    state: State | None = None,
) -> State:
    """Run Algorithm 1 and return its final state: the best solution, the population, counters.

    Parameters
    ----------
    operators
        Initialization, crossover, mutation, local search.
    population_size
        P, at least 4.
    replacement
        When an offspring takes its target's place, and when it counts as a new best.
    stop
        Asked after every local search; what it answers becomes ``state.stop_reason``.
    rng
        Source of all randomness.
    on_offspring
        Called after every local search, for progress displays; where it returns True, the run
        ends with ``stop_reason`` "callback".
    on_generation
        Called after the first population (generation 0) and after every generation.
    state
        Counters to continue from, where several populations run in turn.
    """
    state = State() if state is None else state

    def look(child: Solution) -> bool:
        state.count(child)
        asked = on_offspring is not None and on_offspring(state) is True
        state.stop_reason = "callback" if asked else stop(state)
        return state.stop_reason is not None

    def close_generation() -> None:
        state.end_generation()
        if on_generation is not None:
            on_generation(state)
        state.stop_reason = stop(state)

    for child in _refine(operators, operators.initialize(population_size, rng)):
        state.population.append(child)
        replacement.update_best(state, child)
        if look(child):
            return state.finish()
    close_generation()

    while state.stop_reason is None:
        starts = (
            make_offspring(operators, state, target, rng) for target in range(population_size)
        )
        for target, child in enumerate(_refine(operators, starts)):
            replacement(state, target, child)
            if look(child):
                return state.finish()
        close_generation()
    return state.finish()


def make_offspring(
    operators: Operators, state: State, target: int, rng: np.random.Generator
) -> np.ndarray:
    """Centers of a target's offspring, from the population as it is now (lines 6 to 8)."""
    first, second, base = pick_parents(target, state.population, rng)
    centers = operators.crossover(first, second, base, rng)
    return operators.mutate(centers, state.generation, rng)


def _refine(operators: Operators, starts: Iterable[np.ndarray]) -> Iterator[Solution]:
    """Local searches from starts: each made when its turn comes, or all together."""
    if operators.search_all is not None:
        yield from operators.search_all(list(starts))
        return
    for start in starts:
        yield operators.local_search(start)
