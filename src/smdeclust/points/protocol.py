"""What searches and mutation ask of the points, wherever these are (see ``stored.Points``).

Only groups with cannot-links (the linked ones) depend on each other. A storage labels the free
groups by itself and gives the costs of the linked ones; the exact assignment of those happens
elsewhere. Centers are always minus the mean of the data, in the coordinates that ``enter`` gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np


@dataclass(frozen=True)
class Abilities:
    """What a storage can do; the result says what it cannot."""

    # it has a contracted copy, so that the compiled loop and Kempe swaps can run
    contracted: bool = False
    exact: bool = True  # distances are in double precision: labels may be called proven
    at_once: int = 1  # most solutions that one batch refines together
    # rows drawn at random are at hand, so that jumps can be weighed on a sample
    sampled: bool = False


@dataclass
class ClusterSums:
    """Sums (K, d) of clusters minus the offset, weights, and groups of positive weight."""

    sums: np.ndarray
    totals: np.ndarray
    counts: np.ndarray

    @classmethod
    def zeros(cls, n_clusters: int, n_features: int) -> ClusterSums:
        """Nothing in any cluster."""
        return cls(
            np.zeros((n_clusters, n_features)),
            np.zeros(n_clusters),
            np.zeros(n_clusters, dtype=np.int64),
        )

    def add(self, other: ClusterSums) -> None:
        """Add another's content."""
        self.sums += other.sums
        self.totals += other.totals
        self.counts += other.counts

    def copy(self) -> ClusterSums:
        """The same content in arrays of its own."""
        return ClusterSums(self.sums.copy(), self.totals.copy(), self.counts.copy())

    def move(self, points: np.ndarray, weights: np.ndarray, old: Any, new: Any) -> None:
        """Take points from clusters to others (counts stay as they are)."""
        for k, weight in ((old, -weights), (new, weights)):
            np.add.at(self.sums, k, weight[:, None] * points)
            np.add.at(self.totals, k, weight)

    def means(self) -> tuple[np.ndarray, float]:
        """(K, d) centers, and how much lower than about the offset the sum of squares is there."""
        centers = self.sums / self.totals[:, None]
        return centers, float(np.einsum("k,kj,kj->", self.totals, centers, centers))


@dataclass(frozen=True)
class Fillers:
    """Free groups that could fill a cluster cheaply."""

    where: np.ndarray  # (n,) their names, for ``move``, ``squares`` and ``labels``
    # (n,) what they weigh and where they are
    weights: np.ndarray
    labels: np.ndarray
    costs: np.ndarray  # (n, K) what each would cost in each cluster
    # (B, n) what they count in each bound
    counts: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def moves(self, labels: np.ndarray) -> dict[int, int]:
        """Those that would be elsewhere under these labels, and where."""
        others = np.flatnonzero(labels != self.labels)
        return dict(zip(self.where[others].tolist(), labels[others].tolist(), strict=True))


# For each solution: free groups that fill a cluster (by their names in Fillers) and which one.
Moves = dict[int, int]


class Batch(Protocol):
    """S solutions at work on some points: their labels, and bounds that save work."""

    # Falling by less than this share of the total sum of squares is rounding, not falling.
    rounding: float

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

    def count(self, counts: np.ndarray) -> None:
        """Say what each free group counts in each of B bounds: (B, free groups) in the order of
        their numbers, or (B, 1) where all count the same."""

    def label(self, centers: Any, prices: np.ndarray | None = None) -> np.ndarray:
        """Begin to label the free groups by their nearest of (S, K, d) centers, or, of a single
        solution, by the least cost + (B, K) prices of what they count.

        Returns the (S, L, K) costs of the linked groups, weights included.
        """

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """After ``label``: (S, B, K) what the free groups count in each cluster (without prices:
        one for each of positive weight), and (S,) labels that changed."""

    def fillers(self, s: int) -> Fillers:
        """After ``label``: of one solution, the free groups among the K cheapest to move to some
        cluster, by regret."""

    def undecided(self, n_wanted: int, reach: float, most: int) -> tuple[Fillers, float, float]:
        """After ``label`` at prices: the free points whose second best label is worse by no more
        than a limit, the limit, and 1. They are about `n_wanted`, or more: the limit is at least
        `reach`. If there are many more than `most`, a sample of about `most`, and its share."""

    def move(self, linked: np.ndarray, moves: list[Moves]) -> tuple[Any, np.ndarray]:
        """With the (S, L) labels of linked groups: the (S, K, d) means of the clusters, and by how
        much (S,) they lower the sum of squares about the offset."""

    def squares(self, s: int, centers: Any, linked: np.ndarray, moves: Moves) -> float:
        """Of one solution: the sum of squared distances of the points to the (K, d) centers of
        their labels."""

    def finish(
        self, which: list[int], centers: Any, linked: np.ndarray, moves: list[Moves]
    ) -> Callable[[], list[tuple[Any, np.ndarray, float]]]:
        """Of some of the solutions: a call that gives what ``Points.describe`` makes labels of
        points of, (K, d) centers as an array, and the sum of squares; later labels do not change
        them. `centers` are those of all, `linked` and `moves` of the ones that end."""

    def far_totals(self) -> np.ndarray:
        """Of the first solution: weighted distances of the free rows to their centers, by block."""

    def pick_far(self, block: int, target: float) -> np.ndarray:
        """The row of a block at which those distances add up to `target`."""

    def compound_labels(self) -> np.ndarray:
        """Of the first solution: labels of the free groups of several points."""

    def keep(self, which: list[int]) -> Any:
        """Only these solutions continue; returns their centers, as ``move`` does."""
