"""One solution on rows in memory, dense or sparse: labels and bounds a row, work by blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from smdeclust.points.linked import LinkedMeans, SparseLinkedMeans
from smdeclust.points.protocol import Moves
from smdeclust.points.single import SingleBatch, least_regrets

# Blocks are cut by the data alone, never by the number of threads: sums are added in their order.
MOST_BLOCKS = 64
LEAST_ROWS = 4096
# Margins that are looked at to choose how many rows take part.
LOOKED_AT = 2**15


class RowPart(ABC):
    """Some rows of which the free ones are groups of their own, their labels and bounds.

    Parameters
    ----------
    n_rows
        Their number.
    weights
        (n,) weights, or a single one for all.
    free
        (n,) which rows take part; ``None``: all.
    """

    def __init__(self, n_rows: int, weights: np.ndarray, free: np.ndarray | None) -> None:
        self.n_rows, self.weights = n_rows, weights
        self.free = np.ones(n_rows, dtype=np.bool_) if free is None else free
        step = max(LEAST_ROWS, -(-n_rows // MOST_BLOCKS))
        self.blocks = [(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
        self.labels = np.full(n_rows, -1, dtype=np.int32)
        # An upper bound on the distance to the own center, a lower one on that to any other.
        self.upper, self.lower = np.empty(n_rows), np.empty(n_rows)

    def weights_of(self, rows: Any) -> np.ndarray:
        """The weights of some rows."""
        return np.asarray(np.broadcast_to(self.weights, self.n_rows)[rows])

    def far(self, start: int, stop: int) -> np.ndarray:
        """Weighted bounds on the distances of rows to their centers; 0 for rows not free."""
        far = np.where(self.free[start:stop], self.upper[start:stop], 0.0)
        return np.asarray(far * self.weights_of(slice(start, stop)))

    @cached_property
    def margins(self) -> np.ndarray:
        """(n,) by how much the second best label is worse at prices; infinite where not free."""
        return np.full(self.n_rows, np.inf)

    counts = np.ones((1, 1))

    def count(self, counts: np.ndarray) -> None:
        """Say what each free row counts: (B, free rows), or (B, 1) where all count the same."""
        if counts.shape[1] != 1 and counts.shape[1] < self.n_rows:
            wide = np.zeros((len(counts), self.n_rows))
            wide[:, self.free] = counts
            counts = wide
        self.counts = np.ascontiguousarray(counts, dtype=np.float64)

    def price(self, start: int, stop: int, centers: Any, prices: np.ndarray) -> np.ndarray:
        """Label rows by the least cost + price; writes their margins, returns (B, K) sums."""
        rows = np.flatnonzero(self.free[start:stop]) + start
        if len(rows) == 0:
            return np.zeros(prices.shape)
        counted = np.broadcast_to(self.counts, (len(self.counts), self.n_rows))[:, rows]
        values = self.squares_to(rows, centers) * self.weights_of(rows)[:, None]
        values += counted.T @ prices
        best = values.argmin(axis=1)
        least = values[np.arange(len(rows)), best]
        self.labels[rows] = best
        if prices.shape[1] > 1:
            self.margins[rows] = np.partition(values, 1, axis=1)[:, 1] - least
        return np.stack([np.bincount(best, c, prices.shape[1]) for c in counted])

    @abstractmethod
    def points(self, rows: np.ndarray) -> np.ndarray:
        """Some rows minus the offset, dense: for few."""

    @abstractmethod
    def regrets(self, start: int, stop: int, centers: Any) -> np.ndarray:
        """What each row would cost more in each cluster; infinite where it must not move."""

    @abstractmethod
    def squares_to(self, rows: np.ndarray, centers: Any) -> np.ndarray:
        """(n, K) squared distances of few rows."""


class RowBatch(SingleBatch):
    """A batch of one solution on parts of rows in memory.

    Parameters
    ----------
    parts
        The rows as given; then, maybe, the means of free groups of several points.
    linked, scatter
        As for :class:`SingleBatch`.
    n_threads
        Threads to use; the result does not depend on it.
    idle
        Where to wait for the next search.
    """

    parts: list[Any]

    def __init__(
        self,
        parts: list[Any],
        linked: LinkedMeans | SparseLinkedMeans,
        scatter: float,
        n_threads: int,
        idle: list[Any],
    ) -> None:
        super().__init__(linked, scatter)
        self.parts, self._idle = parts, idle
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self.forget()

    def forget(self) -> None:
        """No labels, no bounds."""
        for part in self.parts:
            part.labels[:] = -1
        self._previous: np.ndarray | None = None
        self._age = 0

    def __exit__(self, *error: object) -> None:
        self._idle.append(self)

    def _cheapest(
        self, centers: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        k, ready = len(centers), self._ready(centers)

        def work(part: RowPart, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            regrets = part.regrets(start, stop, ready)
            chosen = least_regrets(regrets)
            return chosen + start, regrets[chosen]

        found = self._over_blocks(work)
        bases = [base for part, base in self._numbered() for _ in part.blocks]
        where = np.concatenate(
            [np.empty(0, np.int64), *(rows + b for (rows, _), b in zip(found, bases, strict=True))]
        )
        if len(where) > k:
            best = least_regrets(np.concatenate([costs for _, costs in found]))
            where = np.sort(where[best])
        return where, *self._look_up(where, centers)

    def _look_up(
        self, where: np.ndarray, centers: np.ndarray
    ) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        """What some free groups are (points, weights, labels), and their costs."""
        ready = self._ready(centers)
        points = np.empty((len(where), centers.shape[1]))
        costs, weights = np.empty((len(where), len(centers))), np.empty(len(where))
        labels = np.empty(len(where), dtype=np.int64)
        for part, base in self._numbered():
            mine = (where >= base) & (where < base + part.n_rows)
            rows = where[mine] - base
            points[mine], weights[mine] = part.points(rows), part.weights_of(rows)
            labels[mine], costs[mine] = part.labels[rows], part.squares_to(rows, ready)
        return (points, weights, labels), costs * weights[:, None]

    def count(self, counts: np.ndarray) -> None:
        self.parts[0].count(counts)

    def _counts_of(self, where: np.ndarray) -> np.ndarray:
        counts = self.parts[0].counts
        return np.asarray(np.broadcast_to(counts, (len(counts), self.parts[0].n_rows))[:, where])

    def _price_free(self, centers: np.ndarray, prices: np.ndarray) -> np.ndarray:
        ready = self._ready(centers)

        def work(part: RowPart, start: int, stop: int) -> np.ndarray:
            return part.price(start, stop, ready, prices)

        return np.sum(self._over_blocks(work), axis=0)

    def _undecided(
        self, centers: np.ndarray, n_wanted: int, reach: float, most: int
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray, float, float]:
        step = max(1, sum(part.n_rows for part in self.parts) // LOOKED_AT)
        some = [part.margins[::step] for part in self.parts]
        limit = max(reach, margin_of(some, n_wanted // step))
        where = np.concatenate(
            [
                np.flatnonzero((part.margins <= limit) & part.free) + base
                for part, base in self._numbered()
            ]
        )
        few = where[:: step_to(len(where), most)]
        share = len(few) / len(where) if len(where) else 1.0
        return few, *self._look_up(few, centers), limit, share

    def _ready(self, centers: np.ndarray) -> Any:
        """Centers as the parts take them."""
        return centers

    def _labels(self, linked: np.ndarray, moves: Moves) -> np.ndarray:
        """(G,) labels of the groups, in the order of their numbers."""
        data = self.parts[0]
        with self._moved(moves):
            lone = data.labels[data.free]
            return np.concatenate([linked, self.compound_labels(), lone]).astype(np.int32)

    def compound_labels(self) -> np.ndarray:
        """Labels of the free groups of several points, as just assigned."""
        if len(self.parts) == 1:
            return np.empty(0, np.int32)
        return np.array(self.parts[1].labels)

    def far_totals(self) -> np.ndarray:
        """Weighted distances of the free rows to their centers, summed by blocks."""
        data = self.parts[0]
        return np.array([float(data.far(*block).sum()) for block in data.blocks])

    def pick_far(self, block: int, target: float) -> np.ndarray:
        """The row of a block at which those distances add up to `target`."""
        data = self.parts[0]
        start, stop = data.blocks[block]
        row = int(np.searchsorted(np.cumsum(data.far(start, stop)), target, side="right"))
        return np.array(data.points(np.array([min(start + row, stop - 1)]))[0])

    def _numbered(self) -> Iterator[tuple[Any, int]]:
        """The parts, and the name of the first row of each."""
        base = 0
        for part in self.parts:
            yield part, base
            base += part.n_rows

    @contextmanager
    def _moved(self, moves: Moves) -> Iterator[None]:
        """Labels with these groups elsewhere, for a while: the bounds know nothing of them."""
        before = {name: self._set_label(name, k) for name, k in moves.items()}
        try:
            yield
        finally:
            for name, k in before.items():
                self._set_label(name, k)

    def _set_label(self, name: int, k: int) -> int:
        """Change the label of a free group; returns the one before."""
        n = self.parts[0].n_rows
        part, row = (self.parts[0], name) if name < n else (self.parts[1], name - n)
        before = int(part.labels[row])
        part.labels[row] = k
        return before

    def _over_blocks(self, work: Callable[[Any, int, int], Any]) -> list[Any]:
        """Run `work` on every block; results come in the order of the blocks."""
        jobs = [(part, start, stop) for part in self.parts for start, stop in part.blocks]
        if self._pool is None or len(jobs) <= 1:
            return [work(*job) for job in jobs]
        return list(self._pool.map(lambda job: work(*job), jobs))


def margin_of(some: list[np.ndarray], place: int) -> float:
    """The margin that about so many of them do not exceed: infinite where that is all of them."""
    margins = np.concatenate(some)
    margins = np.sort(margins[margins < np.inf])
    return float(margins[place]) if place < len(margins) else np.inf


def step_to(n_rows: int, most: int) -> int:
    """Which of the rows to take, every one or every so many, for about `most` where far more."""
    return 1 if n_rows <= 4 * most else n_rows // most


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
