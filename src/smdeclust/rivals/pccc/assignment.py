"""PCCC's assignment step: the cheapest labels given centers, pairs hard and soft.

Everything goes to its nearest center first. Only the pairs which that breaks enter the model, then
those which its answer breaks, and so on: each model is a relaxation, so the first answer that
breaks no pair outside it is optimal. Components are solved one by one: leaves are folded into their
neighbours, what is left goes to HiGHS.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from smdeclust.assignment.distances import nearest_centers
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.problem import Core
from smdeclust.rivals.pccc.programme import solve_programme
from smdeclust.rivals.pccc.soft_graph import SoftGraph


def soft_assignment(core: Core, graph: SoftGraph, centers: np.ndarray, q: int) -> np.ndarray:
    """Return (G,) labels; clusters may be empty.

    Parameters
    ----------
    core
        The groups.
    graph
        The pairs between them.
    centers
        (K, d') centers.
    q
        A group in the model may only use its q nearest centers; where that leaves no feasible
        labels, twice as many, and so on. With q = K the labels are optimal.
    """
    labels = np.empty(len(core.points), dtype=np.int64)
    centers_t = np.ascontiguousarray(centers.T)
    nearest_centers(core.points, core.weights, 0, centers, centers_t, labels)
    active = np.zeros(len(graph.edges), dtype=bool)
    while True:
        fresh = graph.broken(labels) & ~active
        if not fresh.any():
            return labels
        active |= fresh
        for members, edges in _components(graph, active, fresh):
            costs = cdist(core.points[members], centers, metric="sqeuclidean")
            costs *= core.weights[members, None]
            ends = np.searchsorted(members, graph.edges[edges])
            labels[members] = _solve(costs, ends, graph.together[edges], graph.cost[edges], q)


def _components(
    graph: SoftGraph, active: np.ndarray, fresh: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Components of the active edges that hold a fresh one: their groups and their edges."""
    chosen = np.flatnonzero(active)
    groups, ends = np.unique(graph.edges[chosen], return_inverse=True)
    ends = ends.reshape(-1, 2)
    links = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(groups),) * 2)
    _, of_group = connected_components(links, directed=False)
    of_edge = of_group[ends[:, 0]]
    changed = np.unique(of_edge[fresh[chosen]])
    return [(groups[of_group == c], chosen[of_edge == c]) for c in changed]


def _solve(
    costs: np.ndarray, ends: np.ndarray, together: np.ndarray, penalty: np.ndarray, q: int
) -> np.ndarray:
    """Labels of one component; the number of centers grows until there are any."""
    n_clusters = costs.shape[1]
    order = np.argsort(costs, axis=1, kind="stable")
    while True:
        allowed = np.full(costs.shape, np.inf)
        np.put_along_axis(allowed, order[:, :q], 0.0, axis=1)
        labels = solve_component(costs + allowed, ends, together, penalty)
        if labels is not None:
            return labels
        if q >= n_clusters:
            raise NoFeasibleSolutionError()
        q = min(2 * q, n_clusters)


def solve_component(
    costs: np.ndarray, ends: np.ndarray, together: np.ndarray, penalty: np.ndarray
) -> np.ndarray | None:
    """Return the cheapest labels, or ``None`` where there are none.

    Parameters
    ----------
    costs
        (n, K) cost of each label, infinite where it may not be used.
    ends, together, penalty
        Edges as in `SoftGraph`, no two between the same groups.
    """
    costs = costs.copy()
    incident: list[set[int]] = [set() for _ in range(len(costs))]
    for e, (g, h) in enumerate(ends.tolist()):
        incident[g].add(e)
        incident[h].add(e)
    leaves = [g for g in range(len(costs)) if len(incident[g]) == 1]
    folded: list[tuple[int, int, int]] = []
    while leaves:
        g = leaves.pop()
        if len(incident[g]) != 1:
            continue  # the last of its component
        e = incident[g].pop()
        h = int(ends[e].sum()) - g
        incident[h].remove(e)
        costs[h] += _best_reply(costs[g], bool(together[e]), penalty[e]).min(axis=1)
        folded.append((g, h, e))
        if len(incident[h]) == 1:
            leaves.append(h)

    labels = costs.argmin(axis=1)
    left = np.flatnonzero([len(edges) > 0 for edges in incident])
    if len(left):
        inside = np.unique([e for g in left for e in incident[g]])
        numbered = np.searchsorted(left, ends[inside])
        found = solve_programme(costs[left], numbered, together[inside], penalty[inside])
        if found is None:
            return None
        labels[left] = found
    for g, h, e in reversed(folded):
        labels[g] = _best_reply(costs[g], bool(together[e]), penalty[e])[labels[h]].argmin()
    feasible = np.isfinite(costs[np.arange(len(costs)), labels]).all()
    return labels if feasible else None


def _best_reply(costs: np.ndarray, together: bool, penalty: float) -> np.ndarray:
    """(K, K) cost of a leaf's labels (columns) given its neighbour's (rows)."""
    same = np.eye(len(costs), dtype=bool)
    extra = np.where(same != together, penalty, 0.0)
    return costs + extra
