"""A greedy assignment that is feasible wherever it can be (the paper's stated future work).

Algorithm 2 places groups in the order of their numbers, and gives up where a group's neighbours
have taken all clusters. Here components of the cannot-link graph that the nearest centers already
serve stay as they are (which is optimal), and in the others the group that would lose most goes
first, or the one with the fewest clusters left; a group without any is placed all the same, and a
tabu search that ejects groups from where they conflict repairs it. Kempe chains then make the
result cheaper. Only where all this fails are the labels of Algorithm 2 returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from smdeclust.assignment.dense.construct import construct
from smdeclust.assignment.distances import linked_costs, nearest_centers
from smdeclust.assignment.exact import as_centers
from smdeclust.assignment.greedy import GreedyAssignment, greedy
from smdeclust.problem import Core, Problem


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
    core_centers = problem.core.enter(as_centers(centers, problem))
    labels = greedy_repair(problem.core)(core_centers)
    gaps = problem.core.points - core_centers[labels]
    cost = float(np.einsum("ij,ij->i", gaps, gaps) @ problem.weights) + problem.scatter
    point_labels = problem.expand(labels)
    return GreedyAssignment(point_labels, cost, problem.violations(point_labels)[1])


def greedy_repair(core: Core) -> Callable[[np.ndarray], np.ndarray]:
    """The same on groups: returns the function centers -> (G,) labels; centers may be fewer."""
    owner = np.repeat(np.arange(core.n_linked), np.diff(core.indptr))
    parts = _Components(core)

    def assign(centers: np.ndarray) -> np.ndarray:
        labels = np.empty(len(core.points), dtype=np.int64)
        centers_t = np.ascontiguousarray(centers.T)
        nearest_centers(core.points, core.weights, 0, centers, centers_t, labels)
        broken = parts.component_of[owner[labels[owner] == labels[core.indices]]]
        if len(broken) == 0:
            return labels
        costs = np.empty((core.n_linked, len(centers)))
        linked_costs(core.points, core.weights, core.n_linked, centers, centers_t, costs)
        for component in np.unique(broken):
            nodes, indptr, indices = parts.graph(component)
            found = construct(costs[nodes], indptr, indices)
            labels[nodes] = greedy(core, centers)[nodes] if found is None else found
        return labels

    return assign


class _Components:
    """The connected components of the cannot-link graph, each as a graph of its own."""

    def __init__(self, core: Core) -> None:
        n, degree = core.n_linked, np.diff(core.indptr)
        whole = csr_array((np.ones(len(core.indices), np.int8), core.indices, core.indptr), (n, n))
        count, self.component_of = connected_components(whole, directed=False)
        self.order = np.argsort(self.component_of, kind="stable")  # nodes, component by component
        self.starts = np.searchsorted(self.component_of[self.order], np.arange(count + 1))
        number = np.empty(n, dtype=np.int64)
        number[self.order] = np.arange(n)
        self.indptr = np.concatenate([[0], np.cumsum(degree[self.order])])
        # entry e of a node's row moves along with the row
        shift = core.indptr[self.order] - self.indptr[:-1]
        entries = np.arange(len(core.indices)) + np.repeat(shift, degree[self.order])
        self.indices = number[core.indices[entries]]

    def graph(self, component: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Its nodes, and the CSR arrays over their positions."""
        first, last = self.starts[component], self.starts[component + 1]
        indptr = self.indptr[first : last + 1]
        indices = self.indices[indptr[0] : indptr[-1]] - first
        return self.order[first:last], indptr - indptr[0], indices
