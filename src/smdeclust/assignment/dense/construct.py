"""A first feasible labelling: regret and saturation order, then repair by tabu search.

Two orders are tried. By regret: the node that loses most if denied its cheapest available label
goes first; cheap and usually enough. By saturation (DSATUR): the node with the fewest available
labels goes first, regret breaks ties; safer where the number of labels is tight. Where both run
into a node without label, a min-conflicts tabu search (TabuCol) repairs the complete labelling.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smdeclust.assignment.dense.improve import kempe_descent
from smdeclust.assignment.dense.types import BoolArray, FloatArray, IntArray


@njit(cache=True)
def greedy_labels(
    costs: FloatArray, indptr: IntArray, indices: IntArray, by_saturation: bool
) -> tuple[IntArray, int]:
    """Label node after node; returns the labels (-1 where stuck) and the number of stuck nodes."""
    n, n_labels = costs.shape
    available = costs.copy()
    labels = np.full(n, -1, np.int64)
    done = np.zeros(n, np.bool_)
    regret = np.empty(n)
    count = np.empty(n, np.int64)
    stale = np.ones(n, np.bool_)
    stuck = 0
    for _ in range(n):
        chosen = -1
        for v in range(n):
            if done[v]:
                continue
            if stale[v]:
                first = np.inf
                second = np.inf
                c = 0
                for k in range(n_labels):
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
                stale[v] = False
            if chosen < 0:
                chosen = v
            elif by_saturation and count[v] != count[chosen]:
                if count[v] < count[chosen]:
                    chosen = v
            elif regret[v] > regret[chosen]:
                chosen = v
        v = chosen
        done[v] = True
        k = int(np.argmin(available[v]))
        if available[v, k] == np.inf:
            stuck += 1
            continue
        labels[v] = k
        for j in range(indptr[v], indptr[v + 1]):
            u = indices[j]
            if not done[u] and available[u, k] < np.inf:
                available[u, k] = np.inf
                stale[u] = True
    return labels, stuck


@njit(cache=True)
def _tabu_repair(
    costs: FloatArray, indptr: IntArray, indices: IntArray, labels: IntArray, max_moves: int
) -> bool:
    """Remove the conflicts of `labels` (changed in place) by TabuCol; True when none is left.

    Deterministic: ties go to the cheaper label, and the tabu tenure varies with a counter.
    """
    n, n_labels = costs.shape
    conflicts = np.zeros((n, n_labels), np.int64)
    for v in range(n):
        for j in range(indptr[v], indptr[v + 1]):
            conflicts[v, labels[indices[j]]] += 1
    total = 0
    for v in range(n):
        total += conflicts[v, labels[v]]
    best_total = total
    tabu_until = np.zeros((n, n_labels), np.int64)
    for move in range(max_moves):
        if total == 0:
            return True
        best_v = -1
        best_k = -1
        best_change = n + 1
        best_cost = np.inf
        in_conflict = 0
        for v in range(n):
            a = labels[v]
            if conflicts[v, a] == 0:
                continue
            in_conflict += 1
            for k in range(n_labels):
                if k == a or costs[v, k] == np.inf:
                    continue
                change = conflicts[v, k] - conflicts[v, a]
                if tabu_until[v, k] > move and total + 2 * change >= best_total:
                    continue
                loss = costs[v, k] - costs[v, a]
                if change < best_change or (change == best_change and loss < best_cost):
                    best_v = v
                    best_k = k
                    best_change = change
                    best_cost = loss
        if best_v < 0:
            continue
        a = labels[best_v]
        labels[best_v] = best_k
        total += 2 * best_change
        best_total = min(best_total, total)
        tabu_until[best_v, a] = move + 1 + (6 * in_conflict) // 10 + (move * 7919) % 10
        for j in range(indptr[best_v], indptr[best_v + 1]):
            u = indices[j]
            conflicts[u, a] -= 1
            conflicts[u, best_k] += 1
    return total == 0


def is_feasible(labels: IntArray, costs: FloatArray, indptr: IntArray, indices: IntArray) -> bool:
    """Whether `labels` uses finite costs only and no two adjacent nodes share a label."""
    n, n_labels = costs.shape
    if labels.shape != (n,) or (n and (labels.min() < 0 or labels.max() >= n_labels)):
        return False
    if not np.isfinite(costs[np.arange(n), labels]).all():
        return False
    return not (np.repeat(labels, np.diff(indptr)) == labels[indices]).any()


def construct(
    costs: FloatArray,
    indptr: IntArray,
    indices: IntArray,
    *,
    descent: bool = True,
    max_repair_moves: int = 20_000,
) -> IntArray | None:
    """Build a strong feasible labelling in milliseconds.

    Parameters
    ----------
    costs
        Cost of every (node, label), shape (n, K); infinity forbids.
    indptr, indices
        The symmetric cannot-link graph in CSR form.
    descent
        Whether to finish with `kempe_descent`.
    max_repair_moves
        Moves of the tabu repair, where the orders alone fail.

    Returns
    -------
    Labels, or None where no feasible ones were found (which proves nothing).
    """
    best: IntArray | None = None
    best_cost = np.inf
    rows = np.arange(len(costs))
    for by_saturation in (False, True):
        labels, stuck = greedy_labels(costs, indptr, indices, by_saturation)
        if stuck:
            continue
        cost = float(costs[rows, labels].sum())
        if cost < best_cost:
            best, best_cost = labels, cost
    if best is None:
        stuck_nodes: BoolArray = labels < 0
        if not np.isfinite(costs[stuck_nodes]).any(axis=1).all():
            return None
        labels[stuck_nodes] = costs[stuck_nodes].argmin(axis=1)
        if not _tabu_repair(costs, indptr, indices, labels, max_repair_moves):
            return None
        best = labels
    if descent:
        best = kempe_descent(costs, indptr, indices, best)
    return best
