"""The center step: move every center to the mean of its cluster."""

from __future__ import annotations

import numpy as np

from smdeclust.kernels import summing_kernel


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
