"""The genetic loop of S-HG-MEANS: cross two parents' centers, move one center, descend, survive."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smdeclust.assignment.distances import nearest_centers
from smdeclust.baselines.empty_clusters import fill_empty_clusters
from smdeclust.baselines.genetic import survivors
from smdeclust.baselines.initialization import spread_groups
from smdeclust.baselines.soft_hg.descent import descend
from smdeclust.baselines.soft_hg.model import Model
from smdeclust.local_search import local_search
from smdeclust.memetic.crossover import exchange
from smdeclust.memetic.population import State
from smdeclust.memetic.stopping import StoppingRule
from smdeclust.problem import Problem

# k-means of the first population ends here at the latest.
MOST_LLOYD = 200


def soft_hg_means(
    problem: Problem,
    model: Model,
    population_size: int,
    n_offspring: int,
    stop: StoppingRule,
    rng: np.random.Generator,
    on_generation: Callable[[State], None] | None = None,
) -> State:
    """Run the loop and return its final state.

    Parameters
    ----------
    problem
        The points, without pairs.
    model
        The likelihood.
    population_size
        Survivors of a generation.
    n_offspring
        Offspring of a generation.
    stop
        Asked after every local search.
    rng
        Source of all randomness.
    on_generation
        Called after every generation, for progress displays.
    """
    state = State()
    initialize = spread_groups(problem)

    def add(labels: np.ndarray) -> bool:
        child = descend(model, labels, rng)
        state.population.append(child)
        better = state.best is None or child.objective < state.best.objective
        state.best = child if better else state.best
        state.n_without_improvement = 0 if better else state.n_without_improvement + 1
        state.count(child)
        state.stop_reason = stop(state)
        return state.stop_reason is not None

    for _ in range(population_size):
        start = local_search(problem, initialize(rng), max_iter=MOST_LLOYD)
        if add(start.labels):
            return state.finish()
    state.begin_generation()
    state.stop_reason = stop(state)

    while state.stop_reason is None:
        for _ in range(n_offspring):
            chosen = rng.choice(len(state.population), size=2, replace=False)
            first, second = (state.population[i] for i in chosen)
            centers = exchange(first, second, first, rng)
            centers[rng.integers(len(centers))] = model.points[rng.integers(len(model.points))]
            if add(assign(model, centers)):
                return state.finish()
        state.population = survivors(state.population, population_size)
        state.end_generation()
        if on_generation is not None:
            on_generation(state)
        state.stop_reason = stop(state)
    return state.finish()


def assign(model: Model, centers: np.ndarray) -> np.ndarray:
    """Label every point by its nearest center, no cluster empty. Changes `centers`."""
    labels = np.empty(len(model.points), dtype=np.int64)
    weights = np.ones(len(labels))
    nearest_centers(model.points, weights, 0, centers, np.ascontiguousarray(centers.T), labels)
    fill_empty_clusters(model.points, weights, labels, centers)
    return labels
