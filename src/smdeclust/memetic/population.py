"""The population, what is known about the run so far, and its history by generations."""

from __future__ import annotations

import time
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
        self._earlier = 0  # generations of earlier populations, their first ones included

    FIELDS = ("generation", "evaluations", "time", "best", "mean", "worst", "diversity")

    def record(self, state: State) -> None:
        """Add the present state."""
        values = state.objectives()
        assert state.best is not None
        counts = self._earlier + state.generation, state.n_local_searches, state.elapsed
        found = state.best.objective, float(values.mean()), float(values.max()), state.diversity()
        self._rows.append((*counts, *found))

    def begin_population(self) -> None:
        """The next records are those of a new population."""
        if self._rows:
            self._earlier = int(self._rows[-1][0]) + 1

    def arrays(self) -> dict[str, np.ndarray]:
        """The records, one array a field."""
        columns = np.array(self._rows, dtype=np.float64).reshape(-1, len(self.FIELDS)).T
        history = dict(zip(self.FIELDS, columns, strict=True))
        for name in ("generation", "evaluations"):
            history[name] = history[name].astype(np.int64)
        history["best"] = np.minimum.accumulate(history["best"])
        return history


@dataclass
class State:
    """Everything that changes while Algorithm 1 runs."""

    population: list[Solution] = field(default_factory=list)  # the P solutions
    best: Solution | None = None  # S*, the best solution so far; never changed in place
    generation: int = 0  # generations completed (the first population is generation 0)
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
    # `n_without_improvement` are those of this one; the counts of local searches, the clock and
    # the history continue from one to the next.
    island: int = 0
    started: float = field(default_factory=time.perf_counter)
    history: History = field(default_factory=History)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.started

    def objectives(self) -> np.ndarray:
        """Objectives of the population."""
        return np.array([solution.objective for solution in self.population])

    def diversity(self) -> float:
        """Sum over all pairs of |f_s - f_t|, in O(P log P)."""
        values = np.sort(self.objectives())
        n = len(values)
        return float(((2 * np.arange(n) - n + 1) * values).sum())

    def count(self, child: Solution) -> None:
        """Count one local search."""
        self.n_local_searches += 1
        self.n_local_iterations += child.n_iterations
        self.mid_generation = True

    def begin_generation(self) -> None:
        """The first population is complete."""
        self.firsts = self.objectives().tolist()
        self.complete = True
        self.mid_generation = False
        self.history.record(self)

    def end_generation(self) -> None:
        """A generation is complete."""
        self.generation += 1
        self.mid_generation = False
        self.history.record(self)

    def next_island(self) -> State:
        """A state for a new population that continues counting from here."""
        self.history.begin_population()
        return State(
            n_local_searches=self.n_local_searches,
            n_local_iterations=self.n_local_iterations,
            island=self.island + 1,
            started=self.started,
            history=self.history,
        )

    def finish(self) -> State:
        """The run is over: record the end if it came within a generation."""
        if self.mid_generation and self.population:
            self.history.record(self)
        return self


def pick_parents(
    target: int, population: list[Solution], rng: np.random.Generator
) -> tuple[Solution, Solution, Solution]:
    """Three solutions, all different from each other and from the target (line 6)."""
    others = rng.permutation(len(population) - 1)[:3].tolist()
    first, second, base = (population[i + (i >= target)] for i in others)
    return first, second, base


def is_among(solutions: list[Solution], solution: Solution) -> bool:
    """Whether one of these has the same objective."""
    value = solution.objective
    most = SAME * abs(value)
    for other in solutions:  # (asked often: a generator would take twice as long)
        if abs(other.objective - value) <= most:
            return True
    return False
