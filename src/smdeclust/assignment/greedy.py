"""Greedy assignment steps: Algorithm 2, and one that is feasible wherever it can be.

Algorithm 2 places groups in the order of their numbers, each at the nearest allowed center, and
gives up where a group's neighbors have taken all clusters. The other (the paper's stated future
work) leaves components of the cannot-link graph that the nearest centers already serve as they are,
which is optimal. In the others the group that would lose most goes first, or the one with the
fewest clusters left; a group without any is placed all the same, and a tabu search that ejects
groups from where they conflict repairs it. Kempe chains then make the result cheaper. Only where
all this fails are the labels of Algorithm 2 returned.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.assignment.cores.construct import construct
from smdeclust.assignment.exact import as_centers, as_group_labels
from smdeclust.exceptions import InvalidInputError
from smdeclust.kernels import kernel
from smdeclust.problem import Problem
from smdeclust.structure.graph import PairGraph


@dataclass(frozen=True)
class GreedyAssignment:
    """The result of a greedy assignment, which may break cannot-links.

    Attributes
    ----------
    labels
        The cluster of each point. Clusters may be empty.
    cost
        The sum of squared distances from the points to their centers.
    violations
        The number of broken cannot-links. Must-links are never broken.
    """

    labels: np.ndarray
    cost: float
    violations: int


def greedy_assignment(
    problem: Problem, centers: Any, *, labels: Any = None, removed: int | None = None
) -> GreedyAssignment:
    """Assign the groups one by one to the nearest center that their cannot-links allow.

    If all centers are forbidden for a group, it gets its nearest one, and the result breaks a
    cannot-link.

    Parameters
    ----------
    problem
        The points and constraints.
    centers
        The (K, d) centers.
    labels, removed
        Earlier (N,) labels, and a cluster whose groups are moved to other clusters. All other
        groups keep their labels.
    """
    reject_unknown_to_greedy(problem)
    array = as_centers(centers, problem)
    if (labels is None) != (removed is None):
        raise InvalidInputError("labels and removed go together: give both or neither.")
    if removed is not None:
        is_cluster = isinstance(removed, (int, np.integer)) and not isinstance(removed, bool)
        if not is_cluster or not 0 <= removed < problem.n_clusters:
            raise InvalidInputError(
                f"removed must be a cluster, 0 to {problem.n_clusters - 1}, got {removed!r}."
            )
        if problem.n_clusters == 1:
            raise InvalidInputError("removed: there is no other cluster for its groups to go to.")
    start = None if labels is None else as_group_labels(labels, problem, "labels")
    costs = cdist(problem.contracted.points, problem.enter(array), "sqeuclidean")
    found = greedy_labels(costs, problem.graph, start, removed)
    return as_greedy(problem, costs, found)


def reject_unknown_to_greedy(problem: Problem) -> None:
    """Raise an error where a problem has knowledge that greedy steps do not look at."""
    for what, there in (("soft pairs", problem.soft), ("bounds on clusters", problem.bounds)):
        if there is not None:
            raise InvalidInputError(
                f"The greedy assignment supports only must-links and cannot-links, but this "
                f"problem has {what}: use exact_assignment."
            )


def as_greedy(problem: Problem, squares: np.ndarray, labels: np.ndarray) -> GreedyAssignment:
    """What (G,) labels are worth, given the (G, K) squared distances."""
    cost = float(squares[np.arange(len(labels)), labels] @ problem.weights) + problem.scatter
    point_labels = problem.expand(labels)
    return GreedyAssignment(point_labels, cost, problem.violations(point_labels)[1])


def greedy_labels(
    costs: np.ndarray,
    graph: PairGraph,
    labels: np.ndarray | None = None,
    removed: int | None = None,
) -> np.ndarray:
    """The same from (G, K) costs, linked groups first: returns (G,) labels. (Of hard pairs.)"""
    graph = graph.hard_part
    if labels is None or removed is None:
        found = np.full(len(costs), -1, dtype=np.int64)
        _greedy(costs, graph.indptr, graph.indices, found, -1)
        return found
    found = np.array(labels, dtype=np.int64)
    found[found == removed] = -1
    _greedy(costs, graph.indptr, graph.indices, found, removed)
    return found


@kernel()
def _greedy(costs, indptr, indices, labels, removed):
    """Algorithm 2 for the groups labeled -1, never `removed`. Writes `labels`. O(G K + edges)."""
    n_clusters = costs.shape[1]
    blocked = np.empty(n_clusters, np.bool_)
    for g in range(len(costs)):
        if labels[g] >= 0:
            continue
        for k in range(n_clusters):
            blocked[k] = False
        if g < len(indptr) - 1:
            for e in range(indptr[g], indptr[g + 1]):
                if labels[indices[e]] >= 0:
                    blocked[labels[indices[e]]] = True
        allowed, anywhere = -1, -1
        for k in range(n_clusters):
            if k == removed:
                continue
            if anywhere < 0 or costs[g, k] < costs[g, anywhere]:
                anywhere = k
            if not blocked[k] and (allowed < 0 or costs[g, k] < costs[g, allowed]):
                allowed = k
        labels[g] = allowed if allowed >= 0 else anywhere


def greedy_repair_assignment(problem: Problem, centers: Any) -> GreedyAssignment:
    """Assign the groups to near centers so that all cannot-links are satisfied, if possible.

    Parameters
    ----------
    problem
        The points and constraints.
    centers
        The (K, d) centers.

    Returns
    -------
    GreedyAssignment
        The labels, their cost, and the number of broken cannot-links, which is 0 if feasible labels
        were found. Clusters may be empty.
    """
    reject_unknown_to_greedy(problem)
    inside = problem.enter(as_centers(centers, problem))
    squares = cdist(problem.contracted.points, inside, "sqeuclidean")
    costs = squares * problem.weights[:, None]
    return as_greedy(problem, squares, repaired_labels(costs, problem.graph))


def repaired_labels(costs: np.ndarray, graph: PairGraph) -> np.ndarray:
    """The same from (G, K) costs, linked groups first: returns (G,) labels. (Of hard pairs.)"""
    graph = graph.hard_part
    labels = costs.argmin(axis=1)
    if graph.n_nodes == 0:
        return labels
    ends = graph.ends
    broken = graph.component_of[ends[labels[ends] == labels[graph.indices]]]
    for component in np.unique(broken):
        nodes = graph.components[component]
        found = construct(costs[nodes], graph.component(nodes))
        labels[nodes] = greedy_labels(costs, graph)[nodes] if found is None else found
    return labels
