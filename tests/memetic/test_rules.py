"""Replacement and stopping rules, on made-up states."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.memetic import rules
from smdeclust.memetic.population import State
from smdeclust.memetic.rules import Replacement
from tests.memetic.stubs import number


def made_state(*values: float, **changes) -> State:
    population = [number(v) for v in values]
    best = min(population, key=lambda s: s.objective)
    state = State(population=population, best=best, complete=True, mid_generation=False)
    for name, value in changes.items():
        setattr(state, name, value)
    return state


def test_better_means_better_by_at_least_the_least_gain():
    """The paper's 1e-6 is absolute; the relative form scales with the objective."""
    paper = Replacement()
    assert paper.is_better(number(1.0), than=number(1.0 + 2e-6))
    assert not paper.is_better(number(1.0), than=number(1.0 + 5e-7))
    assert not paper.is_better(number(1.0), than=number(1.0))
    relative = Replacement(1e-6, relative=True)
    assert not relative.is_better(number(1000.0), than=number(1000.0 + 1e-4))
    assert relative.is_better(number(1e-9), than=number(2e-9))
    assert not relative.is_better(number(0.0), than=number(0.0))


def test_offspring_that_beats_only_its_target_counts_as_no_improvement():
    """It takes the place, but the counter goes on and the best stays."""
    state = made_state(1.0, 5.0, n_without_improvement=3)
    Replacement()(state, 1, number(2.0))
    assert [s.objective for s in state.population] == [1.0, 2.0]
    assert (state.best.objective, state.n_without_improvement) == (1.0, 4)


def test_new_best_resets_the_counter_and_a_worse_one_changes_nothing():
    """Lines 10 to 14 of Algorithm 1."""
    state = made_state(1.0, 5.0, n_without_improvement=3)
    Replacement()(state, 1, number(0.5))
    assert (state.best.objective, state.n_without_improvement) == (0.5, 0)
    Replacement()(state, 0, number(7.0))
    assert [s.objective for s in state.population] == [1.0, 0.5]
    assert state.n_without_improvement == 1


def test_a_population_in_which_nothing_changes_ends():
    """Offspring that take no place, or gain next to nothing, are counted; others start anew."""
    state, rule = made_state(1.0, 5.0), rules.no_improvement(9, idle=2)
    Replacement(1e-10, relative=True)(state, 1, number(5.0 - 1e-7))
    Replacement(1e-10, relative=True)(state, 0, number(3.0))
    assert state.n_without_change == 2
    assert rule(state) == "no_improvement"
    assert rules.no_improvement(9)(state) is None
    Replacement(1e-10, relative=True)(state, 1, number(2.0))
    assert (state.n_without_change, state.n_without_improvement, rule(state)) == (0, 3, None)


def test_what_no_clustering_changes_hides_no_gain():
    """Must-links that join distant points add the same large number to every objective."""
    state = made_state(1e6 + 0.1, 1e6 + 0.5)
    Replacement(1e-10, relative=True, constant=1e6)(state, 1, number(1e6 + 0.3))
    assert state.n_without_change == 0


def test_collapse_absolute_and_relative():
    """The sum over pairs is compared with tol, or with tol times the best objective."""
    assert rules.collapse(1e-4)(made_state(1.0, 1.0 + 1e-5)) == "collapse"
    assert rules.collapse(1e-4)(made_state(1.0, 1.001)) is None
    large = made_state(1e6, 1e6 + 1e-3)
    assert rules.collapse(1e-4)(large) is None
    assert rules.collapse(1e-6, relative=True)(large) == "collapse"
    assert rules.collapse(1e-4)(made_state(0.0, 0.0)) == "collapse"


@pytest.mark.parametrize(
    "rule", [rules.collapse(1.0), rules.no_improvement(1), rules.max_generations(0)]
)
def test_rules_asked_between_generations(rule):
    """Within a generation, or before the first population is complete, they are silent."""
    settings = {"n_without_improvement": 9, "generation": 9}
    assert rule(made_state(1.0, 1.0, **settings)) is not None
    assert rule(made_state(1.0, 1.0, mid_generation=True, **settings)) is None
    assert rule(made_state(1.0, 1.0, complete=False, **settings)) is None


def test_any_of_gives_the_first_reason():
    """Missing rules are skipped."""
    state = made_state(1.0, 1.0, generation=5)
    rule = rules.any_of(None, rules.max_generations(9), rules.collapse(1e-4))
    assert rule(state) == "collapse"
    assert rules.any_of()(state) is None


def test_max_time_is_asked_always():
    """The clock is the run's, also within a generation."""
    state = made_state(1.0, mid_generation=True)
    assert rules.past(0.0)(state) == "max_time"
    assert rules.past(np.inf)(state) is None
