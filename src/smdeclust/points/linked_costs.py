"""The exact assignment of linked groups from a table of costs that a device sends."""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.active_set import grow_active, nearest_labels, solve_active
from smdeclust.assignment.status import SOLVED
from smdeclust.kernels import kernel


@kernel()
def assign_by_costs(table, weights, indptr, indices, labels):
    """Label the linked groups at the least cost; clusters may stay empty.

    `table` holds the squared distances up to a constant a group, in single precision. Writes
    `labels`. Returns a status; with another than SOLVED the general solver must take over.
    """
    n_linked, n_clusters = table.shape
    costs = np.empty((n_linked, n_clusters))
    for g in range(n_linked):
        least = table[g, 0]
        for k in range(1, n_clusters):
            least = min(least, table[g, k])
        for k in range(n_clusters):
            costs[g, k] = weights[g] * (np.float64(table[g, k]) - least)
    nearest = np.empty(n_linked)
    folded = np.empty((n_linked, n_clusters))
    flags = np.zeros((3, n_linked), np.bool_)
    numbers = np.empty((5, n_linked), np.int64)
    active, fresh, seen = flags[0], flags[1], flags[2]
    nearest_labels(costs, active, labels, nearest)
    status = SOLVED
    while status == SOLVED and grow_active(labels, indptr, indices, active, fresh) > 0:
        status = solve_active(costs, indptr, indices, active, fresh, seen, numbers, folded, labels)
    return status


@kernel()
def assign_all_by_costs(tables, weights, indptr, indices, labels, statuses):
    """The same for several tables, one after the other: writes `labels` and `statuses` of each."""
    for s in range(len(tables)):
        statuses[s] = assign_by_costs(tables[s], weights, indptr, indices, labels[s])
