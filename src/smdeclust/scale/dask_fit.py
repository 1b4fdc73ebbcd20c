"""fit, predict and transform on Dask collections."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from smdeclust.estimators.base import deadline_after
from smdeclust.exceptions import InvalidInputError
from smdeclust.local_search import PROOF_PIVOTS
from smdeclust.local_search.streaming import streaming_search
from smdeclust.memetic import Operators
from smdeclust.memetic.crossover import DifferentialCrossover
from smdeclust.memetic.mutation import no_mutation
from smdeclust.scale import dask_blocks
from smdeclust.scale.dask_blocks import Centers
from smdeclust.scale.dask_cluster import active_cluster
from smdeclust.scale.dask_points import DaskLabels, DaskPoints
from smdeclust.scale.dask_problem import DaskProblem
from smdeclust.scale.mutation import StreamingMutation

if TYPE_CHECKING:
    from smdeclust.estimators.smdeclust import SMDEClust


def as_dask_array(X: Any) -> Any:
    """Return a Dask array or data frame as an array whose chunks are whole rows of known number."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if getattr(X, "ndim", 0) != 2:
        raise InvalidInputError("X must have 2 dimensions (points, features).")
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise InvalidInputError(
            "X has chunks of unknown size, so pairs of row positions mean nothing. Call "
            "X.compute_chunk_sizes() first."
        )
    if 0 in X.shape:
        raise InvalidInputError(f"X is empty: shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise InvalidInputError(f"X must be a table of real numbers, got {X.dtype}.")
    return X.rechunk({1: -1})


def fit_on_cluster(
    model: SMDEClust, X: Any, must_link: Any, cannot_link: Any, sample_weight: Any
) -> SMDEClust:
    """Fit `model` to a Dask collection. Nothing of it is set unless the run ends well."""
    array = as_dask_array(X)
    with active_cluster() as cluster:
        problem = DaskProblem.build(
            array, model.n_clusters, must_link, cannot_link, sample_weight, cluster
        )
        free = DaskPoints(problem)
        mutate: Any = no_mutation
        if model.mutation:
            mutate = StreamingMutation(problem, free, model.assignment == "exact", model.alpha)
        factor = model.scale_factor
        operators = Operators(
            initialize=partial(_random_rows, problem),
            crossover=DifferentialCrossover(
                factor if isinstance(factor, tuple) else (factor, factor)
            ),
            mutate=mutate,
            local_search=partial(
                streaming_search,
                problem,
                free,
                max_iter=model.max_local_iter,
                proof_pivots=PROOF_PIVOTS,
                deadline=deadline_after(model.max_time),
            ),
        )
        best = model._evolve(operators)
        labels: Any = best.labels
        centers, inertia = _finish(problem, free, labels)
    order = np.lexsort(centers.T[::-1])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    model.labels_ = _lazy_labels(array, problem, labels, free.scale, number)
    model.cluster_centers_ = centers[order]
    model.inertia_ = inertia
    model.n_features_in_ = array.shape[1]
    if hasattr(X, "columns"):
        model.feature_names_in_ = np.asarray(X.columns, dtype=object)
    model.network_bytes_ = cluster.n_bytes
    return model


def lazy_predict(X: Any, cluster_centers: np.ndarray) -> Any:
    """The nearest center of each row, as a Dask array that computes nothing yet."""
    array = as_dask_array(X)
    if array.shape[1] != cluster_centers.shape[1]:
        raise InvalidInputError(
            f"X has {array.shape[1]} features, but the clusters were made of "
            f"{cluster_centers.shape[1]}."
        )
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


def _random_rows(problem: DaskProblem, rng: np.random.Generator) -> np.ndarray:
    """K different points, drawn as for data in memory."""
    weights = problem.sample_weight
    share = None if weights is None else weights / weights.sum()
    rows = rng.choice(problem.n_points, size=problem.n_clusters, replace=False, p=share)
    return problem.enter(problem.fetch(rows))


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
