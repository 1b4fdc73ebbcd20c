"""A problem whose points are a CSR matrix, kept as given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import csr_array

from smdeclust.exceptions import InvalidInputError
from smdeclust.points.sparse_kernels import add_columns, scatter_of_groups
from smdeclust.points.sparse_rows import SparseRows
from smdeclust.points.sparse_validation import as_sparse_points
from smdeclust.problem import Problem


@dataclass(frozen=True, eq=False)
class SparseProblem(Problem):
    """What :class:`Problem` is for dense points: the same questions, answered from CSR.

    `compound_means`, and the points of `linked_core`, are :class:`SparseRows`.
    """

    X: Any

    @classmethod
    def _admit(cls, X: Any) -> Any:
        return as_sparse_points(X)

    @classmethod
    def _mean(cls, points: Any, weight: np.ndarray | None) -> np.ndarray:
        n_points, n_features = points.shape
        share = np.ones(1) if weight is None else weight / weight.sum()
        mean = np.zeros(n_features)
        add_columns(points.indptr, points.indices, points.data, share, mean)
        return mean / n_points if weight is None else mean

    @property
    def is_large(self) -> bool:
        """Always: the points are never copied."""
        return True

    @cached_property
    def rows(self) -> SparseRows:
        """The points."""
        return SparseRows(self.X, self.offset)

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the data, dense: for few."""
        return np.asarray(self.X[rows].toarray(), dtype=np.float64)

    @property
    def compound_rows(self) -> tuple[np.ndarray, Any, np.ndarray]:
        """Of the points of groups that are linked or of many: groups, points, weights."""
        rows, groups, weights = self._compound
        return groups, self.rows.take(rows), weights

    @property
    def _compound(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = np.flatnonzero(self.group_of_point < self.grouping.n_compound)
        weights = np.broadcast_to(self.point_weights, self.n_points)[rows]
        return rows, self.group_of_point[rows], weights

    @cached_property
    def compound_means(self) -> Any:
        """Means of the groups that are linked or of many points, as sparse as their points."""
        rows, groups, weights = self._compound
        # A group of no weight at all counts each of its points once.
        weights = np.where(self.weights[groups] > 0, weights, 1.0)
        total = np.bincount(groups, weights, self.grouping.n_compound)
        shape = self.grouping.n_compound, len(rows)
        share = csr_array((weights / total[groups], (groups, np.arange(len(rows)))), shape)
        means = csr_array(share @ csr_array(self.X[rows]))
        # One type of indices, so that each kernel is compiled once.
        kind = self.X.indices.dtype
        means.indptr, means.indices = means.indptr.astype(kind), means.indices.astype(kind)
        return SparseRows(means, self.offset)

    @cached_property
    def scatter(self) -> float:
        """Sum over groups of the squared distances of their points to the group mean."""
        rows, groups, weights = self._compound
        if self.grouping.n_compound == 0:
            return 0.0
        order = np.argsort(groups, kind="stable")
        points, means = self.X[rows[order]], self.compound_means.matrix
        starts = np.searchsorted(groups[order], np.arange(self.grouping.n_compound + 1))
        return float(
            scatter_of_groups(
                points.indptr, points.indices, points.data, weights[order], starts,
                means.indptr, means.indices, means.data, np.zeros(self.n_features),
                np.zeros(self.n_features),
            )
        )  # fmt: skip

    def _linked_means(self) -> Any:
        return self.compound_means.take(np.arange(self.n_linked))

    @cached_property
    def total_squares(self) -> float:
        """Sum of (weighted) squared distances of the points to their mean."""
        return float((self.rows.sizes * self.point_weights).sum())

    def enter(self, centers: np.ndarray) -> np.ndarray:
        """Centers minus the offset."""
        return np.ascontiguousarray(centers, dtype=np.float64) - self.offset

    def objective(self, group_labels: np.ndarray) -> float:
        """Return f at the best centers for these labels, recomputed entry by entry."""
        labels = self.expand(group_labels)
        centers = self._centers_about_offset(labels)
        return self.rows.sum_squares(self.point_weights, labels, centers)

    def _centers_about_offset(self, labels: np.ndarray) -> np.ndarray:
        tally = self.rows.tally(self.point_weights, labels, self.n_clusters)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(tally.sums(self.offset) / tally.totals[:, None])

    @property
    def means(self) -> NoReturn:
        """Not for sparse points: they would all become dense."""
        raise InvalidInputError("X is sparse; this needs a dense array (X.toarray()).")

    @property
    def core(self) -> NoReturn:
        """Not for sparse points either."""
        raise InvalidInputError("X is sparse; this needs a dense array (X.toarray()).")
