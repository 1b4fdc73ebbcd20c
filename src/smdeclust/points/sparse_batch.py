"""One solution on rows in CSR form.

Labels are found block by block on several threads; sums change afterwards, in the order of the
rows: the number of threads does not change a bit of the result.
"""

from __future__ import annotations

import numpy as np

from smdeclust.points import sparse_kernels as kernels
from smdeclust.points.protocol import ClusterSums, Moves
from smdeclust.points.row_batch import RowBatch, RowPart, half_gaps, moved_by
from smdeclust.points.single import RENEW_EVERY
from smdeclust.points.sparse_rows import Against, SparseRows, Tally


class SparsePart(RowPart):
    """Rows in CSR form (those of the data, or means of must-link groups)."""

    def __init__(
        self, rows: SparseRows, weights: np.ndarray, free: np.ndarray | None = None
    ) -> None:
        super().__init__(len(rows), weights, free)
        self.rows = rows
        _ = rows.sizes  # made once, not by several threads

    def points(self, rows: np.ndarray) -> np.ndarray:
        return self.rows.dense(rows)

    def regrets(self, start: int, stop: int, centers: Against) -> np.ndarray:
        squares = self.rows.squares_against(centers, start, stop)
        weights = self.weights_of(slice(start, stop))
        own = self.labels[start:stop, None].astype(np.int64)
        regrets = (squares - np.take_along_axis(squares, own, axis=1)) * weights[:, None]
        regrets[~self.free[start:stop] | (weights <= 0)] = np.inf
        return regrets

    def squares_to(self, rows: np.ndarray, centers: Against) -> np.ndarray:
        return self.rows.take(rows).squares_against(centers)


class SparseBatch(RowBatch):
    """Parts are :class:`SparsePart`; see :class:`RowBatch`."""

    def _ready(self, centers: np.ndarray) -> Against:
        return self.parts[0].rows.against(np.ascontiguousarray(centers))  # type: ignore[no-any-return]

    def _assign_free(self, centers: np.ndarray) -> tuple[ClusterSums, int]:
        centers, offset = np.ascontiguousarray(centers), self.parts[0].rows.offset
        there = self._ready(centers)
        if self._previous is None:
            self._tallies = [Tally.zeros(*centers.shape) for _ in self.parts]
        shift, gaps = moved_by(centers, self._previous), half_gaps(centers)

        def work(part: SparsePart, start: int, stop: int) -> None:
            rows = part.rows
            kernels.assign_rows(
                *rows.arrays, rows.sizes, part.free, offset, rows.offset_norm, start, stop,
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
            sums.add(ClusterSums(tally.sums(offset), tally.totals, tally.counts))
        return sums, n_changed

    def _sum_up(self, n_clusters: int, n_features: int) -> ClusterSums:
        sums, offset = ClusterSums.zeros(n_clusters, n_features), self.parts[0].rows.offset
        for part in self.parts:
            tally = part.rows.tally(part.weights, part.labels, n_clusters, part.free)
            sums.add(ClusterSums(tally.sums(offset), tally.totals, tally.counts))
        return sums

    def _free_squares(self, centers: np.ndarray, moves: Moves) -> float:
        with self._moved(moves):
            return float(
                sum(
                    part.rows.sum_squares(part.weights, part.labels, centers, part.free)
                    for part in self.parts
                )
            )
