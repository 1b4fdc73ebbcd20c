"""What storages share that refine one solution at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from smdeclust.points.linked import LinkedMeans, SparseLinkedMeans
from smdeclust.points.protocol import ClusterSums, Fillers, Moves

# After so many iterations of adding differences the sums are added up again from the labels.
RENEW_EVERY = 32


class SingleBatch(ABC):
    """A batch of one solution.

    Parameters
    ----------
    linked
        The linked groups.
    scatter
        What the points inside groups add to the sum of squares.
    """

    rounding = 1e-13

    def __init__(self, linked: LinkedMeans | SparseLinkedMeans, scatter: float) -> None:
        self.linked, self.scatter = linked, scatter

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    # Sums of the free groups by their labels; made when they are needed.
    _sums: ClusterSums | None = None

    def assign(self, centers: np.ndarray) -> np.ndarray:
        (self._centers,) = centers
        self._sums, self._n_changed = self._assign_free(self._centers)
        return self.linked.costs(self._centers)[None]

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        assert self._sums is not None
        return self._sums.counts[None], np.array([self._n_changed])

    def fillers(self, s: int) -> Fillers:
        where, self._filling, costs = self._cheapest(self._centers)
        self._places = {int(name): i for i, name in enumerate(where)}
        _, weights, labels = self._filling
        return Fillers(where, weights, labels, costs)

    def count(self, counts: np.ndarray) -> None:
        raise NotImplementedError

    def price(self, centers: np.ndarray, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._centers, self._sums = centers, None
        return self.linked.costs(centers), self._price_free(centers, prices)

    def undecided(self, n_wanted: int, reach: float, most: int) -> tuple[Fillers, float, float]:
        where, self._filling, costs, limit, share = self._undecided(
            self._centers, n_wanted, reach, most
        )
        self._places = {int(name): i for i, name in enumerate(where)}
        _, weights, labels = self._filling
        return Fillers(where, weights, labels, costs, self._counts_of(where)), limit, share

    def move(self, linked: np.ndarray, moves: list[Moves]) -> tuple[np.ndarray, np.ndarray]:
        if self._sums is None:
            self._sums = self._sum_up(*self._centers.shape)
        sums = self._sums.copy()
        if moves[0]:
            points, weights, labels = self._filling
            at = [self._places[name] for name in moves[0]]
            sums.move(points[at], weights[at], labels[at], list(moves[0].values()))
        self.linked.add_to(sums, linked[0])
        centers, gain = sums.means()
        return centers[None], np.array([gain])

    def squares(self, s: int, centers: np.ndarray, linked: np.ndarray, moves: Moves) -> float:
        return (
            self._free_squares(centers, moves) + self.linked.squares(centers, linked) + self.scatter
        )

    def finish(
        self, s: int, centers: np.ndarray, linked: np.ndarray, moves: Moves
    ) -> tuple[Any, np.ndarray, float]:
        value = self.squares(s, centers, linked, moves)
        return self._labels(linked, moves), centers, value

    def keep(self, which: list[int]) -> None:
        return None

    @abstractmethod
    def _assign_free(self, centers: np.ndarray) -> tuple[ClusterSums, int]:
        """Label every free group by its nearest center; returns sums and how many changed."""

    def _price_free(self, centers: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Label every free point by the least cost + price; returns (B, K) sums of counts."""
        raise NotImplementedError

    def _undecided(
        self, centers: np.ndarray, n_wanted: int, reach: float, most: int
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray, float, float]:
        """As ``_cheapest``, of free points nearest to indifference, and as ``undecided``."""
        raise NotImplementedError

    def _counts_of(self, where: np.ndarray) -> np.ndarray:
        """(B, n) what some free rows count."""
        raise NotImplementedError

    def _sum_up(self, n_clusters: int, n_features: int) -> ClusterSums:
        """Sums of the free groups by their labels."""
        raise NotImplementedError

    @abstractmethod
    def _free_squares(self, centers: np.ndarray, moves: Moves) -> float:
        """Squared distances of the free groups to the centers of their labels, after `moves`."""

    @abstractmethod
    def _cheapest(
        self, centers: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        """The free groups among the K cheapest to move to some cluster, by regret: their names,
        what they are (points, weights, labels), and their (n, K) costs."""

    @abstractmethod
    def _labels(self, linked: np.ndarray, moves: Moves) -> Any:
        """What the storage's ``describe`` takes."""


def least_regrets(regrets: np.ndarray) -> np.ndarray:
    """Rows among the K least of some column of (n, K) regrets, infinite ones left out."""
    n, k = regrets.shape
    most = min(k, n)
    chosen = np.unique(np.argpartition(regrets, most - 1, axis=0)[:most])
    return chosen[np.isfinite(regrets[chosen]).any(axis=1)]
