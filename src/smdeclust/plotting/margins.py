"""Per-point margin: how much nearer the own center is than the nearest other one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smdeclust.plotting.inputs import as_centers, as_labels, as_points

_CHUNK = 4096  # rows; N x K distances at once would not fit for large N


def point_margins(
    X: ArrayLike, labels: ArrayLike, centers: ArrayLike | None = None
) -> NDArray[np.float64]:
    """The simplified silhouette (b - a) / max(a, b) of each point.

    a is the distance to the own center, b to the nearest other center: 1 at the center, 0 half
    way, below 0 where another center is nearer, which in an optimal clustering means that
    constraints hold the point where it is.

    Parameters
    ----------
    X
        (N, d) points.
    labels
        One integer label per point.
    centers
        (K, d) centers, row k for label k. By default the cluster means.

    Returns
    -------
    ndarray of shape (N,)
        Margins in [-1, 1]. With one cluster all are 1.
    """
    from scipy.spatial.distance import cdist

    points = as_points(X)
    label = as_labels(labels, len(points))
    names, center = as_centers(centers, points, label)
    if len(names) == 1:
        return np.ones(len(points))
    own = np.searchsorted(names, label)
    margin = np.empty(len(points))
    for start in range(0, len(points), _CHUNK):
        rows = slice(start, min(start + _CHUNK, len(points)))
        distance = cdist(points[rows], center)
        row = np.arange(len(distance))
        a = distance[row, own[rows]]
        distance[row, own[rows]] = np.inf
        b = distance.min(axis=1)
        scale = np.maximum(a, b)
        # A point on two coinciding centers has no preference: 0.
        margin[rows] = np.divide(b - a, scale, out=np.zeros_like(a), where=scale > 0)
    return margin
