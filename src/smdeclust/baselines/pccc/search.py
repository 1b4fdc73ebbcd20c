"""PCCC's loop: assign, move centers, reposition clusters that are empty or hardly needed."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from smdeclust.baselines.empty_clusters import fill_empty_clusters
from smdeclust.baselines.pccc.assignment import soft_assignment
from smdeclust.local_search.lloyd import LEAST_FALL
from smdeclust.points.centers import move_centers, sum_of_squares
from smdeclust.problem import Contracted, Problem, Solution


@dataclass(frozen=True)
class Outcome:
    """A local optimum, and how many clusters were repositioned on the way."""

    solution: Solution
    n_iterations: int
    n_repositions: int


def pccc_search(
    problem: Problem,
    centers: np.ndarray,
    *,
    q: int,
    max_iter: int,
    repositioning: bool = True,
    deadline: float = np.inf,
) -> Outcome:
    """Run one start; the objective is f plus the cost of the broken soft pairs.

    Parameters
    ----------
    problem
        The points and all pairs, hard and soft.
    centers
        (K, d') start, in the coordinates of ``problem.contracted``.
    q
        A constrained group may use its q nearest centers, more only where it has to.
    max_iter
        Most iterations of one descent; it also ends at the first that does not lower the objective.
    repositioning
        Whether, at a local optimum, the cluster that is needed least is moved to where most is
        wrong, as long as that lowers the objective. (An empty cluster is always moved there.)
    deadline
        Moment of ``time.perf_counter()`` after which no further assignment is made.
    """
    best = _descend(problem, centers, q, max_iter, deadline)
    n_iterations, n_repositions = best.n_iterations, best.n_repositions
    while repositioning and problem.n_clusters > 1 and time.perf_counter() < deadline:
        moved = best.solution.centers.copy()
        poor = _least_needed(problem.contracted, moved)
        moved[poor] = _worst_served(problem.contracted, best.solution.labels, moved, poor)
        found = _descend(problem, moved, q, max_iter, deadline)
        n_iterations += found.n_iterations
        least = best.solution.objective * (1 - LEAST_FALL)
        if not found.solution.objective < least:
            break
        best = found
        n_repositions += 1 + found.n_repositions
    solution = replace(best.solution, n_iterations=n_iterations)
    return Outcome(solution, n_iterations, n_repositions)


def _descend(
    problem: Problem,
    centers: np.ndarray,
    q: int,
    max_iter: int,
    deadline: float,
) -> Outcome:
    """Assign and move centers in turn, until the objective does not fall."""
    contracted = problem.contracted
    centers = np.array(centers, dtype=np.float64, order="C")
    best: Solution | None = None
    n_done = n_repositions = 0
    while n_done < max_iter and (best is None or time.perf_counter() < deadline):
        n_done += 1
        labels = soft_assignment(contracted, centers, q, deadline)
        if best is None or n_repositions < problem.n_clusters:
            for empty in _empty_clusters(contracted, labels):
                centers[empty] = _worst_served(contracted, labels, centers, empty)
                labels = soft_assignment(contracted, centers, q, deadline)
                n_repositions += 1
        n_repositions += fill_empty_clusters(contracted.points, contracted.weights, labels, centers)
        move_centers(contracted.points, contracted.weights, labels, centers)
        squares = float(sum_of_squares(contracted.points, contracted.weights, labels, centers))
        objective = squares + problem.scatter + problem.penalty(labels)
        if best is not None and not objective < best.objective * (1 - LEAST_FALL):
            break
        best = Solution(labels, centers.copy(), objective, n_done)
    assert best is not None
    return Outcome(best, n_done, n_repositions)


def _empty_clusters(contracted: Contracted, labels: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.bincount(labels, contracted.weights, contracted.n_clusters) == 0)


def _least_needed(contracted: Contracted, centers: np.ndarray) -> int:
    """The cluster whose groups lose least by going to their second nearest center instead."""
    squares = _squares(contracted, centers)
    nearest = squares.argmin(axis=1)
    two = np.partition(squares, 1, axis=1)[:, :2]
    loss = np.bincount(nearest, contracted.weights * (two[:, 1] - two[:, 0]), contracted.n_clusters)
    return int(loss.argmin())


def _worst_served(
    contracted: Contracted, labels: np.ndarray, centers: np.ndarray, moving: int
) -> np.ndarray:
    """Where cluster `moving` should go: the group that costs most in the cluster with most broken
    soft pairs, of those the one with most inertia."""
    gaps = contracted.points - centers[labels]
    costs = contracted.weights * np.einsum("ij,ij->i", gaps, gaps)
    graph = contracted.graph
    ends = labels[graph.ends[graph.broken(labels[: graph.n_nodes])]]
    n_broken = np.bincount(ends, minlength=contracted.n_clusters)
    n_broken[moving] = -1
    inertia = np.bincount(labels, costs, contracted.n_clusters)
    cluster = np.lexsort((inertia, n_broken))[-1]
    return contracted.points[np.where(labels == cluster, costs, -1.0).argmax()]


def _squares(contracted: Contracted, centers: np.ndarray) -> np.ndarray:
    """(G, K) squared distances, one center at a time: nothing larger than the answer is made."""
    out = np.empty((len(contracted.points), len(centers)))
    for k, center in enumerate(centers):
        gaps = contracted.points - center
        np.einsum("ij,ij->i", gaps, gaps, out=out[:, k])
    return out
