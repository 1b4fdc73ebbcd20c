"""Points: what all storages share, and the few rows that each keeps separately."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array
from scipy.spatial.distance import cdist

from smdeclust.points.blocks import EVERY, add_to_clusters
from smdeclust.points.protocol import Abilities, ClusterSums
from smdeclust.points.threads import available_threads
from smdeclust.points.validation import read_only
from smdeclust.structure.groups import Coupling

# Where products leave distances a larger relative error than this they are taken directly.
PRODUCT_ERROR = 1e-10


class Points(ABC):
    """The points of a problem, wherever they are: (N, d) validated and kept as they are.

    `offset` (d,) is their weighted mean, `total_squares` the sum of weighted squared distances to
    it, `held` the rows in groups; centers are given in `dtype`, single precision where points are.
    """

    abilities = Abilities()
    n_threads = 1  # that work on blocks
    _idle: Any = None  # where batches wait for the next search
    offset: np.ndarray
    total_squares: Any
    coupled: Any

    def __init__(self, X: Any, coupling: Coupling, sample_weight: np.ndarray | None) -> None:
        self.X, self.coupling, self.sample_weight = X, coupling, sample_weight
        self.n_points, self.n_features = X.shape
        self.dtype = np.float32 if X.dtype == np.float32 else np.float64
        # Weights of the rows, or a single 1 that stands for all of them.
        self.row_weights = read_only(np.ones(1) if sample_weight is None else sample_weight)
        self.total_weight = float(self.n_points if sample_weight is None else sample_weight.sum())

    @property
    def scatter(self) -> float:
        """Sum over groups of the squared distances of their points to the mean of the group."""
        return float(self.coupled.scatter)

    @cached_property
    def linked(self) -> Any:
        """The linked groups."""
        n_linked = self.coupling.n_linked
        return LinkedMeans(self.coupled.means[:n_linked], self.coupled.group_weights[:n_linked])

    def enter(self, centers: np.ndarray) -> np.ndarray:
        """Translate (k, d) centers from the coordinates of the data to those of the searches."""
        return np.ascontiguousarray(centers, dtype=np.float64) - self.offset

    def leave(self, centers: np.ndarray) -> np.ndarray:
        """Translate them back."""
        return np.asarray(centers + self.offset)

    def costs(self, centers: np.ndarray) -> np.ndarray:
        """(L, K) costs of the linked groups."""
        return np.asarray(self.linked.costs(np.ascontiguousarray(centers)))

    @abstractmethod
    def begin(self, n_starts: int) -> Any:
        """A batch of this many solutions without labels, to be used in a ``with`` statement."""

    @abstractmethod
    def describe(self, labels: Any) -> tuple[Any, np.ndarray, float]:
        """(N,) labels of the points, (K, d) centers in the coordinates of the data, and the sum of
        squares: evaluated again, in double precision."""

    @abstractmethod
    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the data, dense and in double precision, in the order given: for few."""

    def draw_far(
        self, centers: np.ndarray, linked: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray | None:
        """A point drawn in proportion to its weighted distance to its center; ``None`` where all
        are 0. Linked groups have the labels given, free ones their nearest center."""
        with self.begin(1) as batch:
            batch.label(centers[None])
            totals = batch.far_totals()
            labels = np.concatenate([linked, batch.compound_labels()]).astype(np.int64)
            ends = np.cumsum(np.concatenate([totals, self.coupled.distances(centers, labels)]))
            place, rest = spin(ends, rng)
            if place is None:
                return None
            if place >= len(totals):
                return np.array(self.coupled.row(place - len(totals)))
            return np.asarray(batch.pick_far(place, rest))


class PointsInMemory(Points):
    """Points that this process holds; its batches wait here for the next search."""

    def __init__(
        self,
        X: Any,
        coupling: Coupling,
        sample_weight: np.ndarray | None = None,
        n_threads: int | None = None,
    ) -> None:
        super().__init__(X, coupling, sample_weight)
        self.n_threads, self._idle = n_threads or available_threads(), []

    def __getstate__(self) -> dict[str, Any]:
        """Work spaces, with their threads, stay behind."""
        return {**vars(self), "_idle": []}

    def begin(self, n_starts: int) -> Any:
        try:
            batch = self._idle.pop()
        except IndexError:
            return self._new_batch()
        batch.forget()
        return batch

    def describe(self, labels: Any) -> tuple[Any, np.ndarray, float]:
        of_point = np.asarray(labels, dtype=np.int64)[self.coupling.of_point()]
        centers = self.centers_of(of_point, int(of_point.max()) + 1)
        return of_point, centers + self.offset, self._squares(of_point, centers)

    @abstractmethod
    def _new_batch(self) -> Any: ...

    @abstractmethod
    def centers_of(self, of_point: np.ndarray, n_clusters: int) -> np.ndarray:
        """(K, d) means minus the offset from (N,) labels of the points; NaN where empty."""

    @abstractmethod
    def _squares(self, of_point: np.ndarray, centers: np.ndarray) -> float:
        """The sum of squared distances of the points to the centers of their labels."""


class CoupledRows:
    """The (m, d) rows of linked groups and of groups of several points, minus the offset."""

    def __init__(self, coupling: Coupling, points: Any, sample_weight: np.ndarray | None) -> None:
        self.groups, self.points = coupling.groups, points
        ones = np.ones(len(self.groups))
        self.weights = ones if sample_weight is None else sample_weight[coupling.rows]
        self.group_weights = coupling.weights(sample_weight)

    @cached_property
    def shares(self) -> np.ndarray:
        """(m,) share of each row in the mean of its group; equal ones in a group of no weight."""
        weights = np.where(self.group_weights[self.groups] > 0, self.weights, 1.0)
        return weights / np.bincount(self.groups, weights, len(self.group_weights))[self.groups]

    @cached_property
    def means(self) -> Any:
        """(n_compound, d) means of the groups."""
        m = len(self.groups)
        share = self.shares, self.groups, np.arange(m + 1)  # a column for each row
        return read_only(csc_array(share, shape=(len(self.group_weights), m)) @ self.points)

    @cached_property
    def scatter(self) -> float:
        """Sum over groups of the squared distances of their points to the mean."""
        gaps = self.points - self.means[self.groups]
        return float(np.einsum("ij,ij->i", gaps, gaps) @ self.weights)

    def distances(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(m,) weighted distances of the rows to the centers of their groups' labels."""
        return np.linalg.norm(self.points - centers[labels[self.groups]], axis=1) * self.weights

    def row(self, i: int) -> np.ndarray:
        """Where a row is."""
        return np.asarray(self.points[i])


class LinkedMeans:
    """The (L, d) means of the linked groups, dense, in the coordinates of the searches."""

    def __init__(self, means: np.ndarray, weights: np.ndarray) -> None:
        self.means, self.weights = read_only(means), read_only(weights)
        self.sizes = np.einsum("gj,gj->g", means, means)

    def costs(self, centers: np.ndarray) -> np.ndarray:
        """(L, K) weighted squared distances, by a matrix product where it leaves enough digits."""
        norms = np.einsum("kj,kj->k", centers, centers)
        squares: np.ndarray = self.means @ (-2.0 * centers.T)
        squares += norms
        squares += self.sizes[:, None]
        rounding = 4 * np.finfo(float).eps * centers.shape[1] * (self.sizes + norms.max())
        rough = np.flatnonzero(rounding > PRODUCT_ERROR * squares.min(axis=1))
        if len(rough):
            squares[rough] = cdist(self.means[rough], centers, "sqeuclidean")
        return squares * self.weights[:, None]

    def add_to(self, sums: ClusterSums, labels: np.ndarray) -> None:
        """Add the groups to their clusters."""
        zero = np.zeros(self.means.shape[1])
        add_to_clusters(
            self.means, self.weights, EVERY, zero, labels, sums.sums, sums.totals, sums.counts
        )

    def squares(self, centers: np.ndarray, labels: np.ndarray) -> float:
        """Weighted squared distances to the centers of their labels, summed."""
        gaps = self.means - centers[labels]
        return float(np.einsum("ij,ij->i", gaps, gaps) @ self.weights)


def spin(ends: np.ndarray, rng: np.random.Generator) -> tuple[int | None, float]:
    """Roulette wheel with sectors that end at `ends`: which one, and how far into it."""
    if len(ends) == 0 or not ends[-1] > 0:
        return None, 0.0
    target = rng.random() * ends[-1]
    place = min(int(np.searchsorted(ends, target, side="right")), len(ends) - 1)
    return place, float(target - (ends[place - 1] if place else 0.0))
