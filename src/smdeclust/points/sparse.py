"""Points in CSR form, kept as given: their rows as the searches use them, and their storage.

No row is ever kept dense, and the offset is never subtracted in storage.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist

from smdeclust.points import sparse_kernels as kernels
from smdeclust.points.protocol import Abilities, ClusterSums, Moves
from smdeclust.points.row_batch import RENEW_EVERY, RowBatch, cut
from smdeclust.points.rows import Rows, State, half_gaps, moved_by
from smdeclust.points.stored import CoupledRows, PointsInMemory
from smdeclust.points.validation import read_only

# Rows whose distances to all centers are held at once.
BLOCK = 4096
ONE = read_only(np.ones(1))


@dataclass(frozen=True)
class ReadyCenters:
    """Centers minus the offset, and what comparing rows with them needs."""

    # (K, d), and (d, K) for rows that meet all of them
    centers: np.ndarray
    centers_t: np.ndarray
    bias: np.ndarray  # (K,) |y|^2 + 2 o.y
    bias_error: float  # A bound on the rounding of any of those
    largest: float  # the largest |y|


@dataclass
class Tally:
    """Sums of the rows of each cluster, the stored entries apart from the others."""

    # (K, d) sums over stored entries of w (x - o), and of w
    gaps: np.ndarray
    stored: np.ndarray
    # (K,) weights, and rows of positive weight
    totals: np.ndarray
    counts: np.ndarray

    @classmethod
    def zeros(cls, n_clusters: int, n_features: int) -> Self:
        """Nothing in any cluster."""
        shape = n_clusters, n_features
        return cls(
            np.zeros(shape), np.zeros(shape), np.zeros(n_clusters), np.zeros(n_clusters, np.int64)
        )

    def sums(self, offset: np.ndarray) -> np.ndarray:
        """(K, d) sums of w (x - o) over all entries."""
        sums = self.stored - self.totals[:, None]
        sums *= offset
        sums += self.gaps
        return sums

    def as_sums(self, offset: np.ndarray) -> ClusterSums:
        """The same as sums of whole rows."""
        return ClusterSums(self.sums(offset), self.totals, self.counts)


class SparseRows(Rows):
    """Rows in CSR form from row `start` on, minus an offset that is never subtracted in storage:
    those of the data, or means of must-link groups.

    No row of `matrix`, float32 or float64, stores a column twice.
    """

    def __init__(
        self,
        matrix: Any,
        offset: np.ndarray,
        weights: np.ndarray = ONE,
        free: np.ndarray | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        super().__init__((matrix.shape[0] if stop is None else stop) - start, weights, free)
        self.matrix, self.offset, self.start = matrix, offset, start
        ends = matrix.indptr[start : start + self.n_rows + 1]
        self.arrays = read_only(ends), read_only(matrix.indices), read_only(matrix.data)
        self.offset_square = float((offset * offset).sum())
        self.offset_norm = float(np.sqrt(self.offset_square)) * (1 + 1e-12)

    @cached_property
    def sizes(self) -> np.ndarray:
        """(n,) |x - o|^2."""
        sizes = np.empty(self.n_rows)
        kernels.sizes_of_rows(*self.arrays, self.offset, self.offset_square, sizes)
        return read_only(sizes)

    def points(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix[rows + self.start].toarray() - self.offset)

    def take(self, rows: np.ndarray) -> "SparseRows":
        """Some of the rows."""
        weights = read_only(self.weights_of(rows))
        return SparseRows(self.matrix[rows + self.start], self.offset, weights)

    def part(self, start: int, stop: int) -> "SparseRows":
        """A view of the rows from `start` to `stop`."""
        weights = self.weights if len(self.weights) == 1 else self.weights[start:stop]
        part = SparseRows(self.matrix, self.offset, weights, self.free[start:stop], start, stop)
        part.sizes = self.sizes[start:stop]
        return part

    def assign(self, state: State, at: ReadyCenters, gaps: np.ndarray, shift: np.ndarray) -> None:
        """Label the free rows by their nearest center."""
        kernels.assign_rows(
            *self.arrays, self.sizes, self.free, self.offset, self.offset_norm, at.centers,
            at.centers_t, at.bias, at.bias_error, at.largest, gaps, shift, state.labels,
            state.upper, state.lower,
        )  # fmt: skip

    def regrets(self, state: State, at: ReadyCenters) -> np.ndarray:
        squares, weights = self.squares_against(at), self.weights_of(slice(None))
        own = state.labels[:, None].astype(np.int64)
        regrets = (squares - np.take_along_axis(squares, own, axis=1)) * weights[:, None]
        regrets[~self.free | (weights <= 0)] = np.inf
        return regrets

    def squares_to(self, rows: np.ndarray, at: ReadyCenters) -> np.ndarray:
        return self.take(rows).squares_against(at)

    def against(self, centers: np.ndarray) -> ReadyCenters:
        """Prepare centers (minus the offset) to be compared with these rows."""
        # Sums of numpy are pairwise: their rounding grows with log d, which 40 covers.
        norms = np.array([(y * y).sum() for y in centers])
        lean = np.array([(self.offset * y).sum() for y in centers])
        largest = float(np.sqrt(norms.max(initial=0.0))) * (1 + 1e-12)
        reach = largest * (largest + 2.0 * self.offset_norm)
        return ReadyCenters(
            centers=centers,
            centers_t=np.ascontiguousarray(centers.T),
            bias=norms + 2.0 * lean,
            bias_error=40 * kernels.ROUNDOFF * reach,
            largest=largest,
        )

    def squares_against(self, there: ReadyCenters) -> np.ndarray:
        """(n, K) squared distances of the rows to centers minus the offset."""
        out = np.empty((self.n_rows, len(there.centers)))
        kernels.squares_of_rows(
            *self.arrays, self.sizes, self.offset, self.offset_norm, there.centers,
            there.centers_t, there.bias, there.bias_error, there.largest, out,
        )  # fmt: skip
        return out

    def own_squares(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(n,) squared distances of the rows to the centers of their labels."""
        there, own = self.against(centers), np.empty(self.n_rows)
        for start in range(0, self.n_rows, BLOCK):
            stop = min(start + BLOCK, self.n_rows)
            squares = self.part(start, stop).squares_against(there)
            own[start:stop] = squares[np.arange(stop - start), labels[start:stop]]
        return own

    def tally(self, labels: np.ndarray, n_clusters: int) -> Tally:
        """What the free rows of each cluster add up to."""
        tally = Tally.zeros(n_clusters, len(self.offset))
        self.move(tally, np.full(self.n_rows, -1, np.int32), labels)
        return tally

    def move(self, tally: Tally, old: np.ndarray, new: np.ndarray) -> int:
        """Bring a tally from labels of the free rows to others; returns how many moved."""
        return int(
            kernels.move_rows(
                *self.arrays, self.weights, self.free, self.offset, old, _as_labels(new),
                tally.gaps, tally.stored, tally.totals, tally.counts,
            )
        )  # fmt: skip

    def sum_squares(self, labels: np.ndarray, centers: np.ndarray) -> float:
        """Weighted squared distances of the free rows to the centers of their labels.

        A sum of squares, stored entries one by one and the others a cluster and column at once:
        nothing is subtracted from it, so it is as exact as if it were made of the whole rows.
        """
        labels = _as_labels(labels)
        tally, given = self.tally(labels, len(centers)), (self.weights, self.free, self.offset)
        total = kernels.stored_squares(*self.arrays, *given, labels, centers)
        for k, center in enumerate(centers):
            zeros = np.square(self.offset + center)
            total += float(((tally.totals[k] - tally.stored[k]) * zeros).sum())
        return float(total)

    # Of linked groups, as `LinkedMeans`.

    def costs(self, centers: np.ndarray) -> np.ndarray:
        """(n, K) weighted squared distances."""
        return self.squares_against(self.against(centers)) * self.weights[:, None]

    def add_to(self, sums: ClusterSums, labels: np.ndarray) -> None:
        """Add the rows to their clusters."""
        sums.add(self.tally(labels, len(sums.sums)).as_sums(self.offset))

    def squares(self, centers: np.ndarray, labels: np.ndarray) -> float:
        """Weighted squared distances to the centers of their labels, summed."""
        return float(self.own_squares(centers, labels) @ self.weights)


def squares_to(points: Any, centers: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield rows of validated points, dense or CSR, and their (n, K) squared distances."""
    centers = np.asarray(centers, dtype=np.float64)
    n_points = points.shape[0]
    blocks = [slice(start, min(start + BLOCK, n_points)) for start in range(0, n_points, BLOCK)]
    if not issparse(points):
        for block in blocks:
            yield block, cdist(points[block], centers, metric="sqeuclidean")
        return
    # Between the centers little cancels, wherever the data lie.
    rows = SparseRows(points, centers.mean(axis=0))
    there = rows.against(np.ascontiguousarray(centers - rows.offset))
    for block in blocks:
        yield block, rows.part(block.start, block.stop).squares_against(there)


def _as_labels(labels: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(labels, dtype=np.int32)


class SparsePoints(PointsInMemory):
    """A validated CSR matrix, float32 or float64; `n_threads` as for :class:`ArrayPoints`."""

    abilities = Abilities(sampled=True)

    def __init__(self, X: Any, *given: Any, **more: Any) -> None:
        super().__init__(X, *given, **more)
        mean, weight = np.zeros(self.n_features), self.sample_weight
        share = np.ones(1) if weight is None else weight / weight.sum()
        kernels.add_columns(X.indptr, X.indices, X.data, share, mean)
        self.offset = read_only(mean / self.n_points if weight is None else mean)

    @cached_property
    def rows(self) -> SparseRows:
        """The points."""
        return SparseRows(self.X, self.offset, self.row_weights)

    @cached_property
    def coupled(self) -> "SparseCoupledRows":  # type: ignore[override]
        """The rows in groups."""
        points = SparseRows(self.X[self.coupling.rows], self.offset)
        return SparseCoupledRows(self.coupling, points, self.sample_weight)

    @cached_property
    def total_squares(self) -> float:
        """Sum of weighted squared distances of the points to their mean."""
        return float((self.rows.sizes * self.row_weights).sum())

    @cached_property
    def linked(self) -> SparseRows:
        """The linked groups."""
        return self.coupled.means.take(np.arange(self.coupling.n_linked))

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the data, dense: for few."""
        return np.asarray(self.X[rows].toarray(), dtype=np.float64)

    def _new_batch(self) -> "SparseBatch":
        n_linked, n_compound = self.coupling.n_linked, self.coupling.n_compound
        wholes = [SparseRows(self.X, self.offset, self.row_weights, self.coupling.is_free())]
        wholes[0].sizes = self.rows.sizes
        if n_compound > n_linked:
            wholes.append(self.coupled.means.take(np.arange(n_linked, n_compound)))
        return SparseBatch(self, wholes)

    def centers_of(self, of_point: np.ndarray, n_clusters: int) -> np.ndarray:
        """(K, d) means minus the offset from (N,) labels of the points; NaN where empty."""
        tally = self.rows.tally(of_point, n_clusters)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(tally.sums(self.offset) / tally.totals[:, None])

    def _squares(self, of_point: np.ndarray, centers: np.ndarray) -> float:
        return self.rows.sum_squares(of_point, centers)


class SparseBatch(RowBatch):
    """Labels are found block by block on several threads; sums change afterwards, in the order of
    the rows: the number of threads does not change a bit of the result.

    `wholes` are the rows as given; then, maybe, the means of free groups of several points.
    """

    def __init__(self, points: SparsePoints, wholes: list[SparseRows]) -> None:
        blocks, starts, self.wholes, n = [], [], [], 0
        for whole in wholes:
            for a, b in cut(whole.n_rows):
                blocks.append(whole.part(a, b))
                starts.append(n + a)
            self.wholes.append((whole, slice(n, n + whole.n_rows)))
            n += whole.n_rows
        super().__init__(points, blocks, [*starts, n], wholes[0].free, wholes[0].n_rows)

    def _ready(self, centers: np.ndarray) -> ReadyCenters:
        return self.wholes[0][0].against(np.ascontiguousarray(centers))

    def _assign(self) -> tuple[ClusterSums, int]:
        centers = self._centers
        if self._age == 0:
            self._tally = Tally.zeros(*centers.shape)
        before = self.all_rows.labels.copy()
        self._each(
            "assign", self._at, half_gaps(centers), moved_by(centers, self._previous), changes=True
        )
        self._age += 1
        n_changed = sum(
            whole.move(self._tally, before[at], self.all_rows.labels[at])
            for whole, at in self.wholes
        )
        if self._age % RENEW_EVERY == 0:  # differences must not drift
            return self._sum_up(), n_changed
        return self._tally.as_sums(self.wholes[0][0].offset), n_changed

    def _sum_up(self) -> ClusterSums:
        self._tally = Tally.zeros(*self._centers.shape)
        for whole, at in self.wholes:
            whole.move(self._tally, np.full(whole.n_rows, -1, np.int32), self.all_rows.labels[at])
        return self._tally.as_sums(self.wholes[0][0].offset)

    def _free_squares(self, centers: np.ndarray, moves: Moves) -> float:
        labels = self._moved(moves)
        return float(sum(whole.sum_squares(labels[at], centers) for whole, at in self.wholes))


class SparseCoupledRows(CoupledRows):
    """The same rows in CSR form."""

    @cached_property
    def means(self) -> SparseRows:
        """Means of the groups, as sparse as their points."""
        n_groups, m = len(self.group_weights), len(self.groups)
        share = csr_array((self.shares, (self.groups, np.arange(m))), (n_groups, m))
        means = csr_array(share @ csr_array(self.points.matrix))
        # One type of indices, so that each kernel is compiled once.
        kind = self.points.matrix.indices.dtype
        means.indptr, means.indices = means.indptr.astype(kind), means.indices.astype(kind)
        return SparseRows(means, self.points.offset, read_only(self.group_weights))

    @cached_property
    def scatter(self) -> float:
        """Sum over groups of the squared distances of their points to the mean."""
        if len(self.group_weights) == 0:
            return 0.0
        order = np.argsort(self.groups, kind="stable")
        points, means = self.points.matrix[order], self.means.matrix
        starts = np.searchsorted(self.groups[order], np.arange(len(self.group_weights) + 1))
        zeros = np.zeros((2, len(self.points.offset)))
        return float(
            kernels.scatter_of_groups(
                points.indptr, points.indices, points.data, self.weights[order], starts,
                means.indptr, means.indices, means.data, zeros[0], zeros[1],
            )
        )  # fmt: skip

    def distances(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(m,) weighted distances of the rows to the centers of their groups' labels."""
        return np.sqrt(self.points.own_squares(centers, labels[self.groups])) * self.weights

    def row(self, i: int) -> np.ndarray:
        """Where a row is."""
        return self.points.points(np.array([i]))[0]
