"""HG-means (Gribel & Vidal 2019): a genetic algorithm over k-means solutions, without constraints.

Two parents by binary tournament, their centers matched and mixed, one center moved, k-means; from
time to time the population is cut back, clones first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smdeclust.assignment.distances import nearest_centers, transposed
from smdeclust.baselines.genetic import survivors
from smdeclust.local_search import local_search
from smdeclust.memetic.crossover import exchange
from smdeclust.memetic.initialization import random_points
from smdeclust.memetic.population import State
from smdeclust.memetic.stopping import StoppingRule
from smdeclust.problem import Problem, Solution

# The mixing weight of an offspring differs from the mean of its parents' by at most this.
DRIFT = 0.2


@dataclass(frozen=True)
class Individual(Solution):
    """A solution that also inherits how much its mutations prefer badly served points."""

    alpha: float = 0.5


def hg_means(
    problem: Problem,
    least_size: int,
    most_size: int,
    stop: StoppingRule,
    rng: np.random.Generator,
    on_offspring: Callable[[State], None] | None = None,
) -> State:
    """Run the loop and return its final state; a generation is one cycle of survivor selection.

    Parameters
    ----------
    problem
        The points, without pairs.
    least_size, most_size
        The population grows to `most_size`, then the best `least_size` survive.
    stop
        Asked after every local search.
    rng
        Source of all randomness.
    on_offspring
        Called after every local search, for progress displays.
    """
    state = State()
    initialize = random_points(problem)

    def add(centers: np.ndarray, alpha: float) -> bool:
        found = local_search(problem, centers)
        child = Individual(
            found.labels, found.centers, found.objective, found.n_iterations, found.proven, alpha
        )
        state.population.append(child)
        better = state.best is None or child.objective < state.best.objective * (1 - 1e-10)
        state.best = child if better else state.best
        state.n_without_improvement = 0 if better else state.n_without_improvement + 1
        state.count(child)
        if on_offspring is not None:
            on_offspring(state)
        state.stop_reason = stop(state)
        return state.stop_reason is not None

    for _ in range(most_size):
        if add(initialize(rng), rng.random()):
            return state.finish()
    state.begin_generation()
    while True:
        state.population = survivors(state.population, least_size)
        while len(state.population) < most_size:
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
