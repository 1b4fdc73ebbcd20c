"""Contracted: all of a problem that compiled kernels see."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smdeclust.points.lanes import filled_up, side_by_side
from smdeclust.points.protocol import Points
from smdeclust.structure.graph import PairGraph


@dataclass(frozen=True)
class Contracted:
    """One row a group, linked groups first, and the cannot-link graph.

    All arrays are C-contiguous and read-only, so that each kernel is compiled once.

    Attributes
    ----------
    points
        (G, d') group means, centered; where d > G, rotated onto their span plus one axis that
        holds what sticks out of it (zero for the points, maybe not for a given center).
    weights
        (G,) weight of each group.
    graph
        The pairs between the linked groups.
    storage
        Where the points come from; it translates centers.
    """

    points: np.ndarray
    weights: np.ndarray
    graph: PairGraph
    n_clusters: int
    storage: Points

    @cached_property
    def lanes(self) -> np.ndarray:
        """The points laid out for vector code (a copy: not for large data)."""
        return side_by_side(self.points)

    @cached_property
    def lane_weights(self) -> np.ndarray:
        """The weights, filled up with zeros to whole blocks of lanes."""
        return filled_up(self.weights)

    @property
    def indptr(self) -> np.ndarray:
        """Where the pairs of each linked group begin in `indices`."""
        return self.graph.indptr

    @property
    def indices(self) -> np.ndarray:
        """The other ends of the pairs of the linked groups."""
        return self.graph.indices

    @property
    def n_linked(self) -> int:
        """Number of groups with a pair."""
        return self.graph.n_nodes

    def enter(self, centers: np.ndarray) -> np.ndarray:
        """Translate (k, d) centers from the coordinates of the data to these."""
        return self.storage.enter(centers)

    def leave(self, centers: np.ndarray) -> np.ndarray:
        """Translate (k, d') centers to the coordinates of the data."""
        return self.storage.leave(centers)
