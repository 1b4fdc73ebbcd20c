"""A first feasible labeling: regret and saturation order, then repair by tabu search.

Two orders are tried. By regret: the node that loses most if denied its cheapest available label
goes first; cheap and usually enough. By saturation (DSATUR): the node with the fewest available
labels goes first, regret breaks ties; safer where the number of labels is tight. Where both run
into a node without label, a min-conflicts tabu search (TabuCol) repairs the complete labeling.
Pairs that may be broken raise or lower the costs of their neighbors' labels, no more.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.dense.improve import swap_chains
from smdeclust.assignment.dense.types import FloatArray, Graph, IntArray
from smdeclust.kernels import kernel
from smdeclust.structure.coloring import MOVES_AT_ONCE, count_conflicts, tabu_moves

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


def tabu_repair(
    costs: FloatArray, graph: Graph, labels: IntArray, max_moves: int, budget: Budget
) -> bool:
    """Remove the conflicts of `labels` (changed in place) by TabuCol; True when none is left."""
    conflicts = np.zeros(costs.shape, np.int64)
    tabu_until = np.zeros(costs.shape, np.int64)
    crowd, place = np.empty(len(costs), np.int64), np.empty(len(costs), np.int64)
    size, best = count_conflicts(graph, labels, conflicts, crowd, place), 1 << 60
    for begin in range(0, max_moves, MOVES_AT_ONCE):
        if size == 0 or budget.time_left() == 0.0:
            break
        size, best = tabu_moves(
            costs, graph, labels, conflicts, crowd, size, place, tabu_until, begin,
            min(begin + MOVES_AT_ONCE, max_moves), best,
        )  # fmt: skip
    return bool(size == 0) and bool(np.isfinite(costs[np.arange(len(costs)), labels]).all())


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
    """Build a strong feasible labeling in milliseconds.

    Parameters
    ----------
    costs
        Cost of every (node, label), shape (n, K); infinity forbids.
    graph
        The arrays of the pair graph.
    descent
        Whether to finish with `swap_chains`.
    max_repair_moves
        Moves of the tabu repair, where the orders alone fail.
    budget
        When to stop the repair and the descent.

    Returns
    -------
    Labels, or None where no feasible ones were found (which proves nothing).
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
        if not tabu_repair(costs, graph, labels, max_repair_moves, budget):
            return None
        best = labels
    if descent:
        best = swap_chains(costs, graph, best, budget)
    return best
