"""The loop of Algorithm 1, with stub operators."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.memetic import evolve, rules
from smdeclust.memetic.population import State, pick_parents
from smdeclust.memetic.rules import Replacement
from tests.memetic.stubs import number, stub_operators

RNG = np.random.default_rng


def test_first_population_and_generations():
    """P local searches make the first population, P more each generation."""
    state = evolve(stub_operators(), 6, Replacement(), rules.max_generations(3), RNG(0))
    assert state.generation == 3
    assert state.n_local_searches == 6 + 3 * 6
    assert state.n_local_iterations == 2 * state.n_local_searches
    assert state.stop_reason == "max_generations"
    assert len(state.population) == 6


def test_improving_offspring_replace_their_targets_at_once():
    """Within a generation, later targets already see earlier offspring: values fall faster than
    once a generation."""
    state = evolve(stub_operators([8.0] * 5), 5, Replacement(), rules.max_generations(1), RNG(0))
    assert max(s.objective for s in state.population) <= 4.0
    assert state.best.objective < 4.0  # half of a half was made in the same generation


def test_best_is_the_least_ever_seen():
    """The best solution survives, and the counter starts over whenever it improves."""
    state = evolve(stub_operators(), 4, Replacement(), rules.max_generations(5), RNG(1))
    assert state.best.objective == min(s.objective for s in state.population)
    worse = stub_operators([1.0] * 4, crossover=lambda a, b, c, rng: a.centers + 1)
    state = evolve(worse, 4, Replacement(), rules.no_improvement(7), RNG(0))
    assert (state.best.objective, state.stop_reason) == (1.0, "no_improvement")
    assert state.n_without_improvement == 8  # asked between generations of four


def test_collapse_is_seen_before_the_first_generation():
    """A population that starts equal makes no offspring."""
    state = evolve(stub_operators([3.0] * 4), 4, Replacement(), rules.collapse(1e-4), RNG(0))
    assert (state.generation, state.n_local_searches) == (0, 4)
    assert state.stop_reason == "collapse"


def test_max_time_ends_within_the_first_population():
    """With no time there is one solution, and it is the best."""
    state = evolve(stub_operators(), 9, Replacement(), rules.past(0.0), RNG(0))
    assert len(state.population) == 1
    assert state.best is state.population[0]
    assert len(state.history.arrays()["best"]) == 1


def test_mutation_gets_the_generation_and_history_one_record_each():
    """Generations count from 0; the history has the first population and every generation."""
    seen = []

    def mutate(centers, generation, rng):
        seen.append(generation)
        return centers

    calls = []
    operators = stub_operators(mutate=mutate)
    stop = rules.max_generations(3)
    state = evolve(operators, 4, Replacement(), stop, RNG(0), lambda s: calls.append(s))
    assert seen == [0] * 4 + [1] * 4 + [2] * 4
    assert len(calls) == state.n_local_searches
    history = state.history.arrays()
    assert history["generation"].tolist() == [0, 1, 2, 3]
    assert history["evaluations"].tolist() == [4, 8, 12, 16]
    assert (np.diff(history["best"]) <= 0).all()
    assert (history["best"] <= history["mean"]).all()
    assert (history["mean"] <= history["worst"]).all()


@pytest.mark.parametrize("size", [4, 5, 20])
def test_parents_differ_from_each_other_and_from_the_target(size):
    """Three different parents, none of them the target; every other solution can be one."""
    population = [number(i) for i in range(size)]
    rng = RNG(0)
    chosen = set()
    for _ in range(300):
        parents = [int(p.objective) for p in pick_parents(2, population, rng)]
        assert len({*parents, 2}) == 4
        chosen.update(parents)
    assert chosen == set(range(size)) - {2}


def test_diversity_is_the_sum_over_pairs():
    """The sorted formula equals the double sum."""
    values = RNG(0).normal(size=7)
    state = State(population=[number(v) for v in values])
    double = np.abs(values[:, None] - values[None, :]).sum() / 2
    assert state.diversity() == pytest.approx(double)
