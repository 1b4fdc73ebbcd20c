"""Points of one array in memory: as given and block by block, or small and contracted."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import qr

from smdeclust.points.blocks import EVERY, add_to_clusters, sum_squares
from smdeclust.points.centers import nearest_centers
from smdeclust.points.protocol import Abilities, ClusterSums
from smdeclust.points.row_batch import RowBatch, cut
from smdeclust.points.rows import ArrayRows
from smdeclust.points.stored import CoupledRows, LinkedMeans, PointsInMemory, spin
from smdeclust.structure.graph import all_read_only, read_only


class ArrayPoints(PointsInMemory):
    """What the storages of one dense array, float32 or float64, share."""

    abilities = Abilities(sampled=True)
    may_rotate = True

    def __init__(self, X: np.ndarray, *given: Any, **more: Any) -> None:
        super().__init__(X, *given, **more)
        weight = self.sample_weight
        if weight is None:
            mean = X.mean(axis=0, dtype=np.float64)
        else:
            mean = np.asarray((weight / weight.sum()) @ X, dtype=np.float64)
        self.X, self.offset = all_read_only(X, mean)

    @cached_property
    def coupled(self) -> CoupledRows:  # type: ignore[override]
        """The rows in groups, minus the offset."""
        return CoupledRows(
            self.coupling, self.fetch(self.coupling.rows) - self.offset, self.sample_weight
        )

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
        means[:n_compound] = self.coupled.means
        np.subtract(self.X[self.coupling.is_free()], self.offset, out=means[n_compound:])
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
        shifted = super().enter(centers)
        basis = self.contracted[1] if self.rotated else None
        if basis is None:
            return shifted
        inside = shifted @ basis
        outside = np.linalg.norm(shifted - inside @ basis.T, axis=1)
        return np.ascontiguousarray(np.column_stack([inside, outside]))

    def leave(self, centers: np.ndarray) -> np.ndarray:
        """Centers in the coordinates of the data, without what sticks out of the points' span."""
        basis = self.contracted[1] if self.rotated else None
        return super().leave(centers if basis is None else centers[:, :-1] @ basis.T)

    @cached_property
    def linked(self) -> LinkedMeans:
        """The linked groups."""
        n_linked = self.coupling.n_linked
        means = self.contracted[0] if self.rotated else self.coupled.means
        return LinkedMeans(means[:n_linked], self.coupled.group_weights[:n_linked])

    def _new_batch(self) -> RowBatch:
        scale = float(np.sqrt(self.total_squares / self.total_weight)) or 1.0
        return RowBatch(self, *self._blocks(), scale)

    def _blocks(self) -> tuple[list[ArrayRows], list[int], np.ndarray, int]:
        """The rows as given, and the means of free groups of several points."""
        n_linked, n, free = self.coupling.n_linked, self.n_points, self.coupling.is_free()
        blocks, starts = in_blocks(self.X, self.row_weights, free, self.offset)
        if self.coupling.n_compound > n_linked:
            heavy = read_only(self.coupled.group_weights[n_linked:])
            more, further = in_blocks(self.coupled.means[n_linked:], heavy)
            blocks, starts = blocks + more, starts[:-1] + [n + start for start in further]
        return blocks, starts, free, n

    def centers_of(self, of_point: np.ndarray, n_clusters: int) -> np.ndarray:
        """(K, d) means minus the offset from (N,) labels of the points; NaN where empty."""
        sums = ClusterSums.zeros(n_clusters, self.n_features)
        add_to_clusters(
            self.X, self.row_weights, EVERY, self.offset, of_point, sums.sums, sums.totals,
            sums.counts,
        )  # fmt: skip
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums.means()[0]

    def _squares(self, of_point: np.ndarray, centers: np.ndarray) -> float:
        return float(sum_squares(self.X, self.row_weights, EVERY, self.offset, of_point, centers))


class BlockPoints(ArrayPoints):
    """An array that is worked on where it lies, block by block: no copy, no table of N x K."""

    may_rotate = False


class DensePoints(ArrayPoints):
    """An array small enough for a contracted copy: the compiled loop and Kempe swaps run on it."""

    abilities = Abilities(contracted=True, sampled=True)

    @cached_property
    def group_weights(self) -> np.ndarray:
        """(G,) weights of all groups."""
        return read_only(self.coupling.all_weights(self.sample_weight))

    def _blocks(self) -> tuple[list[ArrayRows], list[int], np.ndarray, int]:
        n_linked = self.coupling.n_linked
        rows = read_only(self.contracted[0][n_linked:])
        blocks, starts = in_blocks(rows, read_only(self.group_weights[n_linked:]))
        return blocks, starts, np.ones(len(rows), dtype=np.bool_), len(rows)

    @cached_property
    def _wheel(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The points for a roulette wheel, rows in groups first: places, groups, weights."""
        few = self.enter(self.fetch(self.coupling.rows))
        n_compound = self.coupling.n_compound
        places = np.concatenate([few, self.contracted[0][n_compound:]])
        groups = np.concatenate([self.coupling.groups, np.arange(n_compound, len(self.means))])
        lone = self.group_weights[n_compound:]
        return places, groups, np.concatenate([self.coupled.weights, lone])

    def draw_far(
        self, centers: np.ndarray, linked: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray | None:
        """A point drawn in proportion to its distance to its center."""
        table, n_linked = self.contracted[0], self.coupling.n_linked
        labels = np.empty(len(table), dtype=np.int64)
        labels[:n_linked] = linked
        nearest_centers(table, self.group_weights, n_linked, centers, labels)
        places, groups, weights = self._wheel
        gaps = places - centers[labels[groups]]
        far = np.sqrt(np.einsum("ij,ij->i", gaps, gaps)) * weights
        place, _ = spin(np.cumsum(far), rng)
        return None if place is None else places[place].copy()


def in_blocks(
    X: np.ndarray,
    weights: np.ndarray,
    free: np.ndarray | None = None,
    offset: np.ndarray | None = None,
) -> tuple[list[ArrayRows], list[int]]:
    """Rows block by block, where each begins and the last ends."""
    spans, one = cut(len(X)), len(weights) == 1
    blocks = [
        ArrayRows(
            X[a:b], weights if one else weights[a:b], None if free is None else free[a:b], offset
        )
        for a, b in spans
    ]
    return blocks, [a for a, _ in spans] + [len(X)]
