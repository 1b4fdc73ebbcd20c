"""Problem: a structure (what is known) and points; and Solution, S = (phi, psi) of the paper."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.points.choose import Storage, store
from smdeclust.points.lanes import laid_out
from smdeclust.points.stored import Points
from smdeclust.points.validation import admit, as_weights
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.coloring import Coloring, Verdict, find_coloring
from smdeclust.structure.graph import PairGraph, SoftPairs
from smdeclust.structure.quotas import Quota
from smdeclust.structure.structure import Structure

__all__ = ["Coloring", "Contracted", "Problem", "Solution", "Verdict", "find_coloring"]


@dataclass(frozen=True)
class Contracted:
    """The groups of a problem, those with cannot-links first, and the cannot-link graph.

    All arrays are C-contiguous and read-only, so that each kernel is compiled only once.
    """

    # (G, d') group means, centered; where d > G, rotated onto their span plus one axis that
    # holds what sticks out of it (zero for the points, maybe not for a given center)
    points: np.ndarray
    weights: np.ndarray  # (G,) weight of each group
    graph: PairGraph  # the pairs between the linked groups
    n_clusters: int
    storage: Points  # where the points come from; it translates centers

    @cached_property
    def lanes(self) -> list[np.ndarray]:
        """Points and weights laid out for vector code (a copy: not for large data)."""
        return laid_out(self.points, self.weights)

    @cached_property
    def n_linked(self) -> int:
        """The number of groups that have a pair with another group."""
        return self.graph.n_nodes

    @cached_property
    def none_empty(self) -> Bounds:
        """The bound that no cluster is empty."""
        return Bounds.none_empty(self.weights, np.zeros(self.n_clusters))


# What a problem takes over of a structure.
_KNOWN = tuple(field.name for field in fields(Structure))


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(Structure):
    """Validated constraints and points, which are joined into groups (see :meth:`Problem.build`).

    Attributes
    ----------
    points
        The points, in one of the storage backends of ``smdeclust.points``.
    """

    points: Points

    @classmethod
    def build(  # type: ignore[override]
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
        quotas: tuple[Quota, ...] = (),
        deadline: float = np.inf,
        valid: bool = False,
    ) -> "Problem":
        """Validate points and constraints, join points into groups, and check feasibility.

        Parameters
        ----------
        X
            The (N, d) points: an array or a scipy.sparse matrix.
        n_clusters
            The number of clusters, from 1 to the number of must-link groups.
        must_link, cannot_link
            Pairs of row positions: an (m, 2) array, a data frame, or any iterable of pairs.
        sample_weight
            The (N,) non-negative weights of the points.
        storage
            The storage backend: ``"dense"``, ``"blocks"``, ``"sparse"``, ``"torch"`` or a function.
            By default, it depends on the points (see ``smdeclust.points.choose``).
        size_min, size_max
            The smallest and largest size of a cluster: one number, or K numbers.
        size_by
            What a size counts: ``"points"``, or ``"weight"`` for the sum of `sample_weight`.
        soft
            Soft pairs with their prices. They are not validated.
        quotas
            Bounds on what each cluster contains: ``Constraints.quota(...).quotas``.
        deadline
            The time (of ``time.perf_counter()``) at which the check of feasibility stops.
        valid
            Whether `X` is as ``smdeclust.points.validation.admit`` returns it, and the hard pairs
            are (m, 2) arrays of rows that exist.
        """
        data = X if valid else admit(X)
        n_points = int(data.shape[0])
        weight = as_weights(sample_weight, n_points)
        known = Structure.build(
            n_points, n_clusters, must_link, cannot_link, weight,
            size_min=size_min, size_max=size_max, size_by=size_by, soft=soft,
            quotas=quotas, deadline=deadline, valid=valid,
        )  # fmt: skip
        return cls.of(known, data, storage)

    @classmethod
    def of(cls, known: Structure, X: Any, storage: str | Storage | None = None) -> Self:
        """Return a problem with the same constraints for the points `X`, which must be valid."""
        values = {name: getattr(known, name) for name in _KNOWN}
        return cls(points=store(X, known.coupling, known.sample_weight, storage), **values)

    @property
    def X(self) -> Any:
        """The (N, d) points as given (a read-only view)."""
        return self._in_memory("X")

    @property
    def n_features(self) -> int:
        """The number of features, d."""
        return self.points.n_features

    @cached_property
    def size(self) -> int:
        """Points times features times clusters: what an iteration costs."""
        return self.n_points * self.n_features * self.n_clusters

    @property
    def offset(self) -> np.ndarray:
        """The (d,) weighted mean of the points."""
        return self.points.offset

    @property
    def scatter(self) -> float:
        """The sum of squared distances from the points to the means of their groups."""
        return self.points.scatter

    @property
    def total_squares(self) -> float:
        """The (weighted) sum of squared distances from the points to their mean."""
        return self.points.total_squares

    def held(self, group_labels: np.ndarray) -> np.ndarray:
        """(B, K) what clusters hold of the bounds under these (G,) labels, or what the storage has
        instead."""
        bounds = self.group_bounds
        assert bounds is not None
        if not isinstance(group_labels, np.ndarray):
            of_compound = bounds.counts[:, : self.coupling.n_compound]
            return np.asarray(self._in_memory("sums_under")(group_labels, of_compound))
        return bounds.held(group_labels)

    @property
    def point_weights(self) -> np.ndarray:
        """The (N,) weights of the points."""
        return np.ones(self.n_points) if self.sample_weight is None else self.sample_weight

    @property
    def means(self) -> np.ndarray:
        """The (G, d) means of the groups minus `offset`."""
        return np.asarray(self._in_memory("means"))

    @cached_property
    def contracted(self) -> Contracted:
        """The contracted problem as compiled kernels see it."""
        points, _ = self._in_memory("contracted")
        return Contracted(points, self.weights, self.graph, self.n_clusters, self.points)

    @cached_property
    def constant(self) -> float:
        """The part of the objective that no labels change: scatter inside groups, and soft pairs
        that are broken under any labels."""
        return self.scatter + self.always_broken

    def enter(self, centers: np.ndarray) -> np.ndarray:
        """Translate (k, d) centers to the coordinates of searches."""
        return self.points.enter(centers)

    def centers(self, group_labels: np.ndarray) -> np.ndarray:
        """Return the (K, d) means of the clusters. They are NaN for empty clusters."""
        means = self._in_memory("centers_of")(self.expand(group_labels), self.n_clusters)
        return np.asarray(means + self.offset)

    def objective(self, group_labels: np.ndarray) -> float:
        """Return the objective of labels with the best centers, computed from all points."""
        return self.points.describe(group_labels)[2]

    def _in_memory(self, name: str) -> Any:
        """What only storages in memory have, or an error that says what to do."""
        try:
            return getattr(self.points, name)
        except AttributeError:
            raise InvalidInputError(
                f"This needs a dense array in memory, but the points are "
                f"{type(self.points).__name__}: pass a dense array (X.toarray(), X.compute())."
            ) from None


@dataclass(frozen=True)
class Solution:
    """A feasible clustering of the groups of a problem."""

    labels: np.ndarray  # (G,) cluster of each group (phi)
    centers: np.ndarray  # (K, d') cluster means in the coordinates of the searches (psi)
    objective: float  # f, the sum of squared distances of the points to their centers
    n_iterations: int = 0  # Iterations that the local search took to get here
    proven: bool = True  # whether the last assignment was proven optimal for its centers
