"""Two rounds: distance from must-links, clusters in it, distance from both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smdeclust.distance.spread import Spread

# points in the distance, labels to start from or None, further random starts -> (N,) labels
Cluster = Callable[[Any, "np.ndarray | None", int], np.ndarray]

# Points that the identity is worth, for each column of the data. Measured: flat from 0.1 to 1.
SHRINKAGE = 0.25

# Points that the clusters of a round are worth, for each column. With many must-links the pairs
# decide, with few the clusters do. Measured: flat from 2 to 8.
CLUSTERS = 4.0

# Random starts of the clustering, one number per round. More rounds drift away from the must-links:
# the criterion keeps falling, and agreement with people's classes falls with it.
N_STARTS = (6, 4)

# The same where distances are only compared.
FEW_STARTS = (3, 1)

# The same where all points count from the first round on.
MANY_ROUNDS = (6, 4, 4, 1, 1)


@dataclass(frozen=True)
class Learned:
    """A distance at the end of the rounds."""

    root: np.ndarray  # takes the coordinates to those in which the distance is Euclidean
    target: np.ndarray  # M + v T, which no round forgets
    labels: np.ndarray | None  # (N,) clusters in this distance, if there was a clustering
    criterion: list[float]  # N log det(M + c W + v T) after each round; falls


def learn(
    points: Any,
    groups: np.ndarray,
    weights: np.ndarray,
    spread: Spread,
    cluster: Cluster | None,
    *,
    n_columns: int,
    n_starts: tuple[int, ...] = N_STARTS,
    from_all: bool = False,
    is_late: Callable[[], bool] = lambda: False,
) -> Learned:
    """Learn a distance from must-link groups and, where `cluster` is given, from clusters.

    The first distance is that of the must-link groups alone (shrunk relevant component analysis).
    Each round clusters in the present distance and adds the scatter inside the clusters.

    `points` are coordinates of a :class:`~smdeclust.distance.Frame`, `groups` and `weights` go with
    them; the strengths of clusters and identity go by `n_columns` of the data. With `from_all`, all
    points count fully and the first distance is theirs: Friedman and Rubin's criterion, which often
    finds other clusters.
    """
    target = spread.within(points, groups, weights)
    target = target + SHRINKAGE * n_columns * spread.target(points.shape[1])
    total = float(weights.sum())
    linked = max(total - len(np.unique(groups)), 0.0)
    clusters = total if from_all else CLUSTERS * n_columns
    scatter, worth = target, linked + SHRINKAGE * n_columns
    if from_all:
        everyone = np.zeros(len(weights), dtype=np.int64)
        scatter, worth = target + spread.within(points, everyone, weights), worth + total
    labels: np.ndarray | None = None
    criterion: list[float] = []
    for fresh in n_starts:
        if cluster is None or (criterion and is_late()):
            break
        found = cluster(spread.apply(points, spread.root(scatter / worth)), labels, fresh)
        after = target + clusters / total * spread.within(points, found, weights)
        value = total * spread.log_det(after)
        if criterion and value >= criterion[-1]:
            break
        labels, scatter = found, after
        worth = linked + SHRINKAGE * n_columns + clusters
        criterion.append(value)
    return Learned(spread.root(scatter / worth), target, labels, criterion)
