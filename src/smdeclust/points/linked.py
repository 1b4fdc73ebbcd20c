"""Linked groups, kept in memory by every storage: costs, sums and squares in double precision."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.points.blocks import EVERY, add_to_clusters
from smdeclust.points.protocol import ClusterSums
from smdeclust.points.validation import read_only

# Where products leave distances a larger relative error than this they are taken directly.
PRODUCT_ERROR = 1e-10


class LinkedMeans:
    """The (L, d) means of the linked groups, dense, in the coordinates of the searches."""

    def __init__(self, means: np.ndarray, weights: np.ndarray) -> None:
        self.means, self.weights = read_only(means), read_only(weights)
        self.sizes = np.einsum("gj,gj->g", means, means)

    def costs(self, centers: np.ndarray) -> np.ndarray:
        """(L, K) weighted squared distances."""
        return squares_between(self.means, self.sizes, centers) * self.weights[:, None]

    def add_to(self, sums: ClusterSums, labels: np.ndarray) -> None:
        """Add the groups to their clusters."""
        zero = np.zeros(self.means.shape[1])
        add_to_clusters(
            self.means, self.weights, EVERY, zero, labels, sums.sums, sums.totals, sums.counts
        )

    def squares(self, centers: np.ndarray, labels: np.ndarray) -> float:
        """Weighted squared distances to the centers of their labels, summed."""
        gaps = self.means - centers[labels]
        return float(np.einsum("ij,ij->i", gaps, gaps) @ self.weights)


def squares_between(points: np.ndarray, sizes: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """(n, K) squared distances of points with these squared norms: by a matrix product, and
    directly for those that it leaves too few digits."""
    norms = np.einsum("kj,kj->k", centers, centers)
    squares: np.ndarray = points @ (-2.0 * centers.T)
    squares += norms
    squares += sizes[:, None]
    rounding = 4 * np.finfo(float).eps * points.shape[1] * (sizes + norms.max())
    rough = np.flatnonzero(rounding > PRODUCT_ERROR * squares.min(axis=1))
    if len(rough):
        squares[rough] = cdist(points[rough], centers, "sqeuclidean")
    return squares
