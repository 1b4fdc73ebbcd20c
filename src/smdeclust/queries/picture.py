"""What a strategy sees: points in the model's distance, its clusters, and the answers so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.queries.known import Known


@dataclass(frozen=True, eq=False)
class Picture:
    """The clustering as it stands.

    Attributes
    ----------
    points
        (N, d) in the coordinates in which the model measures distances.
    labels
        (N,) its clusters.
    centers
        (K, d) its centers, in the same coordinates.
    known
        The answers so far.
    rng
        For ties and random strategies.
    """

    points: np.ndarray
    labels: np.ndarray
    centers: np.ndarray
    known: Known
    rng: np.random.Generator

    @cached_property
    def squares(self) -> np.ndarray:
        """(N, K) squared distances to the centers."""
        return cdist(self.points, self.centers, metric="sqeuclidean")

    @cached_property
    def chances(self) -> np.ndarray:
        """(N, K) how likely each cluster is for each point, as round clusters of one width say."""
        own = self.squares[np.arange(len(self.labels)), self.labels]
        n_free = max(1, self.points.size - self.centers.size)
        variance = own.sum() / n_free
        if variance <= 0:
            return np.eye(len(self.centers))[self.labels]
        logs = -self.squares / (2 * variance)
        logs -= logs.max(axis=1, keepdims=True)
        chances = np.exp(logs)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    @cached_property
    def doubt(self) -> np.ndarray:
        """(N,) entropy of `chances` as a share of what it can be at most; 0 where known."""
        chances = np.clip(self.chances, 1e-12, 1.0)
        entropy = -(chances * np.log(chances)).sum(axis=1) / np.log(max(2, chances.shape[1]))
        entropy[self.known.settled_rows] = 0.0
        return np.asarray(entropy)

    @cached_property
    def open_rows(self) -> np.ndarray:
        """Rows whose cluster is not known."""
        is_open = np.ones(len(self.labels), dtype=bool)
        is_open[self.known.settled_rows] = False
        return np.flatnonzero(is_open)

    def hood_chances(self, row: int) -> dict[int, float]:
        """How likely each neighbourhood is to hold a point: the sum over the clusters it is in."""
        out = {}
        for hood in self.known.neighbourhoods:
            clusters = np.unique(self.labels[self.known.members[hood]])
            out[hood] = float(self.chances[row, clusters].sum())
        return out
