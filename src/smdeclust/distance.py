"""Pairs teach the distance: must-links and clusters show which directions of the data matter.

One criterion, N log det(M + c W + v T): M is the scatter inside must-link groups, W that inside
the clusters, worth a few points per column, and T a target that keeps directions of few data in
check. For fixed labels the best distance whitens by M + c W + v T; for a fixed distance the best
labels are those of our ordinary problem in the whitened coordinates. Each half-step lowers the
criterion. (With W alone, Friedman and Rubin's criterion, deeper searches find lower values far from
what the pairs say; must-links that are never forgotten prevent it.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

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


# ---- coordinates in which the target of the shrinkage is the identity

# Most directions that a full distance has; the leading ones of the scaled points.
MAX_DIRECTIONS = 128

# A column that varies by no more than this share of its size is constant but for rounding.
CONSTANT = 1e-12


@dataclass(frozen=True)
class Frame:
    """From the columns of the data to coordinates that do not depend on their units."""

    mean: np.ndarray  # (d,) of the columns
    factor: np.ndarray  # (d,) what each column is multiplied by; 0 where it is constant
    spread: np.ndarray  # (d,) standard deviations of the columns
    basis: np.ndarray | None = None  # (d, r) orthonormal directions; None: the columns themselves

    @classmethod
    def of(cls, points: Any, weights: np.ndarray, *, rotate: bool) -> "Frame":
        """Measure the columns of `points` (dense, or CSR where nothing is rotated).

        A column is divided by the fourth root of its fourth moment. For columns of one shape that
        is standardizing. A column that is nearly always the same and now and then far away (a
        pixel at the edge, a rare word) would be blown up by its small standard deviation; its
        fourth moment keeps it smaller.
        """
        mean, unit, square, fourth = _moments(points, weights)
        spread = np.sqrt(square) * unit
        varies = spread > CONSTANT * np.abs(mean)
        factor = np.zeros(len(mean))
        factor[varies] = fourth[varies] ** -0.25
        # So that the variance is 1 on average, and one target fits all data.
        total = float((square * factor**2).sum())
        if total > 0:
            factor *= np.sqrt(np.count_nonzero(varies) / total)
        frame = cls(mean, factor / unit, spread)
        if not rotate or len(mean) <= MAX_DIRECTIONS:
            return frame
        return cls(mean, frame.factor, spread, _leading(frame.enter(points), weights))

    @classmethod
    def as_given(cls, points: Any, weights: np.ndarray) -> Self:
        """The columns as they are, centered where they are dense."""
        mean, unit, square, _ = _moments(points, weights)
        return cls(mean, np.ones(len(mean)), np.sqrt(square) * unit)

    @property
    def n_columns(self) -> int:
        """The number of columns that vary."""
        return max(1, int(np.count_nonzero(self.factor)))

    def enter(self, points: Any) -> Any:
        """(n, r) coordinates of points. Sparse ones stay sparse, so they are not centered."""
        if is_sparse(points):
            return csr_array(points @ diags_array(self.factor))
        scaled = (np.asarray(points, dtype=np.float64) - self.mean) * self.factor
        return scaled if self.basis is None else scaled @ self.basis

    def components(self, root: np.ndarray) -> np.ndarray:
        """(r', d) rows that take centered columns where `root` (r', r) takes coordinates."""
        rows = root if self.basis is None else root @ self.basis.T
        return rows * self.factor


def _moments(points: Any, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Weighted mean of each column, its unit, and variance and fourth moment in that unit.

    A unit is a power of two near the largest size, so that no moment overflows or vanishes.
    """
    share = weights / weights.sum()
    if not is_sparse(points):
        mean = share @ points
        gaps = points - mean
        unit = _power_of_two(np.abs(gaps).max(axis=0))
        gaps = (gaps / unit) ** 2
        return mean, unit, share @ gaps, share @ gaps**2
    unit = _power_of_two(np.asarray(abs(points).max(axis=0).todense()).ravel())
    scaled = csr_array(points @ diags_array(1 / unit), dtype=np.float64)
    power = scaled
    raw = []
    for _ in range(4):
        raw.append(np.asarray(share @ power))
        power = power.multiply(scaled).tocsr()
    m, m2, m3, m4 = raw
    square = np.maximum(m2 - m**2, 0.0)
    fourth = m4 - 4 * m * m3 + 6 * m**2 * m2 - 3 * m**4
    return m * unit, unit, square, np.maximum(fourth, square**2)  # never less, but for rounding


def _power_of_two(size: np.ndarray) -> np.ndarray:
    return np.exp2(np.floor(np.log2(np.where(size > 0, size, 1.0))))


def _leading(scaled: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(d, r) leading directions of the scaled points that have any spread."""
    from sklearn.utils.extmath import randomized_svd

    n_directions = min(MAX_DIRECTIONS, *scaled.shape)
    weighted = scaled * np.sqrt(weights)[:, None]
    _, sizes, rows = randomized_svd(weighted, n_directions, random_state=0)
    kept = sizes > 1e-7 * max(float(sizes[0]), np.finfo(float).tiny)
    kept[0] = True
    return np.ascontiguousarray(rows[kept].T)
