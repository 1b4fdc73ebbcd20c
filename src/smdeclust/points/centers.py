"""Distances to centers, the center step (every center moves to the mean of its cluster), and what
clusters cost.

In kernels, differences are squared directly, never expanded to ``|x|^2 - 2xy + |y|^2``: nothing
cancels. Inner sums may be reordered for speed.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from smdeclust.kernels import kernel, summing_kernel


def cluster_means(
    X: Any, labels: np.ndarray, n_clusters: int = 0, weight: np.ndarray | None = None
) -> np.ndarray:
    """(K, d) weighted means of the clusters of any points; rows with a label of -1 are in none.

    There are `n_clusters`, or as many as `labels` name; an empty one gets the mean of all points,
    and of one that weighs nothing all points count alike.
    """
    known = np.flatnonzero(labels >= 0)
    share = np.ones(len(known)) if weight is None else weight[known]
    share = np.where(np.bincount(labels[known], share)[labels[known]] > 0, share, 1.0)
    totals = np.bincount(labels[known], share, n_clusters)
    share = share / totals[labels[known]]
    shares = csr_array((share, (labels[known], known)), shape=(len(totals), len(labels)))
    if bool(issparse(X)):
        return np.asarray((shares @ X).toarray())
    middle = X.mean(axis=0, dtype=np.float64)
    return np.asarray(shares @ (X - middle) + middle)


@summing_kernel()
def move_centers(points, weights, labels, centers):
    """Write the weighted cluster means to `centers`. No cluster may be empty. O(G d)."""
    n_features = centers.shape[1]
    total = np.zeros(len(centers))
    for k in range(len(centers)):
        for j in range(n_features):
            centers[k, j] = 0.0
    for g in range(len(points)):
        k, w = labels[g], weights[g]
        total[k] += w
        for j in range(n_features):
            centers[k, j] += w * points[g, j]
    for k in range(len(centers)):
        for j in range(n_features):
            centers[k, j] /= total[k]


@summing_kernel()
def sum_of_squares(points, weights, labels, centers):
    """f without the scatter inside groups: differences squared directly. O(G d)."""
    total = 0.0
    for g in range(len(points)):
        k = labels[g]
        squares = 0.0
        for j in range(centers.shape[1]):
            gap = points[g, j] - centers[k, j]
            squares += gap * gap
        total += weights[g] * squares
    return total


def cost_of(X: np.ndarray, labels: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The sum of (weighted) squared distances of points to the means of their clusters."""
    total = 0.0
    for k in np.unique(labels):  # all differences at once would take memory
        own = labels == k
        points, share = X[own], np.ones(own.sum()) if weight is None else weight[own]
        mean = np.average(points, axis=0, weights=share if share.any() else None)
        total += float(((points - mean) ** 2).sum(axis=1) @ share)
    return total


# ---- steps 1 and 2 of the exact assignment: costs of linked groups, nearest centers of the others

# Up to this many features the inner loop runs over centers instead of features.
FEW_FEATURES = 16


@summing_kernel()
def squared_distances(x, centers, centers_t, out):
    """Write |x - y_k|^2 for all k to `out`. O(K d)."""
    n_clusters, n_features = centers.shape
    if n_features <= FEW_FEATURES and n_clusters >= 4:
        for k in range(n_clusters):
            gap = x[0] - centers_t[0, k]
            out[k] = gap * gap
        for j in range(1, n_features):
            for k in range(n_clusters):
                gap = x[j] - centers_t[j, k]
                out[k] += gap * gap
    else:
        for k in range(n_clusters):
            total = 0.0
            for j in range(n_features):
                gap = x[j] - centers[k, j]
                total += gap * gap
            out[k] = total


@kernel()
def transposed(centers):
    """Return a copy of the centers with one row per feature."""
    out = np.empty((centers.shape[1], centers.shape[0]))
    for k in range(centers.shape[0]):
        for j in range(centers.shape[1]):
            out[j, k] = centers[k, j]
    return out


@summing_kernel()
def nearest_centers(points, weights, start, centers, labels):
    """Label the groups from `start` on by their nearest center; the first of equals wins.

    Writes `labels`; returns the weighted cost. O((G - start) K d).
    """
    n_groups = len(points)
    n_clusters = len(centers)
    row, centers_t = np.empty(n_clusters), transposed(centers)
    cost = 0.0
    for g in range(start, n_groups):
        squared_distances(points[g], centers, centers_t, row)
        best = 0
        for k in range(1, n_clusters):
            if row[k] < row[best]:
                best = k
        cost += weights[g] * row[best]
        labels[g] = best
    return cost


@kernel()
def costs_of(points, weights, which, centers):
    """(n, K) costs w_g |m_g - y_k|^2 of some groups. O(n K d)."""
    costs, centers_t = np.empty((len(which), len(centers))), transposed(centers)
    for i in range(len(which)):
        g = which[i]
        squared_distances(points[g], centers, centers_t, costs[i])
        for k in range(len(centers)):
            costs[i, k] *= weights[g]
    return costs
