"""Points of one array in memory: as given and block by block, or small and contracted."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import qr

from smdeclust.points.block_batch import BlockBatch, BlockPart
from smdeclust.points.far import draw_far, spin
from smdeclust.points.held import Held
from smdeclust.points.linked import LinkedMeans
from smdeclust.points.nearest import nearest_squares
from smdeclust.points.protocol import Abilities, Batch
from smdeclust.points.sums import EVERY, add_to_clusters, sum_squares
from smdeclust.points.threads import available_threads
from smdeclust.points.validation import center_type, read_only
from smdeclust.structure.groups import Coupling


class ArrayPoints:
    """What the storages of one dense array share.

    Parameters
    ----------
    X
        (N, d) validated points, float32 or float64; kept as they are.
    coupling
        Which rows share a group or have a cannot-link.
    sample_weight
        (N,) weights, or ``None`` for ones.
    n_threads
        Threads for work by blocks; by default what the process may use.
    """

    abilities = Abilities(sampled=True)
    may_rotate = True

    def __init__(
        self,
        X: np.ndarray,
        coupling: Coupling,
        sample_weight: np.ndarray | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.X, self.coupling, self.sample_weight = read_only(X), coupling, sample_weight
        self.n_points, self.n_features = X.shape
        self.dtype = center_type(X)
        self.n_threads = n_threads or available_threads()
        if sample_weight is None:
            mean = X.mean(axis=0, dtype=np.float64)
        else:
            mean = np.asarray((sample_weight / sample_weight.sum()) @ X, dtype=np.float64)
        self.offset = read_only(mean)
        self._idle: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        """Work spaces, with their threads, stay behind."""
        return {**vars(self), "_idle": []}

    @cached_property
    def row_weights(self) -> np.ndarray:
        """(N,) weights of the rows, or a single 1 that stands for all of them."""
        return read_only(np.ones(1) if self.sample_weight is None else self.sample_weight)

    @cached_property
    def held(self) -> Held:
        """The rows in groups, minus the offset."""
        return Held(self.coupling, self.fetch(self.coupling.rows) - self.offset, self.sample_weight)

    @property
    def scatter(self) -> float:
        """What the points inside groups add to every sum of squares."""
        return self.held.scatter

    @cached_property
    def total_squares(self) -> float:
        """Sum of weighted squared distances of the points to their mean."""
        return self._squares(
            np.zeros(self.n_points, dtype=np.int64), np.zeros((1, len(self.offset)))
        )

    @cached_property
    def means(self) -> np.ndarray:
        """(G, d) means of all groups minus the offset, float64: a contracted copy."""
        n_compound = self.coupling.n_compound
        means = np.empty((self.coupling.n_groups, self.n_features))
        means[:n_compound] = self.held.means
        np.subtract(self.X[self.coupling.free_rows()], self.offset, out=means[n_compound:])
        return read_only(means)

    @cached_property
    def contracted(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The means in as few coordinates as they need: (G, d') rows and the basis of those.

        Where d > G distances live in the span of the means: they are rotated onto it once, and one
        more axis is left for centers that stick out of it. The basis is ``None`` otherwise.
        """
        if self.n_features <= self.coupling.n_groups:
            return self.means, None
        basis, upper = qr(self.means.T, mode="economic")
        return read_only(np.column_stack([upper.T, np.zeros(len(self.means))])), basis

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the data."""
        return np.asarray(self.X[rows], dtype=np.float64)

    @property
    def rotated(self) -> bool:
        """Whether searches see the points rotated onto their span."""
        return self.may_rotate and self.n_features > self.coupling.n_groups

    def enter(self, centers: np.ndarray) -> np.ndarray:
        """Centers minus the offset, rotated where the points are."""
        shifted = np.ascontiguousarray(centers, dtype=np.float64) - self.offset
        basis = self.contracted[1] if self.rotated else None
        if basis is None:
            return shifted
        inside = shifted @ basis
        outside = np.linalg.norm(shifted - inside @ basis.T, axis=1)
        return np.ascontiguousarray(np.column_stack([inside, outside]))

    def leave(self, centers: np.ndarray) -> np.ndarray:
        """Centers in the coordinates of the data; what sticks out of the span of the points is
        lost where they are rotated."""
        basis = self.contracted[1] if self.rotated else None
        inside = centers if basis is None else centers[:, :-1] @ basis.T
        return np.asarray(inside + self.offset)

    @cached_property
    def linked(self) -> LinkedMeans:
        """The linked groups."""
        n_linked = self.coupling.n_linked
        means = self.contracted[0] if self.rotated else self.held.means
        return LinkedMeans(means[:n_linked], self.held.group_weights[:n_linked])

    def costs(self, centers: np.ndarray) -> np.ndarray:
        """(L, K) costs of the linked groups."""
        return self.linked.costs(centers)

    def begin(self, n_starts: int) -> Batch:
        """A work space: one that is idle, or a new one."""
        try:
            batch = self._idle.pop()
        except IndexError:
            scale = float(np.sqrt(self.total_squares / self._total_weight)) or 1.0
            batch = BlockBatch(
                scale, self._parts(), self.linked, self.scatter, self.n_threads, self._idle
            )
        batch.forget()
        return batch  # type: ignore[no-any-return]

    @property
    def _total_weight(self) -> float:
        return float(self.n_points if self.sample_weight is None else self.sample_weight.sum())

    def _parts(self) -> list[BlockPart]:
        """The rows as given, and the means of free groups of several points."""
        n_linked, n_compound = self.coupling.n_linked, self.coupling.n_compound
        free = np.ones(self.n_points, dtype=np.bool_)
        free[self.coupling.rows] = False
        parts = [BlockPart(self.X, self.row_weights, free, self.offset)]
        if n_compound > n_linked:
            heavy = read_only(self.held.group_weights[n_linked:])
            parts.append(BlockPart(self.held.means[n_linked:], heavy))
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
        return of_point, centers + self.offset, self._squares(of_point, centers)

    def centers_of(self, of_point: np.ndarray, n_clusters: int) -> np.ndarray:
        """(K, d) means minus the offset from (N,) labels of the points; NaN where empty."""
        sums, totals = np.zeros((n_clusters, self.n_features)), np.zeros(n_clusters)
        counts = np.zeros(n_clusters, dtype=np.int64)
        add_to_clusters(
            self.X, self.row_weights, EVERY, self.offset, 0, self.n_points, of_point, sums, totals,
            counts,
        )  # fmt: skip
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums / totals[:, None]

    def _squares(self, of_point: np.ndarray, centers: np.ndarray) -> float:
        return float(
            sum_squares(
                self.X, self.row_weights, EVERY, self.offset, 0, self.n_points, of_point, centers
            )
        )


class BlockPoints(ArrayPoints):
    """An array that is worked on where it lies, block by block: no copy, no table of N x K."""

    may_rotate = False


class DensePoints(ArrayPoints):
    """An array small enough for a contracted copy: the compiled loop and Kempe swaps run on it."""

    abilities = Abilities(compiled=True, sampled=True)

    @cached_property
    def group_weights(self) -> np.ndarray:
        """(G,) weights of all groups."""
        lone = np.broadcast_to(self.row_weights, self.n_points)[self.coupling.free_rows()]
        return read_only(np.concatenate([self.held.group_weights, lone]))

    def _parts(self) -> list[BlockPart]:
        n_linked = self.coupling.n_linked
        rows = read_only(self.contracted[0][n_linked:])
        return [BlockPart(rows, read_only(self.group_weights[n_linked:]))]

    @cached_property
    def _wheel(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The points for a roulette wheel, rows in groups first: places, groups, weights."""
        few = self.enter(self.fetch(self.coupling.rows))
        n_compound = self.coupling.n_compound
        places = np.concatenate([few, self.contracted[0][n_compound:]])
        groups = np.concatenate([self.coupling.groups, np.arange(n_compound, len(self.means))])
        lone = self.group_weights[n_compound:]
        return places, groups, np.concatenate([self.held.weights, lone])

    def draw_far(
        self, centers: np.ndarray, linked: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray | None:
        """A point drawn in proportion to its distance to its center."""
        table, n_linked = self.contracted[0], self.coupling.n_linked
        labels = np.empty(len(table), dtype=np.int64)
        labels[:n_linked] = linked
        nearest_squares(table, n_linked, centers, labels)
        places, groups, weights = self._wheel
        gaps = places - centers[labels[groups]]
        far = np.sqrt(np.einsum("ij,ij->i", gaps, gaps)) * weights
        place, _ = spin(np.cumsum(far), rng)
        return None if place is None else places[place].copy()
