"""Feasible labelings made cheaper by Kempe chains.

Swapping the two labels on a connected component of the subgraph of two labels (a Kempe chain)
keeps a labeling feasible, whatever the graph. A chain of one node is the usual relabeling. Only
hard pairs make chains; a pair that may be broken adds to what a swap costs.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.dense.types import FloatArray, Graph, IntArray
from smdeclust.kernels import kernel

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
