"""The exact assignment, steps 1 to 5, compiled: everything but dense cores and branching.

On the instances of the paper's first set this is all that ever runs.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.active_set import grow_active, nearest_labels, solve_active
from smdeclust.assignment.cover import count_groups, cover
from smdeclust.assignment.distances import linked_costs, nearest_centers, transposed
from smdeclust.assignment.status import SOLVED
from smdeclust.kernels import kernel


@kernel()
def relax(costs, indptr, indices, active, fresh, nearest, labels, regret, component_of):
    """Label the linked groups optimally, empty clusters allowed (steps 2 to 4).

    `active` may hold groups from an earlier call with the same costs. Writes all the rest.
    """
    nearest_labels(costs, active, labels, nearest)
    pending = False
    for g in range(len(costs)):
        fresh[g] = active[g]
        pending |= active[g]
    while grow_active(labels, indptr, indices, active, fresh) > 0 or pending:
        pending = False
        status = solve_active(
            costs, indptr, indices, active, fresh, nearest, labels, regret, component_of
        )
        if status != SOLVED:
            return status
    return SOLVED


@kernel()
def assign_easy(points, weights, indptr, indices, centers, spare, labels):
    """Label all groups optimally for these centers, no cluster empty.

    `spare` counts, for each cluster, groups elsewhere that fill it already (zeros, usually).
    Writes `labels`. Returns (status, cost); with a status other than SOLVED the labels mean
    nothing and the general solver must take over.
    """
    n_linked = len(indptr) - 1
    n_clusters = len(centers)
    centers_t = transposed(centers)
    costs = np.empty((n_linked, n_clusters))
    nearest = np.empty(n_linked)
    active = np.zeros(n_linked, np.bool_)
    fresh = np.zeros(n_linked, np.bool_)
    regret = np.empty(n_linked)
    component_of = np.empty(n_linked, np.int64)
    counts = np.empty(n_clusters, np.int64)
    linked_costs(points, weights, n_linked, centers, centers_t, costs)
    while True:
        cost = nearest_centers(points, weights, n_linked, centers, centers_t, labels)
        status = relax(costs, indptr, indices, active, fresh, nearest, labels, regret, component_of)
        if status != SOLVED:
            return status, np.inf
        for g in range(n_linked):
            cost += costs[g, labels[g]]
        if count_groups(labels, weights, spare, counts) == 0:
            return SOLVED, cost
        status, extra, _, _ = cover(
            points, weights, centers, centers_t, costs, active, nearest, regret, labels, counts
        )
        if status != SOLVED:
            return status, np.inf
        if grow_active(labels, indptr, indices, active, fresh) == 0:
            return SOLVED, cost + extra
        # A moved group met a cannot-link: the active set has grown, and all is done anew.
