"""PCCC's assignment step: the cheapest labels given centers, pairs hard and soft.

The exact assignment of this library, with one more rule: a group with pairs may only use its q
nearest centers.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.distances import linked_costs, nearest_centers
from smdeclust.assignment.general import assign
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.problem import Contracted

# Simplex pivots for one proof on a dense core; then the best labels found are used.
PCCC_PIVOTS = 20_000


def soft_assignment(
    contracted: Contracted, centers: np.ndarray, q: int, deadline: float = np.inf
) -> np.ndarray:
    """Return (G,) labels; clusters may be empty.

    Parameters
    ----------
    contracted
        The groups and the pairs between them.
    centers
        (K, d') centers.
    q
        A group in the model may only use its q nearest centers; where that leaves no feasible
        labels, twice as many, and so on. With q = K the labels are optimal.
    deadline
        When to stop the proof, a moment of ``time.perf_counter()``.
    """
    labels = np.empty(len(contracted.points), dtype=np.int64)
    centers_t = np.ascontiguousarray(centers.T)
    nearest_centers(contracted.points, contracted.weights, 0, centers, centers_t, labels)
    graph, n_linked, n_clusters = contracted.graph, contracted.n_linked, len(centers)
    if not graph.broken(labels[:n_linked]).any():
        return labels
    costs = np.empty((n_linked, n_clusters))
    linked_costs(contracted.points, contracted.weights, n_linked, centers, centers_t, costs)
    while True:
        budget = Budget(deadline=deadline, max_pivots=PCCC_PIVOTS)
        found, _, _ = assign(_nearest(costs, q), graph, None, labels[:n_linked], budget)
        if found is not None:
            labels[:n_linked] = found
            return labels
        if q >= n_clusters:
            raise NoFeasibleSolutionError()
        q = min(2 * q, n_clusters)


def _nearest(costs: np.ndarray, q: int) -> np.ndarray:
    """The costs, infinite but for the q least of each row."""
    if q >= costs.shape[1]:
        return costs
    allowed = np.full(costs.shape, np.inf)
    np.put_along_axis(allowed, np.argsort(costs, axis=1, kind="stable")[:, :q], 0.0, axis=1)
    return costs + allowed
