"""What a strategy sees: points in the model's distance, its clusters, and the answers so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment
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
    views
        Labels of other views of the same points, each with its weight.
    """

    points: np.ndarray
    labels: np.ndarray
    centers: np.ndarray
    known: Known
    rng: np.random.Generator
    views: tuple[tuple[np.ndarray, float], ...] = ()

    @cached_property
    def votes(self) -> np.ndarray:
        """(N, K) share of the views, by weight, that have a point in each cluster."""
        k = len(self.centers)
        views = self.views or ((self.labels, 1.0),)
        votes = np.zeros((len(self.labels), k))
        for labels, weight in views:
            numbered = match_labels(labels, self.labels, k)
            votes[np.arange(len(labels)), numbered] += weight
        return votes / votes.sum(axis=1, keepdims=True)

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


def match_labels(labels: np.ndarray, onto: np.ndarray, n_clusters: int) -> np.ndarray:
    """Renumber `labels` so that they agree with `onto` on as many points as possible."""
    table = np.zeros((n_clusters, n_clusters))
    np.add.at(table, (labels, onto), 1.0)
    rows, columns = linear_sum_assignment(-table)
    number = np.empty(n_clusters, dtype=np.int64)
    number[rows] = columns
    return number[labels]
