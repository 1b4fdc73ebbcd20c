"""Relabel one solution's centers onto another's by a minimum-cost matching."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from smdeclust.kernels import summing_kernel


def match(centers: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """Return `centers` in the order that makes the sum of |y_k - onto_k|^2 least."""
    gaps = np.empty((len(centers), len(onto)))
    squared_gaps(centers, onto, gaps)
    rows, columns = linear_sum_assignment(gaps)
    ordered = np.empty_like(centers)
    ordered[columns] = centers[rows]
    return ordered


@summing_kernel()
def squared_gaps(centers, onto, gaps):
    """Write the (K, K) squared distances between two sets of centers to `gaps`."""
    for k in range(len(centers)):
        for m in range(len(onto)):
            total = 0.0
            for j in range(centers.shape[1]):
                gap = centers[k, j] - onto[m, j]
                total += gap * gap
            gaps[k, m] = total
