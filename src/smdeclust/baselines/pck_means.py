"""Points placed one by one: PCK-Means (Basu, Banerjee, Mooney 2004), where every broken pair costs,
and COP-KM (Wagstaff 2001), where none is broken."""

from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from smdeclust.baselines.base import FromCenters, MultiStart, SoftBaseline, StrictBaseline, Task
from smdeclust.baselines.pieces import (
    SignedPairs,
    cost_of_broken,
    fill_empty_clusters,
    make_seed,
    one_per_pair,
    shuffle,
    signed_pairs,
)
from smdeclust.estimators.parameters import anything, current, documented, former
from smdeclust.kernels import kernel
from smdeclust.local_search.lloyd import LEAST_FALL
from smdeclust.points.centers import move_centers, squared_distances, sum_of_squares
from smdeclust.problem import Problem, Solution
from smdeclust.structure.groups import Grouping, contract

# A start ends after this many iterations in a row without a better solution: each draws a new
# order, so a single one that does not help says little.
PATIENCE, COP_PATIENCE = 10, 20
# Passes over the points between two moves of the centers.
MOST_PASSES = 6


@documented
class PCKMeans(MultiStart, SoftBaseline):
    """PCK-means (Basu, Banerjee and Mooney 2004): k-means in which broken pairs have a price.

    The objective is the sum of squared distances plus `penalty` for each broken pair. Points are
    assigned one by one in random order, each at the lowest cost. The first start begins at the
    means of the K largest must-link groups, and other starts at K random groups, where large groups
    are more likely. If there are fewer groups, random points are added. A start also ends after ten
    iterations in a row without a better solution.
    """

    _attributes = {  # noqa: RUF012
        "objective_": "The minimized objective: ``inertia_`` plus the prices of broken pairs.",
    }

    penalty: Any = anything(
        1.0,
        "The price of a broken pair: one number, or one for each pair in the order given to\n"
        "``fit``, must-links first. A repeated pair counts once, with its largest price.",
    )
    w: Any = former("penalty")

    def _solve(self, task: Task) -> np.ndarray:
        problem, deadline, together, apart = task
        cost = one_per_pair(
            "penalty", current(self, "penalty"), len(together) + len(apart),
            "finite and not negative", lambda price: np.isfinite(price) & (price >= 0),
        )  # fmt: skip
        pairs = signed_pairs(
            problem.n_points, together, apart, cost[: len(together)], cost[len(together) :]
        )
        groups = contract(problem.n_points, together, np.empty((0, 2), dtype=np.int64))
        starts = count()

        def attempt(rng: np.random.Generator) -> Solution:
            centers = neighborhood_centers(problem, groups, rng, draw=next(starts) > 0)
            return search_by_placing(problem, pairs, centers, rng, self.max_iter)

        best = self._best_start(attempt, deadline)
        assert best is not None
        self.objective_ = best.objective
        return best.labels


@documented
class COPKMeans(FromCenters, StrictBaseline):
    """COP-k-means (Wagstaff et al. 2001): k-means that assigns points greedily and breaks no pair.

    Groups of must-linked points are assigned in random order, each to the nearest center whose
    cluster has no cannot-link to it. A start fails if no cluster is left for a group, because there
    is no backtracking. If all starts fail, ``fit`` raises `NoFeasibleSolutionError`, although a
    feasible clustering may exist. A start also ends after twenty iterations in a row without a
    better solution.
    """

    _failure = (
        "COP-k-means failed in all of its {n} starts: it places groups one by one, without "
        "backtracking. A feasible clustering may still exist. Try more starts (n_init), or "
        "SMDEClust or BLPKMeans, whose assignment step is exact."
    )

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution | None:
        """Run one start; None where its first placement fails. (A later one may fail.)"""
        graph = task.problem.graph.with_free(task.problem.n_groups)
        forbidden = graph.indptr, graph.indices, -np.array(graph.price)
        limits = self.max_iter, COP_PATIENCE, 1
        found = search_by_placing(task.problem, forbidden, centers, rng, *limits)
        objective = found.objective + task.problem.scatter
        return None if objective == np.inf else replace(found, objective=objective)


def neighborhood_centers(
    problem: Problem, groups: Grouping, rng: np.random.Generator, *, draw: bool = False
) -> np.ndarray:
    """Return the means of the K largest must-link groups of several points, then random points.

    `rng` draws points, in proportion to their weights, where there are fewer than K groups. With
    `draw`, K groups are drawn in proportion to their sizes instead: for starts that should differ.
    """
    compound = np.flatnonzero(groups.size > 1)
    if draw and len(compound) > problem.n_clusters:
        share = groups.size[compound] / groups.size[compound].sum()
        chosen = rng.choice(compound, size=problem.n_clusters, replace=False, p=share)
    else:
        chosen = compound[np.argsort(-groups.size[compound], kind="stable")][: problem.n_clusters]
    points = problem.contracted.points
    centers = np.empty((problem.n_clusters, points.shape[1]))
    for k, group in enumerate(chosen):
        rows = groups.of_point == group
        weight = problem.weights[rows]
        centers[k] = np.average(points[rows], axis=0, weights=weight if weight.any() else None)
    missing = problem.n_clusters - len(chosen)
    if missing == 0:
        return centers
    chance = np.where(np.isin(groups.of_point, chosen), 0.0, problem.weights)
    if np.count_nonzero(chance) < missing:
        chance = problem.weights
    rows = rng.choice(problem.n_points, size=missing, replace=False, p=chance / chance.sum())
    centers[len(chosen) :] = points[rows]
    return centers


def search_by_placing(
    problem: Problem,
    pairs: SignedPairs,
    centers: np.ndarray,
    rng: np.random.Generator,
    max_iter: int,
    patience: int = PATIENCE,
    n_passes: int = MOST_PASSES,
) -> Solution:
    """Run one start from (K, d') centers: place groups one by one, in an order that `rng` draws in
    every iteration, and move centers in turn. The objective is f, without the scatter inside
    groups, plus the prices of the broken pairs; infinite where the first placement left a group
    without a cluster."""
    contracted = problem.contracted
    centers = np.array(centers, dtype=np.float64, order="C")
    best_centers = centers.copy()
    labels = np.full(problem.n_groups, -1, dtype=np.int64)
    points, weights, seed = contracted.points, contracted.weights, make_seed(rng)
    objective, n_iterations = _run(
        points, weights, *pairs, centers, labels, best_centers, seed, max_iter, patience, n_passes
    )
    return Solution(labels, best_centers, objective, n_iterations, False)


@kernel()
def _run(
    points, weights, indptr, indices, signed, centers, labels, best_centers, seed, max_iter,
    patience, n_passes,
):  # fmt: skip
    """Place and move centers in turn. Writes `labels` and `best_centers`; changes `centers` and
    `seed`. Returns the objective and the iterations."""
    order = np.arange(len(points))
    found = np.empty_like(labels)
    objective = np.inf
    n_done, n_idle = 0, 0
    # Only points with pairs can change once all are placed: their costs are kept.
    slots = np.full(len(points), -1)
    n_paired = 0
    for i in range(len(points)):
        if indptr[i + 1] > indptr[i]:
            slots[i] = n_paired
            n_paired += 1
    rows = np.empty((n_paired, len(centers)))
    if n_paired == 0:
        patience = 1  # without pairs the order does not matter
    while n_done < max_iter and n_idle < patience:
        n_done += 1
        n_idle += 1
        shuffle(order, seed)
        if not place(points, weights, indptr, indices, signed, order, centers, found, slots, rows):
            if objective == np.inf:
                break
            continue
        for _ in range(n_passes - 1):
            if _look_again(indptr, indices, signed, order, found, slots, rows) == 0:
                break
        fill_empty_clusters(points, weights, found, centers)
        move_centers(points, weights, found, centers)
        value = sum_of_squares(points, weights, found, centers)
        if n_passes > 1:
            value += cost_of_broken(indptr, indices, signed, found)
        if objective == np.inf or value < objective - LEAST_FALL * objective:
            objective = value
            labels[:] = found
            best_centers[:] = centers
            n_idle = 0
    return objective, n_done


@kernel()
def place(points, weights, indptr, indices, signed, order, centers, labels, slots, rows):
    """Label the points in this order, each at the least cost given the labels so far.

    Writes `labels`, and the weighted squared distances of points with pairs to `rows`; returns
    False at the first point whose pairs, of infinite prices, leave no cluster. O(N K d + pairs).
    """
    labels[:] = -1
    centers_t = centers.T.copy()
    row = np.empty(len(centers))
    for i in order:
        squared_distances(points[i], centers, centers_t, row)
        if slots[i] < 0:
            labels[i] = np.argmin(row)
            continue
        for k in range(len(row)):
            row[k] *= weights[i]
        rows[slots[i]] = row
        labels[i] = _cheapest(i, indptr, indices, signed, labels, row)
        if row[labels[i]] == np.inf:
            return False
    return True


@kernel()
def _look_again(indptr, indices, signed, order, labels, slots, rows):
    """The same for the points with pairs, all placed; returns how many moved."""
    n_moved = 0
    row = np.empty(rows.shape[1])
    for i in order:
        if slots[i] >= 0:
            row[:] = rows[slots[i]]
            best = _cheapest(i, indptr, indices, signed, labels, row)
            n_moved += best != labels[i]
            labels[i] = best
    return n_moved


@kernel()
def _cheapest(i, indptr, indices, signed, labels, row):
    """The best cluster of point i; adds the prices of its pairs to its distances in `row`."""
    for e in range(indptr[i], indptr[i + 1]):
        if labels[indices[e]] >= 0:
            row[labels[indices[e]]] -= signed[e]
    return np.argmin(row)
