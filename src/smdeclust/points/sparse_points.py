"""Points in CSR form, kept as given: no row is ever kept dense."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from smdeclust.points.far import draw_far
from smdeclust.points.held import mean_shares
from smdeclust.points.linked import SparseLinkedMeans
from smdeclust.points.protocol import Abilities, Batch
from smdeclust.points.sparse_batch import SparseBatch, SparsePart
from smdeclust.points.sparse_kernels import add_columns, scatter_of_groups
from smdeclust.points.sparse_rows import SparseRows
from smdeclust.points.threads import available_threads
from smdeclust.points.validation import center_type, read_only
from smdeclust.structure.groups import Coupling


class SparsePoints:
    """A CSR matrix.

    Parameters
    ----------
    X
        (N, d) validated CSR matrix, float32 or float64.
    coupling, sample_weight, n_threads
        As for :class:`ArrayPoints`.
    """

    abilities = Abilities(sampled=True)

    def __init__(
        self,
        X: Any,
        coupling: Coupling,
        sample_weight: np.ndarray | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.X, self.coupling, self.sample_weight = X, coupling, sample_weight
        self.n_points, self.n_features = X.shape
        self.dtype = center_type(X)
        self.n_threads = n_threads or available_threads()
        mean = np.zeros(self.n_features)
        share = np.ones(1) if sample_weight is None else sample_weight / sample_weight.sum()
        add_columns(X.indptr, X.indices, X.data, share, mean)
        self.offset = read_only(mean / self.n_points if sample_weight is None else mean)
        self.row_weights = read_only(np.ones(1) if sample_weight is None else sample_weight)
        self._idle: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        """Work spaces, with their threads, stay behind."""
        return {**vars(self), "_idle": []}

    @cached_property
    def rows(self) -> SparseRows:
        """The points."""
        return SparseRows(self.X, self.offset)

    @cached_property
    def held(self) -> SparseHeld:
        """The rows in groups."""
        return SparseHeld(self.X, self.offset, self.coupling, self.sample_weight)

    @property
    def scatter(self) -> float:
        """What the points inside groups add to every sum of squares."""
        return self.held.scatter

    @cached_property
    def total_squares(self) -> float:
        """Sum of weighted squared distances of the points to their mean."""
        return float((self.rows.sizes * self.row_weights).sum())

    @cached_property
    def linked(self) -> SparseLinkedMeans:
        """The linked groups."""
        n_linked = self.coupling.n_linked
        means = self.held.means.take(np.arange(n_linked))
        return SparseLinkedMeans(means, self.held.group_weights[:n_linked])

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the data, dense: for few."""
        return np.asarray(self.X[rows].toarray(), dtype=np.float64)

    def enter(self, centers: np.ndarray) -> np.ndarray:
        """Centers minus the offset."""
        return np.ascontiguousarray(centers, dtype=np.float64) - self.offset

    def leave(self, centers: np.ndarray) -> np.ndarray:
        """Centers in the coordinates of the data."""
        return np.asarray(centers + self.offset)

    def costs(self, centers: np.ndarray) -> np.ndarray:
        """(L, K) costs of the linked groups."""
        return self.linked.costs(np.ascontiguousarray(centers))

    def begin(self, n_starts: int) -> Batch:
        """A work space: one that is idle, or a new one."""
        try:
            batch = self._idle.pop()
        except IndexError:
            batch = SparseBatch(
                self._parts(), self.linked, self.scatter, self.n_threads, self._idle
            )
        batch.forget()
        return batch  # type: ignore[no-any-return]

    def _parts(self) -> list[SparsePart]:
        n_linked, n_compound = self.coupling.n_linked, self.coupling.n_compound
        free = np.ones(self.n_points, dtype=np.bool_)
        free[self.coupling.rows] = False
        parts = [SparsePart(self.rows, self.row_weights, free)]
        if n_compound > n_linked:
            means = self.held.means.take(np.arange(n_linked, n_compound))
            heavy = read_only(self.held.group_weights[n_linked:])
            parts.append(SparsePart(means, heavy))
        return parts

    def draw_far(
        self, centers: np.ndarray, linked: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray | None:
        """A point drawn in proportion to its distance to its center."""
        return draw_far(self, self.held, centers, linked, rng)

    def describe(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Labels of the points, centers and sum of squares, from the labels of the groups."""
        of_point = np.asarray(labels, dtype=np.int64)[self.coupling.of_point()]
        centers = self.centers_of(of_point, int(of_point.max()) + 1)
        value = self.rows.sum_squares(self.row_weights, of_point, centers)
        return of_point, centers + self.offset, value

    def centers_of(self, of_point: np.ndarray, n_clusters: int) -> np.ndarray:
        """(K, d) means minus the offset from (N,) labels of the points; NaN where empty."""
        tally = self.rows.tally(self.row_weights, of_point, n_clusters)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(tally.sums(self.offset) / tally.totals[:, None])


class SparseHeld:
    """What :class:`Held` is for dense points."""

    def __init__(
        self, X: Any, offset: np.ndarray, coupling: Coupling, sample_weight: np.ndarray | None
    ) -> None:
        self.groups, self.offset = coupling.groups, offset
        self.points = SparseRows(X[coupling.rows], offset)
        self.weights = np.ones(len(self.groups))
        if sample_weight is not None:
            self.weights = sample_weight[coupling.rows]
        self.group_weights = coupling.weights(sample_weight)

    @cached_property
    def means(self) -> SparseRows:
        """Means of the groups, as sparse as their points."""
        n_groups, m = len(self.group_weights), len(self.groups)
        shares = mean_shares(self.groups, self.weights, self.group_weights)
        share = csr_array((shares, (self.groups, np.arange(m))), (n_groups, m))
        means = csr_array(share @ csr_array(self.points.matrix))
        # One type of indices, so that each kernel is compiled once.
        kind = self.points.matrix.indices.dtype
        means.indptr, means.indices = means.indptr.astype(kind), means.indices.astype(kind)
        return SparseRows(means, self.offset)

    @cached_property
    def scatter(self) -> float:
        """Sum over groups of the squared distances of their points to the mean."""
        if len(self.group_weights) == 0:
            return 0.0
        order = np.argsort(self.groups, kind="stable")
        points, means = self.points.matrix[order], self.means.matrix
        starts = np.searchsorted(self.groups[order], np.arange(len(self.group_weights) + 1))
        zeros = np.zeros((2, len(self.offset)))
        return float(
            scatter_of_groups(
                points.indptr, points.indices, points.data, self.weights[order], starts,
                means.indptr, means.indices, means.data, zeros[0], zeros[1],
            )
        )  # fmt: skip

    def distances(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(m,) weighted distances of the rows to the centers of their groups' labels."""
        return np.sqrt(self.points.own_squares(centers, labels[self.groups])) * self.weights

    def row(self, i: int) -> np.ndarray:
        """Where a row is."""
        return self.points.dense(np.array([i]))[0]
