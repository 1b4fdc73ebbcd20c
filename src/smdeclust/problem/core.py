"""Core: the contracted problem in the coordinates of the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smdeclust.constraints.graph import PairGraph
from smdeclust.points.lanes import filled_up, side_by_side


@dataclass(frozen=True)
class Core:
    """What the kernels see: contracted points, linked groups first, and the cannot-link graph.

    All arrays are C-contiguous and read-only, so that each kernel is compiled once.

    Attributes
    ----------
    points
        (G, d') group means, centered; where d > G, rotated onto their span plus one axis that
        holds what sticks out of it (zero for the points, maybe not for a given center).
    weights
        (G,) weight of each group.
    indptr, indices
        Cannot-links of the first ``len(indptr) - 1`` groups.
    basis
        (d, d' - 1) orthonormal columns of the span, or ``None`` where nothing was rotated.
    """

    points: np.ndarray
    weights: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    n_clusters: int
    offset: np.ndarray
    basis: np.ndarray | None

    @cached_property
    def lanes(self) -> np.ndarray:
        """The points laid out for vector code (a copy: not for large data)."""
        return side_by_side(self.points)

    @cached_property
    def lane_weights(self) -> np.ndarray:
        """The weights, filled up with zeros to whole blocks of lanes."""
        return filled_up(self.weights)

    @cached_property
    def graph(self) -> PairGraph:
        """The pairs between the linked groups."""
        return PairGraph.hard(self.indptr, self.indices)

    @property
    def n_linked(self) -> int:
        """Number of groups with a cannot-link."""
        return len(self.indptr) - 1

    def enter(self, centers: np.ndarray) -> np.ndarray:
        """Translate (k, d) centers from the coordinates of the data to these."""
        shifted = np.ascontiguousarray(centers, dtype=np.float64) - self.offset
        if self.basis is None:
            return shifted
        inside = shifted @ self.basis
        outside = np.linalg.norm(shifted - inside @ self.basis.T, axis=1)
        return np.ascontiguousarray(np.column_stack([inside, outside]))

    def leave(self, centers: np.ndarray) -> np.ndarray:
        """Translate (k, d') centers to the coordinates of the data.

        Where points were rotated, what sticks out of their span is lost (its direction is).
        """
        inside = centers if self.basis is None else centers[:, :-1] @ self.basis.T
        return inside + self.offset
