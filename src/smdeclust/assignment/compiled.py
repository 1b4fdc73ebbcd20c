"""The exact assignment as far as the compiled local search takes it: no cycles, nothing to fill.

Differences are squared directly, never expanded to ``|x|^2 - 2xy + |y|^2``: nothing cancels.
"""

import numpy as np

from smdeclust.assignment.active_set import broken_price, nearest_labels, separate
from smdeclust.assignment.cycles import solve_cycles
from smdeclust.assignment.status import HARD, SOLVED
from smdeclust.kernels import kernel, summing_kernel
from smdeclust.points.lanes import LANES, two_squares
from smdeclust.problem import Contracted


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
            two_squares(lanes[b], wide, k, rows[k], rows[k + 1])
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
def cost_of(weights, graph, work, labels):
    """What the labels cost, from what an assignment has left in its work space."""
    _, _, squares, costs, _, flags, _ = work
    cost = broken_price(labels, graph)
    for g in range(len(costs)):
        cost += costs[g, labels[g]] if flags[0, g] else weights[g] * squares[g]
    for g in range(len(costs), len(labels)):
        cost += weights[g] * squares[g]
    return cost


@summing_kernel()
def separate_linked(weights, graph, work, labels):
    """Go on from nearest centers to the optimal labels; clusters may stay empty.

    Changes `labels`. Returns (status, cost). HARD: components with cycles are left.
    """
    _, table, _, costs, folded, flags, numbers = work
    n_linked = len(costs)
    for g in range(n_linked):
        flags[0, g] = flags[1, g] = False
    status = separate(costs, table, weights, graph, flags, numbers, folded, labels)
    if status != SOLVED:
        return status, np.inf
    return SOLVED, cost_of(weights, graph, work, labels)


@summing_kernel()
def reply_linked(weights, graph, work, labels, found):
    """Good labels where the optimal ones take long: feasible ones, improved group by group.

    `labels` keep the hard pairs, and so do those written to `found`: each linked group takes, in
    turn and twice, the cheapest label that its neighbors leave it; free groups keep their nearest
    center. Returns what they cost.
    """
    indptr, indices, price, together = graph
    _, table, squares, costs, _, _, _ = work
    n_linked, n_clusters = costs.shape
    height = n_clusters + n_clusters % 2
    own = np.empty(n_clusters)
    for g in range(n_linked):
        found[g] = labels[g]
    cost = 0.0
    for turn in range(2):
        for g in range(n_linked):
            for k in range(n_clusters):
                own[k] = weights[g] * table[g // LANES * height + k, g % LANES]
            for e in range(indptr[g], indptr[g + 1]):
                taken = found[indices[e]]
                if len(price) == 0:
                    own[taken] = np.inf
                elif not together[e]:
                    own[taken] += price[e]
                else:
                    for k in range(n_clusters):
                        own[k] += 0.0 if k == taken else price[e]
            best = found[g]
            for k in range(n_clusters):
                if own[k] < own[best]:
                    best = k
            found[g] = best
            if turn == 1:
                cost += weights[g] * table[g // LANES * height + best, g % LANES]
    for g in range(n_linked, len(found)):
        cost += weights[g] * squares[g]
    return cost + broken_price(found, graph)


def assign_compiled(
    contracted: Contracted, centers: np.ndarray
) -> tuple[int, np.ndarray, float, tuple[np.ndarray, np.ndarray] | None]:
    """Optimal labels for these centers, clusters may stay empty, but for dense cores.

    Returns the status, (G,) labels and their cost; where it is HARD, also what has `begun`: the
    labels and flags of the linked groups, of which those that are still fresh mean nothing yet.
    """
    (lanes, weights), graph = contracted.lanes, contracted.graph.arrays
    labels = np.empty(len(weights), dtype=np.int64)
    work = work_space(lanes, contracted.n_linked, len(centers), 1)
    find_nearest(lanes, 0, 1, centers, work, labels)
    status, cost = separate_linked(weights, graph, work, labels)
    _, table, _, costs, folded, flags, numbers = work
    while status == HARD:
        status = solve_cycles(costs, graph, flags, numbers, folded, labels)
        if status != SOLVED:
            break
        status = separate(costs, table, weights, graph, flags, numbers, folded, labels)
        if status == SOLVED:
            cost = float(cost_of(weights, graph, work, labels))
    begun = (labels[: contracted.n_linked], flags) if status == HARD else None
    return status, labels[: len(contracted.points)], cost, begun


@kernel()
def assign_tables(tables, graph, labels, statuses):
    """Label the linked groups at the least cost, table by table; clusters may stay empty.

    Writes `labels` and `statuses` of each; with another than SOLVED the complete assignment must
    take over.
    """
    _, n_linked, n_clusters = tables.shape
    nearest = np.empty(n_linked)
    folded = np.empty((n_linked, n_clusters))
    flags = np.empty((3, n_linked), np.bool_)
    numbers = np.empty((5, n_linked), np.int64)
    no_table, no_weights = np.empty((0, 0)), np.empty(0)
    for s in range(len(tables)):
        for g in range(n_linked):
            flags[0, g] = flags[1, g] = False
        nearest_labels(tables[s], n_linked, flags[0], labels[s], nearest)
        statuses[s] = separate(
            tables[s], no_table, no_weights, graph, flags, numbers, folded, labels[s]
        )
