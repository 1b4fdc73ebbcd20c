"""Step 1 and 2 of the exact assignment: costs of linked groups, nearest centers of the others.

Differences are squared directly, never expanded to ``|x|^2 - 2xy + |y|^2``: nothing cancels. The
inner sums may be reordered for speed.
"""

import numpy as np

from smdeclust.kernels import kernel, summing_kernel

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
