"""Points in CSR form, kept as given: no row is ever kept dense."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from smdeclust.points import sparse_kernels as kernels
from smdeclust.points.protocol import Abilities, ClusterSums, Moves
from smdeclust.points.row_batch import RENEW_EVERY, RowBatch, cut
from smdeclust.points.rows import half_gaps, moved_by
from smdeclust.points.sparse_rows import ReadyCenters, SparseRows, Tally
from smdeclust.points.stored import CoupledRows, PointsInMemory
from smdeclust.points.validation import read_only


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
    def coupled(self) -> SparseCoupledRows:  # type: ignore[override]
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

    def _new_batch(self) -> SparseBatch:
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
