"""COP-KM (Wagstaff 2001): groups in random order, each to the nearest center still allowed.

No backtracking: a group whose neighbours block every cluster ends the run, feasible or not. The
transitive closure of the pairs is what contraction gives: a cannot-link holds for whole groups.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smdeclust.assignment.distances import nearest_centers, squared_distances
from smdeclust.local_search.centers import move_centers, sum_of_squares
from smdeclust.local_search.lloyd import LEAST_FALL
from smdeclust.problem import Problem, Solution
from smdeclust.rivals.empty_clusters import fill_empty_clusters
from smdeclust.rivals.multi_start import Attempt


def cop_kmeans(problem: Problem, centers: np.ndarray, order: np.ndarray, max_iter: int) -> Attempt:
    """Run one start.

    Parameters
    ----------
    problem
        The problem.
    centers
        (K, d') start, in the coordinates of ``problem.core``.
    order
        (n_linked,) the order in which groups with cannot-links are placed; the others are free.
    max_iter
        Most iterations; it also ends at the first that does not lower the objective.
    """
    core = problem.core
    labels = np.full(problem.n_groups, -1, dtype=np.int64)
    final = np.array(centers, dtype=np.float64, order="C")
    objective, n_iterations = _run(
        core.points, core.weights, core.indptr, core.indices, order, final, labels, max_iter
    )
    if objective < 0:
        return Attempt(None, n_iterations)
    found = Solution(labels, final, objective + problem.scatter, n_iterations, proven=False)
    return Attempt(found, n_iterations)


@njit(cache=True, nogil=True)
def _run(points, weights, indptr, indices, order, centers, labels, max_iter):
    """Place and move centers in turn. Changes `centers` and `labels`.

    Returns the objective, -1 where a group found no cluster, and the iterations.
    """
    objective = np.inf
    found = np.empty_like(labels)
    moved = centers.copy()
    n_done = 0
    while n_done < max_iter:
        n_done += 1
        if not _place(points, weights, indptr, indices, order, centers, found):
            return -1.0, n_done
        fill_empty_clusters(points, weights, found, moved)
        move_centers(points, weights, found, moved)
        f = sum_of_squares(points, weights, found, moved)
        if not f < objective - LEAST_FALL * objective and objective < np.inf:
            break
        labels[:] = found
        centers[:] = moved
        objective = f
    return objective, n_done


@njit(cache=True, nogil=True)
def _place(points, weights, indptr, indices, order, centers, labels):
    """Label every group, or return False at the first that is blocked everywhere.

    Writes `labels`. O(G K d + edges).
    """
    n_linked = len(indptr) - 1
    n_clusters = len(centers)
    centers_t = centers.T.copy()
    row = np.empty(n_clusters)
    labels[:n_linked] = -1
    for g in order:
        squared_distances(points[g], centers, centers_t, row)
        for e in range(indptr[g], indptr[g + 1]):
            if labels[indices[e]] >= 0:
                row[labels[indices[e]]] = np.inf
        best = np.argmin(row)
        if row[best] == np.inf:
            return False
        labels[g] = best
    nearest_centers(points, weights, n_linked, centers, centers_t, labels)
    return True
