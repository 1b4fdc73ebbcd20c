"""Free points in memory: the data as given, worked on block by block by a few threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from smdeclust.points.blocks import assign_block, regrets_block
from smdeclust.points.sums import add_to_clusters, sum_squares
from smdeclust.problem import Problem

# Blocks are cut by the data alone, never by the number of threads: sums are added in their order.
MOST_BLOCKS = 64
LEAST_ROWS = 4096
# After so many iterations of adding differences the sums are made anew.
RENEW_EVERY = 32


@dataclass
class ClusterSums:
    """Sums (K, d) of the free points of each cluster minus the offset, weights and counts."""

    sums: np.ndarray
    totals: np.ndarray
    counts: np.ndarray

    @classmethod
    def zeros(cls, n_clusters: int, n_features: int) -> ClusterSums:
        """Nothing in any cluster."""
        return cls(
            np.zeros((n_clusters, n_features)),
            np.zeros(n_clusters),
            np.zeros(n_clusters, dtype=np.int64),
        )

    def add(self, other: ClusterSums) -> None:
        """Add another's content."""
        self.sums += other.sums
        self.totals += other.totals
        self.counts += other.counts


@dataclass(frozen=True)
class Fillers:
    """Free groups that could fill a cluster cheaply: where they are and what they weigh."""

    where: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    labels: np.ndarray


class _Part:
    """One array of free rows (the data, or the means of must-link groups) and its bounds."""

    def __init__(
        self, X: np.ndarray, weights: np.ndarray, free: np.ndarray, offset: np.ndarray
    ) -> None:
        self.X, self.weights, self.free, self.offset = X, weights, free, offset
        n = len(X)
        rows = max(LEAST_ROWS, -(-n // MOST_BLOCKS))
        self.blocks = [(start, min(start + rows, n)) for start in range(0, n, rows)]
        self.labels = np.full(n, -1, dtype=np.int32)
        self.upper = np.empty(n)
        self.lower = np.empty(n)


class ArrayPoints:
    """The free points of a problem whose data are in memory.

    Remembers labels and bounds from one assignment to the next, so that centers which move little
    cost little.
    """

    def __init__(self, problem: Problem, n_threads: int | None = None) -> None:
        self.n_clusters, self.n_features = problem.n_clusters, problem.n_features
        self.n_threads = n_threads or available_threads()
        grouping, weights = problem.grouping, problem.point_weights
        alone = grouping.of_point >= grouping.n_compound
        self.data = _Part(problem.X, weights, alone, problem.offset)
        self.parts = [self.data]
        n_linked, n_compound = grouping.n_linked, grouping.n_compound
        if n_compound > n_linked:
            means = np.ascontiguousarray(problem.compound_means[n_linked:])
            heavy = np.ascontiguousarray(problem.weights[n_linked:n_compound])
            every = np.ones(len(means), dtype=np.bool_)
            # One row alone would be read as a weight that stands for all: all the same.
            self.parts.append(_Part(means, heavy, every, np.zeros(self.n_features)))
        # Products are taken in single precision, on this scale, so that nothing overflows.
        spread = problem.total_squares / float(problem.weights.sum())
        self._scale = float(np.sqrt(spread)) or 1.0
        self._pool = ThreadPoolExecutor(self.n_threads) if self.n_threads > 1 else None
        self._blas = ThreadpoolController()
        self.forget()

    def forget(self) -> None:
        """Start anew: no labels, no bounds."""
        for part in self.parts:
            part.labels[:] = -1
        self._previous: np.ndarray | None = None
        self._held = ClusterSums.zeros(self.n_clusters, self.n_features)
        self._age = 0

    @contextmanager
    def working(self) -> Iterator[None]:
        """While blocks run on several threads the matrix products inside them use one each."""
        with self._blas.limit(limits=1, user_api="blas"):
            yield

    def assign(self, centers: np.ndarray) -> tuple[ClusterSums, int]:
        """Label every free point by its nearest center; returns sums and how many changed."""
        scale = self._scale
        scaled_t = np.ascontiguousarray(centers.T / scale, dtype=np.float32)
        norms = np.einsum("kj,kj->k", centers, centers)
        shift = np.zeros(len(centers))
        if self._previous is not None:
            shift = np.linalg.norm(centers - self._previous, axis=1) * (1 + 1e-12)
        half_gap = half_gaps(centers)

        def work(part: _Part, start: int, stop: int) -> tuple[ClusterSums, int]:
            gained = ClusterSums.zeros(*centers.shape)
            changed = assign_block(
                part.X, part.weights, part.free, part.offset, start, stop, centers, scaled_t,
                scale, norms, half_gap, shift, part.labels, part.upper, part.lower, gained.sums,
                gained.totals, gained.counts,
            )  # fmt: skip
            return gained, changed

        if self._previous is None:
            self._held = ClusterSums.zeros(*centers.shape)
        n_changed = 0
        for gained, changed in self._over_blocks(work):
            self._held.add(gained)
            n_changed += changed
        self._previous = centers.copy()
        self._age += 1
        if self._age % RENEW_EVERY == 0:
            self._renew()
        held = self._held
        return ClusterSums(held.sums.copy(), held.totals.copy(), held.counts.copy()), n_changed

    def _renew(self) -> None:
        """Make the sums anew from the labels: differences must not drift."""

        def work(part: _Part, start: int, stop: int) -> ClusterSums:
            gained = ClusterSums.zeros(self.n_clusters, self.n_features)
            add_to_clusters(
                part.X, part.weights, part.free, part.offset, start, stop, part.labels,
                gained.sums, gained.totals, gained.counts,
            )  # fmt: skip
            return gained

        self._held = ClusterSums.zeros(self.n_clusters, self.n_features)
        for gained in self._over_blocks(work):
            self._held.add(gained)

    def sum_of_squares(self, centers: np.ndarray, moves: dict[int, int]) -> float:
        """Squared distances of the free points to the centers of their labels, after `moves`."""

        def work(part: _Part, start: int, stop: int) -> float:
            return sum_squares(
                part.X, part.weights, part.free, part.offset, start, stop, part.labels, centers
            )

        with self._moved(moves):
            return float(sum(self._over_blocks(work)))

    def far_totals(self) -> np.ndarray:
        """Weighted distances of the lone free rows to their centers, summed by blocks."""
        return np.array([float(_far(self.data, *block).sum()) for block in self.data.blocks])

    def pick_far(self, block: int, target: float) -> np.ndarray:
        """The row of a block at which those distances add up to `target`, minus the offset."""
        start, stop = self.data.blocks[block]
        far = _far(self.data, start, stop)
        row = int(np.searchsorted(np.cumsum(far), target, side="right"))
        row = start + min(row, len(far) - 1)
        return np.asarray(self.data.X[row] - self.data.offset, dtype=np.float64)

    def compound_labels(self) -> np.ndarray:
        """Labels of the free groups of several points, as just assigned."""
        return self.parts[1].labels.copy() if len(self.parts) > 1 else np.empty(0, np.int32)

    def fillers(self, centers: np.ndarray) -> Fillers:
        """The free groups among the K cheapest to move to some cluster, by regret."""
        k = len(centers)

        def work(part: _Part, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            regrets = np.empty((stop - start, k))
            regrets_block(
                part.X, part.weights, part.free, part.offset, start, stop, part.labels, centers,
                regrets,
            )  # fmt: skip
            most = min(k, stop - start)
            chosen = np.unique(np.argpartition(regrets, most - 1, axis=0)[:most])
            chosen = chosen[np.isfinite(regrets[chosen]).any(axis=1)]
            return chosen + start, regrets[chosen]

        where, regrets, base = [], [], 0
        results = iter(self._over_blocks(work))
        for part in self.parts:
            for _ in part.blocks:
                rows, costs = next(results)
                where.append(rows + base)
                regrets.append(costs)
            base += len(part.X)
        rows, costs = np.concatenate(where), np.concatenate(regrets)
        if len(rows) > k:
            best = np.unique(np.argpartition(costs, k - 1, axis=0)[:k])
            rows = np.sort(rows[best])
        return Fillers(
            where=rows,
            points=np.array([self._row(i) for i in rows]).reshape(-1, self.n_features),
            weights=np.array([self._weight(i) for i in rows], dtype=np.float64),
            labels=np.array([self._label(i) for i in rows], dtype=np.int64),
        )

    def group_labels(
        self, problem: Problem, linked: np.ndarray, moves: dict[int, int]
    ) -> np.ndarray:
        """The labels of all groups: linked ones as given, free ones by the last assignment."""
        with self._moved(moves):
            lone = self.data.labels[self.data.free]
            # groups in the order of their numbers
            return np.concatenate([linked, self.compound_labels(), lone]).astype(np.int32)

    @contextmanager
    def _moved(self, moves: dict[int, int]) -> Iterator[None]:
        """Labels with these groups elsewhere, for a while: the bounds know nothing of them."""
        before = {i: self._label(i) for i in moves}
        for i, k in moves.items():
            self._set_label(i, k)
        try:
            yield
        finally:
            for i, k in before.items():
                self._set_label(i, k)

    def _find(self, i: int) -> tuple[_Part, int]:
        n = len(self.data.X)
        return (self.data, i) if i < n else (self.parts[1], i - n)

    def _row(self, i: int) -> np.ndarray:
        part, row = self._find(i)
        return part.X[row] - part.offset

    def _weight(self, i: int) -> float:
        part, row = self._find(i)
        return float(part.weights[row if len(part.weights) > 1 else 0])

    def _label(self, i: int) -> int:
        part, row = self._find(i)
        return int(part.labels[row])

    def _set_label(self, i: int, k: int) -> None:
        part, row = self._find(i)
        part.labels[row] = k

    def _over_blocks(self, work: Callable[[_Part, int, int], Any]) -> list[Any]:
        """Run `work` on every block; results come in the order of the blocks."""
        jobs = [(part, start, stop) for part in self.parts for start, stop in part.blocks]
        if self._pool is None or len(jobs) == 1:
            return [work(*job) for job in jobs]
        return list(self._pool.map(lambda job: work(*job), jobs))


def _far(part: _Part, start: int, stop: int) -> np.ndarray:
    weights = part.weights if len(part.weights) == 1 else part.weights[start:stop]
    far = np.where(part.free[start:stop], part.upper[start:stop], 0.0) * weights
    return np.asarray(far)


def available_threads() -> int:
    """Cores this process may use, fewer where OMP_NUM_THREADS says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores or 1, int(limit)) if limit.isdigit() and int(limit) else cores or 1


def half_gaps(centers: np.ndarray) -> np.ndarray:
    """Half the distance of each center to its nearest other one (infinite for a lone center)."""
    norms = np.einsum("kj,kj->k", centers, centers)
    squares = norms[:, None] + norms[None] - 2 * centers @ centers.T
    # Rounding may only make the gap smaller, or a point could be settled wrongly.
    squares -= 1e-12 * (norms[:, None] + norms[None])
    np.fill_diagonal(squares, np.inf)
    return 0.5 * np.sqrt(np.maximum(squares.min(axis=1), 0.0))
