"""Several populations in turn, until they agree (not in the paper: the default's outer loop).

One population collapses quickly, now and then on a solution that is not the best. Others that work
in another way seldom make the same mistake, so an objective that several of them end with can be
trusted, all the more if a thorough look at it finds nothing better; where they differ, more
populations still help. If they never agree, their best solutions become one last population.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.memetic.algorithm import Operators, evolve
from smdeclust.memetic.population import SAME, Elite, State
from smdeclust.memetic.rules import Replacement, StoppingRule, any_of, reached
from smdeclust.problem import Solution

# What ends one population but not the run: another one may do better.
OWN_END = ("collapse", "no_improvement", "max_generations", "reached")
# A later population ends where this many of its solutions have the best objective found before it.
ARRIVED = 3
# Where this share of all first searches, from starts that know nothing of each other, ends within
# this share of the best objective by itself, this many populations are enough, and those agree that
# end within a smaller share of it: others gain little.
EASY, LITTLE, ENOUGH_WHERE_EASY, CLOSE = 0.5, 1e-3, 2, 1e-5


@dataclass(frozen=True)
class Islands:
    """How many populations there are."""

    # most populations before the last one, which unites their best solutions; at least 4, or 1
    # for plain Algorithm 1
    max_populations: int = 1
    n_agree: int = 1  # stop as soon as this many of them have ended with the best objective
    independent: bool = True  # whether first searches know nothing of each other
    max_apart: int = sys.maxsize  # unite this many already if no other has the best objective

    def __post_init__(self) -> None:
        if self.max_populations != 1 and self.max_populations < 4:
            raise InvalidInputError(
                f"max_populations must be 1, or at least 4 (their best solutions become the last "
                f"population), got {self.max_populations}."
            )
        if self.n_agree < 1:
            raise InvalidInputError(f"n_agree must be at least 1, got {self.n_agree}.")


def evolve_islands(
    islands: Islands,
    operators: Operators | Sequence[Operators],
    population_size: int,
    replacement: Replacement,
    stop: StoppingRule,
    rng: np.random.Generator,
    on_offspring: Callable[[State], bool | None] | None = None,
    on_generation: Callable[[State], None] | None = None,
    confirm: Callable[[Solution], Solution] | None = None,
) -> State:
    """Run Algorithm 1 on fresh populations until enough agree; the state counts over all of them.

    Several `operators` take turns, the first ones also unite the best solutions. `confirm` looks
    thoroughly at the solution that is agreed on: if it returns a better one, that one must find
    agreement. The other parameters are those of :func:`~smdeclust.memetic.evolve`. A limit that is
    not one population's own affair (``max_time``) ends the run at once.
    """
    kinds = [operators] if isinstance(operators, Operators) else list(operators)
    bests: list[Solution] = []
    firsts: list[float] = []  # objectives after the first searches of all populations
    state, n_generations = State(elite=Elite(population_size)), 0

    def run(start: Operators, size: int, stop: StoppingRule = stop) -> str:
        nonlocal state, n_generations
        if bests:
            state = state.next_island()
        state = evolve(start, size, replacement, stop, rng, on_offspring, on_generation, state)
        assert state.best is not None
        assert state.stop_reason is not None
        n_generations += state.generation
        bests.append(state.best)
        firsts.extend(state.firsts)
        return state.stop_reason

    reason = run(kinds[0], population_size)
    while reason in OWN_END and islands.max_populations > 1:
        agreed = min(bests, key=lambda solution: solution.objective)
        rounding = SAME * abs(agreed.objective)
        low, high = agreed.objective - rounding, agreed.objective + rounding
        enough, of_clusters = islands.n_agree, abs(agreed.objective - replacement.constant)
        n_near = sum(value <= high + LITTLE * of_clusters for value in firsts)
        if n_near >= EASY * len(firsts) and islands.independent:
            low, high = low - CLOSE * of_clusters, high + CLOSE * of_clusters
            enough = min(enough, ENOUGH_WHERE_EASY)
        n_agreed = sum(solution.objective <= high for solution in bests)
        apart = n_agreed == 1 and len(bests) >= islands.max_apart
        if n_agreed >= enough:
            bests.append(agreed if confirm is None else confirm(agreed))
            reason = reason if bests[-1].objective < low else "agreement"
        elif state.island + 1 < islands.max_populations and not apart:
            rule = any_of(reached(low, high, ARRIVED), stop) if islands.independent else stop
            reason = run(kinds[(state.island + 1) % len(kinds)], population_size, rule)
        else:
            reason = run(start_from(bests, kinds[0]), len(bests))
            reason = "max_populations" if reason in OWN_END else reason
    state.best = min(bests, key=lambda solution: solution.objective)
    state.stop_reason, state.generation = reason, n_generations
    return state


def start_from(solutions: list[Solution], operators: Operators) -> Operators:
    """Operators whose first population is made of these solutions, refined once more."""
    centers = [solution.centers for solution in solutions]
    return replace(operators, initialize=lambda n_starts, rng: centers)
