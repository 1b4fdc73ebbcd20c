"""COP-KM (Wagstaff 2001): groups in random order, each to the nearest center still allowed.

No backtracking: a group whose neighbors block every cluster ends the run, feasible or not. The
transitive closure of the pairs is what contraction gives: a cannot-link holds for whole groups.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.distances import nearest_centers, squared_distances
from smdeclust.baselines.base import FromCenters, StrictBaseline
from smdeclust.baselines.pieces import fill_empty_clusters, make_seed, shuffle
from smdeclust.estimators.parameters import documented
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.kernels import kernel
from smdeclust.local_search.lloyd import LEAST_FALL
from smdeclust.points.centers import move_centers, sum_of_squares
from smdeclust.problem import Problem, Solution

# A start ends after so many iterations in a row without a better solution: orders are drawn again,
# so one that does not help says little.
PATIENCE = 20


@documented
class COPKMeans(FromCenters, StrictBaseline):
    """COP-KM (Wagstaff 2001): k-means that places points greedily and breaks no constraint.

    Must-link groups are placed in random order, each at the nearest center whose cluster holds no
    cannot-linked group yet. There is no backtracking: a start fails where its first placement
    leaves a group without a cluster, which says nothing about whether a clustering exists. Where
    all starts fail, ``fit`` raises ``NoFeasibleSolutionError``. A start also ends after twenty
    iterations in a row without a better solution.
    """

    def _solve(self, problem: Problem, deadline: float | None) -> np.ndarray:
        def search(centers: np.ndarray, rng: np.random.Generator) -> Solution | None:
            return cop_kmeans(problem, centers, rng, self.max_iter)

        best = self._best_from(problem, search, deadline)
        if best is None:
            raise NoFeasibleSolutionError(
                f"COP-KM failed in all of its {self.n_local_searches_} starts: it places groups "
                f"one by one and never takes one back. That is no proof: a feasible clustering may "
                f"well exist. Try more starts (n_init), or SMDEClust or BLPKMeans, whose "
                f"assignment step is exact."
            )
        return best.labels


def cop_kmeans(
    problem: Problem, centers: np.ndarray, rng: np.random.Generator, max_iter: int
) -> Solution | None:
    """Run one start from (K, d') centers; None where its first placement fails.

    A later placement that fails, or does not lower the objective, is an iteration without
    improvement: the best solution so far stays. `rng` draws the order of the groups again in every
    iteration.
    """
    contracted = problem.contracted
    centers = np.array(centers, dtype=np.float64, order="C")
    best_centers = centers.copy()
    labels = np.full(problem.n_groups, -1, dtype=np.int64)
    objective, n_iterations = _run(
        contracted.points,
        contracted.weights,
        contracted.indptr,
        contracted.indices,
        centers,
        labels,
        best_centers,
        make_seed(rng),
        max_iter,
    )
    if objective == np.inf:
        return None
    return Solution(labels, best_centers, objective + problem.scatter, n_iterations, False)


@kernel()
def _run(points, weights, indptr, indices, centers, labels, best_centers, seed, max_iter):
    """Place and move centers in turn. Writes `labels` and `best_centers`; changes `centers` and
    `seed`. Returns the objective, infinite where the first placement failed, and the iterations."""
    n_linked = len(indptr) - 1
    order = np.arange(n_linked)
    found = np.empty_like(labels)
    objective = np.inf
    n_done, n_idle = 0, 0
    patience = PATIENCE if n_linked > 0 else 1  # without cannot-links there is no order
    while n_done < max_iter and n_idle < patience:
        n_done += 1
        n_idle += 1
        shuffle(order, seed)
        if not place(points, weights, indptr, indices, order, centers, found):
            if objective == np.inf:
                break
            continue
        fill_empty_clusters(points, weights, found, centers)
        move_centers(points, weights, found, centers)
        f = sum_of_squares(points, weights, found, centers)
        if objective == np.inf or f < objective - LEAST_FALL * objective:
            objective = f
            labels[:] = found
            best_centers[:] = centers
            n_idle = 0
    return objective, n_done


@kernel()
def place(points, weights, indptr, indices, order, centers, labels):
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
