"""The exact assignment as far as it goes in compiled code: no cycles, no empty clusters to fill.

On the instances of the paper's first set that is all but one assignment in two hundred; for the
others the general solver takes over.

Differences are squared directly, never expanded to ``|x|^2 - 2xy + |y|^2``: nothing cancels.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.active_set import keep_apart
from smdeclust.assignment.status import SOLVED
from smdeclust.kernels import kernel, summing_kernel
from smdeclust.problem.lanes import AT_ONCE, LANES


@kernel()
def work_space(lanes, n_linked, n_clusters, n_parts):
    """Everything that an assignment writes to besides labels; may be used again and again."""
    n_kept = (n_linked + LANES - 1) // LANES  # blocks whose distances are kept
    wide = np.empty((n_parts * n_clusters, lanes.shape[1]))
    table = np.empty(((n_kept + n_parts) * n_clusters, LANES))
    squares = np.empty(len(lanes) * LANES)
    costs = np.empty((n_linked, n_clusters))
    folded = np.empty((n_linked, n_clusters))
    flags = np.empty((3, n_linked), np.bool_)
    numbers = np.empty((5, n_linked), np.int64)
    return wide, table, squares, costs, folded, flags, numbers


@summing_kernel()
def find_nearest(lanes, part, n_parts, centers, work, labels):
    """Label the groups of one part of the blocks by their nearest center. O(G K d).

    The first of equals wins. Parts may run at once. The distances of blocks that hold linked groups
    are kept. `lanes` are filled up to whole blocks, and `labels` has as many entries.
    """
    n_clusters, n_blocks = len(centers), len(lanes)
    table, squares = work[1], work[2]
    wide = work[0][part * n_clusters :]
    for k in range(n_clusters):
        for j in range(lanes.shape[1]):
            wide[k, j] = centers[k, j] if j < centers.shape[1] else 0.0
    n_kept = (len(work[3]) + LANES - 1) // LANES
    for b in range(part * n_blocks // n_parts, (part + 1) * n_blocks // n_parts):
        # Views: offsets whose sign the compiler cannot see would keep it from vector code.
        rows = table[(b if b < n_kept else n_kept + part) * n_clusters :]
        nearest, least = labels[b * LANES :], squares[b * LANES :]
        for k in range(n_clusters):
            row = rows[k]
            for i in range(LANES):
                row[i] = 0.0
            for j in range(0, lanes.shape[1], AT_ONCE):
                x0, x1, x2, x3 = lanes[b, j], lanes[b, j + 1], lanes[b, j + 2], lanes[b, j + 3]
                y0, y1, y2, y3 = wide[k, j], wide[k, j + 1], wide[k, j + 2], wide[k, j + 3]
                for i in range(LANES):
                    gap0, gap1, gap2, gap3 = x0[i] - y0, x1[i] - y1, x2[i] - y2, x3[i] - y3
                    row[i] += (gap0 * gap0 + gap1 * gap1) + (gap2 * gap2 + gap3 * gap3)
        for i in range(LANES):
            nearest[i] = 0
            least[i] = rows[0, i]
        for k in range(1, n_clusters):
            row = rows[k]
            for i in range(LANES):
                if row[i] < least[i]:
                    nearest[i] = k
                    least[i] = row[i]


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
