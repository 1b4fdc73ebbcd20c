"""Points and weights as people give them -> arrays that can be trusted."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.graph import read_only as read_only
from smdeclust.structure.pairs import one_each

# Squares of larger spreads overflow, of smaller ones vanish.
LARGEST, SMALLEST = 1e140, 1e-140
# Largest total weight, for the same reason.
HEAVIEST = 1e20


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


def center_type(X: Any) -> type:
    """The type of number that centers of these points are given in."""
    return np.float32 if X.dtype == np.float32 else np.float64
