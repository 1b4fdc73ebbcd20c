"""Spread: the scatter of points about the means of their groups, as a matrix or by columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from smdeclust.points.centers import cluster_means


def is_sparse(points: Any) -> bool:
    """Whether these points are a sparse matrix (scipy's own question, asked as a plain bool)."""
    return bool(issparse(points))


class Spread:
    """A whole matrix: directions, and how they go together."""

    def within(self, points: Any, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Scatter of the points about the means of their labels."""
        gaps = points - cluster_means(points, labels, weight=weights)[labels]
        return (gaps * weights[:, None]).T @ gaps

    def target(self, n_directions: int) -> np.ndarray:
        """The identity."""
        return np.eye(n_directions)

    def log_det(self, scatter: np.ndarray) -> float:
        """Logarithm of the determinant."""
        return float(np.linalg.slogdet(scatter)[1])

    def root(self, scatter: np.ndarray) -> np.ndarray:
        """Root of the inverse, scaled so that the scatter is 1 in every direction."""
        sizes, axes = np.linalg.eigh(scatter)
        return (axes / np.sqrt(sizes)) @ axes.T  # the symmetric root: there is only one

    def apply(self, points: Any, root: np.ndarray) -> Any:
        """Points in the coordinates that `root` leads to."""
        return points @ root.T


class _Diagonal(Spread):
    """One number a column."""

    def within(self, points: Any, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        totals = np.bincount(labels, weights)
        sums = _sums(points, labels, weights, len(totals))
        inverse = np.where(totals > 0, 1.0 / np.where(totals > 0, totals, 1.0), 0.0)
        if is_sparse(points):
            return np.maximum(weights @ points.power(2) - inverse @ sums.power(2), 0.0)
        gaps = points - (sums * inverse[:, None])[labels]
        return weights @ gaps**2

    def target(self, n_directions: int) -> np.ndarray:
        return np.ones(n_directions)

    def log_det(self, scatter: np.ndarray) -> float:
        return float(np.log(scatter).sum())

    def root(self, scatter: np.ndarray) -> np.ndarray:
        return 1.0 / np.sqrt(scatter)

    def apply(self, points: Any, root: np.ndarray) -> Any:
        return csr_array(points @ diags_array(root)) if is_sparse(points) else points * root


FULL, DIAGONAL = Spread(), _Diagonal()


def _sums(points: Any, labels: np.ndarray, weights: np.ndarray, n_labels: int) -> Any:
    """(n_labels, r) weighted sums of the points of each label, sparse where the points are."""
    entries = (weights, (labels, np.arange(len(labels))))
    return csr_array(entries, shape=(n_labels, len(labels))) @ points
