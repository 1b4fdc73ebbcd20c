"""The alternation: distance from labels, labels from the distance, until the criterion stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smdeclust.distance.spread import Spread

# points in the distance, labels to start from or None, further random starts -> (N,) labels
Cluster = Callable[[Any, "np.ndarray | None", int], np.ndarray]

# Points that the target is worth, for each column of the data. Measured: flat from 0.1 to 1.
SHRINKAGE = 0.25

# With so many points a direction the criterion can be trusted to compare two ends of a search.
ENOUGH = 10

# Random starts of the clustering in each round; the last number holds for all further rounds.
N_STARTS = (6, 4, 4, 1)

# The same where distances are only compared.
FEW_STARTS = (3, 1)

MAX_ROUNDS = 12
LEAST_CHANGE = 1e-9


@dataclass(frozen=True)
class Learned:
    """A distance at the end of the alternation.

    Attributes
    ----------
    root
        The distance: what takes the coordinates to those in which it is Euclid's.
    target
        v T, what is added to the scatter inside the clusters.
    labels
        (N,) clusters of the points in this distance; ``None`` where there was no clustering.
    criterion
        N log det(W + v T) after each round; falls.
    """

    root: np.ndarray
    target: np.ndarray
    labels: np.ndarray | None
    criterion: list[float]


def learn(
    points: Any,
    groups: np.ndarray,
    weights: np.ndarray,
    spread: Spread,
    cluster: Cluster | None,
    *,
    n_columns: int,
    n_starts: tuple[int, ...] = N_STARTS,
    is_late: Callable[[], bool] = lambda: False,
) -> Learned:
    """Learn a distance from must-link groups and, where `cluster` is given, from clusters.

    The first distance is that of the must-link groups alone (shrunk relevant component analysis).
    Where there are many points a direction, a second search starts from the whole scatter, and the
    criterion decides between the two ends.

    Parameters
    ----------
    points
        (N, r) coordinates of a :class:`~smdeclust.distance.Frame`.
    groups
        (N,) must-link group of each point.
    weights
        (N,) weights: how many points each one stands for.
    spread
        ``FULL`` or ``DIAGONAL``.
    cluster
        Clusters points under the constraints.
    n_columns
        Columns of the data, which the strength of the target goes by.
    n_starts
        Random starts of the clustering in each round.
    is_late
        Whether to stop where it is.
    """
    n_points, n_directions = points.shape
    total = float(weights.sum())
    target = SHRINKAGE * n_columns * spread.target(n_directions)
    linked = spread.within(points, groups, weights)
    if cluster is None:
        root = _whitener(spread, linked + target, total + float(target.max()))
        return Learned(root, target, None, [])
    starts = [linked + target]
    if total >= ENOUGH * n_directions:
        everyone = np.zeros(n_points, dtype=np.int64)
        starts.append(spread.within(points, everyone, weights) + target)
    ends: list[Learned] = []
    for start in starts:
        if not ends or not is_late():
            ends.append(
                _alternate(points, weights, spread, cluster, start, target, n_starts, is_late)
            )
    return min(ends, key=lambda end: end.criterion[-1])


def _alternate(
    points: Any,
    weights: np.ndarray,
    spread: Spread,
    cluster: Cluster,
    scatter: np.ndarray,
    target: np.ndarray,
    n_starts: tuple[int, ...],
    is_late: Callable[[], bool],
) -> Learned:
    """Cluster and measure in turn, from one first scatter."""
    total = float(weights.sum())
    labels: np.ndarray | None = None
    criterion: list[float] = []
    for number in range(MAX_ROUNDS):
        root = _whitener(spread, scatter, total + float(target.max()))
        fresh = n_starts[min(number, len(n_starts) - 1)]
        found = cluster(spread.apply(points, root), labels, fresh)
        after = spread.within(points, found, weights) + target
        value = total * spread.log_det(after)
        if criterion and value >= criterion[-1] - LEAST_CHANGE * abs(criterion[-1]):
            break
        labels, scatter = found, after
        criterion.append(value)
        if is_late():
            break
    # The labels are those of the last distance that lowered the criterion; the one that follows
    # from them is better still, and what the last clustering is made in.
    root = _whitener(spread, scatter, total + float(target.max()))
    return Learned(root, target, labels, criterion)


def _whitener(spread: Spread, scatter: np.ndarray, total: float) -> np.ndarray:
    """The distance in which this scatter of so many points is 1 in every direction."""
    return spread.root(scatter / total)


def criterion_of(
    points: Any, labels: np.ndarray, weights: np.ndarray, spread: Spread, target: np.ndarray
) -> float:
    """N log det(W + v T) of these labels."""
    return float(weights.sum()) * spread.log_det(spread.within(points, labels, weights) + target)
