"""The exact assignment as far as it goes in compiled code: no cycles, no empty clusters to fill.

On the instances of the paper's first set that is all but one assignment in two hundred; for the
others the general solver takes over.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.active_set import keep_apart
from smdeclust.assignment.distances import nearest_in_lanes
from smdeclust.assignment.status import SOLVED
from smdeclust.kernels import kernel, summing_kernel
from smdeclust.problem.lanes import LANES


@kernel()
def work_space(lanes, n_linked, n_clusters, n_threads):
    """Everything that `assign_easy` writes to besides labels; may be used again and again.

    Its first array is for the centers, as wide as the lanes.
    """
    n_kept = (n_linked + LANES - 1) // LANES  # blocks whose distances are kept
    wide = np.empty((n_clusters, lanes.shape[1]))
    table = np.empty(((n_kept + n_threads) * n_clusters, LANES))
    squares = np.empty(len(lanes) * LANES)
    costs = np.empty((n_linked, n_clusters))
    folded = np.empty((n_linked, n_clusters))
    flags = np.empty((3, n_linked), np.bool_)
    numbers = np.empty((5, n_linked), np.int64)
    return wide, table, squares, costs, folded, flags, numbers


@kernel()
def find_nearest(lanes, part, n_parts, work, labels):
    """The nearest center of every group in one part of the blocks; parts may run at once."""
    wide, table, squares, costs = work[0], work[1], work[2], work[3]
    n_clusters, n_blocks = len(wide), len(lanes)
    n_kept = (len(costs) + LANES - 1) // LANES
    nearest_in_lanes(
        lanes, part * n_blocks // n_parts, (part + 1) * n_blocks // n_parts, wide, table, n_kept,
        (n_kept + part) * n_clusters, labels, squares,
    )  # fmt: skip


@summing_kernel()
def part_linked(weights, indptr, indices, work, labels):
    """Go on from nearest centers to the optimal labels; clusters may stay empty.

    Changes `labels`. Returns (status, cost); with a status other than SOLVED they mean nothing.
    """
    _, table, squares, costs, folded, flags, numbers = work
    n_linked, n_clusters = costs.shape
    for g in range(n_linked):
        for k in range(n_clusters):
            costs[g, k] = weights[g] * table[g // LANES * n_clusters + k, g % LANES]
    status = keep_apart(costs, indptr, indices, flags, numbers, folded, labels)
    if status != SOLVED:
        return status, np.inf
    cost = 0.0
    for g in range(n_linked):
        cost += costs[g, labels[g]]
    for g in range(n_linked, len(labels)):
        cost += weights[g] * squares[g]
    return SOLVED, cost


@kernel()
def assign_easy(lanes, weights, indptr, indices, centers, work, labels):
    """Label all groups optimally for these centers; clusters may stay empty.

    `lanes` and `weights` are filled up to whole blocks, and `labels` has as many entries. Returns
    (status, cost); with a status other than SOLVED the labels mean nothing.
    """
    wide = work[0]
    for k in range(len(wide)):
        for j in range(wide.shape[1]):
            wide[k, j] = centers[k, j] if j < centers.shape[1] else 0.0
    find_nearest(lanes, 0, 1, work, labels)
    return part_linked(weights, indptr, indices, work, labels)
