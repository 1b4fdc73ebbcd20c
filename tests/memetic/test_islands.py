"""Several populations: agreement, union, limits, counting. Stub operators only."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from smdeclust import InvalidInputError
from smdeclust.memetic import Islands, evolve_islands, islands, rules
from smdeclust.memetic.rules import Replacement
from tests.memetic.stubs import number, stub_operators

RNG = np.random.default_rng
STOP = rules.any_of(rules.collapse(1e-9), rules.no_improvement(4))


def populations_of(*values):
    """Operators whose i-th population consists of P=4 copies of values[i], and stays so."""
    start = itertools.chain.from_iterable([v] * 4 for v in values)
    return stub_operators(start, crossover=lambda a, b, c, rng: a.centers)


def run(how, operators, stop=STOP):
    return evolve_islands(how, operators, 4, Replacement(), stop, RNG(0))


def test_stops_as_soon_as_enough_agree():
    """3, 2, 2 agree on 2 after three populations; the fourth is never made."""
    state = run(Islands(8, 2), populations_of(3.0, 2.0, 2.0, 1.0))
    assert (state.best.objective, state.stop_reason) == (2.0, "agreement")
    assert (state.island, state.n_local_searches) == (2, 12)


def test_two_are_enough_where_half_of_the_first_searches_are_near_by_themselves():
    """Half of the first searches end within 0.1% of 2: two populations; else all five."""
    state = run(Islands(8, 5), populations_of(*[2.0] * 8))
    assert (state.stop_reason, state.island) == ("agreement", 1)
    state = run(Islands(8, 5, independent=False), populations_of(*[2.0] * 8))
    assert (state.stop_reason, state.island) == ("agreement", 4)
    for starts, n_populations in (([2.0, 2.001, 4.0, 5.0], 2), ([2.0, 2.003, 4.0, 5.0], 5)):
        first = itertools.cycle(starts)
        operators = stub_operators(first, crossover=lambda a, b, c, rng: np.array([[2.0]]))
        state = run(Islands(8, 5), operators)
        assert (state.stop_reason, state.island + 1) == ("agreement", n_populations)


def test_a_better_one_late_must_be_confirmed(monkeypatch):
    """Agreement counts only at the best objective so far."""
    monkeypatch.setattr(islands, "EASY", 2.0)
    state = run(Islands(8, 3), populations_of(2.0, 2.0, 1.0, 2.0, 1.0, 1.0, 0.5))
    assert (state.best.objective, state.island) == (1.0, 5)


def test_without_agreement_the_bests_are_united():
    """The last population is made of the best solutions, and improves on them here."""
    start = itertools.chain.from_iterable([v] * 4 for v in (5.0, 4.0, 3.0, 2.0))
    seen = []

    def crossover(first, second, base, rng):
        values = {first.objective, second.objective, base.objective}
        if len(values) == 3:  # only where solutions of different populations meet
            seen.append(values)
            return np.array([[1.0]])
        return first.centers

    operators = stub_operators(start, crossover=crossover)
    state = run(Islands(4, 2), operators)
    assert seen
    assert (state.best.objective, state.stop_reason, state.island) == (1.0, "max_populations", 4)


def test_populations_that_all_end_differently_are_united_sooner():
    """Four that differ are united at once if asked; not if two of them agree on the best."""
    values = [5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0]
    state = run(Islands(6, 4, max_apart=4), populations_of(*values))
    assert (state.best.objective, state.stop_reason, state.island) == (2.0, "max_populations", 4)
    state = run(Islands(6, 2, max_apart=5), populations_of(5.0, 4.0, 2.0, 2.0))
    assert (state.best.objective, state.stop_reason) == (2.0, "agreement")


def test_one_population_is_plain_algorithm_1():
    """Reasons and counts are those of the one population."""
    state = run(Islands(1, 1), populations_of(3.0))
    assert (state.stop_reason, state.n_local_searches, state.island) == ("collapse", 4, 0)


def test_max_time_ends_the_whole_run_with_the_best_so_far():
    """The limit is the run's; an earlier population's best is kept."""
    calls = itertools.count()

    def out_of_time(state):
        return "max_time" if next(calls) > 20 else None

    stop = rules.any_of(out_of_time, STOP)
    state = run(Islands(8, 8), populations_of(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), stop)
    assert (state.best.objective, state.stop_reason) == (1.0, "max_time")


def test_history_goes_on_through_populations():
    """Generations and evaluations increase, best is that of the run, the clock is one."""
    stop = rules.max_generations(2)
    state = evolve_islands(Islands(4, 9), stub_operators(), 4, Replacement(), stop, RNG(0))
    history = state.history.arrays()
    assert history["generation"].tolist() == list(range(15))  # (1 + 2) in each of 4 + 1
    assert history["evaluations"].tolist() == list(range(4, 61, 4))
    assert (np.diff(history["best"]) <= 0).all()
    assert (np.diff(history["time"]) >= 0).all()
    assert history["best"][-1] == state.best.objective
    assert (state.generation, state.n_local_searches) == (10, 60)


def test_every_generation_is_reported_once():
    """Also those of the uniting population, which has 5 solutions where the others have 4."""
    seen = []
    evolve_islands(
        Islands(5, 9), stub_operators(), 4, Replacement(), rules.max_generations(2), RNG(0),
        on_generation=lambda s: seen.append((s.island, s.generation, s.n_local_searches)),
    )  # fmt: skip
    sizes = [4] * 5 + [5]
    done = np.cumsum(np.repeat(sizes, 3)).tolist()
    places = itertools.product(range(6), range(3))
    assert seen == [(island, g, n) for (island, g), n in zip(places, done, strict=True)]


@pytest.mark.parametrize("numbers", [(0, 1), (2, 1), (3, 2), (-4, 1), (10, 0)])
def test_numbers_that_make_no_islands(numbers):
    """The bests of two or three populations make none; nobody can agree with nobody."""
    with pytest.raises(InvalidInputError, match="max_populations|n_agree"):
        Islands(*numbers)


def test_same_seed_same_run():
    """All randomness comes from the one generator."""
    one, two = (
        evolve_islands(
            Islands(5, 2), stub_operators(), 4, Replacement(), rules.max_generations(2), RNG(3)
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.history.arrays()["mean"], two.history.arrays()["mean"])


@pytest.mark.parametrize(
    ("later", "last_generation"),
    [([2.0, 2.0, 2.0, 5.0], 0), ([2.0, 2.0, 4.0, 5.0], 1), ([1.9, 2.0, 2.0, 5.0], 1)],
)
def test_a_later_population_ends_where_it_arrives_at_the_best(monkeypatch, later, last_generation):
    """Three solutions at the best objective of earlier populations are enough, not two; one that
    finds a better solution goes on."""
    monkeypatch.setattr(islands, "EASY", 2.0)
    starts = itertools.chain([2.0] * 4, itertools.cycle(later))
    operators = stub_operators(starts, crossover=lambda a, b, c, rng: np.array([[min(later)]]))
    seen = []
    evolve_islands(
        Islands(4, 2), operators, 4, Replacement(), STOP, RNG(0),
        on_generation=lambda state: seen.append((state.island, state.generation)),
    )  # fmt: skip
    assert max(generation for island, generation in seen if island == 1) == last_generation


def test_populations_that_end_close_agree_where_data_are_easy():
    """Ends within 0.001% of each other count as one where half of the first searches are near."""
    for gap, n_populations in ((1e-6, 2), (1e-4, 3)):
        state = run(Islands(8, 5), populations_of(2.0 * (1 + gap), 2.0, 2.0))
        assert (state.stop_reason, state.island + 1) == ("agreement", n_populations)
        assert state.best.objective == 2.0


def test_kinds_of_populations_take_turns():
    """Two kinds of operators: populations alternate between them."""
    even = populations_of(5.0, 3.0)
    odd = populations_of(4.0, 2.0)
    state = evolve_islands(Islands(4, 4), [even, odd], 4, Replacement(), STOP, RNG(0))
    best = state.history.arrays()["best"]
    assert list(dict.fromkeys(best.tolist()))[:4] == [5.0, 4.0, 3.0, 2.0]


def test_agreement_must_stand_a_thorough_look():
    """Two agree on 2, a look at it finds 1: the run goes on until two agree on 1."""
    looks = []

    def confirm(solution):
        looks.append(solution.objective)
        return number(1.0) if solution.objective > 1 else solution

    operators = populations_of(2.0, 2.0, 1.0, 3.0)
    state = evolve_islands(
        Islands(8, 2), operators, 4, Replacement(), STOP, RNG(0), confirm=confirm
    )
    assert (state.best.objective, state.stop_reason) == (1.0, "agreement")
    assert (state.island, looks) == (2, [2.0, 1.0])
