"""Many tables of costs at once, as a device sends them: the linked groups in compiled code."""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.active_set import nearest_labels, separate
from smdeclust.kernels import kernel


@kernel()
def assign_tables(tables, weights, graph, labels, statuses):
    """Label the linked groups at the least cost, table by table; clusters may stay empty.

    `tables` hold squared distances up to a constant a group, in single precision. Writes `labels`
    and `statuses` of each; with another than SOLVED the complete assignment must take over.
    """
    _, n_linked, n_clusters = tables.shape
    costs = np.empty((n_linked, n_clusters))
    nearest = np.empty(n_linked)
    folded = np.empty((n_linked, n_clusters))
    flags = np.empty((3, n_linked), np.bool_)
    numbers = np.empty((5, n_linked), np.int64)
    no_table = np.empty((0, 0))
    for s in range(len(tables)):
        table = tables[s]
        for g in range(n_linked):
            least = table[g, 0]
            for k in range(1, n_clusters):
                least = min(least, table[g, k])
            for k in range(n_clusters):
                costs[g, k] = weights[g] * (np.float64(table[g, k]) - least)
            flags[0, g] = flags[1, g] = False
        nearest_labels(costs, n_linked, flags[0], labels[s], nearest)
        statuses[s] = separate(costs, no_table, weights, graph, flags, numbers, folded, labels[s])
