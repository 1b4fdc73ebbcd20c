"""Problem: points, K and pairs, validated, contracted and frozen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg import qr
from scipy.sparse import issparse

from smdeclust.constraints.graph import cannot_link_graph
from smdeclust.constraints.groups import Grouping, contract
from smdeclust.constraints.pairs import as_pairs, count_broken
from smdeclust.constraints.rejections import (
    reject_contradictions,
    reject_self_cannot_links,
    reject_too_few_groups,
    reject_uncolorable,
)
from smdeclust.exceptions import InvalidInputError
from smdeclust.points.sums import add_to_clusters, sum_squares
from smdeclust.points.validation import as_points, as_weights, read_only
from smdeclust.problem.core import Core

# Numbers in X from which on it is not copied (32 MiB in float64).
LARGE = 2**22

EVERY = np.ones(1, dtype=np.bool_)
EVERY.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Problem:
    """A semi-supervised MSSC problem. Make one with :meth:`Problem.build`.

    Attributes
    ----------
    X
        (N, d) the points as given (a read-only view).
    n_clusters
        K.
    must_link, cannot_link
        (m, 2) validated pairs of row positions.
    sample_weight
        (N,) weights, or ``None`` for all ones.
    grouping
        The must-link groups.
    weights
        (G,) weight of each group.
    cl_indptr, cl_indices
        Cannot-link graph over the linked groups (symmetric, each edge once).
    offset
        (d,) weighted mean of the points.
    """

    X: np.ndarray
    n_clusters: int
    must_link: np.ndarray
    cannot_link: np.ndarray
    sample_weight: np.ndarray | None
    grouping: Grouping
    weights: np.ndarray
    cl_indptr: np.ndarray
    cl_indices: np.ndarray
    offset: np.ndarray

    @classmethod
    def build(
        cls,
        X: Any,
        n_clusters: int,
        must_link: Any = None,
        cannot_link: Any = None,
        sample_weight: Any = None,
    ) -> Problem:
        """Validate, contract and check feasibility.

        Parameters
        ----------
        X
            (N, d) finite numbers.
        n_clusters
            K, from 1 to the number of must-link groups.
        must_link, cannot_link
            Pairs of row positions: (m, 2) array, data frame, or any iterable of pairs.
        sample_weight
            (N,) non-negative weights.

        Raises
        ------
        InvalidInputError
            Something cannot be used as given.
        InfeasibleConstraintsError
            No clustering satisfies the constraints.
        """
        points = cls._admit(X)
        n_points = points.shape[0]
        n_clusters = as_n_clusters(n_clusters, n_points)
        weight = as_weights(sample_weight, n_points)
        together = as_pairs(must_link, n_points, "must_link")
        apart = as_pairs(cannot_link, n_points, "cannot_link")

        reject_self_cannot_links(apart)
        grouping = contract(n_points, together, apart)
        edges = grouping.of_point[apart]
        reject_contradictions(edges, together, apart, n_points)
        indptr, indices = cannot_link_graph(edges, grouping.n_linked)
        weights = _group_weights(grouping, weight)
        reject_too_few_groups(int(np.count_nonzero(weights)), grouping, n_points, n_clusters)
        reject_uncolorable(indptr, indices, n_clusters, grouping)

        return cls(
            X=points,
            n_clusters=n_clusters,
            must_link=_frozen(together),
            cannot_link=_frozen(apart),
            sample_weight=None if weight is None else _frozen(weight),
            grouping=grouping,
            weights=_frozen(weights),
            cl_indptr=_frozen(indptr),
            cl_indices=_frozen(indices),
            offset=_frozen(cls._mean(points, weight)),
        )

    @classmethod
    def _admit(cls, X: Any) -> Any:
        """The points as they are kept, validated."""
        return _frozen(as_points(X))

    @classmethod
    def _mean(cls, points: Any, weight: np.ndarray | None) -> np.ndarray:
        """(d,) their weighted mean."""
        if weight is None:
            return np.asarray(points.mean(axis=0, dtype=np.float64))
        return np.asarray((weight / weight.sum()) @ points, dtype=np.float64)

    def with_points(self, X: Any) -> Self:
        """The same constraints on other points, row by row; `X` is taken as valid."""
        offset = _frozen(type(self)._mean(X, self.sample_weight))
        return replace(self, X=X if bool(issparse(X)) else _frozen(X), offset=offset)

    @property
    def n_points(self) -> int:
        """N."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """d."""
        return self.X.shape[1]

    @property
    def n_groups(self) -> int:
        """G, the number of must-link groups (a lone point is a group)."""
        return self.grouping.n_groups

    @property
    def n_linked(self) -> int:
        """Number of groups with a cannot-link; they come first."""
        return self.grouping.n_linked

    @property
    def group_of_point(self) -> np.ndarray:
        """(N,) group of each point."""
        return self.grouping.of_point

    @property
    def point_weights(self) -> np.ndarray:
        """(N,) weights of the points, or a single 1 that stands for all of them."""
        return _frozen(np.ones(1)) if self.sample_weight is None else self.sample_weight

    @property
    def is_large(self) -> bool:
        """Whether the points are better left where they are than copied, contracted."""
        return self.X.size >= LARGE and self.n_features <= self.n_groups

    @property
    def compound_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the points of groups that are linked or of many: groups, places minus `offset`,
        weights."""
        rows = np.flatnonzero(self.group_of_point < self.grouping.n_compound)
        weights = np.broadcast_to(self.point_weights, self.n_points)[rows]
        return self.group_of_point[rows], self.X[rows] - self.offset, weights

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the data."""
        return self.X[rows]

    @cached_property
    def compound_means(self) -> np.ndarray:
        """(n_compound, d) means minus `offset` of the groups that are linked or of many points."""
        n_compound = self.grouping.n_compound
        rows = np.flatnonzero(self.group_of_point < n_compound)
        groups = self.group_of_point[rows]
        weight = np.ones(len(rows))
        if self.sample_weight is not None:
            # A group of no weight at all counts each of its points once.
            weight = np.where(self.weights[groups] > 0, self.sample_weight[rows], 1.0)
        total = np.bincount(groups, weight, n_compound)
        shifted = (self.X[rows] - self.offset) * weight[:, None]
        means = np.zeros((n_compound, self.n_features))
        np.add.at(means, groups, shifted)
        return _frozen(means / total[:, None])

    @cached_property
    def means(self) -> np.ndarray:
        """(G, d) group means minus `offset`, float64: a contracted copy of the points."""
        n_compound = self.grouping.n_compound
        means = np.empty((self.n_groups, self.n_features))
        means[:n_compound] = self.compound_means
        # The other groups are single points, in the order of their rows.
        np.subtract(self.X[self.group_of_point >= n_compound], self.offset, out=means[n_compound:])
        return _frozen(means)

    @cached_property
    def scatter(self) -> float:
        """Sum over groups of the squared distances of their points to the group mean."""
        rows = np.flatnonzero(self.grouping.size[self.group_of_point] > 1)
        if len(rows) == 0:
            return 0.0
        gaps = (self.X[rows] - self.offset) - self.compound_means[self.group_of_point[rows]]
        squares = np.einsum("ij,ij->i", gaps, gaps)
        if self.sample_weight is None:
            return float(squares.sum())
        return float(squares @ self.sample_weight[rows])

    @cached_property
    def core(self) -> Core:
        """The contracted problem in the coordinates of the kernels."""
        points, basis = self.means, None
        if self.n_features > self.n_groups:
            # Distances live in the span of the points: rotate onto it once (thin QR of the means
            # as columns), and leave one axis for centers that stick out of it.
            basis, upper = qr(self.means.T, mode="economic")
            points = np.column_stack([upper.T, np.zeros(self.n_groups)])
        return Core(
            points=_frozen(np.ascontiguousarray(points)),
            weights=self.weights,
            indptr=self.cl_indptr,
            indices=self.cl_indices,
            n_clusters=self.n_clusters,
            offset=self.offset,
            basis=basis,
        )

    @cached_property
    def linked_core(self) -> Core:
        """The linked groups alone, as the kernels see them."""
        return Core(
            points=self._linked_means(),
            weights=read_only(self.weights[: self.n_linked]),
            indptr=self.cl_indptr,
            indices=self.cl_indices,
            n_clusters=self.n_clusters,
            offset=self.offset,
            basis=None,
        )

    def _linked_means(self) -> Any:
        return read_only(self.compound_means[: self.n_linked])

    @cached_property
    def total_squares(self) -> float:
        """Sum of (weighted) squared distances of the points to their mean."""
        nobody = np.zeros(self.n_points, dtype=np.int64)
        middle = np.zeros((1, self.n_features))
        return float(
            sum_squares(
                self.X, self.point_weights, EVERY, self.offset, 0, self.n_points, nobody, middle
            )
        )

    def expand(self, group_labels: np.ndarray) -> np.ndarray:
        """Return the (N,) labels of the points from the (G,) labels of their groups."""
        return np.asarray(group_labels, dtype=np.int64)[self.group_of_point]

    def group_labels(self, point_labels: np.ndarray) -> np.ndarray:
        """Return the (G,) labels of the groups from the (N,) labels of their points."""
        labels = np.empty(self.n_groups, dtype=np.int64)
        labels[self.group_of_point] = point_labels
        return labels

    def enter(self, centers: np.ndarray) -> np.ndarray:
        """Translate (k, d) centers to the coordinates of the kernels (see :class:`Core`)."""
        if self.n_features > self.n_groups:
            return self.core.enter(centers)
        return np.ascontiguousarray(centers, dtype=np.float64) - self.offset

    def centers(self, group_labels: np.ndarray) -> np.ndarray:
        """Return the (K, d) cluster means in the coordinates of the data; NaN where empty."""
        return self.group_centers(group_labels) + self.offset

    def group_centers(self, group_labels: np.ndarray) -> np.ndarray:
        """Return the (K, d) cluster means minus `offset`; NaN where empty."""
        return self._centers_about_offset(self.expand(group_labels))

    def objective(self, group_labels: np.ndarray) -> float:
        """Return f at the best centers for these labels, recomputed point by point."""
        labels = self.expand(group_labels)
        centers = self._centers_about_offset(labels)
        return float(
            sum_squares(
                self.X, self.point_weights, EVERY, self.offset, 0, self.n_points, labels, centers
            )
        )

    def _centers_about_offset(self, labels: np.ndarray) -> np.ndarray:
        sums = np.zeros((self.n_clusters, self.n_features))
        totals = np.zeros(self.n_clusters)
        counts = np.zeros(self.n_clusters, dtype=np.int64)
        add_to_clusters(
            self.X, self.point_weights, EVERY, self.offset, 0, self.n_points, labels, sums,
            totals, counts,
        )  # fmt: skip
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums / totals[:, None]

    def violations(self, point_labels: np.ndarray) -> tuple[int, int]:
        """Return how many must-links and how many cannot-links these (N,) labels break.

        A pair that is listed several times counts once.
        """
        return count_broken(self.must_link, self.cannot_link, np.asarray(point_labels))


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def fits_contracted(shape: tuple[int, ...]) -> bool:
    """Whether points of this shape are few enough for a dense copy (32 MiB in float64)."""
    return shape[0] * shape[1] < LARGE


def as_n_clusters(n_clusters: Any, n_points: int) -> int:
    """Return K where it is an integer that so many points can fill."""
    whole = isinstance(n_clusters, (int, np.integer)) and not isinstance(n_clusters, bool)
    if not whole or n_clusters < 1:
        raise InvalidInputError(f"n_clusters must be a positive integer, got {n_clusters!r}.")
    if n_clusters > n_points:
        raise InvalidInputError(
            f"n_clusters={n_clusters} clusters cannot be made of n_samples={n_points} points: "
            f"each needs at least one."
        )
    return int(n_clusters)


def _group_weights(grouping: Grouping, weight: np.ndarray | None) -> np.ndarray:
    weights = np.bincount(grouping.of_point, weight, grouping.n_groups).astype(np.float64)
    weightless = np.flatnonzero(weights[: grouping.n_linked] == 0)
    if len(weightless):
        row = int(np.flatnonzero(grouping.of_point == weightless[0])[0])
        raise InvalidInputError(
            f"sample_weight: the group of row {row} has a cannot-link but no weight; give it a "
            f"positive weight or drop its pairs."
        )
    return weights
