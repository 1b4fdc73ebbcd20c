"""Kempe Swap K-Means (Ren & Deng 2026): feasible labels improved by swaps of Kempe chains."""

from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.baselines.base import FromCenters, StrictBaseline, Task
from smdeclust.estimators.parameters import documented, whole
from smdeclust.kernels import kernel
from smdeclust.local_search import PROOF_PIVOTS, local_search
from smdeclust.points.centers import move_centers, sum_of_squares
from smdeclust.problem import Solution
from smdeclust.structure.coloring import kempe_chain

# A perturbation moves a center by this share of the mean distance of the points to theirs, at
# first; each further one by this factor less.
FIRST_SHARE = 0.5
FADING = 0.8
# Gains below this share of the costs are rounding.
LEAST_GAIN = 1e-12


@documented
class KempeSwapKMeans(FromCenters, StrictBaseline):
    """Kempe Swap K-Means (Ren and Deng, arXiv 2603.27417), which satisfies all pairs at every step.

    For fixed centers, it swaps chains of the cannot-link graph between two clusters if this lowers
    the cost. Then the centers move to the means. From time to time, they are perturbed.

    Our choices, because only the abstract and related papers were available: the first labels are
    an exact assignment. Perturbations are Gaussian and apply to the best solution. The first moves
    centers by about half the distance of a typical point to its center, and each later one by a
    fifth less.
    """

    n_perturbations: int = whole(10, "The number of perturbations per start.", low=0)
    max_iter: int = whole(300, "The maximum number of iterations between perturbations.", low=1)

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution:
        """Run one start; `rng` draws the perturbations."""
        problem, graph = task.problem, task.problem.graph
        points, weights = problem.contracted.points, problem.contracted.weights
        # The first labels only have to be feasible: one exact assignment.
        best = local_search(problem, centers, max_iter=1, proof_pivots=PROOF_PIVOTS)
        n_done, share = 1, 0.0
        for turn in range(self.n_perturbations + 1):
            labels = np.array(best.labels)
            size = max(best.objective - problem.scatter, 0.0) / max(weights.sum(), 1e-300)
            noise = rng.normal(size=centers.shape) if turn > 0 else np.zeros(centers.shape)
            centers = best.centers + share * np.sqrt(size / centers.shape[1]) * noise
            share = share * FADING if turn > 0 else FIRST_SHARE
            for _ in range(self.max_iter):
                n_done += 1
                costs = weights[:, None] * cdist(points, centers, "sqeuclidean")
                swaps = swap_chains(costs, graph.indptr, graph.indices, labels)
                move_centers(points, weights, labels, centers)
                if swaps == 0:
                    break
            f = float(sum_of_squares(points, weights, labels, centers)) + problem.scatter
            if f < best.objective * (1 - 1e-12):
                best = Solution(labels, centers, f)
            if task.is_late:
                break
        return replace(best, n_iterations=n_done, proven=False)


@kernel()
def swap_chains(costs, indptr, indices, labels):
    """Swap chains of `labels` while their costs fall; no cluster is emptied. Returns how many."""
    n_groups, n_clusters = costs.shape
    n_linked = len(indptr) - 1
    counts = np.zeros(n_clusters, np.int64)
    total = 0.0
    for g in range(n_groups):
        counts[labels[g]] += 1
        total += costs[g, labels[g]]
    mark = np.zeros(n_linked, np.int64)
    chain = np.zeros(n_linked + 1, np.int64)
    stamp, swaps, improved = 0, 0, True
    while improved:
        improved = False
        for g in range(n_groups):
            for b in range(n_clusters):
                a = labels[g]
                if b == a:
                    continue
                n = 1
                chain[0] = g
                if g < n_linked:
                    stamp += 1
                    n = kempe_chain(g, b, labels, indptr, indices, mark, stamp, chain)
                gain, leaving = 0.0, 0
                for i in range(n):
                    v = chain[i]
                    other = b if labels[v] == a else a
                    gain += costs[v, labels[v]] - costs[v, other]
                    leaving += 1 if labels[v] == a else -1
                if gain <= LEAST_GAIN * total or counts[a] <= leaving or counts[b] <= -leaving:
                    continue
                for i in range(n):
                    v = chain[i]
                    labels[v] = b if labels[v] == a else a
                counts[a] -= leaving
                counts[b] += leaving
                total -= gain
                swaps += 1
                improved = True
    return swaps
