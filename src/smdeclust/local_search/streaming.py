"""The local search on large data: free points block by block, linked groups as ever.

Only groups with cannot-links are coupled. Each iteration sends the centers to the free points and
gets sums back; the exact assignment runs on the linked groups alone, plus the few free groups that
could fill an empty cluster.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.exact import assign_points
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search import lloyd
from smdeclust.points.array_points import ClusterSums, Fillers
from smdeclust.points.sums import add_to_clusters
from smdeclust.points.validation import read_only
from smdeclust.problem import Core, Problem, Solution
from smdeclust.problem.problem import EVERY


class FreePoints(Protocol):
    """The free points of a problem, wherever they live: here, on workers, on a device."""

    def forget(self) -> None:
        """Start anew: no labels, no bounds."""

    def working(self) -> AbstractContextManager[None]:
        """What must hold while they work."""

    def assign(self, centers: np.ndarray) -> tuple[ClusterSums, int]:
        """Label every free point by its nearest center; returns sums and how many changed."""

    def sum_of_squares(self, centers: np.ndarray, moves: dict[int, int]) -> float:
        """Squared distances of the free points to the centers of their labels, after `moves`."""

    def fillers(self, centers: np.ndarray) -> Fillers:
        """The free groups among the K cheapest to move to some cluster, by regret."""

    def group_labels(self, problem: Any, linked: np.ndarray, moves: dict[int, int]) -> Any:
        """The labels of all groups: linked ones as given, free ones by the last assignment."""


# Falling by less than this share of the total sum of squares is rounding, not falling.
LEAST_FALL = 1e-13


def is_past(deadline: float | None) -> bool:
    """Whether that moment of ``time.perf_counter()`` is over (never, if there is none)."""
    return deadline is not None and time.perf_counter() >= deadline


def streaming_search(
    problem: Problem | Any,
    free: FreePoints,
    centers: np.ndarray,
    *,
    max_iter: int | None = None,
    proof_pivots: int | None = None,
    deadline: float | None = None,
) -> Solution:
    """Assign exactly and move centers in turn, until the objective does not fall.

    Parameters
    ----------
    problem
        The problem, or one that answers the same questions of points elsewhere.
    free
        Its free points, wherever they live.
    centers
        (K, d) start minus ``problem.offset``.
    max_iter, proof_pivots, deadline
        As for :func:`local_search`.
    """
    free.forget()
    linked = np.full(problem.n_linked, -1, dtype=np.int64)
    gain, objective, n_done = -np.inf, np.inf, 0
    with free.working():
        while True:
            sums, n_changed = free.assign(centers)
            upper = linked if n_done else None
            found, moves, proven = assign_linked(
                problem, free, centers, sums, upper, Budget.of(max_pivots=proof_pivots)
            )
            n_done += 1
            n_changed += int(np.count_nonzero(found != linked))
            linked = found
            centers = sums.sums / sums.totals[:, None]
            # f = (a constant) - sum of W_k |y_k|^2: the larger that sum, the better.
            gained = float(np.einsum("k,kj,kj->", sums.totals, centers, centers))
            falling = gained - gain > LEAST_FALL * problem.total_squares
            gain = max(gain, gained)
            if n_changed and not falling:
                # That sum has too few digits left where points are far apart: ask f itself.
                direct = free.sum_of_squares(centers, moves)
                direct += linked_squares(problem, linked, centers)
                falling = direct < objective * (1 - lloyd.LEAST_FALL)
                objective = min(objective, direct)
            if n_changed == 0 or not falling or n_done == max_iter or is_past(deadline):
                break
        objective = free.sum_of_squares(centers, moves)
        labels = free.group_labels(problem, linked, moves)
    objective += linked_squares(problem, linked, centers) + problem.scatter
    return Solution(labels, centers, objective, n_done, proven)


def assign_linked(
    problem: Problem | Any,
    free: FreePoints,
    centers: np.ndarray,
    sums: ClusterSums,
    upper: np.ndarray | None,
    budget: Budget,
) -> tuple[np.ndarray, dict[int, int], bool]:
    """Label the linked groups exactly; adds them to `sums`, and fills empty clusters.

    Returns their labels, the free groups moved to fill a cluster, and whether it is proven.
    """
    core = problem.linked_core
    n_clusters = len(centers)
    labels, cost, bound = None, np.inf, np.inf
    fillers: Fillers | None = None
    if (sums.counts > 0).all():
        labels, cost, bound = assign_points(*_smaller(core, centers), upper, budget, sums.counts)
    else:
        # Some cluster has no free point: let the cheapest free groups take part.
        fillers = free.fillers(centers)
        core = _with_fillers(core, fillers)
        spare = sums.counts - np.bincount(fillers.labels[fillers.weights > 0], minlength=n_clusters)
        if upper is not None:
            upper = np.concatenate([upper, fillers.labels])
        labels, cost, bound = assign_points(*_smaller(core, centers), upper, budget, spare)
    if labels is None:
        raise NoFeasibleSolutionError()
    n_linked = problem.n_linked
    moves = {}
    if fillers is not None:
        for where, point, weight, old, new in zip(
            fillers.where, fillers.points, fillers.weights, fillers.labels, labels[n_linked:],
            strict=True,
        ):  # fmt: skip
            if old != new:
                moves[int(where)] = int(new)
                for k, sign in ((old, -1.0), (new, 1.0)):
                    sums.sums[k] += sign * weight * point
                    sums.totals[k] += sign * weight
    linked = labels[:n_linked]
    counted = np.zeros(n_clusters, dtype=np.int64)
    points, weights = problem.linked_core.points, problem.linked_core.weights
    if isinstance(points, np.ndarray):
        add_to_clusters(
            points, weights, EVERY, np.zeros(problem.n_features), 0, n_linked, linked, sums.sums,
            sums.totals, counted,
        )  # fmt: skip
    else:
        points.add_to_clusters(weights, linked, sums.sums, sums.totals)
    return linked, moves, bound >= cost


def _smaller(core: Core, centers: np.ndarray) -> tuple[Core, np.ndarray]:
    """The same assignment in as few coordinates as there are features or clusters.

    Distances by a matrix product lose digits where points are far apart; then nothing is changed.
    """
    if not isinstance(core.points, np.ndarray):
        return as_small(core, core.points.squared_distances(centers))
    if core.points.shape[1] <= len(centers) or len(core.points) == 0:
        return core, centers
    norms = np.einsum("kj,kj->k", centers, centers)
    sizes = np.einsum("gj,gj->g", core.points, core.points)
    squares = norms - 2.0 * (core.points @ centers.T) + sizes[:, None]
    rounding = 4 * np.finfo(float).eps * len(centers) * (sizes.max() + norms.max())
    if rounding > 1e-10 * squares.min(axis=1).mean():
        return core, centers
    return as_small(core, squares)


def as_small(core: Core, squares: np.ndarray) -> tuple[Core, np.ndarray]:
    """The same assignment in K coordinates, from squared distances up to a constant a point.

    With centers t e_k and points -D_gk / 2t, squared distances are D_gk plus a constant a group.
    """
    regrets = squares - squares.min(axis=1, keepdims=True)
    size = float(np.sqrt(regrets.max(initial=0.0))) or 1.0
    small = Core(
        points=read_only(regrets / (-2.0 * size)),
        weights=core.weights,
        indptr=core.indptr,
        indices=core.indices,
        n_clusters=core.n_clusters,
        offset=core.offset,
        basis=None,
    )
    return small, size * np.eye(squares.shape[1])


def _with_fillers(core: Core, fillers: Fillers) -> Core:
    if isinstance(core.points, np.ndarray):
        points = read_only(np.vstack([core.points, fillers.points]))
    else:
        points = core.points.stacked(fillers.points)
    return Core(
        points=points,
        weights=read_only(np.concatenate([core.weights, fillers.weights])),
        indptr=core.indptr,
        indices=core.indices,
        n_clusters=core.n_clusters,
        offset=core.offset,
        basis=None,
    )


def linked_squares(problem: Problem | Any, linked: np.ndarray, centers: np.ndarray) -> float:
    """Squared distances of the linked groups to the centers of their labels."""
    core = problem.linked_core
    if isinstance(core.points, np.ndarray):
        gaps = core.points - centers[linked]
        return float(np.einsum("ij,ij->i", gaps, gaps) @ core.weights)
    return float(core.points.own_squares(centers, linked) @ core.weights)
