"""Free points on Dask workers: centers go out, sums come back.

Each assignment of a block is a task that takes the block and its state before. A lost worker's
blocks and states are made again by the scheduler from what they were made of, with the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from smdeclust.points import dask_blocks
from smdeclust.points.array_points import RENEW_EVERY, ArrayPoints, ClusterSums, Fillers
from smdeclust.points.dask_blocks import Centers
from smdeclust.points.dask_problem import DaskProblem


@dataclass(frozen=True)
class DaskLabels:
    """Labels as the few numbers they follow from: no row of the data has one stored.

    Attributes
    ----------
    centers
        (K, d) centers minus the offset to which the free points were assigned.
    compound
        (n_compound,) labels of the groups that the driver holds.
    moves
        Rows (or groups, numbered after the rows) that fill a cluster instead.
    """

    centers: np.ndarray
    compound: np.ndarray
    moves: dict[int, int]


class DaskPoints:
    """The free points of a :class:`DaskProblem`: lone rows on workers, groups of several here."""

    def __init__(self, problem: DaskProblem) -> None:
        self.problem, self.cluster = problem, problem.cluster
        self.scale = float(np.sqrt(problem.total_squares / problem.total_weight)) or 1.0
        self._here = _local_points(problem)
        self.forget()

    def forget(self) -> None:
        """Start anew: no labels, no bounds."""
        self._states: list[Any] = [None] * len(self.problem.blocks)
        self._previous: np.ndarray | None = None
        self._held = ClusterSums.zeros(self.problem.n_clusters, self.problem.n_features)
        self._age = 0
        if self._here is not None:
            self._here.forget()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Nothing to hold here: workers look after themselves."""
        yield

    def assign(self, centers: np.ndarray) -> tuple[ClusterSums, int]:
        """Label every free point by its nearest center; returns sums and how many changed."""
        cluster = self.cluster
        if self._previous is None:
            self._held = ClusterSums.zeros(*centers.shape)
        sent = self._send(centers)
        self._states = [
            cluster.submit(dask_blocks.assign_rows, block, state, sent)
            for block, state in zip(self.problem.blocks, self._states, strict=True)
        ]
        self._previous = centers.copy()
        self._age += 1
        n_changed = 0
        for gained, changed in self._collect(dask_blocks.gained):
            self._held.add(gained)
            self.cluster.n_bytes += gained.sums.nbytes + gained.totals.nbytes + 8
            n_changed += changed
        if self._age % RENEW_EVERY == 0:
            self._held = ClusterSums.zeros(*centers.shape)
            for total in self._over_blocks(dask_blocks.sums_anew, len(centers)):
                self._held.add(total)
        held = self._held
        sums = ClusterSums(held.sums.copy(), held.totals.copy(), held.counts.copy())
        if self._here is not None:
            more, changed = self._here.assign(centers)
            sums.add(more)
            n_changed += changed
        return sums, n_changed

    def sum_of_squares(self, centers: np.ndarray, moves: dict[int, int]) -> float:
        """Squared distances of the free points to the centers of their labels, after `moves`."""
        problem, sent = self.problem, self._send(centers)
        per_block: list[dict[int, int]] = [{} for _ in problem.blocks]
        here = {}
        for row, k in moves.items():
            if row >= problem.n_points:
                here[row - problem.n_points] = k
            else:
                home = int(np.searchsorted(problem.starts, row, side="right")) - 1
                per_block[home][row - int(problem.starts[home])] = k
        total = sum(
            self.cluster.gather(
                [
                    self.cluster.submit(dask_blocks.squares_to_centers, block, state, sent, moved)
                    for block, state, moved in zip(
                        problem.blocks, self._states, per_block, strict=True
                    )
                ]
            )
        )
        if self._here is not None:
            total += self._here.sum_of_squares(centers, here)
        return float(total)

    def fillers(self, centers: np.ndarray) -> Fillers:
        """The free groups among the K cheapest to move to some cluster, by regret."""
        found = self._over_blocks(dask_blocks.cheapest, self._send(centers))
        starts = self.problem.starts[:-1]
        parts = [
            (rows + start, points, weights, labels)
            for (rows, points, weights, labels), start in zip(found, starts, strict=True)
        ]
        if self._here is not None:
            few = self._here.fillers(centers)
            n = self.problem.n_points
            parts.append((few.where + n, few.points, few.weights, few.labels))
        where, points, weights, labels = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        gaps = points[:, None, :] - centers[None]
        squares = np.einsum("ikj,ikj->ik", gaps, gaps)
        here = squares[np.arange(len(labels)), labels]
        regrets = weights[:, None] * (squares - here[:, None])
        k = len(centers)
        if len(where) > k:
            best = np.unique(np.argpartition(regrets, k - 1, axis=0)[:k])
            where, points, weights, labels = where[best], points[best], weights[best], labels[best]
        return Fillers(where, points, weights.astype(np.float64), labels.astype(np.int64))

    def group_labels(
        self, problem: DaskProblem, linked: np.ndarray, moves: dict[int, int]
    ) -> DaskLabels:
        """What the labels of all points follow from."""
        assert self._previous is not None
        compound = np.concatenate([linked, self.compound_labels()]).astype(np.int64)
        for where, k in moves.items():
            if where >= problem.n_points:
                compound[problem.n_linked + where - problem.n_points] = k
        return DaskLabels(self._previous, compound, moves)

    def compound_labels(self) -> np.ndarray:
        """Labels of the free groups of several points, as just assigned."""
        return np.empty(0, np.int32) if self._here is None else self._here.data.labels.copy()

    def far_totals(self) -> np.ndarray:
        """Weighted distances of the lone free rows to their centers, summed by blocks."""
        return np.array(self._over_blocks(dask_blocks.far_total))

    def pick_far(self, block: int, target: float) -> np.ndarray:
        """The row of a block at which those distances add up to `target`, minus the offset."""
        future = self.cluster.submit(
            dask_blocks.pick_far, self.problem.blocks[block], self._states[block], target
        )
        return np.asarray(self.cluster.gather([future])[0])

    def _send(self, centers: np.ndarray) -> Any:
        shift = np.zeros(len(centers))
        if self._previous is not None and len(self._previous) == len(centers):
            shift = np.linalg.norm(centers - self._previous, axis=1) * (1 + 1e-12)
        self.cluster.n_bytes += centers.nbytes
        return self.cluster.send(Centers(np.ascontiguousarray(centers), shift, self.scale))

    def _collect(self, function: Any) -> list[Any]:
        return self.cluster.gather([self.cluster.submit(function, s) for s in self._states])

    def _over_blocks(self, function: Any, *args: Any) -> list[Any]:
        """Run a function of block, state and more on every block; results in their order."""
        return self.cluster.gather(
            [
                self.cluster.submit(function, block, state, *args)
                for block, state in zip(self.problem.blocks, self._states, strict=True)
            ]
        )


def _local_points(problem: DaskProblem) -> ArrayPoints | None:
    """The free groups of several points, which the driver holds anyway."""
    n_linked, n_compound = problem.n_linked, problem.grouping.n_compound
    if n_compound == n_linked:
        return None
    means = problem.compound_means[n_linked:].copy()
    means.flags.writeable = False
    few: Any = SimpleNamespace(
        X=means,
        n_clusters=problem.n_clusters,
        n_features=problem.n_features,
        grouping=SimpleNamespace(of_point=np.arange(len(means)), n_linked=0, n_compound=0),
        point_weights=problem.weights[n_linked:].copy(),
        weights=problem.weights[n_linked:],
        offset=np.zeros(problem.n_features),
        total_squares=problem.total_squares,
    )
    return ArrayPoints(few)
