"""Turn what callers hand to the pictures into checked arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.points import validation


def as_points(X: ArrayLike) -> NDArray[np.float64]:
    """A finite (N, d) float array with at least one row and one column."""
    return validation.as_points(X).astype(np.float64, copy=False)


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
