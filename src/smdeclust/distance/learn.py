"""Two rounds: distance from must-links, clusters in it, distance from both."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from smdeclust.points.centers import cluster_means

# points in the distance, labels to start from or None, further random starts -> (N,) labels
Cluster = Callable[[Any, "np.ndarray | None", int], np.ndarray]

# Points that the identity is worth, for each column of the data. Measured: flat from 0.1 to 1.
SHRINKAGE = 0.25

# Points that the clusters of a round are worth, for each column. With many must-links the pairs
# decide, with few the clusters do. Measured: flat from 2 to 8.
CLUSTERS = 4.0

# Random starts of the clustering, one number per round. More rounds drift away from the must-links:
# the criterion keeps falling, and agreement with people's classes falls with it.
N_STARTS = (6, 4)

# The same where distances are only compared.
FEW_STARTS = (3, 1)


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


@dataclass(frozen=True)
class Learned:
    """A distance at the end of the rounds."""

    root: np.ndarray  # takes the coordinates to those in which the distance is Euclidean
    target: np.ndarray  # M + v T, which no round forgets
    labels: np.ndarray | None  # (N,) clusters in this distance, if there was a clustering
    criterion: list[float]  # N log det(M + c W + v T) after each round; falls


def learn(
    points: Any,
    groups: np.ndarray,
    weights: np.ndarray,
    spread: Spread,
    cluster: Cluster | None,
    *,
    n_columns: int,
    n_starts: tuple[int, ...] = N_STARTS,
    is_late: Callable[[], bool] = lambda: False,
) -> Learned:
    """Learn a distance from must-link groups and, where `cluster` is given, from clusters.

    The first distance is that of the must-link groups alone (shrunk relevant component analysis).
    Each round clusters in the present distance and adds the scatter inside the clusters.

    `points` are coordinates of a :class:`~smdeclust.distance.Frame`, `groups` and `weights` go with
    them; the strengths of clusters and identity go by `n_columns` of the data.
    """
    target = spread.within(points, groups, weights)
    target = target + SHRINKAGE * n_columns * spread.target(points.shape[1])
    total = float(weights.sum())
    linked = max(total - len(np.unique(groups)), 0.0)
    clusters = CLUSTERS * n_columns
    scatter, worth = target, linked + SHRINKAGE * n_columns
    labels: np.ndarray | None = None
    criterion: list[float] = []
    for fresh in n_starts:
        if cluster is None or (criterion and is_late()):
            break
        found = cluster(spread.apply(points, spread.root(scatter / worth)), labels, fresh)
        after = target + clusters / total * spread.within(points, found, weights)
        value = total * spread.log_det(after)
        if criterion and value >= criterion[-1]:
            break
        labels, scatter = found, after
        worth = linked + SHRINKAGE * n_columns + clusters
        criterion.append(value)
    return Learned(spread.root(scatter / worth), target, labels, criterion)
