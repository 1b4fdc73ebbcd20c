"""HG-means (Gribel & Vidal 2019): a genetic algorithm over k-means solutions, without constraints.

Two parents by binary tournament, their centers matched and mixed, one center moved, k-means; from
time to time the population is cut back, clones first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smdeclust.assignment.distances import nearest_centers, transposed
from smdeclust.baselines.base import SoftBaseline, Task
from smdeclust.baselines.pieces import join, survivors, until
from smdeclust.estimators.parameters import anything, documented, whole
from smdeclust.exceptions import InvalidInputError
from smdeclust.local_search import local_search
from smdeclust.memetic import State, stopping
from smdeclust.memetic.crossover import exchange
from smdeclust.memetic.initialization import random_points
from smdeclust.problem import Problem, Solution

# The mixing weight of an offspring differs from the mean of its parents' by at most this.
DRIFT = 0.2


@documented
class HGMeans(SoftBaseline):
    """HG-means (Gribel & Vidal 2019): a genetic search over k-means solutions, without pairs.

    Parents are chosen by binary tournament; their centers are matched at the least cost and one of
    each pair is kept by a coin; one center moves onto a point; k-means follows. When the
    population has grown to its largest size, the best of it survive, clones last.

    What the paper leaves open was chosen so: the first population starts from random points, the
    weight of badly served points in the mutation is drawn evenly from 0 to 1 there and afterwards
    is the mean of the parents' plus up to 0.2 either way; solutions of the same objective and
    cluster sizes are clones.
    """

    _attributes = {  # noqa: RUF012
        "labels_": "(N,) cluster of each point; pairs play no part.",
        "n_local_searches_, n_local_iterations_": "Local searches, and their iterations in all.",
        "stop_reason_": '``"no_improvement"``, ``"max_offspring"`` or ``"max_time"``.',
        "history_": "Arrays of equal length, one entry a choice of survivors.",
    }

    population_size: int = whole(10, "Solutions that survive.", low=2)
    largest_population: int = whole(20, "Solutions at which survivors are chosen.", low=3)
    max_no_improvement: int = whole(
        500, "Stop after so many offspring in a row that do not improve the best solution.", low=1
    )
    max_offspring: int = whole(5000, "Stop after so many local searches.", low=1)
    callback: Callable[[State], None] | None = anything(
        None, "Called with the state of the run after every local search."
    )

    def _solve(self, task: Task) -> np.ndarray:
        if self.largest_population <= self.population_size:
            raise InvalidInputError(
                f"largest_population must be more than population_size={self.population_size}, "
                f"got {self.largest_population}."
            )

        def enough(state: State) -> str | None:
            if state.n_local_searches >= self.max_offspring:
                return "max_offspring"
            if state.n_without_improvement >= self.max_no_improvement:
                return "no_improvement"
            return None

        stop = stopping.any_of(until(task.deadline), enough)
        state = hg_means(task.problem, self, stop, self._generator())
        return self._told(state)


@dataclass(frozen=True)
class Individual(Solution):
    """A solution that also inherits how much its mutations prefer badly served points."""

    alpha: float = 0.5


def hg_means(
    problem: Problem, method: HGMeans, stop: stopping.StoppingRule, rng: np.random.Generator
) -> State:
    """Run the loop and return its final state; a generation is one cycle of survivor selection."""
    state = State()
    initialize = random_points(problem)

    def add(centers: np.ndarray, alpha: float) -> bool:
        child = Individual(**vars(local_search(problem, centers)), alpha=alpha)
        return join(state, child, stop, 1e-10, method.callback)

    for _ in range(method.largest_population):
        if add(initialize(rng), rng.random()):
            return state.finish()
    state.begin_generation()
    while True:
        state.population = survivors(state.population, method.population_size)
        while len(state.population) < method.largest_population:
            first, second = tournament(state.population, rng), tournament(state.population, rng)
            alpha = (first.alpha + second.alpha) / 2 + rng.uniform(-DRIFT, DRIFT)
            alpha = min(max(alpha, 0.0), 1.0)
            centers = relocate(problem, exchange(first, second, first, rng), alpha, rng)
            if add(centers, alpha):
                return state.finish()
        state.end_generation()


def tournament(population: list[Solution], rng: np.random.Generator) -> Individual:
    """The better of two solutions drawn at random."""
    one, other = (population[i] for i in rng.integers(len(population), size=2))
    best = one if one.objective <= other.objective else other
    assert isinstance(best, Individual)
    return best


def relocate(
    problem: Problem, centers: np.ndarray, alpha: float, rng: np.random.Generator
) -> np.ndarray:
    """Take out a random center and put it on a point: any one, or (with weight `alpha`) one in
    proportion to its distance from the nearest center that is left."""
    contracted = problem.contracted
    removed = int(rng.integers(len(centers)))
    share = contracted.weights / contracted.weights.sum()
    if len(centers) > 1:
        left = np.delete(centers, removed, axis=0)
        labels = np.empty(len(contracted.points), dtype=np.int64)
        nearest_centers(contracted.points, contracted.weights, 0, left, transposed(left), labels)
        far = share * np.linalg.norm(contracted.points - left[labels], axis=1)
        if far.sum() > 0:
            share = (1 - alpha) * share + alpha * far / far.sum()
    moved = centers.copy()
    moved[removed] = contracted.points[rng.choice(len(share), p=share / share.sum())]
    return moved
