"""The semidefinite relaxation of one node: groups, weights, the cost matrix and the cannot-links.

For a partition, let ``Z[g, h] = 1 / (weight of the cluster)`` if groups ``g`` and ``h`` are
together and 0 otherwise (Peng & Wei, 2007). With ``Y = W^1/2 Z W^1/2``, ``u = sqrt(w / sum(w))``,

    f = constant + <C, Y>,   C = -B B',   B = sqrt(w) * (centered group means),

where ``constant = sum_i w_i |p_i|^2`` over the points. ``Y`` is a projector of rank K that fixes
``u``: ``Y = u u' + R`` with ``R u = 0``, ``0 <= R <= I`` and ``tr R = K - 1``. It is non-negative,
and zero on cannot-links. The relaxation keeps the spectral set (a Fantope), signs and zeros.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from smdeclust.exact.verify_tree import close

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class PointData:
    """What every node shares: the points, centered, with their weights and the given pairs."""

    points: FloatArray
    weights: FloatArray
    n_clusters: int
    must_link: IntArray
    cannot_link: IntArray
    sizes: tuple[float, float] = (0.0, np.inf)  # bounds on those of clusters

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.points.shape[0])

    @classmethod
    def build(
        cls,
        X: Any,
        n_clusters: int,
        must_link: IntArray,
        cannot_link: IntArray,
        sample_weight: FloatArray | None = None,
        sizes: tuple[float, float] = (0.0, np.inf),
    ) -> Self:
        """Center the points; rotate them onto a smaller span, which changes no distance."""
        points = np.asarray(X, dtype=np.float64)
        n = points.shape[0]
        weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64)
        points = points - (weights @ points) / weights.sum()
        if points.shape[1] > n:
            points = np.asarray(np.linalg.qr(points.T, mode="r")).T
        must_link, cannot_link = (
            np.asarray(pairs, np.int64).reshape(-1, 2) for pairs in (must_link, cannot_link)
        )
        points = np.ascontiguousarray(points)
        return cls(points, weights, int(n_clusters), must_link, cannot_link, sizes)


@dataclass(frozen=True)
class Relaxation:
    """The relaxation at one node of the tree, on contracted groups."""

    n_clusters: int
    group_of_point: IntArray  # under the given and the branching must-links
    weights: FloatArray  # w
    sqrt_weights: FloatArray
    unit: FloatArray  # u
    factor: FloatArray  # B, so that C = -B B'
    cost: FloatArray  # C / scale, of unit Frobenius norm
    scale: float
    constant: float  # f = constant + scale * <cost, Y>
    apart: BoolArray  # symmetric, true on cannot-linked pairs of groups
    z_low: float = 0.0  # bounds on the diagonal of Z, from the sizes of clusters
    z_high: float = np.inf

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.weights.shape[0])


def relax(data: PointData, together: IntArray, apart: IntArray) -> Relaxation | None:
    """Build the relaxation with extra branching pairs, or None where these cannot be met."""
    must = np.vstack([data.must_link, together])
    cannot = np.vstack([data.cannot_link, apart])
    groups = close(data.n_points, must, cannot, data.n_clusters)
    n_groups = 0 if groups is None else int(groups.max()) + 1
    if groups is None or n_groups < data.n_clusters:
        return None
    weights: FloatArray = np.bincount(groups, data.weights, n_groups).astype(np.float64)
    sums = np.zeros((n_groups, data.points.shape[1]))
    np.add.at(sums, groups, data.points * data.weights[:, None])
    sqrt_weights = np.sqrt(weights)
    factor = sums / sqrt_weights[:, None]
    cost = -(factor @ factor.T)
    scale = float(np.linalg.norm(cost)) or 1.0
    mask = np.zeros((n_groups, n_groups), dtype=bool)
    ends = groups[cannot]
    mask[ends[:, 0], ends[:, 1]] = mask[ends[:, 1], ends[:, 0]] = True
    constant = float(np.sum(data.weights[:, None] * data.points**2))
    unit = np.sqrt(weights / weights.sum())
    z_high = 1.0 / data.sizes[0] if data.sizes[0] > 0 else np.inf
    return Relaxation(
        data.n_clusters, groups, weights, sqrt_weights, unit, factor, cost / scale, scale, constant,
        mask, 1.0 / data.sizes[1], z_high,
    )  # fmt: skip
