"""Sums over the points of clusters, in one pass over the data as given and without a copy.

Points count relative to an `offset` (the mean of all points): nothing cancels on shifted data, and
float32 data are summed in float64.
"""

from __future__ import annotations

import numpy as np

from smdeclust.kernels import summing_kernel

# Stands for "all rows are free".
EVERY = np.ones(1, dtype=np.bool_)
EVERY.flags.writeable = False


@summing_kernel()
def add_to_clusters(X, weights, free, offset, start, stop, labels, sums, totals, counts):
    """Add the rows from `start` to `stop` that are `free` to their clusters.

    `weights` and `free` hold one entry a row, or a single one for all. Changes `sums` (K, d),
    `totals` (weights) and `counts` (rows of positive weight). O(rows d).
    """
    for i in range(start, stop):
        if not free[i if len(free) > 1 else 0]:
            continue
        k = labels[i]
        w = weights[i if len(weights) > 1 else 0]
        totals[k] += w
        counts[k] += 1 if w > 0 else 0
        for j in range(len(offset)):
            sums[k, j] += w * (X[i, j] - offset[j])


@summing_kernel()
def sum_squares(X, weights, free, offset, start, stop, labels, centers):
    """Weighted squared distances of those rows to the centers (minus `offset`) of their labels."""
    total = 0.0
    for i in range(start, stop):
        if free[i if len(free) > 1 else 0]:
            square = 0.0
            for j in range(len(offset)):
                gap = (X[i, j] - offset[j]) - centers[labels[i], j]
                square += gap * gap
            total += square * weights[i if len(weights) > 1 else 0]
    return total
