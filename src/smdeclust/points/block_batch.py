"""One solution on rows of an array: centers that move little cost little."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.points.blocks import assign_block, regrets_block
from smdeclust.points.linked import LinkedMeans
from smdeclust.points.priced import price_rows
from smdeclust.points.protocol import ClusterSums, Moves
from smdeclust.points.row_batch import RowBatch, RowPart, half_gaps, moved_by
from smdeclust.points.single import RENEW_EVERY
from smdeclust.points.sums import add_to_clusters, sum_squares
from smdeclust.points.threads import thread_pools
from smdeclust.points.validation import read_only


class BlockPart(RowPart):
    """Rows of an array.

    Parameters
    ----------
    X, offset
        (n, d) rows, and what is subtracted from each (``None``: it was already).
    weights, free
        As for :class:`RowPart`.
    """

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

    def points(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.X[rows] - self.offset, dtype=np.float64)

    def regrets(self, start: int, stop: int, centers: Any) -> np.ndarray:
        regrets = np.empty((stop - start, len(centers)))
        regrets_block(
            self.X, self.weights, self.free, self.offset, start, stop, self.labels, centers,
            regrets,
        )  # fmt: skip
        return regrets

    def price(self, start: int, stop: int, centers: Any, prices: np.ndarray) -> np.ndarray:
        held = np.zeros(prices.shape)
        price_rows(
            self.X, self.weights, self.counts, self.free, self.offset, start, stop, centers,
            prices, self.labels, self.margins, held,
        )  # fmt: skip
        return held

    def squares_to(self, rows: np.ndarray, centers: Any) -> np.ndarray:
        return cdist(self.points(rows), centers, "sqeuclidean")


class BlockBatch(RowBatch):
    """Remembers labels and bounds from one assignment to the next.

    Parameters
    ----------
    scale
        Root of the mean squared distance of the points to their mean: products are taken in single
        precision on this scale, so that nothing overflows.
    parts, linked, scatter, n_threads, idle
        As for :class:`RowBatch`.
    """

    def __init__(
        self,
        scale: float,
        parts: list[BlockPart],
        linked: LinkedMeans,
        scatter: float,
        n_threads: int,
        idle: list[Any],
    ) -> None:
        super().__init__(parts, linked, scatter, n_threads, idle)
        self._scale = scale

    def __enter__(self) -> Self:
        # Blocks run on several threads: the matrix products inside them use one each.
        self._limit = thread_pools().limit(limits=1, user_api="blas")
        self._limit.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._limit.__exit__(*error)
        super().__exit__(*error)

    def _assign_free(self, centers: np.ndarray) -> tuple[ClusterSums, int]:
        scale = self._scale
        scaled_t = np.ascontiguousarray(centers.T / scale, dtype=np.float32)
        norms = np.einsum("kj,kj->k", centers, centers)
        shift, half_gap = moved_by(centers, self._previous), half_gaps(centers)

        def work(part: BlockPart, start: int, stop: int) -> tuple[ClusterSums, int]:
            gained = ClusterSums.zeros(*centers.shape)
            changed = assign_block(
                part.X, part.weights, part.free, part.offset, start, stop, centers, scaled_t,
                scale, norms, half_gap, shift, part.labels, part.upper, part.lower, gained.sums,
                gained.totals, gained.counts,
            )  # fmt: skip
            return gained, changed

        if self._previous is None:
            self._held = ClusterSums.zeros(*centers.shape)
        n_changed = 0
        for gained, changed in self._over_blocks(work):
            self._held.add(gained)
            n_changed += changed
        self._previous = centers.copy()
        self._age += 1
        if self._age % RENEW_EVERY == 0:
            self._renew(*centers.shape)
        return self._held, n_changed

    def _renew(self, n_clusters: int, n_features: int) -> None:
        """Add the sums up again from the labels: differences must not drift."""
        self._held = self._sum_up(n_clusters, n_features)

    def _sum_up(self, n_clusters: int, n_features: int) -> ClusterSums:
        def work(part: BlockPart, start: int, stop: int) -> ClusterSums:
            gained = ClusterSums.zeros(n_clusters, n_features)
            add_to_clusters(
                part.X, part.weights, part.free, part.offset, start, stop, part.labels,
                gained.sums, gained.totals, gained.counts,
            )  # fmt: skip
            return gained

        sums = ClusterSums.zeros(n_clusters, n_features)
        for gained in self._over_blocks(work):
            sums.add(gained)
        return sums

    def _free_squares(self, centers: np.ndarray, moves: Moves) -> float:
        def work(part: BlockPart, start: int, stop: int) -> float:
            return sum_squares(
                part.X, part.weights, part.free, part.offset, start, stop, part.labels, centers
            )

        with self._moved(moves):
            return float(sum(self._over_blocks(work)))
