"""The exact assignment as far as it goes in compiled code: no dense cores, nothing to fill.

Nearest centers and trees are what the compiled local search does in one go. Cycles are compiled on
their own, when they are first met.

Differences are squared directly, never expanded to ``|x|^2 - 2xy + |y|^2``: nothing cancels.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.active_set import grow_active, solve_active
from smdeclust.assignment.components import find_component
from smdeclust.assignment.elimination import solve_cyclic
from smdeclust.assignment.status import HARD, SOLVED
from smdeclust.kernels import kernel, summing_kernel
from smdeclust.points.lanes import AT_ONCE, LANES
from smdeclust.problem import Core


@kernel()
def work_space(lanes, n_linked, n_clusters, n_parts):
    """Everything that an assignment writes to besides labels; may be used again and again."""
    n_kept = (n_linked + LANES - 1) // LANES  # blocks whose distances are kept
    height = n_clusters + n_clusters % 2  # centers go by twos
    wide = np.empty((n_parts * height, lanes.shape[1]))
    table = np.empty(((n_kept + n_parts) * height, LANES))
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
    height = n_clusters + n_clusters % 2
    table, squares = work[1], work[2]
    wide = work[0][part * height :]
    for k in range(height):
        for j in range(lanes.shape[1]):
            wide[k, j] = centers[k, j] if k < n_clusters and j < centers.shape[1] else 0.0
    n_kept = (len(work[3]) + LANES - 1) // LANES
    for b in range(part * n_blocks // n_parts, (part + 1) * n_blocks // n_parts):
        # Views: offsets whose sign the compiler cannot see would keep it from vector code.
        rows = table[(b if b < n_kept else n_kept + part) * height :]
        nearest, least = labels[b * LANES :], squares[b * LANES :]
        for k in range(0, n_clusters, 2):
            here, there = rows[k], rows[k + 1]
            for i in range(LANES):
                here[i] = 0.0
                there[i] = 0.0
            for j in range(0, lanes.shape[1], AT_ONCE):
                x0, x1, x2, x3 = lanes[b, j], lanes[b, j + 1], lanes[b, j + 2], lanes[b, j + 3]
                y0, y1, y2, y3 = wide[k, j], wide[k, j + 1], wide[k, j + 2], wide[k, j + 3]
                z0, z1, z2, z3 = (
                    wide[k + 1, j], wide[k + 1, j + 1], wide[k + 1, j + 2], wide[k + 1, j + 3],
                )  # fmt: skip
                for i in range(LANES):
                    a0, a1, a2, a3 = x0[i] - y0, x1[i] - y1, x2[i] - y2, x3[i] - y3
                    b0, b1, b2, b3 = x0[i] - z0, x1[i] - z1, x2[i] - z2, x3[i] - z3
                    here[i] += (a0 * a0 + a1 * a1) + (a2 * a2 + a3 * a3)
                    there[i] += (b0 * b0 + b1 * b1) + (b2 * b2 + b3 * b3)
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
def separate_linked(weights, indptr, indices, work, labels, resume):
    """Go on from nearest centers to the optimal labels; clusters may stay empty.

    Changes `labels`. Returns (status, cost). HARD: components with cycles are left, and are the
    only fresh ones; when these have been labelled as well, the call can be repeated to `resume`.
    """
    _, table, squares, costs, folded, flags, numbers = work
    n_linked, n_clusters = costs.shape
    height = n_clusters + n_clusters % 2
    active, fresh, seen = flags[0], flags[1], flags[2]
    if not resume:
        for g in range(n_linked):
            active[g] = fresh[g] = False
    while grow_active(labels, indptr, indices, active, fresh) > 0:
        for g in range(n_linked):
            if fresh[g]:
                for k in range(n_clusters):
                    costs[g, k] = weights[g] * table[g // LANES * height + k, g % LANES]
        status = solve_active(costs, indptr, indices, active, fresh, seen, numbers, folded, labels)
        if status != SOLVED:
            return status, np.inf
    cost = 0.0
    for g in range(len(labels)):
        if g < n_linked and active[g]:
            cost += costs[g, labels[g]]
        else:
            cost += weights[g] * squares[g]
    return SOLVED, cost


@kernel()
def solve_cycles(indptr, indices, work, labels):
    """Label the fresh components, whatever cycles they have; HARD if one of them is too dense."""
    costs, folded, numbers = work[3], work[4], work[6]
    active, fresh, seen = work[5][0], work[5][1], work[5][2]
    alive = np.zeros(len(costs), np.bool_)
    for v in range(len(costs)):
        seen[v] = False
    for root in range(len(costs)):
        if not fresh[root] or seen[root]:
            continue
        size, _, _ = find_component(
            root, indptr, indices, active, seen, numbers[1], numbers[2], numbers[0]
        )
        nodes = numbers[0, :size]
        status = solve_cyclic(nodes, costs, indptr, indices, alive, folded, numbers, labels)
        if status != SOLVED:
            return status
        for v in nodes:
            fresh[v] = False
    return SOLVED


def assign_easily(core: Core, centers: np.ndarray) -> tuple[int, np.ndarray, float]:
    """Optimal labels for these centers, clusters may stay empty, but for dense cores.

    Returns the status, (G,) labels and their cost; with another status than SOLVED these mean
    nothing.
    """
    weights, graph = core.lane_weights, (core.indptr, core.indices)
    labels = np.empty(len(weights), dtype=np.int64)
    work = work_space(core.lanes, core.n_linked, len(centers), 1)
    find_nearest(core.lanes, 0, 1, centers, work, labels)
    status, cost = separate_linked(weights, *graph, work, labels, False)
    while status == HARD and solve_cycles(*graph, work, labels) == SOLVED:
        status, cost = separate_linked(weights, *graph, work, labels, True)
    return status, labels[: len(core.points)], cost
