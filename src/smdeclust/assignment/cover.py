"""Step 5 of the exact assignment: no empty cluster.

Every cluster needs a representative of its own. Where groups do not influence each other, that is
a matching of clusters to groups by regret, found by one shortest path per empty cluster: along it
each cluster gives a group to the next, and the first one has a group to spare. An active group
counts with a lower bound of what moving it would cost its component; if the matching moves one,
the caller must branch on it, else the answer is optimal.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.components import find_component
from smdeclust.assignment.distances import squared_distances
from smdeclust.assignment.status import BRANCH, INFEASIBLE, SOLVED
from smdeclust.kernels import kernel


def count_groups(labels: np.ndarray, weights: np.ndarray, spare: np.ndarray) -> np.ndarray:
    """Return how many groups of positive weight each cluster has.

    `spare` counts groups that are not among these but fill clusters all the same.
    """
    return np.bincount(labels[weights > 0], minlength=len(spare)) + spare


@kernel()
def regrets(costs, indptr, indices, active, nearest, labels, numbers, regret):
    """Write, at each active group, what its component of the active set costs above nearest.

    `numbers` (5, n) is work space; its last row names the component of each group afterwards.
    """
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
        for v in numbers[0, :size]:
            regret[v] = total
            numbers[4, v] = root


@kernel()
def cover(points, weights, centers, centers_t, costs, active, nearest, regret, labels, counts):
    """Fill empty clusters at the least extra cost.

    Changes `labels` and `counts`. Returns (status, extra, group, cluster): BRANCH names an active
    group that was moved and its new cluster, `extra` is then a lower bound only.
    """
    n_clusters = len(centers)
    arc = np.empty((n_clusters, n_clusters))
    giver = np.empty((n_clusters, n_clusters), np.int64)
    stale = np.empty(n_clusters, np.bool_)
    for k in range(n_clusters):
        stale[k] = True
    away = np.empty(n_clusters)
    following = np.empty(n_clusters, np.int64)
    extra = 0.0
    branch_group, branch_cluster = -1, -1
    start = np.empty(len(costs), np.int64)
    for g in range(len(costs)):
        start[g] = labels[g]
    for empty in range(n_clusters):
        if counts[empty] > 0:
            continue
        _refresh_arcs(
            points, weights, centers, centers_t, costs, active, nearest, regret, labels,
            stale, arc, giver,
        )  # fmt: skip
        donor = _shortest_path(arc, counts, empty, away, following)
        if donor < 0:
            return INFEASIBLE, np.inf, -1, -1
        extra += away[donor]
        k = donor
        while k != empty:
            g, to = giver[k, following[k]], following[k]
            labels[g] = to
            stale[k] = stale[to] = True
            k = to
        counts[donor] -= 1
        counts[empty] += 1
    for g in range(len(costs)):
        if labels[g] != start[g] and active[g] and branch_group < 0:
            branch_group, branch_cluster = g, labels[g]
    status = SOLVED if branch_group < 0 else BRANCH
    return status, extra, branch_group, branch_cluster


@kernel()
def _refresh_arcs(
    points, weights, centers, centers_t, costs, active, nearest, regret, labels, stale, arc, giver
):
    """arc[j, k]: least cost at which some group now in j moves to k, `giver` that group."""
    n_linked, n_clusters = costs.shape
    for j in range(n_clusters):
        if stale[j]:
            for k in range(n_clusters):
                arc[j, k] = np.inf
                giver[j, k] = -1
    row = np.empty(n_clusters)
    for g in range(len(labels)):
        j = labels[g]
        if not stale[j] or weights[g] <= 0:
            continue
        if g < n_linked:
            for k in range(n_clusters):
                row[k] = costs[g, k]
                if active[g]:
                    row[k] = max(0.0, row[k] - nearest[g] - regret[g])
        else:
            squared_distances(points[g], centers, centers_t, row)
            for k in range(n_clusters):
                row[k] *= weights[g]
        here = row[j]
        for k in range(n_clusters):
            if k != j and row[k] - here < arc[j, k]:
                arc[j, k] = row[k] - here
                giver[j, k] = g
    for k in range(n_clusters):
        stale[k] = False


@kernel()
def _shortest_path(arc, counts, empty, away, following):
    """Bellman-Ford from `empty` backwards; returns the cluster with groups to spare that is
    nearest, or -1. Writes `away` and the next cluster on the way, `following`."""
    n = len(arc)
    for k in range(n):
        away[k] = np.inf
        following[k] = -1
    away[empty] = 0.0
    largest = 0.0
    for j in range(n):
        for k in range(n):
            if arc[j, k] < np.inf:
                largest = max(largest, abs(arc[j, k]))
    slack = 1e-14 * largest  # rounding must not make a cycle look profitable
    for _ in range(n):
        improved = False
        for k in range(n):
            if away[k] == np.inf:
                continue
            for j in range(n):
                if j != empty and arc[j, k] + away[k] < away[j] - slack:
                    away[j] = arc[j, k] + away[k]
                    following[j] = k
                    improved = True
        if not improved:
            break
    donor = -1
    for j in range(n):
        if counts[j] >= 2 and away[j] < np.inf and (donor < 0 or away[j] < away[donor]):
            donor = j
    return donor
