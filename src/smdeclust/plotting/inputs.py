"""What callers pass to the pictures, as checked arrays and as positions in the plane."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import PCA

from smdeclust.exceptions import InvalidInputError
from smdeclust.points import validation
from smdeclust.points.centers import cluster_means


def as_points(X: ArrayLike) -> np.ndarray:
    """A finite (N, d) float array with at least one row and one column."""
    return validation.as_points(X).astype(np.float64, copy=False)


def as_labels(labels: ArrayLike, n_points: int) -> np.ndarray:
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
    centers: ArrayLike | None, points: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The clusters' names in order, and a center of each: row k of `centers`, or the mean."""
    if centers is None:
        names, position = np.unique(labels, return_inverse=True)
        return names, cluster_means(points, position)
    array = np.asarray(centers, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != points.shape[1]:
        raise InvalidInputError(
            f"centers must have one row per cluster and {points.shape[1]} columns like X; the "
            f"shape is {array.shape}."
        )
    if labels.min() < 0 or labels.max() >= len(array):
        raise InvalidInputError(
            f"labels go from {labels.min()} to {labels.max()}, but there are {len(array)} centers; "
            "label k must mean row k of centers."
        )
    return np.arange(len(array)), array


@dataclass(frozen=True)
class Projection:
    """(N, 2) points and (K, 2) centers by the same map, and what the two axes show."""

    points: np.ndarray
    centers: np.ndarray
    axis_labels: tuple[str, str]  # the second is empty where it carries no meaning


def project(
    points: np.ndarray,
    centers: np.ndarray,
    seed: int = 0,
    feature_names: Sequence[str] | None = None,
) -> Projection:
    """Map (N, d) points and (K, d) centers to the plane.

    The seed is for the randomized PCA of wide tables and the vertical spread of one feature.
    """
    n_points, n_features = points.shape
    names = list(feature_names or (f"feature {j}" for j in range(min(n_features, 2))))
    if feature_names is not None and len(names) != n_features:
        raise InvalidInputError(
            f"feature_names has {len(names)} names, but X has {n_features} features."
        )
    if n_features == 2:
        return Projection(points, centers, (names[0], names[1]))
    if n_features == 1:
        # Height carries nothing here; it only keeps equal values from hiding one another.
        spread = np.ptp(points) or 1.0
        height = np.random.default_rng(seed).uniform(-0.08, 0.08, n_points) * spread
        return Projection(
            np.column_stack([points[:, 0], height]),
            np.column_stack([centers[:, 0], np.zeros(len(centers))]),
            (names[0], ""),
        )
    if n_points == 1:
        return Projection(np.zeros((1, 2)), np.zeros((len(centers), 2)), ("PC 1", "PC 2"))
    pca = PCA(n_components=2, random_state=seed).fit(points)
    share = np.nan_to_num(pca.explained_variance_ratio_)
    return Projection(
        pca.transform(points),
        pca.transform(centers),
        (f"PC 1 ({share[0]:.0%} of variance)", f"PC 2 ({share[1]:.0%} of variance)"),
    )
