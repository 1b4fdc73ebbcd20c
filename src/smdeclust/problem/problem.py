"""Problem: points, K and pairs, validated, contracted and frozen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.points.choose import Storage, admit, store
from smdeclust.points.dask_arrays import in_memory
from smdeclust.points.protocol import Points
from smdeclust.points.validation import as_weights, read_only
from smdeclust.problem.contracted import Contracted
from smdeclust.structure.bounds import SizeBounds
from smdeclust.structure.graph import PairGraph, SoftPairs, cannot_link_graph, priced_graph
from smdeclust.structure.groups import Coupling
from smdeclust.structure.pairs import as_pairs, count_broken
from smdeclust.structure.rejections import (
    Pieces,
    reject_contradictions,
    reject_impossible_sizes,
    reject_self_cannot_links,
    reject_too_few_groups,
    reject_uncolorable,
)


@dataclass(frozen=True, eq=False)
class Problem:
    """A semi-supervised MSSC problem. Make one with :meth:`Problem.build`.

    What people know (K, pairs, weights) is here; where the numbers are is the business of `points`.

    Attributes
    ----------
    points
        The points, behind the protocol of ``smdeclust.points``.
    n_clusters
        K.
    must_link, cannot_link
        (m, 2) validated pairs of row positions.
    sample_weight
        (N,) weights, or ``None`` for all ones.
    coupling
        The must-link groups, and which of them have pairs with others.
    cl_indptr, cl_indices
        Cannot-link graph over the linked groups (symmetric, each edge once). Where there are
        bounds on sizes, groups of several points count as linked, too.
    bounds
        Least and largest sizes of clusters, or ``None``.
    soft
        Pairs that may be broken, with their prices, or ``None``.
    """

    points: Points
    n_clusters: int
    must_link: np.ndarray
    cannot_link: np.ndarray
    sample_weight: np.ndarray | None
    coupling: Coupling
    cl_indptr: np.ndarray
    cl_indices: np.ndarray
    bounds: SizeBounds | None = None
    soft: SoftPairs | None = None

    @classmethod
    def build(
        cls,
        X: Any,
        n_clusters: int,
        must_link: Any = None,
        cannot_link: Any = None,
        sample_weight: Any = None,
        *,
        storage: str | Storage | None = None,
        size_min: Any = None,
        size_max: Any = None,
        size_by: str = "points",
        soft: SoftPairs | None = None,
    ) -> Problem:
        """Validate, contract and check feasibility.

        Parameters
        ----------
        X
            (N, d) finite numbers: an array or a scipy.sparse matrix.
        n_clusters
            K, from 1 to the number of must-link groups.
        must_link, cannot_link
            Pairs of row positions: (m, 2) array, data frame, or any iterable of pairs.
        sample_weight
            (N,) non-negative weights.
        storage
            Where the points are kept: ``"dense"``, ``"blocks"``, ``"sparse"``, ``"torch"``, a
            function, or ``None`` for what suits them (see ``smdeclust.points.choose``).
        size_min, size_max
            Least and largest size of a cluster: a number for all of them, or K numbers, of which
            each cluster takes one (which one is part of the optimisation); ``None``: no bound.
        size_by
            What sizes count: ``"points"``, or ``"weight"`` for sums of `sample_weight`.
        soft
            Pairs that may be broken, with their prices; rows and prices are taken as valid.

        Raises
        ------
        InvalidInputError
            Something cannot be used as given.
        InfeasibleConstraintsError
            No clustering satisfies the constraints.
        """
        data = admit(X, storage)
        n_points = int(data.shape[0])
        n_clusters = as_n_clusters(n_clusters, n_points)
        weight = as_weights(in_memory(sample_weight), n_points)
        together = as_pairs(must_link, n_points, "must_link")
        apart = as_pairs(cannot_link, n_points, "cannot_link")

        reject_self_cannot_links(apart)
        if soft is not None and len(soft) == 0:
            soft = None
        linked = apart if soft is None else np.concatenate([apart, soft.pairs])
        coupling = Coupling.of_pairs(n_points, together, linked)
        edges = coupling.groups_of(apart)
        reject_contradictions(edges, together, apart, n_points)
        indptr, indices = cannot_link_graph(edges, coupling.n_linked)
        _reject_unfillable(coupling, weight, n_clusters)
        reject_uncolorable(indptr, indices, n_clusters, coupling.groups, coupling.rows)
        bounds = SizeBounds.of(size_min, size_max, size_by, n_clusters)
        if bounds is not None:
            bounds = _admit_sizes(bounds, coupling, weight, indptr, indices)
            # Groups of several points depend on each other through the sizes.
            coupling = replace(coupling, n_linked=coupling.n_compound)
            indptr, indices = cannot_link_graph(edges, coupling.n_linked)
        return cls(
            points=store(data, coupling, weight, storage),
            n_clusters=n_clusters,
            must_link=read_only(together),
            cannot_link=read_only(apart),
            sample_weight=None if weight is None else read_only(weight),
            coupling=coupling,
            cl_indptr=read_only(indptr),
            cl_indices=read_only(indices),
            bounds=bounds,
            soft=soft,
        )

    @property
    def X(self) -> Any:
        """(N, d) the points as given (a read-only view)."""
        return self._in_memory("X")

    def with_points(self, X: Any) -> Self:
        """The same constraints on other points, row by row; `X` is taken as valid."""
        return replace(self, points=store(X, self.coupling, self.sample_weight, None))

    @property
    def n_points(self) -> int:
        """N."""
        return self.points.n_points

    @property
    def n_features(self) -> int:
        """d."""
        return self.points.n_features

    @property
    def n_groups(self) -> int:
        """G, the number of must-link groups (a lone point is a group)."""
        return self.coupling.n_groups

    @property
    def n_linked(self) -> int:
        """Number of groups with a cannot-link; they come first."""
        return self.coupling.n_linked

    @property
    def offset(self) -> np.ndarray:
        """(d,) weighted mean of the points."""
        return self.points.offset

    @property
    def scatter(self) -> float:
        """Sum over groups of the squared distances of their points to the group mean."""
        return self.points.scatter

    @property
    def total_squares(self) -> float:
        """Sum of (weighted) squared distances of the points to their mean."""
        return self.points.total_squares

    @cached_property
    def group_of_point(self) -> np.ndarray:
        """(N,) group of each point."""
        return read_only(self.coupling.of_point())

    @cached_property
    def weights(self) -> np.ndarray:
        """(G,) weight of each group."""
        n, rows = self.n_points, self.coupling.free_rows()
        lone = np.ones(len(rows)) if self.sample_weight is None else self.sample_weight[rows]
        assert len(rows) == n - len(self.coupling.rows)
        return read_only(np.concatenate([self.coupling.weights(self.sample_weight), lone]))

    @cached_property
    def size_of_group(self) -> np.ndarray:
        """(G,) what each group counts in the size of its cluster."""
        if self.bounds is not None and self.bounds.by_weight:
            return self.weights
        lone = np.ones(self.n_groups - self.coupling.n_compound)
        return read_only(np.concatenate([self.coupling.weights(None), lone]))

    def sizes(self, group_labels: np.ndarray) -> np.ndarray:
        """(K,) sizes of the clusters under these (G,) labels, or what the storage has instead."""
        if not isinstance(group_labels, np.ndarray):
            return np.asarray(self._in_memory("sizes")(group_labels))
        return np.bincount(group_labels, self.size_of_group, self.n_clusters)

    @property
    def point_weights(self) -> np.ndarray:
        """(N,) weights of the points, or a single 1 that stands for all of them."""
        return np.ones(1) if self.sample_weight is None else self.sample_weight

    @property
    def means(self) -> np.ndarray:
        """(G, d) group means minus `offset`, float64: a contracted copy of the points."""
        return np.asarray(self._in_memory("means"))

    @cached_property
    def contracted(self) -> Contracted:
        """The contracted problem as compiled kernels see it."""
        points, _ = self._in_memory("contracted")
        return Contracted(
            points=points,
            weights=self.weights,
            graph=self.graph,
            n_clusters=self.n_clusters,
            storage=self.points,
        )

    @property
    def graph(self) -> PairGraph:
        """The pairs between the linked groups, hard and soft."""
        return self._priced[0]

    @cached_property
    def _priced(self) -> tuple[PairGraph, float]:
        if self.soft is None:
            return PairGraph.hard(self.cl_indptr, self.cl_indices), 0.0
        return priced_graph(
            self.cannot_link, self.soft, self.coupling.groups_of, self.coupling.n_linked
        )

    @property
    def constant(self) -> float:
        """The part of the objective that no labels change: scatter inside groups, and soft pairs
        that are broken whatever the labels."""
        return self.scatter + self._priced[1]

    def penalty(self, group_labels: np.ndarray) -> float:
        """Return what the soft pairs that these (G,) labels break cost together."""
        if self.soft is None:
            return 0.0
        graph, constant = self._priced
        return graph.penalty(np.asarray(group_labels)[: self.n_linked]) + constant

    def expand(self, group_labels: np.ndarray) -> np.ndarray:
        """Return the (N,) labels of the points from the (G,) labels of their groups."""
        return np.asarray(group_labels, dtype=np.int64)[self.group_of_point]

    def group_labels(self, point_labels: np.ndarray) -> np.ndarray:
        """Return the (G,) labels of the groups from the (N,) labels of their points."""
        labels = np.empty(self.n_groups, dtype=np.int64)
        labels[self.group_of_point] = point_labels
        return labels

    def enter(self, centers: np.ndarray) -> np.ndarray:
        """Translate (k, d) centers to the coordinates of searches."""
        return self.points.enter(centers)

    def centers(self, group_labels: np.ndarray) -> np.ndarray:
        """Return the (K, d) cluster means in the coordinates of the data; NaN where empty."""
        return self.group_centers(group_labels) + self.offset

    def group_centers(self, group_labels: np.ndarray) -> np.ndarray:
        """Return the (K, d) cluster means minus `offset`; NaN where empty."""
        means = self._in_memory("centers_of")
        return np.asarray(means(self.expand(group_labels), self.n_clusters))

    def objective(self, group_labels: np.ndarray) -> float:
        """Return f at the best centers for these labels, recomputed point by point."""
        return self.points.describe(group_labels)[2]

    def violations(self, point_labels: np.ndarray) -> tuple[int, int]:
        """Return how many must-links and how many cannot-links these (N,) labels break.

        A pair that is listed several times counts once.
        """
        return count_broken(self.must_link, self.cannot_link, np.asarray(point_labels))

    def _in_memory(self, name: str) -> Any:
        """What only storages in memory have, or an error that says what to do."""
        try:
            return getattr(self.points, name)
        except AttributeError:
            raise InvalidInputError(
                f"This needs a dense array in memory, and the points are "
                f"{type(self.points).__name__}: pass a dense array (X.toarray(), X.compute())."
            ) from None


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


def _admit_sizes(
    bounds: SizeBounds,
    coupling: Coupling,
    weight: np.ndarray | None,
    indptr: np.ndarray,
    indices: np.ndarray,
) -> SizeBounds:
    """The bounds where no cluster may be empty, or an error that says what is in the way."""
    if weight is not None and not (weight > 0).all():
        row = int(np.flatnonzero(weight <= 0)[0])
        raise InvalidInputError(
            f"sample_weight: row {row} has no weight; with size_min or size_max every point needs "
            f"a positive one."
        )
    counted = weight if bounds.by_weight else None
    least = 1.0 if counted is None else float(counted.min()) * (1 - 1e-9)
    bounds = bounds.filling(least)
    of_group = coupling.weights(counted)
    total = float(coupling.n_points if counted is None else counted.sum())
    source = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    once = source < indices
    order = np.argsort(coupling.groups, kind="stable")
    cuts = np.cumsum(np.bincount(coupling.groups, minlength=coupling.n_compound))[:-1]
    rows = [part.tolist() for part in np.split(coupling.rows[order], cuts)]
    pieces = Pieces(
        of_group=of_group,
        ends=np.column_stack([source[once], indices[once]]),
        lone=total - float(of_group.sum()),
        n_lone=coupling.n_points - len(coupling.rows),
        rows=rows if coupling.n_compound else [],
    )
    reject_impossible_sizes(bounds, pieces)
    return bounds


def _reject_unfillable(coupling: Coupling, weight: np.ndarray | None, n_clusters: int) -> None:
    """Reject linked groups of no weight, and fewer groups of some weight than clusters."""
    weights = coupling.weights(weight)
    weightless = np.flatnonzero(weights[: coupling.n_linked] == 0)
    if len(weightless):
        row = int(coupling.rows[np.flatnonzero(coupling.groups == weightless[0])[0]])
        raise InvalidInputError(
            f"sample_weight: the group of row {row} has a cannot-link but no weight; give it a "
            f"positive weight or drop its pairs."
        )
    n_filling = coupling.n_groups
    if weight is not None:
        lone = np.count_nonzero(weight) - np.count_nonzero(weight[coupling.rows])
        n_filling = int(lone + np.count_nonzero(weights))
    reject_too_few_groups(n_filling, coupling.n_groups, coupling.n_points, n_clusters)
