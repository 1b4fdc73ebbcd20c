"""fit, predict and transform on Dask collections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from smdeclust.exceptions import InvalidInputError
from smdeclust.points import dask_blocks
from smdeclust.points.dask_blocks import Centers
from smdeclust.points.dask_cluster import active_cluster
from smdeclust.points.dask_points import DaskLabels, DaskPoints
from smdeclust.points.dask_problem import DaskProblem, in_memory
from smdeclust.points.validation import as_weights


def as_dask_array(X: Any) -> Any:
    """Return a Dask array or data frame as an array whose chunks are whole rows of known number.

    Chunks without rows, which filters leave behind, are dropped: no row changes its position.
    """
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if getattr(X, "ndim", 0) != 2:
        raise InvalidInputError("X must have 2 dimensions (points, features).")
    if issparse(getattr(X, "_meta", None)):
        raise InvalidInputError(
            "X is a Dask array of sparse blocks; make them dense "
            "(X.map_blocks(lambda block: block.toarray())), or pass one CSR matrix in memory."
        )
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise InvalidInputError(
            "X has chunks of unknown size, so pairs of row positions mean nothing. Call "
            "X.compute_chunk_sizes() first."
        )
    if 0 in X.shape:
        raise InvalidInputError(f"X is empty: shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise InvalidInputError(f"X must be a table of real numbers, got {X.dtype}.")
    X = X.rechunk({1: -1})
    kept = np.flatnonzero(X.chunks[0])
    return X if len(kept) == len(X.chunks[0]) else X.blocks[kept]


@dataclass(frozen=True)
class Remote:
    """A problem on a cluster: its points, and how its solutions are told.

    Attributes
    ----------
    array
        The data.
    problem, free
        What the searches need.
    """

    array: Any
    problem: DaskProblem
    free: DaskPoints

    def describe(
        self, labels: DaskLabels, numbers: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> tuple[Any, np.ndarray, float]:
        """Labels as a lazy Dask array, centers and inertia, evaluated anew.

        Clusters are numbered by their centers, in lexicographic order, or as `numbers` says.
        """
        centers, inertia = _finish(self.problem, self.free, labels)
        order = np.lexsort(centers.T[::-1])
        if numbers is not None:
            order = np.argsort(numbers(centers))
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        lazy = _lazy_labels(self.array, self.problem, labels, self.free.scale, number)
        return lazy, centers[order], inertia


@contextmanager
def on_cluster(
    X: Any, n_clusters: int, must_link: Any, cannot_link: Any, sample_weight: Any
) -> Iterator[Remote]:
    """Validate a Dask collection and put its blocks on the active cluster, for a while."""
    array = as_dask_array(X)
    with active_cluster() as cluster:
        problem = DaskProblem.build(
            array, n_clusters, must_link, cannot_link, sample_weight, cluster
        )
        yield Remote(array, problem, DaskPoints(problem))


def lazy_predict(X: Any, cluster_centers: np.ndarray, names: np.ndarray | None = None) -> Any:
    """The nearest center of each row, as a Dask array.

    No label is computed yet; of a data frame the lengths of its partitions are. A value that is not
    finite raises an error when the labels are computed.
    """
    array = same_features(X, cluster_centers, names)
    middle = cluster_centers.mean(axis=0)
    shifted = cluster_centers - middle
    scale = float(np.sqrt(np.einsum("kj,kj->", shifted, shifted))) or 1.0
    none = np.empty(0, dtype=np.int64)
    return array.map_blocks(
        dask_blocks.label_rows,
        middle,
        Centers(shifted, np.zeros(len(shifted)), scale),
        np.arange(len(shifted)),
        (none, none),
        dtype=np.int64,
        drop_axis=1,
    )


def lazy_transform(X: Any, cluster_centers: np.ndarray, names: np.ndarray | None = None) -> Any:
    """The (n, K) distances of rows to centers, as a Dask array.

    No distance is computed yet; of a data frame the lengths of its partitions are. A value that is
    not finite raises an error when the distances are computed.
    """
    array = same_features(X, cluster_centers, names)
    chunks = (array.chunks[0], (len(cluster_centers),))
    return array.map_blocks(
        dask_blocks.distances_of, cluster_centers, dtype=np.float64, chunks=chunks
    )


def least_squares(
    X: Any, cluster_centers: np.ndarray, names: np.ndarray | None, sample_weight: Any
) -> float:
    """The sum of squared distances of rows to their nearest centers, computed now."""
    array = same_features(X, cluster_centers, names)
    weight = as_weights(in_memory(sample_weight), array.shape[0])
    squares = lazy_transform(array, cluster_centers).min(axis=1) ** 2
    if weight is not None:
        squares = squares * _like(weight, squares)
    return float(squares.sum().compute())


def _like(values: np.ndarray, array: Any) -> Any:
    import dask.array as da

    return da.from_array(values, chunks=array.chunks)


def same_features(X: Any, cluster_centers: np.ndarray, names: np.ndarray | None) -> Any:
    """A Dask collection as an array, where its columns are those of the clusters."""
    if names is not None and hasattr(X, "columns") and list(X.columns) != list(names):
        raise InvalidInputError(
            f"X has the columns {', '.join(map(str, X.columns))}, but the clusters were made of "
            f"{', '.join(map(str, names))}, in this order."
        )
    array = as_dask_array(X)
    if array.shape[1] != cluster_centers.shape[1]:
        raise InvalidInputError(
            f"X has {array.shape[1]} features, but the clusters were made of "
            f"{cluster_centers.shape[1]}."
        )
    return array


def _finish(problem: DaskProblem, free: DaskPoints, labels: DaskLabels) -> tuple[np.ndarray, float]:
    """Centers in the coordinates of the data and inertia, evaluated anew from the labels."""
    free.forget()
    sums, _ = free.assign(labels.centers)
    groups, points, weights = problem.compound_rows
    linked = groups < problem.n_linked
    np.add.at(sums.sums, labels.compound[groups[linked]], points[linked] * weights[linked, None])
    np.add.at(sums.totals, labels.compound[groups[linked]], weights[linked])
    _apply_moves(problem, free, labels, sums)
    centers = sums.sums / sums.totals[:, None]
    inertia = free.sum_of_squares(centers, labels.moves) + problem.scatter
    means = problem.compound_means[: problem.n_linked]
    gaps = means - centers[labels.compound[: problem.n_linked]]
    inertia += float(np.einsum("ij,ij->i", gaps, gaps) @ problem.weights[: problem.n_linked])
    return centers + problem.offset, inertia


def _apply_moves(problem: DaskProblem, free: DaskPoints, labels: DaskLabels, sums: Any) -> None:
    """Take the groups that fill a cluster from where they are nearest to where they go."""
    n, here = problem.n_points, free.compound_labels()
    for where, k in labels.moves.items():
        if where >= n:
            group = problem.n_linked + where - n
            point, weight = problem.compound_means[group], float(problem.weights[group])
            old = int(here[where - n])
        else:
            point = problem.fetch(np.array([where]))[0] - problem.offset
            weight = 1.0 if problem.sample_weight is None else float(problem.sample_weight[where])
            gaps = labels.centers - point
            old = int(np.einsum("kj,kj->k", gaps, gaps).argmin())
        for cluster, sign in ((old, -1.0), (k, 1.0)):
            sums.sums[cluster] += sign * weight * point
            sums.totals[cluster] += sign * weight


def _lazy_labels(
    array: Any, problem: DaskProblem, labels: DaskLabels, scale: float, number: np.ndarray
) -> Any:
    """All labels as a Dask array over the chunks of `array`: nearest centers, and what was
    decided for rows in pairs."""
    decided = dict(zip(problem.rows.tolist(), labels.compound[problem.grouping.of_point].tolist(),
                       strict=True))  # fmt: skip
    decided.update({row: k for row, k in labels.moves.items() if row < problem.n_points})
    rows = np.array(sorted(decided), dtype=np.int64)
    known = rows, np.array([decided[row] for row in rows.tolist()], dtype=np.int64)
    centers = Centers(labels.centers, np.zeros(len(labels.centers)), scale)
    return array.map_blocks(
        dask_blocks.label_rows,
        problem.offset,
        centers,
        number,
        known,
        dtype=np.int64,
        drop_axis=1,
    )
