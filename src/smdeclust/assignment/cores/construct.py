"""Feasible labels of a hard core: regret and saturation order, tabu repair, Kempe chains.

Two orders are tried. By regret: the node that loses most if denied its cheapest available label
goes first; usually enough. Else by saturation (DSATUR): the node with the fewest available labels
goes first, regret breaks ties; safer where the number of labels is tight. Where both run into a
node without label, a min-conflicts tabu search (TabuCol) repairs the complete labeling.
Pairs that may be broken raise or lower the costs of their neighbors' labels, no more.

Labels that are feasible are then made cheaper by Kempe chains. Swapping the two labels on a
connected component of the subgraph of two labels keeps a labeling feasible, whatever the graph; a
chain of one node is the usual relabeling. Only hard pairs make chains; a pair that may be broken
adds to what a swap costs.
"""

import numpy as np

from smdeclust.assignment.cores.instance import FloatArray, IntArray
from smdeclust.assignment.status import Budget
from smdeclust.kernels import kernel
from smdeclust.structure.coloring import kempe_chain, soft_gain
from smdeclust.structure.graph import PairGraph
from smdeclust.structure.tabu import tabu_repair

#: Moves of the tabu search.
MOST_MOVES = 100_000


@kernel()
def _goes_before(v, u, done, count, regret, by_saturation):
    """Whether node v is to be labeled before node u; -1 stands for no node."""
    if v < 0 or done[v]:
        return False
    if u < 0 or done[u]:
        return True
    if by_saturation and count[v] != count[u]:
        return count[v] < count[u]
    return regret[v] > regret[u] or (regret[v] == regret[u] and v < u)


@kernel()
def _look(v, available, count, regret):
    """Count the labels that are left to node v, and what the loss of the best would cost."""
    first, second, c = np.inf, np.inf, 0
    for k in range(available.shape[1]):
        x = available[v, k]
        if x < np.inf:
            c += 1
            if x < first:
                second = first
                first = x
            elif x < second:
                second = x
    count[v] = c
    regret[v] = second - first if c > 0 else np.inf


@kernel()
def greedy_labels(costs, graph, by_saturation):
    """Label node after node; returns the labels (-1 where stuck) and the number of stuck nodes.

    The next node is the winner of a tournament, of which one match per level is played again when a
    node has changed. O((n + edges)(K + log n)).
    """
    indptr, indices, price, together = graph
    n, n_labels = costs.shape
    available = costs.copy()
    labels = np.full(n, -1, np.int64)
    done = np.zeros(n, np.bool_)
    regret, count = np.empty(n), np.empty(n, np.int64)
    leaves = 1
    while leaves < n:
        leaves *= 2
    winner = np.full(2 * leaves, -1, np.int64)
    for v in range(n):
        _look(v, available, count, regret)
        winner[leaves + v] = v
    for i in range(leaves - 1, 0, -1):
        v, u = winner[2 * i], winner[2 * i + 1]
        winner[i] = v if _goes_before(v, u, done, count, regret, by_saturation) else u
    stuck = 0
    for _ in range(n):
        v = winner[1]
        k = 0
        for other in range(1, n_labels):
            if available[v, other] < available[v, k]:
                k = other
        done[v] = True
        if available[v, k] == np.inf:
            stuck += 1
            k = -1
        else:
            labels[v] = k
        for j in range(indptr[v] - 1, indptr[v + 1]):
            u = v if j < indptr[v] else indices[j]  # the node itself first: it has left
            if u != v:
                if done[u] or k < 0 or available[u, k] == np.inf:
                    continue
                if len(price) == 0:
                    available[u, k] = np.inf
                elif together[j]:
                    available[u, k] -= price[j]
                else:
                    available[u, k] += price[j]
                _look(u, available, count, regret)
            i = (leaves + u) // 2
            while i > 0:
                a, b, before = winner[2 * i], winner[2 * i + 1], winner[i]
                winner[i] = a if _goes_before(a, b, done, count, regret, by_saturation) else b
                if before != u and winner[i] != u:
                    break  # no match above this one has other players
                i //= 2
    return labels, stuck


def is_feasible(labels: IntArray, costs: FloatArray, graph: PairGraph) -> bool:
    """Whether `labels` uses finite costs only and breaks no hard pair."""
    n, n_labels = costs.shape
    if labels.shape != (n,) or (n and (labels.min() < 0 or labels.max() >= n_labels)):
        return False
    if not np.isfinite(costs[np.arange(n), labels]).all():
        return False
    return graph.hard_part.penalty(labels) == 0.0


def construct(
    costs: FloatArray,
    graph: PairGraph,
    *,
    descent: bool = True,
    max_repair_moves: int = MOST_MOVES,
    budget: Budget | None = None,
) -> IntArray | None:
    """Build a strong feasible labeling in milliseconds, or None (which proves nothing).

    Tabu repair where the orders alone fail; `descent` finishes with `swap_chains`.
    """
    budget = Budget() if budget is None else budget
    labels, stuck = greedy_labels(costs, graph.arrays, False)
    if stuck:
        labels, stuck = greedy_labels(costs, graph.arrays, True)
    if stuck:
        stuck_nodes = labels < 0
        if not np.isfinite(costs[stuck_nodes]).any(axis=1).all():
            return None
        labels[stuck_nodes] = costs[stuck_nodes].argmin(axis=1)
        if not tabu_repair(costs, graph.arrays, labels, max_repair_moves, budget.deadline):
            return None
    return swap_chains(costs, graph, labels, budget) if descent else labels


#: Edges walked between two looks at the clock, and in all: this many times the size of the problem.
VISITS_AT_ONCE, MOST_VISITS = 10_000_000, 200


@kernel()
def _descend(costs, indptr, indices, soft, labels, tolerance, mark, members, state, visits):
    """Swap improving chains until none is left or this many edges were walked; `labels` changes.

    Chains follow the hard pairs; `soft` are the others. `state` holds where the walk stands (node,
    nodes since the last swap, stamp) and is changed. Returns the number of visits.
    """
    n, n_labels = costs.shape
    has_soft = len(soft[1]) > 0
    visited = 0
    while state[1] < n and visited < visits:
        v = state[0]
        state[1] += 1
        visited += n_labels
        for target in range(n_labels):
            source = labels[v]
            if target == source or costs[v, target] == np.inf:
                continue
            # A chain can only pay if one of its nodes gains; walking every node's own chains
            # towards cheaper labels therefore misses none.
            gain = costs[v, source] - costs[v, target]
            if has_soft:
                members[0] = v
                alone = soft_gain(members[:1], soft, labels, source, target, mark, -1)
                gain = max(gain, gain + alone)
            if gain <= 0.0:
                continue
            state[2] += 1
            size = kempe_chain(v, target, labels, indptr, indices, mark, state[2], members)
            change = 0.0
            for u in members[:size]:
                visited += indptr[u + 1] - indptr[u]
                other = target if labels[u] == source else source
                change += costs[u, other] - costs[u, labels[u]]
            if has_soft:
                chain = members[:size]
                change -= soft_gain(chain, soft, labels, source, target, mark, state[2])
            if change < -tolerance:
                for u in members[:size]:
                    labels[u] = target if labels[u] == source else source
                state[1] = 0
        state[0] = v + 1 if v + 1 < n else 0
    return visited


def swap_chains(
    costs: FloatArray, graph: PairGraph, labels: IntArray, budget: Budget | None = None
) -> IntArray:
    """Swap Kempe chains of a feasible labeling while the cost falls; returns new labels.

    It stops at the deadline, and after a number of visits in proportion to the problem.
    """
    labels = np.array(labels, dtype=np.int64)
    n = len(labels)
    finite = np.where(np.isfinite(costs), np.abs(costs), 0.0)
    tolerance = 1e-13 * float(finite.max(axis=1, initial=0.0).sum())
    mark, members = np.zeros(n, np.int64), np.empty(n, np.int64)
    state = np.zeros(3, np.int64)
    left = MOST_VISITS * (costs.size + len(graph.indices))
    given = *graph.hard_part.arrays[:2], graph.soft_part.arrays, labels, tolerance, mark, members
    while state[1] < n and left > 0:
        left -= _descend(costs, *given, state, VISITS_AT_ONCE)
        if budget is not None and budget.time_left() == 0.0:
            break
    return labels
