"""Points and weights as people give them -> arrays that can be trusted: dense, sparse or Dask's."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from smdeclust.exceptions import InvalidInputError
from smdeclust.kernels import kernel
from smdeclust.structure.graph import read_only as read_only
from smdeclust.structure.pairs import one_each

# Squares of larger spreads overflow, of smaller ones vanish.
LARGEST, SMALLEST = 1e140, 1e-140
# Largest total weight, for the same reason.
HEAVIEST = 1e20


def admit(X: Any) -> Any:
    """The points, validated: an array, a CSR matrix or a Dask array."""
    if is_dask(X):
        return as_dask_array(X)
    if not issparse(X):
        return as_points(X)
    return as_sparse_points(X)


def as_points(X: Any) -> np.ndarray:
    """Return `X` as an (N, d) C-contiguous array of finite float32 or float64 numbers.

    float32 and float64 arrays are kept as they are, without a copy where they are contiguous.
    """
    if issparse(X):
        raise InvalidInputError("X is sparse; pass a dense array (X.toarray()).")
    try:
        points = np.asarray(X)
        if points.dtype.kind == "c":
            raise InvalidInputError("X holds complex numbers; only real data can be clustered.")
        if points.dtype not in (np.float32, np.float64):
            points = points.astype(np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"X must be a table of numbers: {error}.") from None
    if points.ndim != 2:
        raise InvalidInputError(f"X must have 2 dimensions (points, features), got {points.ndim}.")
    if points.shape[0] == 0 or points.shape[1] == 0:
        raise InvalidInputError(f"X is empty: shape {points.shape}.")
    points = np.ascontiguousarray(points)
    low, high = float(points.min()), float(points.max())
    inside = low >= -LARGEST and high <= LARGEST  # (False: NaN)
    if inside and float(np.abs(points[-1] - points[0]).max()) >= SMALLEST:
        return points  # the usual case, without a pass over each column
    bad = first_bad(points)
    if bad is not None:
        reject_value(points[bad], *bad)
    reject_extreme(points.min(axis=0), points.max(axis=0))
    return points


def as_weights(sample_weight: Any, n_points: int) -> np.ndarray | None:
    """Return weights as an (N,) float64 array, or ``None`` where none are given."""
    if sample_weight is None:
        return None
    if hasattr(sample_weight, "dask"):
        sample_weight = sample_weight.compute()
    weight = one_each(sample_weight, n_points, "sample_weight", f"{n_points} points")
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if len(bad):
        raise InvalidInputError(
            f"sample_weight[{int(bad[0])}] is {weight[bad[0]]}; weights must be finite and not "
            f"negative."
        )
    if not weight.sum() <= HEAVIEST:
        raise InvalidInputError(
            f"sample_weight adds up to more than {HEAVIEST:g}: weighted squares could overflow. "
            f"Divide it by its mean."
        )
    if not weight.any():
        raise InvalidInputError("sample_weight is zero everywhere.")
    return weight


def first_bad(values: np.ndarray) -> tuple[int, ...] | None:
    """Where the first value is that is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = values.sum(dtype=np.float64)
    if np.isfinite(total):
        return None  # one pass without a mask: the usual case
    bad = np.argwhere(~np.isfinite(values))
    return tuple(int(v) for v in bad[0]) if len(bad) else None


def reject_value(value: float, row: int, column: int) -> None:
    """Raise for a value of X that is not finite."""
    where = f"(row {row}, column {column})"
    if np.isnan(value):
        raise InvalidInputError(f"X contains NaN {where}; fill in or drop missing values first.")
    raise InvalidInputError(f"X contains infinity {where}.")


def reject_extreme(low: np.ndarray, high: np.ndarray) -> None:
    """Reject points whose columns span from `low` to `high` where squares cannot be computed."""
    largest = float(max(np.abs(low).max(), np.abs(high).max()))
    spread = float((high - low).max())
    if largest > LARGEST or 0.0 < spread < SMALLEST:
        raise InvalidInputError(
            f"X spans {spread:.3g} with values up to {largest:.3g}: squares would overflow or "
            f"vanish. Rescale the columns, for example with StandardScaler."
        )


# ---- sparse matrices

FINE, TWICE, OUTSIDE = 0, 1, 2


@kernel()
def inspect_rows(indptr, indices, data, last, low, high, stored):
    """Look at every entry once: writes the range and number of stored entries of each column.

    `last` holds -1 for each column. Returns FINE, TWICE where a row holds a column more than
    once, or OUTSIDE where a column does not exist.
    """
    n_features = len(last)
    verdict = FINE
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j < 0 or j >= n_features:
                return OUTSIDE
            if last[j] == i:
                verdict = TWICE
            last[j] = i
            stored[j] += 1
            low[j] = min(low[j], data[e])
            high[j] = max(high[j], data[e])
    return verdict


def as_sparse_points(X: Any) -> Any:
    """Return a sparse `X` as an (N, d) CSR matrix of finite float32 or float64 numbers.

    CSR of float32 or float64 is kept as it is, whatever the type and order of its indices. Other
    formats and types become CSR and float64 first, and entries that are stored several times are
    added up (as scipy does): that takes a copy.
    """
    if X.ndim != 2:
        raise InvalidInputError(f"X must have 2 dimensions (points, features), got {X.ndim}.")
    if 0 in X.shape:
        raise InvalidInputError(f"X is empty: shape {X.shape}.")
    if X.dtype.kind == "c":
        raise InvalidInputError("X holds complex numbers; only real data can be clustered.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    X = X.tocsr()
    n_stored = min(len(X.indices), len(X.data))
    if X.indptr[0] != 0 or (np.diff(X.indptr) < 0).any() or X.indptr[-1] > n_stored:
        raise InvalidInputError(
            "X: indptr must start at 0 and increase to the number of entries. The matrix is "
            "damaged; make it again."
        )
    verdict, low, high = _inspect(X)
    if verdict == TWICE:
        X = X.copy()
        X.sum_duplicates()
        _, low, high = _inspect(X)
    bad = first_bad(X.data[: X.indptr[-1]])
    if bad is not None:
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        reject_value(X.data[bad], row, int(X.indices[bad]))
    reject_extreme(low, high)
    return X


def _inspect(X: Any) -> tuple[int, np.ndarray, np.ndarray]:
    """Look at every entry; returns what was found and the range of each column."""
    n_points, n_features = X.shape
    stored = np.zeros(n_features, dtype=np.int64)
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    last = np.full(n_features, -1, dtype=np.int64)
    verdict = inspect_rows(X.indptr, X.indices, X.data, last, low, high, stored)
    if verdict == OUTSIDE:
        raise InvalidInputError(
            f"X: its indices refer to columns that do not exist (it has {n_features}). The matrix "
            f"is damaged; make it again."
        )
    zeros = stored < n_points
    low[zeros], high[zeros] = np.minimum(low[zeros], 0.0), np.maximum(high[zeros], 0.0)
    return verdict, low, high


# ---- Dask collections


def is_dask(X: Any) -> bool:
    """Whether `X` is a Dask collection; imports nothing to find out."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def as_dask_array(X: Any) -> Any:
    """A Dask array or data frame with chunks of whole rows of known number, none of them empty."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if getattr(X, "ndim", 0) != 2:
        raise InvalidInputError("X must have 2 dimensions (points, features).")
    if issparse(getattr(X, "_meta", None)):
        raise InvalidInputError(
            "X is a Dask array of sparse blocks; make them dense "
            "(X.map_blocks(lambda block: block.toarray())), or pass one CSR matrix in memory."
        )
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise InvalidInputError(
            "X has chunks of unknown size, so row positions are not known. Call "
            "X.compute_chunk_sizes() first."
        )
    if 0 in X.shape:
        raise InvalidInputError(f"X is empty: shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise InvalidInputError(f"X must be a table of real numbers, got {X.dtype}.")
    X = X.rechunk({1: -1})
    kept = np.flatnonzero(X.chunks[0])
    return X if len(kept) == len(X.chunks[0]) else X.blocks[kept]
