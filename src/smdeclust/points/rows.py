"""Blocks of rows of an array, and where a solution has them: never a table of rows x clusters.

Everything a search asks of rows in memory or on a Dask worker is a method of a block and a state.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.points.blocks import (
    add_to_clusters,
    assign_block,
    regrets_block,
    sum_squares,
)
from smdeclust.points.lanes import price_rows
from smdeclust.points.protocol import ClusterSums
from smdeclust.points.validation import read_only


@dataclass
class State:
    """Where one solution has the rows of a block."""

    labels: np.ndarray  # (n,) -1: nowhere yet
    # (n,) bounds on the distance to the own center, and to any other (Hamerly's)
    upper: np.ndarray
    lower: np.ndarray

    @property
    def margins(self) -> np.ndarray:
        """(n,) by how much the second best label is worse, after labels at prices: there are no
        bounds then, and these lie in their place."""
        return self.lower

    @classmethod
    def fresh(cls, n_rows: int) -> Self:
        """No labels yet."""
        return cls(np.full(n_rows, -1, np.int32), np.empty(n_rows), np.empty(n_rows))

    def copy(self) -> "State":
        """The same in arrays of its own."""
        return State(*(values.copy() for values in vars(self).values()))

    def part(self, start: int, stop: int) -> "State":
        """A view of some of the rows."""
        return State(*(values[start:stop] for values in vars(self).values()))


@dataclass(frozen=True)
class Centers:
    """Centers minus the offset, how far each moved, and the scale of their products."""

    values: np.ndarray
    shift: np.ndarray
    scale: float  # of products in single precision, so that nothing overflows

    @cached_property
    def scaled_t(self) -> np.ndarray:
        """(d, K) the centers over the scale."""
        return np.ascontiguousarray(self.values.T / self.scale, dtype=np.float32)

    @cached_property
    def norms(self) -> np.ndarray:
        """(K,) their squares."""
        return np.einsum("kj,kj->k", self.values, self.values)

    @cached_property
    def half_gap(self) -> np.ndarray:
        """(K,) half the distance to the nearest other center."""
        return half_gaps(self.values)


class Rows(ABC):
    """A block of rows, with weights or one for all; the `free` ones are groups of their own."""

    def __init__(self, n_rows: int, weights: np.ndarray, free: np.ndarray | None) -> None:
        self.n_rows, self.weights = n_rows, weights
        self.free = np.ones(n_rows, dtype=np.bool_) if free is None else free

    def weights_of(self, rows: Any) -> np.ndarray:
        """The weights of some rows."""
        return np.asarray(np.broadcast_to(self.weights, self.n_rows)[rows])

    def price(self, state: State, at: Any, prices: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Label the free rows by the least cost + (B, K) prices of what they count.

        `counts` are (B, n), or (B, 1) where all count the same. Returns their (B, K) sums.
        """
        rows = np.flatnonzero(self.free)
        if len(rows) == 0:
            return np.zeros(prices.shape)
        counted = np.broadcast_to(counts, (len(counts), self.n_rows))[:, rows]
        values = self.squares_to(rows, at) * self.weights_of(rows)[:, None]
        values += counted.T @ prices
        best = values.argmin(axis=1)
        state.labels[rows], state.margins[rows] = best, np.inf
        if prices.shape[1] > 1:
            least = values[np.arange(len(rows)), best]
            state.margins[rows] = np.partition(values, 1, axis=1)[:, 1] - least
        return np.stack([np.bincount(best, c, prices.shape[1]) for c in counted])

    def some_margins(self, state: State, step: int) -> np.ndarray:
        """The margins of every n-th row."""
        return state.margins[::step][self.free[::step]]

    def within(self, state: State, limit: float) -> np.ndarray:
        """The free rows with a margin of at most `limit`."""
        return np.flatnonzero((state.margins <= limit) & self.free)

    def cheapest(self, state: State, at: Any) -> tuple[np.ndarray, np.ndarray]:
        """The rows among the K cheapest to move to some cluster, and what each costs more there."""
        regrets = self.regrets(state, at)
        chosen = least_regrets(regrets)
        return chosen, regrets[chosen]

    def look_up(self, state: State, at: Any, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """What few rows are (points, weights, labels), and their (n, K) costs."""
        weights = self.weights_of(rows)
        costs = self.squares_to(rows, at) * weights[:, None]
        return self.points(rows), weights, state.labels[rows].astype(np.int64), costs

    def far_total(self, state: State) -> float:
        """Weighted distances of the free rows to their centers, summed."""
        return float(self._far(state).sum())

    def pick_far(self, state: State, target: float) -> np.ndarray:
        """The row at which those add up to `target`."""
        row = int(np.searchsorted(np.cumsum(self._far(state)), target, side="right"))
        return np.array(self.points(np.array([min(row, self.n_rows - 1)]))[0])

    def _far(self, state: State) -> np.ndarray:
        return np.asarray(np.where(self.free, state.upper, 0.0) * self.weights)

    @abstractmethod
    def points(self, rows: np.ndarray) -> np.ndarray:
        """Few rows minus the offset, dense, in double precision."""

    @abstractmethod
    def regrets(self, state: State, at: Any) -> np.ndarray:
        """What each row would cost more in each cluster; infinite where it must not move."""

    @abstractmethod
    def squares_to(self, rows: np.ndarray, at: Any) -> np.ndarray:
        """(n, K) squared distances of few rows."""


class ArrayRows(Rows):
    """Rows of an array; `offset` is subtracted from each (``None``: it was already)."""

    def __init__(
        self,
        X: np.ndarray,
        weights: np.ndarray,
        free: np.ndarray | None = None,
        offset: np.ndarray | None = None,
    ) -> None:
        super().__init__(len(X), weights, free)
        self.X = X
        self.offset = read_only(np.zeros(X.shape[1]) if offset is None else offset)

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.X, self.weights, self.free, self.offset

    def points(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.X[rows] - self.offset, dtype=np.float64)

    def assign(self, state: State, at: Centers) -> tuple[ClusterSums, int]:
        """Label the free rows by their nearest center; returns what clusters gained, and how many
        labels changed."""
        gained = ClusterSums.zeros(*at.values.shape)
        changed = assign_block(
            *self._arrays, at.values, at.scaled_t, at.scale, at.norms, at.half_gap, at.shift,
            state.labels, state.upper, state.lower, gained.sums, gained.totals, gained.counts,
        )  # fmt: skip
        return gained, changed

    def price(
        self, state: State, at: Centers, prices: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        held = np.zeros(prices.shape)
        price_rows(*self._arrays, counts, at.values, prices, state.labels, state.margins, held)
        return held

    def regrets(self, state: State, at: Centers) -> np.ndarray:
        regrets = np.empty((self.n_rows, len(at.values)))
        regrets_block(*self._arrays, state.labels, at.values, regrets)
        return regrets

    def squares_to(self, rows: np.ndarray, at: Centers) -> np.ndarray:
        return cdist(self.points(rows), at.values, "sqeuclidean")

    def sums(self, state: State, n_clusters: int) -> ClusterSums:
        """Sums of the clusters over the free rows."""
        sums = ClusterSums.zeros(n_clusters, self.X.shape[1])
        add_to_clusters(*self._arrays, state.labels, sums.sums, sums.totals, sums.counts)
        return sums

    def squares(
        self, state: State, centers: np.ndarray, rows: np.ndarray, labels: np.ndarray
    ) -> float:
        """Squared distances of the free rows to the centers of their labels, some of them moved."""
        own = state.labels
        if len(rows):
            own = own.copy()
            own[rows] = labels
        return float(sum_squares(*self._arrays, own, centers))


def least_regrets(regrets: np.ndarray) -> np.ndarray:
    """Rows among the K least of some column of (n, K) regrets, infinite ones left out."""
    n, k = regrets.shape
    if n == 0:
        return np.empty(0, np.int64)
    most = min(k, n)
    chosen = np.unique(np.argpartition(regrets, most - 1, axis=0)[:most])
    return chosen[np.isfinite(regrets[chosen]).any(axis=1)]


def moved_by(centers: np.ndarray, previous: np.ndarray | None) -> np.ndarray:
    """(K,) how far each center moved, rounded up (0 where there were none)."""
    if previous is None:
        return np.zeros(len(centers))
    return np.asarray(np.linalg.norm(centers - previous, axis=1) * (1 + 1e-12))


def half_gaps(centers: np.ndarray) -> np.ndarray:
    """Half the distance of each center to its nearest other one (infinite for a lone center)."""
    norms = np.einsum("kj,kj->k", centers, centers)
    squares = norms[:, None] + norms[None] - 2 * centers @ centers.T
    # Rounding may only make the gap smaller, or a point could be settled wrongly.
    squares -= 1e-12 * (norms[:, None] + norms[None])
    np.fill_diagonal(squares, np.inf)
    return 0.5 * np.sqrt(np.maximum(squares.min(axis=1), 0.0))
