"""Kempe Swap K-Means (Ren & Deng 2026): feasible labels improved by swaps of Kempe chains.

Must-linked points are one group. The assignment step swaps, for fixed centers, the colors of a
Kempe chain between two clusters wherever that brings its groups closer, so that every cannot-link
holds all the time; then centers move to the means, now and then with a perturbation that fades.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.baselines.base import FromCenters, StrictBaseline, Task
from smdeclust.estimators.parameters import documented, whole
from smdeclust.kernels import kernel
from smdeclust.local_search import PROOF_PIVOTS, local_search
from smdeclust.local_search.kempe import kempe_chain
from smdeclust.points.centers import move_centers, sum_of_squares
from smdeclust.problem import Solution

# A perturbation moves a center by this share of the mean distance of the points to theirs, at
# first; each further one by this factor less.
FIRST_SHARE = 0.5
FADING = 0.8
# Gains below this share of the costs are rounding.
LEAST_GAIN = 1e-12


@documented
class KempeSwapKMeans(FromCenters, StrictBaseline):
    """Kempe Swap K-Means (Ren & Deng, arXiv 2603.27417): every step keeps every pair.

    Must-linked points are one group. For fixed centers, chains of the cannot-link graph change
    places between two clusters wherever that brings their groups closer; then centers move to the
    means, perturbed now and then.

    Chosen here, where the text available to us says nothing: the first labels are one exact
    assignment; a perturbation is Gaussian, begins at half the mean distance of points to their
    centers and fades by a fifth each time; the best solution is what is perturbed.
    """

    n_perturbations: int = whole(10, "Perturbations of a start.", low=0)
    max_iter: int = whole(300, "Most iterations between two perturbations.", low=1)

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution:
        """Run one start; `rng` draws the perturbations."""
        problem, contracted = task.problem, task.problem.contracted
        # The first labels only have to be feasible: one exact assignment.
        first = local_search(problem, centers, max_iter=1, proof_pivots=PROOF_PIVOTS)
        labels, centers = np.array(first.labels), first.centers.copy()
        best, n_done, share = first.objective, 1, FIRST_SHARE
        best_labels, best_centers = labels.copy(), centers.copy()
        for turn in range(self.n_perturbations + 1):
            if turn > 0:
                labels = best_labels.copy()
                spread = np.sqrt(
                    max(best - problem.scatter, 0.0) / max(contracted.weights.sum(), 1e-300)
                )
                noise = rng.normal(size=centers.shape) / np.sqrt(centers.shape[1])
                centers = best_centers + share * spread * noise
                share *= FADING
            for _ in range(self.max_iter):
                n_done += 1
                costs = contracted.weights[:, None] * cdist(
                    contracted.points, centers, "sqeuclidean"
                )
                swaps = swap_chains(costs, contracted.indptr, contracted.indices, labels)
                move_centers(contracted.points, contracted.weights, labels, centers)
                if swaps == 0:
                    break
            f = (
                float(sum_of_squares(contracted.points, contracted.weights, labels, centers))
                + problem.scatter
            )
            if f < best * (1 - 1e-12):
                best, best_labels, best_centers = f, labels.copy(), centers.copy()
            if task.is_late:
                break
        return Solution(best_labels, best_centers, best, n_done, False)


@kernel()
def swap_chains(costs, indptr, indices, labels):
    """Swap chains while that lowers the sum of costs[g, labels[g]]; no cluster is emptied.

    A free group is a chain of its own. Changes `labels`; returns the number of swaps.
    """
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
