"""Feasible labels of a hard core: regret and saturation order, tabu repair, Kempe chains.

Two orders are tried. By regret: the node that loses most if denied its cheapest available label
goes first; cheap and usually enough. By saturation (DSATUR): the node with the fewest available
labels goes first, regret breaks ties; safer where the number of labels is tight. Where both run
into a node without label, a min-conflicts tabu search (TabuCol) repairs the complete labeling.
Pairs that may be broken raise or lower the costs of their neighbors' labels, no more.

Labels that are feasible are then made cheaper by Kempe chains. Swapping the two labels on a
connected component of the subgraph of two labels keeps a labeling feasible, whatever the graph; a
chain of one node is the usual relabeling. Only hard pairs make chains; a pair that may be broken
adds to what a swap costs.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.cores.instance import FloatArray, Graph, IntArray
from smdeclust.kernels import kernel
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

    Who is next is the winner of a tournament, of which one match a level is played again when a
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
                a, b = winner[2 * i], winner[2 * i + 1]
                winner[i] = a if _goes_before(a, b, done, count, regret, by_saturation) else b
                i //= 2
    return labels, stuck


def is_feasible(labels: IntArray, costs: FloatArray, graph: Graph) -> bool:
    """Whether `labels` uses finite costs only and breaks no hard pair."""
    n, n_labels = costs.shape
    if labels.shape != (n,) or (n and (labels.min() < 0 or labels.max() >= n_labels)):
        return False
    if not np.isfinite(costs[np.arange(n), labels]).all():
        return False
    indptr, indices, price, _ = graph
    same = np.repeat(labels, np.diff(indptr)) == labels[indices]
    return not (same if len(price) == 0 else same & np.isinf(price)).any()


def construct(
    costs: FloatArray,
    graph: Graph,
    *,
    descent: bool = True,
    max_repair_moves: int = MOST_MOVES,
    budget: Budget | None = None,
) -> IntArray | None:
    """Build a strong feasible labeling in milliseconds, or None (which proves nothing).

    Tabu repair where the orders alone fail; `descent` finishes with `swap_chains`.
    """
    budget = Budget() if budget is None else budget
    best: IntArray | None = None
    best_cost = np.inf
    rows = np.arange(len(costs))
    for by_saturation in (False, True):
        labels, stuck = greedy_labels(costs, graph, by_saturation)
        if stuck:
            continue
        cost = float(costs[rows, labels].sum())
        if cost < best_cost:
            best, best_cost = labels, cost
    if best is None:
        stuck_nodes = labels < 0
        if not np.isfinite(costs[stuck_nodes]).any(axis=1).all():
            return None
        labels[stuck_nodes] = costs[stuck_nodes].argmin(axis=1)
        if not tabu_repair(costs, graph, labels, max_repair_moves, budget.deadline):
            return None
        best = labels
    if descent:
        best = swap_chains(costs, graph, best, budget)
    return best


#: Edges walked between two looks at the clock, and in all: so many times the size of the problem.
VISITS_AT_ONCE, MOST_VISITS = 10_000_000, 200


@kernel()
def soft_change(graph, labels, v, source, target, stamp, mark):
    """What the soft pairs of v cost more if v goes from `source` to `target`; those with nodes of
    the same chain (marked) stay as they are, whichever way the chain is swapped."""
    indptr, indices, price, together = graph
    change = 0.0
    for j in range(indptr[v], indptr[v + 1]):
        w = indices[j]
        if price[j] == np.inf or mark[w] == stamp:
            continue
        if labels[w] == target:
            change += -price[j] if together[j] else price[j]
        elif labels[w] == source:
            change += price[j] if together[j] else -price[j]
    return change


@kernel()
def _chain(costs, graph, labels, start, target, stamp, mark, members):
    """Walk the chain of `start` towards `target`: members OUT, mark OUT.

    Returns its size, the edges walked, and what its swap would change.
    """
    indptr, indices, price, _ = graph
    source = labels[start]
    members[0] = start
    size = 1
    mark[start] = stamp
    change = costs[start, target] - costs[start, source]
    i = walked = 0
    while i < size:
        u = members[i]
        i += 1
        walked += indptr[u + 1] - indptr[u]
        wanted = target if labels[u] == source else source
        for j in range(indptr[u], indptr[u + 1]):
            w = indices[j]
            if labels[w] != wanted or mark[w] == stamp:
                continue
            if len(price) > 0 and price[j] < np.inf:
                continue
            mark[w] = stamp
            members[size] = w
            size += 1
            if wanted == target:
                change += costs[w, source] - costs[w, target]
            else:
                change += costs[w, target] - costs[w, source]
    if len(price) > 0:
        for i in range(size):
            u = members[i]
            other = target if labels[u] == source else source
            change += soft_change(graph, labels, u, labels[u], other, stamp, mark)
    return size, walked, change


@kernel()
def _descend(costs, graph, labels, tolerance, mark, members, state, visits):
    """Swap improving chains until none is left or so many edges were walked; `labels` changes.

    `state` holds where the walk stands (node, nodes since the last swap, stamp) and is changed.
    Returns the number of visits.
    """
    n, n_labels = costs.shape
    soft = len(graph[2]) > 0
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
            if soft:
                gain = max(gain, gain - soft_change(graph, labels, v, source, target, -1, mark))
            if gain <= 0.0:
                continue
            state[2] += 1
            size, walked, change = _chain(costs, graph, labels, v, target, state[2], mark, members)
            visited += walked
            if change < -tolerance:
                for i in range(size):
                    u = members[i]
                    labels[u] = target if labels[u] == source else source
                state[1] = 0
        state[0] = v + 1 if v + 1 < n else 0
    return visited


def swap_chains(
    costs: FloatArray, graph: Graph, labels: IntArray, budget: Budget | None = None
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
    left = MOST_VISITS * (costs.size + len(graph[1]))
    while state[1] < n and left > 0:
        left -= _descend(costs, graph, labels, tolerance, mark, members, state, VISITS_AT_ONCE)
        if budget is not None and budget.time_left() == 0.0:
            break
    return labels
