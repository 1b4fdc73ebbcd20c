"""Sparse points as people give them -> a CSR matrix that can be trusted."""

from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.kernels import kernel
from smdeclust.points.validation import first_bad, reject_extreme, reject_value

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
