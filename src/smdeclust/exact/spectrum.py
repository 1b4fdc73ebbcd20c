"""Spectral part: projection onto the Fantope, and the safe sum of smallest eigenvalues."""

import numpy as np
import scipy.linalg

from smdeclust.exact.relaxation import FloatArray
from smdeclust.points.threads import map_on_threads

# Filtered subspace iteration pays only where a full reduction to tridiagonal form takes long, and
# LAPACK's eigenvectors of a part of the spectrum only where that part is small.
_MIN_SIZE_FOR_FILTER = 60
_FILTER_SHARE = 0.4
_SUBSET_SHARE = 0.12
# Calls between two decompositions by LAPACK, which show whatever the filter has missed.
_REFRESH = 40


def capped_simplex(values: FloatArray, total: float) -> tuple[FloatArray, float]:
    """Project onto {0 <= g <= 1, sum g = total}: ``g = clip(values - theta, 0, 1)``.

    Returns ``g`` and ``theta``. The sum is piecewise linear and falls with theta.
    """
    breaks = np.sort(np.concatenate([values, values - 1.0]))[::-1]
    sums = np.clip(values - breaks[:, None], 0.0, 1.0).sum(axis=1)
    theta = float(np.interp(total, sums, breaks))
    return np.clip(values - theta, 0.0, 1.0), theta


def deflate(A: FloatArray, unit: FloatArray, value: float) -> FloatArray:
    """Return A compressed to the complement of ``unit``, with eigenvalue ``value`` along it."""
    image = A @ unit
    half = image - (0.5 * (unit @ image + value)) * unit
    # A - u h' - h u', in place of a copy (which BLAS sees transposed: the same, A is symmetric)
    out = np.array(A, order="C")
    for x, y in ((unit, half), (half, unit)):
        scipy.linalg.blas.dger(-1.0, x, y, a=out.T, overwrite_a=True)
    return out


class FantopeProjector:
    """Projection onto {u u' + R : R u = 0, 0 <= R <= I, tr R = K - 1}, with memory.

    The iterates of the splitting method change slowly, so the eigenvectors of the last call start
    the next: a Chebyshev-filtered subspace iteration. Its inexactness does not touch the bound.
    """

    def __init__(
        self,
        unit: FloatArray,
        n_clusters: int,
        *,
        use_filter: bool = True,
        degree: int = 8,
        n_threads: int = 1,
    ) -> None:
        self.unit = unit
        self.rank = n_clusters - 1
        self.size = min(len(unit), self.rank + 8)
        self.basis: FloatArray | None = None
        self.values: FloatArray | None = None
        self.lowest = 0.0
        self.use_filter = use_filter and len(unit) >= _MIN_SIZE_FOR_FILTER
        self.filter_calls = 0
        self.age = 0
        self.degree = degree
        self.n_threads = n_threads
        self.rng = np.random.default_rng(0)

    def __call__(self, T: FloatArray, *, exact: bool = False) -> FloatArray:
        """Project the symmetric matrix T."""
        n = len(self.unit)
        if self.rank == 0:
            return np.outer(self.unit, self.unit)
        A = deflate(T, self.unit, 0.0)
        while True:
            values, vectors = self._top_pairs(A, exact)
            weights, theta = capped_simplex(values, self.rank)
            # Every eigenvalue left out lies below the smallest one kept.
            if values[0] <= theta or len(values) >= n - 1:
                break
            if len(values) < self.size:  # the filter's safety margin was used up
                exact = True
            self.size = min(n, max(self.size + 8, int(1.5 * self.size)))
            self.basis = None
        keep = weights > 0.0
        active = int(keep.sum())
        # Extra directions catch eigenvalues about to become active.
        self.size = min(n, max(active, self.rank) + 8 + active // 6)
        factor = np.column_stack([self.unit, vectors[:, keep] * np.sqrt(weights[keep])])
        Y: FloatArray = factor @ factor.T
        return Y

    def _top_pairs(self, A: FloatArray, exact: bool) -> tuple[FloatArray, FloatArray]:
        n = len(A)
        size = min(self.size, n)
        if self.use_filter and not exact and self.basis is not None and size < _FILTER_SHARE * n:
            result = self._filtered(A, size)
            if result is not None:
                self.filter_calls += 1
                return result
        # Below everything else, so that it is never among the largest.
        A = A - (np.linalg.norm(A) + 1.0) * np.outer(self.unit, self.unit)
        if size < _SUBSET_SHARE * n:
            values, vectors = scipy.linalg.eigh(
                A, subset_by_index=(n - size, n - 1), driver="evr", check_finite=False
            )
        else:
            values, vectors = scipy.linalg.eigh(A, driver="evd", check_finite=False)
        self.basis, self.values = vectors[:, -size:], values
        return values, vectors

    def _filtered(self, A: FloatArray, size: int) -> tuple[FloatArray, FloatArray] | None:
        """One Chebyshev-filtered step from the last basis, then Rayleigh-Ritz."""
        assert self.basis is not None
        assert self.values is not None
        # The lowest two directions are drawn again each time, so that nothing stays unseen.
        X = self.basis[:, -(size - 2) :]
        extra = self.rng.standard_normal((len(A), size - X.shape[1]))
        X = np.hstack([extra / np.sqrt(len(A)), X])
        X -= np.outer(self.unit, self.unit @ X)
        if self.age % _REFRESH == _REFRESH - 1:
            self.age += 1
            return None  # time for an exact decomposition
        if self.age % 10 == 0:
            self.lowest = _lower_end(A, self.rng)
        self.age += 1
        high = float(self.values[-min(size, len(self.values)) :][0])
        low = min(self.lowest, high - 1e-3)
        center, radius = 0.5 * (low + high), 0.5 * (high - low)
        stretch = 1.0 / radius

        def raise_top(columns: FloatArray) -> FloatArray:
            previous, current = columns, (A @ columns - center * columns) * stretch
            for _ in range(self.degree - 1):
                following = A @ current
                following -= center * current
                following *= 2.0 * stretch
                following -= previous
                previous, current = current, following
            return current

        n_threads = min(self.n_threads, max(1, X.shape[1] // 8))
        block = np.hstack(map_on_threads(raise_top, np.array_split(X, n_threads, 1), n_threads))
        block -= np.outer(self.unit, self.unit @ block)
        block /= np.linalg.norm(block, axis=0)
        Q, _ = scipy.linalg.qr(block, mode="economic", overwrite_a=True, check_finite=False)
        H = Q.T @ (A @ Q)
        values, S = scipy.linalg.eigh(H, driver="evd", check_finite=False)
        vectors = Q @ S
        self.basis, self.values = vectors, values
        return values, vectors


def _lower_end(A: FloatArray, rng: np.random.Generator, steps: int = 10) -> float:
    """Estimate the lower end of the spectrum by a short Lanczos run, less its residual."""
    n = len(A)
    q = rng.standard_normal(n)
    q /= np.linalg.norm(q)
    alpha, beta = np.zeros(steps), np.zeros(steps)
    before = np.zeros(n)
    for k in range(steps):
        r = A @ q - (beta[k - 1] * before if k else 0.0)
        alpha[k] = q @ r
        r -= alpha[k] * q
        beta[k] = np.linalg.norm(r)
        if beta[k] < 1e-12:
            return float(alpha[: k + 1].min())
        before, q = q, r / beta[k]
    values, vectors = scipy.linalg.eigh_tridiagonal(alpha, beta[:-1])
    return float(values[0] - beta[-1] * abs(vectors[-1, 0]))


def sum_of_smallest(M: FloatArray, unit: FloatArray, count: int) -> float:
    """Lower bound on ``u'Mu`` plus the sum of the ``count`` smallest eigenvalues of M on u-perp.

    The margin covers the rounding of the deflation and of LAPACK's eigenvalues generously; the
    independent check in ``verify`` derives its own from residuals.
    """
    n = len(unit)
    norm = float(np.linalg.norm(M))
    along = float(unit @ M @ unit)
    margin = 16.0 * (count + 1) * n * np.finfo(float).eps * norm
    if count == 0:
        return along - margin
    A = deflate(M, unit, 4.0 * norm + 1.0)
    values = scipy.linalg.eigh(
        A, eigvals_only=True, subset_by_index=(0, count - 1), driver="evr", check_finite=False
    )
    return along + float(values.sum()) - margin
