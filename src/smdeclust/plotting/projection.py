"""Points of any dimension on paper: as they are for two features, by PCA for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError


@dataclass(frozen=True)
class Projection:
    """(N, 2) points and (K, 2) centers by the same map, and what the two axes show."""

    points: NDArray[np.float64]
    centers: NDArray[np.float64]
    axis_labels: tuple[str, str]  # the second is empty where it carries no meaning


def project(
    points: NDArray[np.float64],
    centers: NDArray[np.float64],
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
    from sklearn.decomposition import PCA

    pca = PCA(n_components=2, random_state=seed).fit(points)
    share = np.nan_to_num(pca.explained_variance_ratio_)
    return Projection(
        pca.transform(points),
        pca.transform(centers),
        (f"PC 1 ({share[0]:.0%} of variance)", f"PC 2 ({share[1]:.0%} of variance)"),
    )
