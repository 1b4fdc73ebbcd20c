"""A problem whose points live on Dask workers; the driver holds only the rows named in pairs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from smdeclust.constraints.graph import cannot_link_graph
from smdeclust.constraints.groups import Grouping, contract
from smdeclust.constraints.pairs import as_pairs
from smdeclust.constraints.rejections import (
    reject_contradictions,
    reject_self_cannot_links,
    reject_too_few_groups,
    reject_uncolorable,
)
from smdeclust.exceptions import InvalidInputError
from smdeclust.points import dask_blocks
from smdeclust.points.dask_cluster import Cluster
from smdeclust.points.validation import LARGEST, SMALLEST, as_weights, read_only
from smdeclust.problem import Core
from smdeclust.problem.problem import as_n_clusters


@dataclass(frozen=True, eq=False)
class DaskProblem:
    """What :class:`smdeclust.problem.Problem` is for points in memory.

    Attributes
    ----------
    cluster
        Where the points are.
    blocks, starts
        Futures of :class:`dask_blocks.Block`, and the first row of each (one more at the end).
    n_clusters
        K.
    sample_weight
        (N,) weights, or ``None``.
    rows
        Sorted positions of the rows in groups of several points or with cannot-links.
    points
        Those rows minus `offset`, float64.
    grouping
        The groups of those rows.
    weights
        (n_compound,) weights of the groups.
    """

    cluster: Cluster
    blocks: list[Any]
    starts: np.ndarray
    n_clusters: int
    n_features: int
    sample_weight: np.ndarray | None
    rows: np.ndarray
    points: np.ndarray
    grouping: Grouping
    weights: np.ndarray
    cl_indptr: np.ndarray
    cl_indices: np.ndarray
    offset: np.ndarray
    total_squares: float

    @classmethod
    def build(
        cls,
        X: Any,
        n_clusters: int,
        must_link: Any,
        cannot_link: Any,
        sample_weight: Any,
        cluster: Cluster,
    ) -> DaskProblem:
        """Validate, read the data once for its mean and once for its spread, check feasibility."""
        import dask

        starts = np.concatenate([[0], np.cumsum(X.chunks[0])]).astype(np.int64)
        n_points, n_features = int(starts[-1]), X.shape[1]
        n_clusters = as_n_clusters(n_clusters, n_points)
        together = as_pairs(must_link, n_points, "must_link")
        apart = as_pairs(cannot_link, n_points, "cannot_link")
        weight = as_weights(in_memory(sample_weight), n_points)
        reject_self_cannot_links(apart)
        rows, grouping = _contract_named(together, apart)
        edges = grouping.of_point[np.searchsorted(rows, apart)]
        reject_contradictions(edges, together, apart, n_points)
        indptr, indices = cannot_link_graph(edges, grouping.n_linked)
        reject_uncolorable(indptr, indices, n_clusters, grouping, rows)
        # Rows in pairs with themselves alone are free.
        coupled = grouping.of_point < grouping.n_compound
        rows, of_row = rows[coupled], grouping.of_point[coupled]

        parts = [dask.delayed(dask_blocks.as_block)(part) for part in X.to_delayed().ravel()]
        raw = cluster.client.compute(parts)
        shares = [None if weight is None else weight[a:b] for a, b in _pairwise(starts)]
        summaries = cluster.gather(
            [cluster.submit(dask_blocks.summarize, *two) for two in zip(raw, shares, strict=True)]
        )
        _check(summaries, starts)
        total = float(n_points if weight is None else weight.sum())
        offset = np.sum([summary.sums for summary in summaries], axis=0) / total
        blocks = []
        for (a, b), part, share in zip(_pairwise(starts), raw, shares, strict=True):
            low, high = np.searchsorted(rows, [a, b])
            blocks.append(
                cluster.submit(dask_blocks.make_block, part, share, rows[low:high] - a, offset)
            )
        squares = cluster.gather(
            [cluster.submit(dask_blocks.squares_about_offset, block) for block in blocks]
        )
        row_weight = np.ones(len(rows)) if weight is None else weight[rows]
        weights = np.bincount(of_row, row_weight, grouping.n_compound).astype(np.float64)
        _reject_weightless(weights[: grouping.n_linked], of_row, rows)
        n_lone = n_points - len(rows)
        if weight is not None:
            n_lone = int(np.count_nonzero(weight)) - int(np.count_nonzero(row_weight))
        n_filling = n_lone + int(np.count_nonzero(weights))
        reject_too_few_groups(n_filling, grouping, n_points, n_clusters)
        problem = cls(
            cluster=cluster,
            blocks=blocks,
            starts=starts,
            n_clusters=n_clusters,
            n_features=n_features,
            sample_weight=weight,
            rows=rows,
            points=np.empty((0, n_features)),
            grouping=Grouping(
                of_row, grouping.n_compound, grouping.n_linked, grouping.n_compound, grouping.size
            ),
            weights=weights,
            cl_indptr=read_only(indptr),
            cl_indices=read_only(indices),
            offset=offset,
            total_squares=float(sum(squares)),
        )
        object.__setattr__(problem, "points", problem.fetch(rows) - offset)
        return problem

    @property
    def n_points(self) -> int:
        """N."""
        return int(self.starts[-1])

    @property
    def n_linked(self) -> int:
        """Number of groups with a cannot-link."""
        return self.grouping.n_linked

    @property
    def is_large(self) -> bool:
        """Always: the points are never copied."""
        return True

    @property
    def total_weight(self) -> float:
        """Sum of all weights."""
        return float(self.n_points if self.sample_weight is None else self.sample_weight.sum())

    @property
    def compound_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the points of the groups that the driver holds: groups, places, weights."""
        weights = np.ones(len(self.rows))
        if self.sample_weight is not None:
            weights = self.sample_weight[self.rows]
        return self.grouping.of_point, self.points, weights

    @cached_property
    def row_weights(self) -> np.ndarray:
        """Weights of `rows`; a group of no weight at all counts each of its points once."""
        if self.sample_weight is None:
            return np.ones(len(self.rows))
        heavy = self.weights[self.grouping.of_point] > 0
        return np.where(heavy, self.sample_weight[self.rows], 1.0)

    @cached_property
    def compound_means(self) -> np.ndarray:
        """(n_compound, d) means minus `offset` of the groups."""
        groups, weight = self.grouping.of_point, self.row_weights
        means = np.zeros((self.grouping.n_compound, self.n_features))
        np.add.at(means, groups, self.points * weight[:, None])
        means /= np.bincount(groups, weight, len(means))[:, None]
        return read_only(means)

    @cached_property
    def scatter(self) -> float:
        """Sum over groups of the squared distances of their points to the group mean."""
        gaps = self.points - self.compound_means[self.grouping.of_point]
        weight = 1.0 if self.sample_weight is None else self.sample_weight[self.rows]
        return float((np.einsum("ij,ij->i", gaps, gaps) * weight).sum())

    @cached_property
    def linked_core(self) -> Core:
        """The linked groups alone, as the kernels see them."""
        return Core(
            points=read_only(self.compound_means[: self.n_linked].copy()),
            weights=read_only(self.weights[: self.n_linked].copy()),
            indptr=self.cl_indptr,
            indices=self.cl_indices,
            n_clusters=self.n_clusters,
            offset=self.offset,
            basis=None,
        )

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


def _contract_named(together: np.ndarray, apart: np.ndarray) -> tuple[np.ndarray, Grouping]:
    """Contract the rows named in pairs alone; returns them, sorted, and their groups."""
    rows = np.unique(np.concatenate([together.ravel(), apart.ravel()]))
    if len(rows) == 0:
        none = np.empty(0, dtype=np.int64)
        return none, Grouping(none, 0, 0, 0, none)
    at = np.searchsorted(rows, together), np.searchsorted(rows, apart)
    return rows, contract(len(rows), *at)


def _check(summaries: list[dask_blocks.Summary], starts: np.ndarray) -> None:
    for summary, (start, stop) in zip(summaries, _pairwise(starts), strict=True):
        if summary.n_rows != stop - start:
            raise InvalidInputError(
                f"X: the chunk from row {start} was announced with {stop - start} rows and has "
                f"{summary.n_rows}. Call X.compute_chunk_sizes() first."
            )
        dask_blocks.reject_bad(summary.bad, start)
    low = np.min([summary.low for summary in summaries], axis=0)
    high = np.max([summary.high for summary in summaries], axis=0)
    spread, largest = float((high - low).max()), float(max(np.abs(low).max(), np.abs(high).max()))
    if largest > LARGEST or 0.0 < spread < SMALLEST:
        raise InvalidInputError(
            f"X spans {spread:.3g} with values up to {largest:.3g}: squares would overflow or "
            f"vanish. Rescale the columns."
        )


def _reject_weightless(weights: np.ndarray, of_row: np.ndarray, rows: np.ndarray) -> None:
    weightless = np.flatnonzero(weights == 0)
    if len(weightless):
        row = int(rows[np.flatnonzero(of_row == weightless[0])[0]])
        raise InvalidInputError(
            f"sample_weight: the group of row {row} has a cannot-link but no weight; give it a "
            f"positive weight or drop its pairs."
        )


def in_memory(weight: Any) -> Any:
    """Weights of a Dask collection, computed."""
    return weight.compute() if hasattr(weight, "dask") else weight


def _pairwise(starts: np.ndarray) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in itertools.pairwise(starts)]
