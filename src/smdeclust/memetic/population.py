"""The population, what is known about the run so far, and its history by generations."""

import operator
import time
from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np

from smdeclust.problem import Solution

# Objectives that differ by no more than this share are the same.
SAME = 1e-9


class History:
    """Grows by one record per generation; `arrays` gives it as equal-length arrays.

    Where several populations run in turn, generations are numbered on from one to the next, and
    ``best`` is the best of all so far.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[float, ...]] = []

    FIELDS = ("generation", "evaluations", "time", "best", "mean", "worst", "diversity")

    def record(self, state: "State") -> None:
        """Add the present state."""
        values = [solution.objective for solution in state.population]
        assert state.best is not None
        counts = state.n_earlier + state.generation, state.n_local_searches, state.elapsed
        found = state.best.objective, sum(values) / len(values), max(values), state.diversity()
        self._rows.append((*counts, *found))

    def arrays(self) -> dict[str, np.ndarray]:
        """The records, one array a field."""
        columns = np.array(self._rows, dtype=np.float64).reshape(-1, len(self.FIELDS)).T
        history = dict(zip(self.FIELDS, columns, strict=True))
        for name in ("generation", "evaluations"):
            history[name] = history[name].astype(np.int64)
        history["best"] = np.minimum.accumulate(history["best"])
        return history


@dataclass
class Elite:
    """The best different solutions of a run: the second may be the best under one pair more."""

    size: int = 1
    solutions: list[Solution] = field(default_factory=list)

    def note(self, solution: Solution) -> None:
        """Keep the solution if it is good enough and its objective is a new one."""
        value, kept = solution.objective, self.solutions
        if len(kept) == self.size and value >= kept[-1].objective:
            return
        place = bisect_left(kept, value, key=lambda other: other.objective)
        if not is_among(kept[max(0, place - 1) : place + 1], solution):
            kept.insert(place, solution)
            del kept[self.size :]


@dataclass
class State:
    """Everything that changes while Algorithm 1 runs."""

    population: list[Solution] = field(default_factory=list)  # the P solutions
    best: Solution | None = None  # S*, the best solution so far; never changed in place
    generation: int = 0  # generations completed (the first population is generation 0)
    n_earlier: int = 0  # generations of earlier populations, their first ones included
    n_without_improvement: int = 0  # offspring since the best solution last improved (n_it*)
    n_without_change: int = 0  # offspring since a new solution took a place
    # calls of the local search, and their iterations in all
    n_local_searches: int = 0
    n_local_iterations: int = 0
    firsts: list[float] = field(default_factory=list)  # objectives of the first population
    complete: bool = False  # whether the first population is complete
    mid_generation: bool = True  # whether a generation is under way
    stop_reason: str | None = None  # why the run ended, in one word; ``None`` while it runs
    # Number of the population where there are several in turn. `best`, `generation` and
    # `n_without_improvement` are those of this one; the counts of local searches, the clock, the
    # history and the elite continue from one to the next.
    island: int = 0
    started: float = field(default_factory=time.perf_counter)
    history: History = field(default_factory=History)
    elite: Elite = field(default_factory=Elite)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.started

    def objectives(self) -> np.ndarray:
        """Objectives of the population."""
        return np.array([solution.objective for solution in self.population])

    def diversity(self) -> float:
        """Sum over all pairs of |f_s - f_t|, in O(P log P)."""
        values = sorted([solution.objective for solution in self.population])
        ranks = range(1 - len(values), len(values), 2)
        return sum(map(operator.mul, ranks, values))

    def count(self, child: Solution) -> None:
        """Count one local search."""
        self.n_local_searches += 1
        self.n_local_iterations += child.n_iterations
        self.mid_generation = True
        self.elite.note(child)

    def end_generation(self) -> None:
        """The first population, or after it a generation, is complete."""
        self.generation += self.complete
        if not self.complete:
            self.firsts, self.complete = self.objectives().tolist(), True
        self.mid_generation = False
        self.history.record(self)

    def next_island(self) -> "State":
        """A state for a new population that continues counting from here."""
        return State(
            n_earlier=self.n_earlier + self.generation + 1,
            n_local_searches=self.n_local_searches,
            n_local_iterations=self.n_local_iterations,
            island=self.island + 1,
            started=self.started,
            history=self.history,
            elite=self.elite,
        )

    def finish(self) -> "State":
        """The run is over: record the end if it came within a generation."""
        if self.mid_generation and self.population:
            self.history.record(self)
        return self


def pick_parents(
    target: int, population: list[Solution], rng: np.random.Generator
) -> tuple[Solution, Solution, Solution]:
    """Three solutions, all different from each other and from the target (line 6)."""
    i, j, k = rng.permutation(len(population) - 1)[:3].tolist()
    first, second, base = i + (i >= target), j + (j >= target), k + (k >= target)
    return population[first], population[second], population[base]


def is_among(solutions: list[Solution], solution: Solution) -> bool:
    """Whether one of these has the same objective."""
    value = solution.objective
    most = SAME * abs(value)
    for other in solutions:  # (asked often: a generator would take twice as long)
        if abs(other.objective - value) <= most:
            return True
    return False
