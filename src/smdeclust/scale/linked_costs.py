"""The exact assignment of linked groups from a table of costs that a device sends."""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.easy import relax
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
    active = np.zeros(n_linked, np.bool_)
    fresh = np.zeros(n_linked, np.bool_)
    regret = np.empty(n_linked)
    component_of = np.empty(n_linked, np.int64)
    return relax(costs, indptr, indices, active, fresh, nearest, labels, regret, component_of)


@kernel()
def assign_all_by_costs(tables, weights, indptr, indices, labels, statuses):
    """The same for several tables, one after the other: writes `labels` and `statuses` of each."""
    for s in range(len(tables)):
        statuses[s] = assign_by_costs(tables[s], weights, indptr, indices, labels[s])
