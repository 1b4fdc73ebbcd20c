"""Free points in CSR form: labels and bounds a row, sums a cluster, and never a dense row kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from smdeclust.points import sparse_kernels as kernels
from smdeclust.points.array_points import (
    RENEW_EVERY,
    ClusterSums,
    Fillers,
    available_threads,
    half_gaps,
)
from smdeclust.points.sparse_problem import SparseProblem
from smdeclust.points.sparse_rows import Against, SparseRows, Tally

# Blocks for threads, cut by the data alone.
MOST_BLOCKS = 64
LEAST_ROWS = 4096


class _Part:
    """Some free rows (those of the data, or means of must-link groups), labels and bounds."""

    def __init__(self, rows: SparseRows, weights: np.ndarray, free: np.ndarray) -> None:
        self.rows, self.weights, self.free = rows, weights, free
        n = len(rows)
        step = max(LEAST_ROWS, -(-n // MOST_BLOCKS))
        self.blocks = [(start, min(start + step, n)) for start in range(0, n, step)]
        self.labels = np.full(n, -1, dtype=np.int32)
        self.upper, self.lower = np.empty(n), np.empty(n)

    def weights_of(self, rows: np.ndarray) -> np.ndarray:
        """The weights of some rows."""
        return np.broadcast_to(self.weights, len(self.rows))[rows]


class SparsePoints:
    """The free points of a :class:`SparseProblem`.

    Labels are found block by block on several threads; sums change afterwards, in the order of the
    rows: the number of threads does not change a bit of the result.
    """

    def __init__(self, problem: SparseProblem, n_threads: int | None = None) -> None:
        self.n_clusters, self.n_features = problem.n_clusters, problem.n_features
        self.offset = problem.offset
        grouping = problem.grouping
        self.data = _Part(
            problem.rows, problem.point_weights, grouping.of_point >= grouping.n_compound
        )
        self.parts = [self.data]
        n_linked, n_compound = grouping.n_linked, grouping.n_compound
        if n_compound > n_linked:
            means = problem.compound_means.take(np.arange(n_linked, n_compound))
            heavy = np.ascontiguousarray(problem.weights[n_linked:n_compound])
            self.parts.append(_Part(means, heavy, np.ones(len(means), dtype=np.bool_)))
        n_threads = n_threads or available_threads()
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self.forget()

    def forget(self) -> None:
        """Start anew: no labels, no bounds."""
        for part in self.parts:
            part.labels[:] = -1
        self._previous: np.ndarray | None = None
        self._age = 0

    @contextmanager
    def working(self) -> Iterator[None]:
        """Nothing to hold: no matrix products of BLAS inside the threads."""
        yield

    def assign(self, centers: np.ndarray) -> tuple[ClusterSums, int]:
        """Label every free point by its nearest center; returns sums and how many changed."""
        centers = np.ascontiguousarray(centers)
        there = self.data.rows.against(centers)
        shift = np.zeros(len(centers))
        if self._previous is None:
            self._tallies = [Tally.zeros(*centers.shape) for _ in self.parts]
        else:
            shift = np.linalg.norm(centers - self._previous, axis=1) * (1 + 1e-12)
        gaps = half_gaps(centers)

        def work(part: _Part, start: int, stop: int) -> None:
            rows = part.rows
            kernels.assign_rows(
                *rows.arrays, rows.sizes, part.free, self.offset, rows.offset_norm, start, stop,
                centers, there.centers_t, there.bias, there.bias_error, there.largest, gaps,
                shift, part.labels, part.upper, part.lower,
            )  # fmt: skip

        before = [part.labels.copy() for part in self.parts]
        self._over_blocks(work)
        self._previous = centers.copy()
        self._age += 1
        n_changed = 0
        for part, old, tally in zip(self.parts, before, self._tallies, strict=True):
            n_changed += part.rows.move(tally, part.weights, old, part.labels, part.free)
        if self._age % RENEW_EVERY == 0:
            # Differences must not drift.
            self._tallies = [
                part.rows.tally(part.weights, part.labels, len(centers), part.free)
                for part in self.parts
            ]
        sums = ClusterSums.zeros(*centers.shape)
        for tally in self._tallies:
            sums.add(ClusterSums(tally.sums(self.offset), tally.totals, tally.counts))
        return sums, n_changed

    def sum_of_squares(self, centers: np.ndarray, moves: dict[int, int]) -> float:
        """Squared distances of the free points to the centers of their labels, after `moves`."""
        with self._moved(moves):
            return float(
                sum(
                    part.rows.sum_squares(part.weights, part.labels, centers, part.free)
                    for part in self.parts
                )
            )

    def far_totals(self) -> np.ndarray:
        """Weighted distances of the lone free rows to their centers, summed by blocks."""
        return np.array([float(self._far(*block).sum()) for block in self.data.blocks])

    def pick_far(self, block: int, target: float) -> np.ndarray:
        """The row of a block at which those distances add up to `target`, minus the offset."""
        start, stop = self.data.blocks[block]
        row = int(np.searchsorted(np.cumsum(self._far(start, stop)), target, side="right"))
        return self.data.rows.dense(np.array([start + min(row, stop - start - 1)]))[0]

    def _far(self, start: int, stop: int) -> np.ndarray:
        data = self.data
        far = np.where(data.free[start:stop], data.upper[start:stop], 0.0)
        return np.asarray(far * data.weights_of(np.arange(start, stop)))

    def compound_labels(self) -> np.ndarray:
        """Labels of the free groups of several points, as just assigned."""
        return self.parts[1].labels.copy() if len(self.parts) > 1 else np.empty(0, np.int32)

    def fillers(self, centers: np.ndarray) -> Fillers:
        """The free groups among the K cheapest to move to some cluster, by regret."""
        there = self.data.rows.against(np.ascontiguousarray(centers))
        found = self._over_blocks(partial(_cheapest, there))
        bases = [
            base
            for part, base in zip(self.parts, (0, len(self.data.rows)), strict=False)
            for _ in part.blocks
        ]
        where = np.concatenate([rows + b for (rows, _), b in zip(found, bases, strict=True)])
        regrets = np.concatenate([costs for _, costs in found])
        k = len(centers)
        if len(where) > k:
            best = np.unique(np.argpartition(regrets, k - 1, axis=0)[:k])
            where = np.sort(where[best])
        n = len(self.data.rows)
        here, held = where[where < n], where[where >= n] - n
        points = self.data.rows.take(here)
        weights, labels = self.data.weights_of(here), self.data.labels[here]
        if len(held):
            more = self.parts[1]
            points = points.stacked(more.rows.take(held))
            weights = np.concatenate([weights, more.weights_of(held)])
            labels = np.concatenate([labels, more.labels[held]])
        held_points: Any = points
        return Fillers(where, held_points, weights.astype(np.float64), labels.astype(np.int64))

    def group_labels(
        self, problem: SparseProblem, linked: np.ndarray, moves: dict[int, int]
    ) -> np.ndarray:
        """The labels of all groups: linked ones as given, free ones by the last assignment."""
        with self._moved(moves):
            lone = self.data.labels[self.data.free]
            return np.concatenate([linked, self.compound_labels(), lone]).astype(np.int32)

    @contextmanager
    def _moved(self, moves: dict[int, int]) -> Iterator[None]:
        """Labels with these groups elsewhere, for a while: the bounds know nothing of them."""
        before = {i: self._set_label(i, k) for i, k in moves.items()}
        try:
            yield
        finally:
            for i, k in before.items():
                self._set_label(i, k)

    def _set_label(self, i: int, k: int) -> int:
        """Change the label of a free group; returns the one before."""
        n = len(self.data.rows)
        labels, at = (self.data.labels, i) if i < n else (self.parts[1].labels, i - n)
        before = int(labels[at])
        labels[at] = k
        return before

    def _over_blocks(self, work: Callable[[_Part, int, int], Any]) -> list[Any]:
        """Run `work` on every block; results come in the order of the blocks."""
        jobs = [(part, start, stop) for part in self.parts for start, stop in part.blocks]
        for part in self.parts:
            _ = part.rows.sizes  # made once, not by several threads
        if self._pool is None or len(jobs) == 1:
            return [work(*job) for job in jobs]
        return list(self._pool.map(lambda job: work(*job), jobs))


def _cheapest(there: Against, part: _Part, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a block among the K cheapest to move to some cluster, and what that costs."""
    squares = part.rows.squares_against(there, start, stop)
    weights = part.weights_of(np.arange(start, stop))
    here = np.take_along_axis(squares, part.labels[start:stop, None].astype(np.int64), axis=1)
    regrets = (squares - here) * weights[:, None]
    regrets[~part.free[start:stop] | (weights <= 0)] = np.inf
    most = min(squares.shape[1], stop - start)
    chosen = np.unique(np.argpartition(regrets, most - 1, axis=0)[:most])
    chosen = chosen[np.isfinite(regrets[chosen]).any(axis=1)]
    return chosen + start, regrets[chosen]
