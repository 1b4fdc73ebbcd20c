"""Which points are elsewhere because of the constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment


@dataclass(frozen=True)
class Moved:
    """A clustering compared with the one without constraints."""

    free_labels: np.ndarray  # (N,) without, renumbered so that most points keep their number
    rows: np.ndarray  # points whose number differs, increasing


def match_labels(labels: np.ndarray, others: np.ndarray, n_clusters: int) -> np.ndarray:
    """Renumber `others` so that they agree with `labels` on as many points as possible."""
    table = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    np.add.at(table, (others, labels), 1)
    source, target = linear_sum_assignment(-table)
    number = np.empty(n_clusters, dtype=np.int64)
    number[source] = target
    return number[others]


def compare(labels: np.ndarray, free_labels: np.ndarray, n_clusters: int) -> Moved:
    """Match the clusters, and list the points that changed."""
    matched = match_labels(labels, free_labels, n_clusters)
    return Moved(matched, np.flatnonzero(matched != labels))
