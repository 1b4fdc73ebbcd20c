"""A greedy assignment that is feasible wherever it can be (the paper's stated future work).

Algorithm 2 places groups in the order of their numbers, and gives up where a group's neighbors
have taken all clusters. Here components of the cannot-link graph that the nearest centers already
serve stay as they are (which is optimal), and in the others the group that would lose most goes
first, or the one with the fewest clusters left; a group without any is placed all the same, and a
tabu search that ejects groups from where they conflict repairs it. Kempe chains then make the
result cheaper. Only where all this fails are the labels of Algorithm 2 returned.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from smdeclust.assignment.cores.construct import construct
from smdeclust.assignment.exact import as_centers
from smdeclust.assignment.greedy import (
    GreedyAssignment,
    as_greedy,
    greedy_labels,
    reject_unknown_to_greedy,
)
from smdeclust.problem import Problem
from smdeclust.structure.graph import PairGraph


def greedy_repair_assignment(problem: Problem, centers: Any) -> GreedyAssignment:
    """Assign every must-link group to a near center so that the cannot-links hold, if it can.

    Parameters
    ----------
    problem
        The points, pairs and K.
    centers
        (K, d) centers in the coordinates of the data.

    Returns
    -------
    GreedyAssignment
        ``labels``, ``cost``, and ``violations``: 0 except where no feasible labels were found.
        Clusters may be empty.
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
    parts = _components(graph)
    ends = graph.ends
    broken = parts.component_of[ends[labels[ends] == labels[graph.indices]]]
    for component in np.unique(broken):
        nodes, indptr, indices = parts.graph(component)
        found = construct(costs[nodes], PairGraph.hard(indptr, indices).arrays)
        labels[nodes] = greedy_labels(costs, graph)[nodes] if found is None else found
    return labels


class _Components:
    """The connected components of the cannot-link graph, each as a graph of its own."""

    def __init__(self, graph: PairGraph) -> None:
        n, degree = graph.n_nodes, np.diff(graph.indptr)
        entries = np.ones(len(graph.indices), np.int8)
        whole = csr_array((entries, graph.indices, graph.indptr), (n, n))
        count, self.component_of = connected_components(whole, directed=False)
        self.order = np.argsort(self.component_of, kind="stable")  # nodes, component by component
        self.starts = np.searchsorted(self.component_of[self.order], np.arange(count + 1))
        number = np.empty(n, dtype=np.int64)
        number[self.order] = np.arange(n)
        self.indptr = np.concatenate([[0], np.cumsum(degree[self.order])])
        # entry e of a node's row moves along with the row
        shift = graph.indptr[self.order] - self.indptr[:-1]
        moved = np.arange(len(graph.indices)) + np.repeat(shift, degree[self.order])
        self.indices = number[graph.indices[moved]]

    def graph(self, component: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Its nodes, and the CSR arrays over their positions."""
        first, last = self.starts[component], self.starts[component + 1]
        indptr = self.indptr[first : last + 1]
        indices = self.indices[indptr[0] : indptr[-1]] - first
        return self.order[first:last], indptr - indptr[0], indices


@lru_cache(maxsize=4)
def _components(graph: PairGraph) -> _Components:
    return _Components(graph)
