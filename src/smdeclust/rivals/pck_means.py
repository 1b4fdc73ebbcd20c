"""PCK-Means (Basu, Banerjee, Mooney 2004): f plus a cost for every broken pair.

Points are placed one by one in random order, each where distance and the pairs with the points
placed so far cost least. Then, all placed, some more passes look at every point again, which cannot
raise the objective.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smdeclust.assignment.distances import squared_distances
from smdeclust.local_search.centers import move_centers, sum_of_squares
from smdeclust.local_search.lloyd import LEAST_FALL
from smdeclust.problem import Problem, Solution
from smdeclust.problem.groups import contract
from smdeclust.rivals.empty_clusters import fill_empty_clusters
from smdeclust.rivals.multi_start import Attempt
from smdeclust.rivals.soft_pairs import SoftPairs

# A start ends after so many iterations in a row without a better solution: orders are drawn anew,
# so one that does not help says little.
PATIENCE = 10
# Passes over the points between two moves of the centers.
MOST_PASSES = 6


def neighborhood_centers(
    problem: Problem, must_link: np.ndarray, rng: np.random.Generator, *, draw: bool = False
) -> np.ndarray:
    """Return the means of the K largest must-link groups of several points, then random points.

    Parameters
    ----------
    problem
        The points, without pairs.
    must_link
        (m, 2) pairs whose transitive closure gives the groups.
    draw
        Draw K groups in proportion to their sizes instead of taking the largest: starts that
        should differ.
    rng
        Draws points, in proportion to their weights, where there are fewer than K groups.
    """
    groups = contract(problem.n_points, must_link, np.empty((0, 2), dtype=np.int64))
    compound = np.flatnonzero(groups.size > 1)
    if draw and len(compound) > problem.n_clusters:
        share = groups.size[compound] / groups.size[compound].sum()
        chosen = rng.choice(compound, size=problem.n_clusters, replace=False, p=share)
    else:
        chosen = compound[np.argsort(-groups.size[compound], kind="stable")][: problem.n_clusters]
    points = problem.core.points
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


def pck_means(
    problem: Problem, pairs: SoftPairs, centers: np.ndarray, rng: np.random.Generator, max_iter: int
) -> Attempt:
    """Run one start; the objective of the solution is f plus the cost of the broken pairs.

    Parameters
    ----------
    problem
        The points, without pairs.
    pairs
        The soft pairs and their costs.
    centers
        (K, d') start, in the coordinates of ``problem.core``.
    rng
        Draws the order of the points, anew in every iteration.
    max_iter
        Most iterations; it also ends after some in a row without a better solution.
    """
    core = problem.core
    centers = np.array(centers, dtype=np.float64, order="C")
    graph = pairs.indptr, pairs.indices, pairs.signed
    best: Solution | None = None
    n_done = n_idle = 0
    patience = PATIENCE if len(pairs.indices) else 1  # without pairs the order does not matter
    while n_done < max_iter and n_idle < patience:
        n_done += 1
        n_idle += 1
        labels = np.full(problem.n_points, -1, dtype=np.int64)
        order = rng.permutation(problem.n_points)
        for _ in range(MOST_PASSES if len(pairs.indices) else 1):
            if _place(core.points, core.weights, *graph, order, centers, labels) == 0:
                break
        fill_empty_clusters(core.points, core.weights, labels, centers)
        move_centers(core.points, core.weights, labels, centers)
        squares = float(sum_of_squares(core.points, core.weights, labels, centers))
        objective = squares + pairs.cost(labels)
        if best is None or objective < best.objective * (1 - LEAST_FALL):
            best = Solution(labels, centers.copy(), objective, n_done, proven=False)
            n_idle = 0
    return Attempt(best, n_done)


@njit(cache=True, nogil=True)
def _place(points, weights, indptr, indices, signed, order, centers, labels):
    """Label the points in this order, each at the least cost given all labels that are not -1.

    Changes `labels`; returns how many changed. O(N K d + pairs).
    """
    n_changed = 0
    centers_t = centers.T.copy()
    row = np.empty(len(centers))
    for i in order:
        squared_distances(points[i], centers, centers_t, row)
        for k in range(len(row)):
            row[k] *= weights[i]
        # Being with a must-linked point saves its cost, being with a cannot-linked one adds it.
        for e in range(indptr[i], indptr[i + 1]):
            if labels[indices[e]] >= 0:
                row[labels[indices[e]]] -= signed[e]
        best = np.argmin(row)
        n_changed += labels[i] != best
        labels[i] = best
    return n_changed
