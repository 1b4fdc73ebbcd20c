"""The exact assignment of linked groups from a table of costs that a device sends."""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.active_set import keep_apart, nearest_labels
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
    nearest_labels(costs, flags[0], labels, nearest)
    return keep_apart(costs, indptr, indices, flags, numbers, folded, labels)


@kernel()
def assign_all_by_costs(tables, weights, indptr, indices, labels, statuses):
    """The same for several tables, one after the other: writes `labels` and `statuses` of each."""
    for s in range(len(tables)):
        statuses[s] = assign_by_costs(tables[s], weights, indptr, indices, labels[s])
