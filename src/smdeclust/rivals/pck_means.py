"""PCK-Means (Basu, Banerjee, Mooney 2004): f plus a cost for every broken pair.

Points are placed one by one in random order, each where distance and the pairs with the points
placed so far cost least; from the second pass on all points are placed, so no pass raises the
objective.
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


def neighborhood_centers(
    problem: Problem, must_link: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return the means of the K largest must-link groups of several points, then random points.

    Parameters
    ----------
    problem
        The points, without pairs.
    must_link
        (m, 2) pairs whose transitive closure gives the groups.
    rng
        Draws points, in proportion to their weights, where there are fewer than K groups.
    """
    groups = contract(problem.n_points, must_link, np.empty((0, 2), dtype=np.int64))
    compound = np.flatnonzero(groups.size > 1)
    largest = compound[np.argsort(-groups.size[compound], kind="stable")][: problem.n_clusters]
    points = problem.core.points
    centers = np.empty((problem.n_clusters, points.shape[1]))
    for k, group in enumerate(largest):
        rows = groups.of_point == group
        weight = problem.weights[rows]
        centers[k] = np.average(points[rows], axis=0, weights=weight if weight.any() else None)
    missing = problem.n_clusters - len(largest)
    if missing == 0:
        return centers
    chance = np.where(np.isin(groups.of_point, largest), 0.0, problem.weights)
    if np.count_nonzero(chance) < missing:
        chance = problem.weights
    rows = rng.choice(problem.n_points, size=missing, replace=False, p=chance / chance.sum())
    centers[len(largest) :] = points[rows]
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
        Draws the order of the points, anew in every pass.
    max_iter
        Most iterations; it also ends at the first that does not lower the objective.
    """
    core = problem.core
    centers = np.array(centers, dtype=np.float64, order="C")
    labels = np.full(problem.n_points, -1, dtype=np.int64)
    best: Solution | None = None
    n_done = 0
    while n_done < max_iter:
        n_done += 1
        order = rng.permutation(problem.n_points)
        _place(
            core.points, core.weights, pairs.indptr, pairs.indices, pairs.signed, order, centers,
            labels,
        )  # fmt: skip
        fill_empty_clusters(core.points, core.weights, labels, centers)
        move_centers(core.points, core.weights, labels, centers)
        squares = float(sum_of_squares(core.points, core.weights, labels, centers))
        objective = squares + pairs.cost(labels)
        if best is not None and not objective < best.objective * (1 - LEAST_FALL):
            break
        best = Solution(labels.copy(), centers.copy(), objective, n_done, proven=False)
    return Attempt(best, n_done)


@njit(cache=True, nogil=True)
def _place(points, weights, indptr, indices, signed, order, centers, labels):
    """Label the points in this order, each at the least cost given all labels that are not -1.

    Changes `labels`. O(N K d + pairs).
    """
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
        labels[i] = np.argmin(row)
