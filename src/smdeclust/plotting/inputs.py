"""Turn what callers hand to the pictures into checked arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smdeclust.exceptions import InvalidInputError

HISTORY_X = {
    "generation": "generation",
    "evaluations": "local searches",
    "time": "time (s)",
}


def as_points(X: ArrayLike) -> NDArray[np.float64]:
    """A finite (N, d) float array with at least one row and one column."""
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape:
        raise InvalidInputError(
            f"X must be a table of N points and d features, both at least 1; its shape is "
            f"{points.shape}."
        )
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise InvalidInputError(f"X holds NaN or infinity, first in row {row}; remove such rows.")
    return points


def as_labels(labels: ArrayLike, n_points: int) -> NDArray[np.int64]:
    """One integer label per point."""
    array = np.asarray(labels)
    if array.shape != (n_points,):
        raise InvalidInputError(
            f"labels must hold one label for each of the {n_points} points; its shape is "
            f"{array.shape}."
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(f"labels must be integers, not {array.dtype}.")
    return array.astype(np.int64)


def as_pairs(pairs: ArrayLike | None, n_points: int, name: str) -> NDArray[np.int64]:
    """An (m, 2) array of row positions; ``None`` and empty sequences give (0, 2)."""
    if pairs is None:
        return np.empty((0, 2), dtype=np.int64)
    array = np.asarray(pairs)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(
            f"{name} must be pairs of row positions (integers); got an array of shape "
            f"{array.shape} and type {array.dtype}."
        )
    wrong = np.flatnonzero(((array < 0) | (array >= n_points)).any(axis=1))
    if wrong.size:
        raise InvalidInputError(
            f"{name}[{wrong[0]}] is {tuple(array[wrong[0]].tolist())}, but rows go from 0 to "
            f"{n_points - 1}."
        )
    return array.astype(np.int64)


def as_centers(
    centers: ArrayLike | None, points: NDArray[np.float64], labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The clusters' names in increasing order and one center for each of them.

    Without centers, the cluster means are taken. With centers, label k means row k of them.
    """
    if centers is None:
        names, position, counts = np.unique(labels, return_inverse=True, return_counts=True)
        sums = np.zeros((len(names), points.shape[1]))
        np.add.at(sums, position, points)
        return names, sums / counts[:, None]
    array = np.asarray(centers, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != points.shape[1]:
        raise InvalidInputError(
            f"centers must have one row a cluster and {points.shape[1]} columns like X; its shape "
            f"is {array.shape}."
        )
    if labels.min() < 0 or labels.max() >= len(array):
        raise InvalidInputError(
            f"labels go from {labels.min()} to {labels.max()}, but there are {len(array)} centers; "
            "label k must mean row k of centers."
        )
    return np.arange(len(array)), array


def history_columns(history: Mapping[str, Any], *names: str) -> list[NDArray[np.float64]]:
    """The named columns of a run's ``history_``, of one length and not empty."""
    missing = [name for name in names if name not in history]
    if missing:
        raise InvalidInputError(
            f"the history has no {missing[0]!r}; it holds {sorted(history)}. "
            "Pass the history_ of a fitted SMDEClust."
        )
    columns = [np.asarray(history[name], dtype=np.float64) for name in names]
    lengths = {column.shape for column in columns}
    if len(lengths) != 1 or columns[0].ndim != 1 or columns[0].size == 0:
        raise InvalidInputError(
            "the columns of a history must be one-dimensional, of one length and not empty; got "
            + ", ".join(f"{n}: {c.shape}" for n, c in zip(names, columns, strict=True))
        )
    return columns


def history_x(x: str) -> str:
    """The axis label of the column that a run is drawn against."""
    if x not in HISTORY_X:
        raise InvalidInputError(f"x must be one of {sorted(HISTORY_X)}, not {x!r}.")
    return HISTORY_X[x]


def extend_last(column: NDArray[np.float64], *, is_x: bool) -> NDArray[np.float64]:
    """Repeat the last record a little further right, else a step plot ends on a bare edge."""
    if not is_x:
        return np.append(column, column[-1])
    length = float(column[-1] - column[0])
    return np.append(column, column[-1] + (0.02 * length if length > 0 else 1.0))
