"""Step 5 of the exact assignment: no empty cluster.

Every cluster needs a representative of its own. Where groups do not influence each other, that is
a matching of clusters to groups by regret, found by one shortest path per empty cluster: along it
each cluster gives a group to the next, and the first one has a group to spare. An active group
counts with a lower bound of what moving it would cost its component; if the matching moves one,
the caller must branch on it, else the answer is optimal.

It ends whatever rounding does: there is one path for each empty cluster, found by Dijkstra's
algorithm on reduced costs that are cut off at zero, so a path visits no cluster twice.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.components import find_component
from smdeclust.assignment.status import BRANCH, INFEASIBLE, PAUSED, SOLVED
from smdeclust.kernels import kernel


@kernel()
def regrets(costs, graph, active, nearest, labels, numbers, regret):
    """Write, at each active group, what its component of the active set costs above nearest, the
    soft pairs that it breaks included.

    `numbers` (5, n) is work space; its last row names the component of each group afterwards.
    """
    indptr, indices, price, together = graph
    n = len(costs)
    seen = np.zeros(n, np.bool_)
    for root in range(n):
        if not active[root] or seen[root]:
            continue
        size, _, _ = find_component(
            root, indptr, indices, active, seen, numbers[1], numbers[2], numbers[0]
        )
        total = 0.0
        for v in numbers[0, :size]:
            total += costs[v, labels[v]] - nearest[v]
            if len(price) > 0:
                for e in range(indptr[v], indptr[v + 1]):
                    u = indices[e]
                    if active[u] and u < v and (labels[u] == labels[v]) != together[e]:
                        total += price[e]
        for v in numbers[0, :size]:
            regret[v] = total
            numbers[4, v] = root


def cover(
    costs: np.ndarray,
    filling: np.ndarray,
    active: np.ndarray,
    nearest: np.ndarray,
    regret: np.ndarray,
    labels: np.ndarray,
    counts: np.ndarray,
    budget: Budget,
) -> tuple[int, float, int, int]:
    """Fill empty clusters at the least extra cost.

    Parameters
    ----------
    costs, nearest
        (G, K) costs and (G,) the least of each row.
    filling
        (G,) which groups can represent a cluster.
    active, regret
        (L,) which of the first groups are active, and what their components cost above nearest.
    labels, counts
        Labels, each at its cheapest but for the active ones, and how many groups each cluster has;
        both are changed.

    Returns
    -------
    (status, extra, group, cluster): BRANCH names an active group that was moved and its new
    cluster, `extra` is then a lower bound only. PAUSED: the time was up.
    """
    above = costs - nearest[:, None]
    linked = np.flatnonzero(active)
    above[linked] = np.maximum(above[linked] - regret[linked, None], 0.0)
    n_clusters = costs.shape[1]
    before = labels[: len(active)].copy()
    arc = np.empty((n_clusters, n_clusters))
    giver = np.empty((n_clusters, n_clusters), dtype=np.int64)
    stale = np.ones(n_clusters, dtype=np.bool_)
    potential = np.zeros(n_clusters + 1)  # the last one: where all groups to spare come from
    extra = 0.0
    for empty in np.flatnonzero(counts == 0):
        if budget.time_left() == 0.0:
            return PAUSED, extra, -1, -1
        _refresh_arcs(above, filling, labels, stale, arc, giver)
        length = _shift_along(arc, giver, counts, int(empty), potential, labels, stale)
        if length == np.inf:
            return INFEASIBLE, np.inf, -1, -1
        extra += length
    moved = np.flatnonzero(active & (labels[: len(active)] != before))
    if len(moved):
        return BRANCH, extra, int(moved[0]), int(labels[moved[0]])
    return SOLVED, extra, -1, -1


@kernel()
def _refresh_arcs(above, filling, labels, stale, arc, giver):
    """arc[j, k]: least cost at which some group now in j moves to k, `giver` that group."""
    n_clusters = above.shape[1]
    for j in range(n_clusters):
        if stale[j]:
            for k in range(n_clusters):
                arc[j, k] = np.inf
                giver[j, k] = -1
    for g in range(len(labels)):
        j = labels[g]
        if not stale[j] or not filling[g]:
            continue
        here = above[g, j]
        for k in range(n_clusters):
            if k != j and above[g, k] - here < arc[j, k]:
                arc[j, k] = above[g, k] - here
                giver[j, k] = g
    for k in range(n_clusters):
        stale[k] = False


@kernel()
def _shift_along(arc, giver, counts, empty, potential, labels, stale):
    """Fill one cluster along the shortest path from one that has a group to spare.

    Dijkstra from `empty` backwards; `potential` keeps reduced costs from being negative. Changes
    `labels`, `counts`, `potential`, `stale`. Returns the length of the path, infinite if there is
    none. O(K^2).
    """
    n = len(arc)
    away, following = np.empty(n), np.empty(n, np.int64)
    done = np.zeros(n, np.bool_)
    for k in range(n):
        away[k] = np.inf
        following[k] = -1
    away[empty] = 0.0
    for _ in range(n):
        k = -1
        for j in range(n):
            if not done[j] and away[j] < np.inf and (k < 0 or away[j] < away[k]):
                k = j
        if k < 0:
            break
        done[k] = True
        for j in range(n):
            if not done[j] and arc[j, k] < np.inf:
                reduced = max(0.0, arc[j, k] + potential[k] - potential[j])
                if away[k] + reduced < away[j]:
                    away[j] = away[k] + reduced
                    following[j] = k
    donor = -1
    for j in range(n):
        if counts[j] < 2 or away[j] == np.inf:
            continue
        if donor < 0 or away[j] + potential[j] < away[donor] + potential[donor]:
            donor = j
    if donor < 0:
        return np.inf
    reach = max(0.0, away[donor] + potential[donor] - potential[n])
    length, k = 0.0, donor
    while k != empty:
        to = following[k]
        length += arc[k, to]
        labels[giver[k, to]] = to
        stale[k] = stale[to] = True
        k = to
    counts[donor] -= 1
    counts[empty] += 1
    for j in range(n):
        potential[j] += min(away[j], reach)
    potential[n] += reach
    return length
