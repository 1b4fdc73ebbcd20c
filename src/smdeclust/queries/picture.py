"""What a choice of questions sees: points, the model's clusters, its views, the answers so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment

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
    n_clusters
        K.
    known
        The answers so far.
    rng
        For random choices.
    views
        Labels of the views of the model, each with its weight; none for a model without views.
    """

    points: np.ndarray
    labels: np.ndarray
    n_clusters: int
    known: Known
    rng: np.random.Generator
    views: tuple[tuple[np.ndarray, float], ...] = ()

    @cached_property
    def votes(self) -> np.ndarray:
        """(N, K) share of the views, by weight, that have a point in each cluster."""
        votes = np.zeros((len(self.labels), self.n_clusters))
        for labels, weight in self.views or ((self.labels, 1.0),):
            numbered = match_labels(labels, self.labels, self.n_clusters)
            votes[np.arange(len(labels)), numbered] += weight
        return votes / votes.sum(axis=1, keepdims=True)


def match_labels(labels: np.ndarray, onto: np.ndarray, n_clusters: int) -> np.ndarray:
    """Renumber `labels` so that they agree with `onto` on as many points as possible."""
    table = np.zeros((n_clusters, n_clusters))
    np.add.at(table, (labels, onto), 1.0)
    rows, columns = linear_sum_assignment(-table)
    number = np.empty(n_clusters, dtype=np.int64)
    number[rows] = columns
    return number[labels]
