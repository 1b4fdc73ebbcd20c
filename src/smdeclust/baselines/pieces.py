"""Pieces that several baselines are made of: orders, soft pairs, empty clusters, survivors."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.kernels import kernel
from smdeclust.local_search.kempe import squared_distance
from smdeclust.local_search.lloyd import LEAST_FALL
from smdeclust.local_search.state import is_past
from smdeclust.memetic import State
from smdeclust.memetic.rules import StoppingRule
from smdeclust.points.centers import nearest_centers
from smdeclust.problem import Solution
from smdeclust.structure.graph import PairGraph
from smdeclust.structure.pairs import merge_repeated, one_each

# Objectives closer than this share of them are the same.
SAME = 1e-9


def make_seed(rng: np.random.Generator) -> np.ndarray:
    """Draw the state that `shuffle` advances."""
    return np.array([rng.integers(2**63)], dtype=np.uint64)


@kernel()
def shuffle(values, seed):
    """Shuffle in place (Fisher-Yates on splitmix64). Changes `values` and `seed`."""
    for i in range(len(values) - 1, 0, -1):
        seed[0] += np.uint64(0x9E3779B97F4A7C15)
        z = seed[0]
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        j = np.int64(z % np.uint64(i + 1))
        values[i], values[j] = values[j], values[i]


@kernel()
def fill_empty_clusters(points, weights, labels, centers):
    """Move groups to empty clusters; changes `labels` and `centers`. Returns how many moved."""
    n_clusters = len(centers)
    counts = np.zeros(n_clusters, np.int64)
    for g in range(len(points)):
        if weights[g] > 0:
            counts[labels[g]] += 1
    moved = 0
    for k in range(n_clusters):
        if counts[k] > 0:
            continue
        worst, farthest = -1, -1.0
        for g in range(len(points)):
            if weights[g] <= 0 or counts[labels[g]] < 2:
                continue
            cost = weights[g] * squared_distance(points[g], centers[labels[g]])
            if cost > farthest:
                worst, farthest = g, cost
        counts[labels[worst]] -= 1
        counts[k] = 1
        labels[worst] = k
        centers[k] = points[worst]
        moved += 1
    return moved


def nearest_labels(points: np.ndarray, weights: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Label every point by its nearest center, no cluster empty."""
    labels, centers = np.empty(len(points), dtype=np.int64), np.array(centers, order="C")
    nearest_centers(points, weights, 0, centers, labels)
    fill_empty_clusters(points, weights, labels, centers)
    return labels


# indptr and indices of the pairs of each point, and what each costs where it is broken: being apart
# from a must-linked point, or, with a minus, being with a cannot-linked one.
SignedPairs = tuple[np.ndarray, np.ndarray, np.ndarray]


def signed_pairs(
    n_points: int,
    must_link: np.ndarray,
    cannot_link: np.ndarray,
    must_cost: np.ndarray,
    cannot_cost: np.ndarray,
) -> SignedPairs:
    """Sort pairs by point, in O(N + m log m); of one listed several times the largest cost."""
    must_link, must_cost = merge_repeated(must_link, must_cost)
    cannot_link, cannot_cost = merge_repeated(cannot_link, cannot_cost)
    cost = np.concatenate([must_cost, -cannot_cost])
    graph = links_of(n_points, must_link, cannot_link, cost)
    return graph.indptr, graph.indices, graph.price


def one_per_pair(name: str, given: Any, n_pairs: int, rule: str, fits: Any) -> np.ndarray:
    """Return one number per pair, from one for all or one for each; `fits` says which are right."""
    values = one_each(given, n_pairs, name, f"{n_pairs} pairs, must-links first")
    bad = np.flatnonzero(~fits(values))
    if len(bad):
        raise InvalidInputError(
            f"{name} must be {rule}, got {values[bad[0]]} at position {int(bad[0])}."
        )
    return values


def links_of(
    n_points: int, must_link: np.ndarray, cannot_link: np.ndarray, value: np.ndarray
) -> PairGraph:
    """The pairs of points, must-links first, without those of a point with itself."""
    pairs = np.concatenate([must_link, cannot_link])
    together = np.arange(len(pairs)) < len(must_link)
    real = pairs[:, 0] != pairs[:, 1]
    return PairGraph.from_edges(pairs[real], value[real], together[real], n_points)


def alternate(
    step: Callable[[np.ndarray], Solution],
    centers: np.ndarray,
    max_iter: int,
    deadline: float | None,
) -> Solution:
    """Repeat `step` (assign, move centers) until the objective does not fall; at least once."""
    best, n_done = step(centers), 1
    while n_done < max_iter and not is_past(deadline):
        found = step(best.centers)
        n_done += 1
        if not found.objective < best.objective * (1 - LEAST_FALL):
            break
        best = found
    return replace(best, n_iterations=n_done)


@kernel()
def cost_of_broken(indptr, indices, signed, labels):
    """What the pairs broken by `labels` cost. O(N + pairs)."""
    total = 0.0
    for i in range(len(labels)):
        total += cost_of_point(i, labels[i], indptr, indices, signed, labels)
    return 0.5 * total


@kernel()
def cost_of_point(i, k, indptr, indices, signed, labels):
    """What the pairs of point i cost if its label is k."""
    total = 0.0
    for e in range(indptr[i], indptr[i + 1]):
        same = labels[indices[e]] == k
        if same != (signed[e] > 0):
            total += abs(signed[e])
    return total


def breed(
    start: Callable[[], Solution],
    offspring: Callable[[list[Solution]], Solution],
    sizes: tuple[int, int, int],
    stop: StoppingRule,
    *,
    least_gain: float = 0.0,
    on_child: Callable[[State], Any] | None = None,
    on_generation: Callable[[State], Any] | None = None,
) -> State:
    """Generations of offspring, of which the best survive; returns the final state.

    `sizes` are the numbers of starts, of survivors, and of solutions at which they are chosen.
    """
    state = State()
    n_starts, n_survivors, n_all = sizes

    def ends_with(child: Solution) -> bool:
        state.population.append(child)
        better = state.best is None or child.objective < state.best.objective * (1 - least_gain)
        state.best = child if better else state.best
        state.n_without_improvement = 0 if better else state.n_without_improvement + 1
        state.count(child)
        if on_child is not None:
            on_child(state)
        state.stop_reason = stop(state)
        return state.stop_reason is not None

    for _ in range(n_starts):
        if ends_with(start()):
            return state.finish()
    state.end_generation()
    state.stop_reason = stop(state)
    while state.stop_reason is None:
        if len(state.population) > n_survivors:
            state.population = survivors(state.population, n_survivors)
        while len(state.population) < n_all:
            if ends_with(offspring(state.population)):
                return state.finish()
        state.population = survivors(state.population, n_survivors)
        state.end_generation()
        if on_generation is not None:
            on_generation(state)
        state.stop_reason = stop(state)
    return state.finish()


def survivors(population: list[Solution], size: int) -> list[Solution]:
    """The best `size` solutions; clones (same objective, same cluster sizes) come last."""
    ordered = sorted(population, key=lambda solution: solution.objective)
    originals: list[Solution] = []
    clones: list[Solution] = []
    for solution in ordered:
        same = any(_is_clone(solution, other) for other in reversed(originals))
        (clones if same else originals).append(solution)
    return (originals + clones)[:size]


def _is_clone(first: Solution, second: Solution) -> bool:
    if abs(first.objective - second.objective) > SAME * max(1.0, abs(first.objective)):
        return False
    one, other = (np.sort(np.bincount(solution.labels)) for solution in (first, second))
    return np.array_equal(one, other)
