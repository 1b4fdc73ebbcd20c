"""Points on Dask workers: centers go out, sums come back; only rows in groups are held here.

Each assignment of a block is a task that takes the block and its state before. A lost worker's
blocks and states are made again by the scheduler from what they were made of, with the same result.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.exceptions import InvalidInputError
from smdeclust.points import dask_blocks, dask_priced
from smdeclust.points.block_batch import BlockBatch, BlockPart
from smdeclust.points.dask_blocks import Centers
from smdeclust.points.dask_cluster import Cluster
from smdeclust.points.dask_priced import Prices
from smdeclust.points.far import draw_far
from smdeclust.points.held import Held
from smdeclust.points.linked import LinkedMeans
from smdeclust.points.protocol import Abilities, Batch, ClusterSums, Moves
from smdeclust.points.row_batch import LOOKED_AT, margin_of, moved_by, step_to
from smdeclust.points.single import RENEW_EVERY, SingleBatch, least_regrets
from smdeclust.points.threads import available_threads
from smdeclust.points.validation import center_type, read_only, reject_extreme
from smdeclust.structure.groups import Coupling


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
    priced
        Under bounds: the prices at which the free points were assigned, and what all rows count
        then, (B, N) or (B, 1).
    """

    centers: np.ndarray
    compound: np.ndarray
    moves: Moves
    priced: Prices | None = None
    counts: np.ndarray | None = None


class DaskPoints:
    """A Dask array, its blocks on the workers of a cluster.

    Parameters
    ----------
    X
        (N, d) Dask array of chunks of whole rows (see ``dask_arrays``).
    coupling, sample_weight
        As for :class:`ArrayPoints`.
    cluster
        Where the blocks go. They are read once for their mean and once for their spread.
    """

    abilities = Abilities()

    def __init__(
        self, X: Any, coupling: Coupling, sample_weight: np.ndarray | None, cluster: Cluster
    ) -> None:
        import dask

        self.X, self.coupling, self.sample_weight = X, coupling, sample_weight
        self.cluster = cluster
        self.n_points, self.n_features = X.shape
        self.dtype = center_type(X)
        self.starts = np.concatenate([[0], np.cumsum(X.chunks[0])]).astype(np.int64)
        spans = list(itertools.pairwise(self.starts.tolist()))
        parts = [dask.delayed(dask_blocks.as_block)(part) for part in X.to_delayed().ravel()]
        raw = cluster.client.compute(parts)
        shares = [None if sample_weight is None else sample_weight[a:b] for a, b in spans]
        summaries = cluster.gather(
            [cluster.submit(dask_blocks.summarize, *two) for two in zip(raw, shares, strict=True)]
        )
        _check(summaries, spans)
        self.total_weight = float(self.n_points if sample_weight is None else sample_weight.sum())
        total = np.sum([summary.sums for summary in summaries], axis=0)
        self.offset = read_only(total / self.total_weight)
        self.blocks = []
        for (a, b), part, share in zip(spans, raw, shares, strict=True):
            low, high = np.searchsorted(coupling.rows, [a, b])
            here = coupling.rows[low:high] - a
            self.blocks.append(
                cluster.submit(dask_blocks.make_block, part, share, here, self.offset)
            )
        self.total_squares = float(
            sum(cluster.gather([cluster.submit(dask_blocks.squares_about_offset, block)
                                for block in self.blocks]))
        )  # fmt: skip
        self.held = Held(coupling, self.fetch(coupling.rows) - self.offset, sample_weight)
        self.scatter = self.held.scatter
        self.scale = float(np.sqrt(self.total_squares / self.total_weight)) or 1.0

    @cached_property
    def linked(self) -> LinkedMeans:
        """The linked groups."""
        n_linked = self.coupling.n_linked
        return LinkedMeans(self.held.means[:n_linked], self.held.group_weights[:n_linked])

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the data, in float64, in the order given."""
        rows = np.asarray(rows, dtype=np.int64)
        home = np.searchsorted(self.starts, rows, side="right") - 1
        out = np.empty((len(rows), self.n_features))
        asked = np.unique(home)
        futures = [
            self.cluster.submit(
                dask_blocks.rows_of, self.blocks[b], rows[home == b] - self.starts[b]
            )
            for b in asked
        ]
        for b, found in zip(asked, self.cluster.gather(futures), strict=True):
            out[home == b] = found
        return out

    def enter(self, centers: np.ndarray) -> np.ndarray:
        """Centers minus the offset."""
        return np.ascontiguousarray(centers, dtype=np.float64) - self.offset

    def leave(self, centers: np.ndarray) -> np.ndarray:
        """Centers in the coordinates of the data."""
        return np.asarray(centers + self.offset)

    def costs(self, centers: np.ndarray) -> np.ndarray:
        """(L, K) costs of the linked groups."""
        return self.linked.costs(centers)

    def begin(self, n_starts: int) -> Batch:
        """A new batch: its states are on the workers."""
        return DaskBatch(self)

    def draw_far(
        self, centers: np.ndarray, linked: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray | None:
        """A point drawn in proportion to its distance to its center."""
        return draw_far(self, self.held, centers, linked, rng)

    def describe(self, labels: DaskLabels) -> tuple[Any, np.ndarray, float]:
        """Labels as a lazy Dask array, centers, and the sum of squares, evaluated again."""
        linked = labels.compound[: self.coupling.n_linked]
        with DaskBatch(self) as batch:
            batch.repeat(labels)
            moved, _ = batch.move(linked[None], [labels.moves])
            value = batch.squares(0, moved[0], linked, labels.moves)
        return self._lazy(labels), moved[0] + self.offset, value

    def sums_under(self, labels: DaskLabels, of_compound: np.ndarray) -> np.ndarray:
        """(B, K) sums under labels that were found at prices; `of_compound` (B, n_compound) is what
        the groups count that the driver holds."""
        k = len(labels.centers)
        with DaskBatch(self) as batch:
            held = batch.repeat(labels)
            where, old, new = batch.recall(labels.moves)
        assert held is not None
        assert labels.counts is not None
        moved = np.broadcast_to(labels.counts, (len(held), self.n_points))[:, where]
        for b in range(len(held)):
            held[b] += np.bincount(labels.compound, of_compound[b], k)
            held[b] += np.bincount(new, moved[b], k) - np.bincount(old, moved[b], k)
        return held

    def _lazy(self, labels: DaskLabels) -> Any:
        """All labels over the chunks of the data: nearest centers, and what was decided here."""
        decided = dict(
            zip(self.coupling.rows.tolist(), labels.compound[self.coupling.groups].tolist(),
                strict=True)
        )  # fmt: skip
        decided.update({row: k for row, k in labels.moves.items() if row < self.n_points})
        rows = np.array(sorted(decided), dtype=np.int64)
        known = rows, np.array([decided[row] for row in rows.tolist()], dtype=np.int64)
        if labels.priced is not None:
            return self.X.map_blocks(
                dask_priced.label_rows, self.offset, labels.priced, known, self.sample_weight,
                labels.counts, dtype=np.int64, drop_axis=1,
            )  # fmt: skip
        centers = Centers(labels.centers, np.zeros(len(labels.centers)), self.scale)
        return self.X.map_blocks(
            dask_blocks.label_rows, self.offset, centers, known, dtype=np.int64, drop_axis=1
        )


class DaskBatch(SingleBatch):
    """One solution: free rows on the workers, free groups of several points here."""

    def __init__(self, points: DaskPoints) -> None:
        super().__init__(points.linked, points.scatter)
        self.points, self.cluster = points, points.cluster
        self._states: list[Any] = [None] * len(points.blocks)
        self._previous: np.ndarray | None = None
        self._priced: Prices | None = None
        self._age = 0
        held, n_linked = points.held, points.coupling.n_linked
        self._here: BlockBatch | None = None
        if len(held.group_weights) > n_linked:
            part = BlockPart(held.means[n_linked:], read_only(held.group_weights[n_linked:]))
            self._here = BlockBatch(
                points.scale, [part], points.linked, 0.0, available_threads(), []
            )

    def count(self, counts: np.ndarray) -> None:
        if counts.shape[1] > 1:
            wide = np.zeros((len(counts), self.points.n_points))
            wide[:, self.points.coupling.free_rows()] = counts
            counts = wide
        self._count(np.ascontiguousarray(counts, dtype=np.float64))

    def _count(self, counts: np.ndarray) -> None:
        """The same of all rows; each block gets its part once."""
        starts, self._counts = self.points.starts, counts
        self._counted = [
            self.cluster.send(dask_priced.counts_of(counts, int(a), int(b - a)))
            for a, b in itertools.pairwise(starts)
        ]

    def repeat(self, labels: DaskLabels) -> np.ndarray | None:
        """Label the free rows as they were, and remember where those were that move; returns the
        sums at prices, if there were any."""
        if labels.priced is None:
            self.assign(labels.centers[None])
            if labels.moves:
                self.fillers(0)  # the same ones, and where they were
            return None
        assert labels.counts is not None
        self._count(labels.counts)
        _, held = self.price(labels.centers, labels.priced.prices)
        self.recall(labels.moves)
        return held

    def recall(self, moves: Moves) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which rows move, and their labels now and then."""
        names = np.array(sorted(moves), dtype=np.int64)
        home = np.searchsorted(self.points.starts, names, side="right") - 1
        here = [names[home == b] - self.points.starts[b] for b in range(len(self._states))]
        where, points, weights, labels = self._together(
            [
                self.cluster.submit(dask_priced.rows_at, *job)
                for job in zip(self.points.blocks, self._states, here, strict=True)
            ]
        )
        self._filling = points, weights, labels
        self._places = {int(name): i for i, name in enumerate(where)}
        return where, labels, np.array([moves[name] for name in self._places], dtype=np.int64)

    def _counts_of(self, where: np.ndarray) -> np.ndarray:
        wide = (len(self._counts), self.points.n_points)
        return np.asarray(np.broadcast_to(self._counts, wide)[:, where])

    def _price_free(self, centers: np.ndarray, prices: np.ndarray) -> np.ndarray:
        cluster = self.cluster
        self._previous, self._priced = centers.copy(), Prices(centers, prices)
        cluster.n_bytes += centers.nbytes + prices.nbytes
        sent = cluster.send(self._priced)
        self._states = [
            cluster.submit(dask_priced.price_block, block, counts, sent)
            for block, counts in zip(self.points.blocks, self._counted, strict=True)
        ]
        sizes = cluster.gather([cluster.submit(dask_priced.sizes_of, s) for s in self._states])
        return np.asarray(np.sum(sizes, axis=0))

    def _undecided(
        self, centers: np.ndarray, n_wanted: int, reach: float, most: int
    ) -> tuple[np.ndarray, Any, np.ndarray, float, float]:
        cluster, step = self.cluster, max(1, self.points.n_points // LOOKED_AT)
        some = cluster.gather(
            [cluster.submit(dask_priced.some_margins, state, step) for state in self._states]
        )
        limit = max(reach, margin_of(some, n_wanted // step))
        n_rows = sum(self._over_blocks(dask_priced.n_within, limit))
        step = step_to(n_rows, most)
        where, *what = self._together(
            [
                cluster.submit(dask_priced.rows_within, block, state, limit, step)
                for block, state in zip(self.points.blocks, self._states, strict=True)
            ]
        )
        costs = cdist(what[0], centers, "sqeuclidean") * what[1][:, None]
        share = len(where) / n_rows if n_rows else 1.0
        return where, tuple(what), costs, limit, share

    def _together(self, futures: list[Any]) -> tuple[np.ndarray, ...]:
        """Names, points, weights and labels of some rows of all blocks."""
        found = self.cluster.gather(futures)
        where, points, weights, labels = (
            np.concatenate(column) for column in zip(*found, strict=True)
        )
        home = np.repeat(self.points.starts[:-1], [len(part[0]) for part in found])
        return where + home, points, weights.astype(np.float64), labels.astype(np.int64)

    def _sum_up(self, n_clusters: int, n_features: int) -> ClusterSums:
        sums = ClusterSums.zeros(n_clusters, n_features)
        for total in self._over_blocks(dask_blocks.sums_anew, n_clusters):
            sums.add(total)
        return sums

    def _assign_free(self, centers: np.ndarray) -> tuple[ClusterSums, int]:
        self._priced = None
        cluster, blocks = self.cluster, self.points.blocks
        sent = self._send(centers)
        if self._previous is None:
            self._held = ClusterSums.zeros(*centers.shape)
        self._states = [
            cluster.submit(dask_blocks.assign_rows, block, state, sent)
            for block, state in zip(blocks, self._states, strict=True)
        ]
        self._previous = centers.copy()
        self._age += 1
        n_changed = 0
        futures = [cluster.submit(dask_blocks.gained, state) for state in self._states]
        for gained, changed in cluster.gather(futures):
            self._held.add(gained)
            cluster.n_bytes += gained.sums.nbytes + gained.totals.nbytes + 8
            n_changed += changed
        if self._age % RENEW_EVERY == 0:
            self._held = self._sum_up(*centers.shape)
        sums = self._held.copy()
        if self._here is not None:
            more, changed = self._here._assign_free(centers)
            sums.add(more)
            n_changed += changed
        return sums, n_changed

    def _free_squares(self, centers: np.ndarray, moves: Moves) -> float:
        points, sent = self.points, self._send(centers)
        per_block: list[Moves] = [{} for _ in points.blocks]
        here = {}
        for name, k in moves.items():
            if name >= points.n_points:
                here[name - points.n_points] = k
            else:
                home = int(np.searchsorted(points.starts, name, side="right")) - 1
                per_block[home][name - int(points.starts[home])] = k
        jobs = zip(points.blocks, self._states, per_block, strict=True)
        total = sum(
            self.cluster.gather(
                [
                    self.cluster.submit(dask_blocks.squares_to_centers, block, state, sent, moved)
                    for block, state, moved in jobs
                ]
            )
        )
        if self._here is not None:
            total += self._here._free_squares(centers, here)
        return float(total)

    def _cheapest(
        self, centers: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        found = self._over_blocks(dask_blocks.cheapest, self._send(centers))
        parts = [
            (rows + start, points, weights, labels)
            for (rows, points, weights, labels), start in zip(
                found, self.points.starts[:-1], strict=True
            )
        ]
        if self._here is not None:
            where, what, _ = self._here._cheapest(centers)
            parts.append((where + self.points.n_points, *what))
        where, points, weights, labels = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        labels, weights = labels.astype(np.int64), weights.astype(np.float64)
        costs = cdist(points, centers, "sqeuclidean") * weights[:, None]
        if len(where) > len(centers):
            best = least_regrets(costs - np.take_along_axis(costs, labels[:, None], axis=1))
            where, points, weights, labels, costs = (
                values[best] for values in (where, points, weights, labels, costs)
            )
        return where, (points, weights, labels), costs

    def _labels(self, linked: np.ndarray, moves: Moves) -> DaskLabels:
        """What the labels of all points follow from."""
        assert self._previous is not None
        points = self.points
        compound = np.concatenate([linked, self.compound_labels()]).astype(np.int64)
        for name, k in moves.items():
            if name >= points.n_points:
                compound[points.coupling.n_linked + name - points.n_points] = k
        counts = None if self._priced is None else self._counts
        return DaskLabels(self._previous, compound, moves, self._priced, counts)

    def compound_labels(self) -> np.ndarray:
        """Labels of the free groups of several points, as just assigned."""
        return np.empty(0, np.int32) if self._here is None else self._here.parts[0].labels.copy()

    def far_totals(self) -> np.ndarray:
        """Weighted distances of the free rows to their centers, summed by blocks."""
        return np.array(self._over_blocks(dask_blocks.far_total))

    def pick_far(self, block: int, target: float) -> np.ndarray:
        """The row of a block at which those distances add up to `target`."""
        future = self.cluster.submit(
            dask_blocks.pick_far, self.points.blocks[block], self._states[block], target
        )
        return np.asarray(self.cluster.gather([future])[0])

    def _send(self, centers: np.ndarray) -> Any:
        same = self._previous is not None and len(self._previous) == len(centers)
        shift = moved_by(centers, self._previous if same else None)
        self.cluster.n_bytes += centers.nbytes
        return self.cluster.send(Centers(np.ascontiguousarray(centers), shift, self.points.scale))

    def _over_blocks(self, function: Any, *args: Any) -> list[Any]:
        """Run a function of block, state and more on every block; results in their order."""
        return self.cluster.gather(
            [
                self.cluster.submit(function, block, state, *args)
                for block, state in zip(self.points.blocks, self._states, strict=True)
            ]
        )


def _check(summaries: list[dask_blocks.Summary], spans: list[tuple[int, int]]) -> None:
    for summary, (start, stop) in zip(summaries, spans, strict=True):
        if summary.n_rows != stop - start:
            raise InvalidInputError(
                f"X: the chunk from row {start} was announced with {stop - start} rows and has "
                f"{summary.n_rows}. Call X.compute_chunk_sizes() first."
            )
        dask_blocks.reject_bad(summary.bad, start)
    low = np.min([summary.low for summary in summaries], axis=0)
    high = np.max([summary.high for summary in summaries], axis=0)
    reject_extreme(low, high)
