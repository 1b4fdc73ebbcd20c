"""Frame: coordinates in which the target of the shrinkage is the identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from smdeclust.distance.learn import is_sparse

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
    def of(cls, points: Any, weights: np.ndarray, *, rotate: bool) -> Frame:
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
    def as_given(cls, points: Any, weights: np.ndarray) -> Frame:
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
