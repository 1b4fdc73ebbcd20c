"""From the matrix of a relaxation to feasible labels."""

from __future__ import annotations

import numpy as np

from smdeclust.exact.relaxation import FloatArray, IntArray, Relaxation
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search import local_search
from smdeclust.problem import Problem

# Pivots for the proof of one assignment: a heuristic that is called often must not dwell.
_PROOF_PIVOTS = 20_000


def rounded_labels(node: Relaxation, Y: FloatArray) -> IntArray:
    """Labels of the points that the relaxation suggests; they may break cannot-links.

    Row i of ``Z S`` (S the group sums) is the mean of the cluster of i where Z is integral, and a
    blend where it is not. The rows are seeded farthest-first, weighted, and clustered by Lloyd.
    """
    rows = (Y @ node.factor) / node.sqrt_weights[:, None]
    weights = node.weights
    centers = rows[[int(np.argmax(weights))]]
    nearest = np.sum((rows - centers[0]) ** 2, axis=1)
    while len(centers) < node.n_clusters:
        chosen = int(np.argmax(weights * nearest))
        centers = np.vstack([centers, rows[chosen]])
        nearest = np.minimum(nearest, np.sum((rows - rows[chosen]) ** 2, axis=1))
    labels = np.zeros(node.n_groups, np.int64)
    for _ in range(20):
        distances = np.sum(centers**2, axis=1) - 2.0 * rows @ centers.T
        before, labels = labels, np.argmin(distances, axis=1)
        if np.array_equal(before, labels):
            break
        for k in range(node.n_clusters):
            mine = labels == k
            if mine.any():
                centers[k] = weights[mine] @ rows[mine] / weights[mine].sum()
    return labels[node.group_of_point]


def improve(problem: Problem, labels: IntArray, deadline: float = np.inf) -> IntArray | None:
    """Feasible labels near the given ones by the local search, or None where it finds none.

    Parameters
    ----------
    problem
        The problem.
    labels
        (N,) any labels, feasible or not.
    deadline
        Stop at this moment of ``time.perf_counter()``, after one iteration.
    """
    centers = problem.enter(_means(problem, labels))
    try:
        found = local_search(
            problem, centers, deep=True, proof_pivots=_PROOF_PIVOTS, deadline=deadline
        )
    except NoFeasibleSolutionError:
        return None
    return problem.expand(found.labels)


def _means(problem: Problem, labels: IntArray) -> FloatArray:
    """Cluster means of any point labels; an empty cluster sits on a far point."""
    weights = np.ones(problem.n_points) if problem.sample_weight is None else problem.sample_weight
    centers = np.empty((problem.n_clusters, problem.n_features))
    far = np.argsort(-np.sum((problem.X - problem.offset) ** 2, axis=1), kind="stable")
    for k in range(problem.n_clusters):
        mine = labels == k
        total = weights[mine].sum()
        centers[k] = weights[mine] @ problem.X[mine] / total if total > 0 else problem.X[far[k]]
    return centers
