"""Step 4, cycles: peel leaves, then eliminate nodes of degree two into small tables (treewidth 2).

A node of degree D needs only its D + 1 cheapest labels: at most D are taken by neighbours. So the
tables are tiny whatever K is.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.components import fold_into, two_smallest
from smdeclust.assignment.status import HARD, INFEASIBLE, SOLVED
from smdeclust.kernels import kernel

# Larger cores, leaves peeled, are left to the solver of dense cores: adjacency is dense here.
LARGEST = 512

NO_EDGE = -1
PLAIN_EDGE = -2  # a cannot-link; entries >= 0 are offsets of tables


@kernel()
def elimination_order(edge, order, first, second):
    """Plan the elimination of nodes of degree <= 2; joins the two neighbours of each.

    Changes `edge`; writes `order` and the neighbours (`first`, `second`, -1
    where there is none). Returns how many nodes could be eliminated. O(n^2).
    """
    n = len(edge)
    degree = np.zeros(n, np.int64)
    for i in range(n):
        for j in range(n):
            if edge[i, j] != NO_EDGE:
                degree[i] += 1
    done = np.zeros(n, np.bool_)
    stack = np.empty(n * 3, np.int64)
    n_stack = 0
    for i in range(n):
        if degree[i] <= 2:
            stack[n_stack] = i
            n_stack += 1
    n_done = 0
    while n_stack:
        n_stack -= 1
        v = stack[n_stack]
        if done[v]:
            continue
        a, b = -1, -1
        for j in range(n):
            if edge[v, j] != NO_EDGE and not done[j]:
                a, b = j, a
        done[v] = True
        order[n_done], first[n_done], second[n_done] = v, a, b
        n_done += 1
        if a >= 0 and b >= 0 and edge[a, b] == NO_EDGE:
            edge[a, b] = edge[b, a] = PLAIN_EDGE
        else:
            for i in range(2):
                u = a if i == 0 else b
                if u >= 0:
                    degree[u] -= 1
                    if degree[u] <= 2:
                        stack[n_stack] = u
                        n_stack += 1
    return n_done


@kernel()
def cheapest_labels(costs, size, out):
    """Write the `size` cheapest labels to `out`, ascending. O(K size)."""
    for i in range(size):
        out[i] = -1
    n = 0
    for k in range(len(costs)):
        if n == size and costs[k] >= costs[out[n - 1]]:
            continue
        i = n if n < size else size - 1
        n = i + 1
        while i > 0 and costs[k] < costs[out[i - 1]]:
            out[i] = out[i - 1]
            i -= 1
        out[i] = k


@kernel()
def edge_cost(edge, pool, domain, size, a, i, b, j):
    """Cost that the edge between a and b adds where they take their i-th and j-th label."""
    table = edge[a, b]
    if table == PLAIN_EDGE:
        return np.inf if domain[a, i] == domain[b, j] else 0.0
    return pool[table + i * size[b] + j] if a < b else pool[table + j * size[a] + i]


@kernel()
def eliminate(nodes, costs, indptr, indices, active, local, labels):
    """Label a component optimally, or report HARD if some minor has no node of degree <= 2.

    `nodes` are a component of the active ones; `local` is work space. Writes `labels` at `nodes`.
    """
    n = len(nodes)
    if n > LARGEST:
        return HARD
    for i in range(n):
        local[nodes[i]] = i
    edge = np.empty((n, n), np.int64)
    planned = np.empty((n, n), np.int64)
    for i in range(n):
        for j in range(n):
            edge[i, j] = planned[i, j] = NO_EDGE
        v = nodes[i]
        for e in range(indptr[v], indptr[v + 1]):
            if active[indices[e]]:
                j = local[indices[e]]
                edge[i, j] = planned[i, j] = PLAIN_EDGE
    order = np.empty(n, np.int64)
    first = np.empty(n, np.int64)
    second = np.empty(n, np.int64)
    if elimination_order(planned, order, first, second) < n:
        return HARD

    size = np.empty(n, np.int64)
    widest = 0
    for i in range(n):
        degree = 0
        for j in range(n):
            degree += edge[i, j] != NO_EDGE
        size[i] = min(degree + 1, costs.shape[1])
        widest = max(widest, size[i])
    domain = np.empty((n, widest), np.int64)
    unary = np.empty((n, widest))
    for i in range(n):
        cheapest_labels(costs[nodes[i]], size[i], domain[i])
        for s in range(size[i]):
            unary[i, s] = costs[nodes[i], domain[i, s]]

    n_pool = 0
    for step in range(n):
        if second[step] >= 0:
            n_pool += size[first[step]] * size[second[step]]
    pool = np.empty(n_pool)
    n_pool = 0
    for step in range(n):
        v, a, b = order[step], first[step], second[step]
        if a < 0:
            continue
        if b < 0:
            for i in range(size[a]):
                least = np.inf
                for s in range(size[v]):
                    c = unary[v, s] + edge_cost(edge, pool, domain, size, v, s, a, i)
                    least = min(least, c)
                unary[a, i] += least
            continue
        lo, hi = min(a, b), max(a, b)
        for i in range(size[lo]):
            for j in range(size[hi]):
                least = np.inf
                for s in range(size[v]):
                    c = unary[v, s] + edge_cost(edge, pool, domain, size, v, s, lo, i)
                    c += edge_cost(edge, pool, domain, size, v, s, hi, j)
                    least = min(least, c)
                if edge[lo, hi] != NO_EDGE:
                    least += edge_cost(edge, pool, domain, size, lo, i, hi, j)
                pool[n_pool + i * size[hi] + j] = least
        edge[lo, hi] = edge[hi, lo] = n_pool
        n_pool += size[lo] * size[hi]

    chosen = np.empty(n, np.int64)
    for step in range(n - 1, -1, -1):
        v, a, b = order[step], first[step], second[step]
        least = np.inf
        for s in range(size[v]):
            c = unary[v, s]
            if a >= 0:
                c += edge_cost(edge, pool, domain, size, v, s, a, chosen[a])
            if b >= 0:
                c += edge_cost(edge, pool, domain, size, v, s, b, chosen[b])
            if c < least:
                least = c
                chosen[v] = s
        if np.isinf(least):
            return INFEASIBLE
        labels[nodes[v]] = domain[v, chosen[v]]
    return SOLVED


@kernel()
def peel_leaves(nodes, folded, indptr, indices, alive, degree, parent, order):
    """Fold leaves into their neighbour, again and again, until no leaf is left.

    Changes `folded`, `alive`, `degree`; writes `parent` and `order`; returns how many nodes were
    peeled. O(K) a node.
    """
    stack = np.empty(len(nodes), np.int64)
    n_stack, n_peeled = 0, 0
    for v in nodes:
        if degree[v] == 1:
            stack[n_stack] = v
            n_stack += 1
    while n_stack:
        n_stack -= 1
        v = stack[n_stack]
        alive[v] = False
        order[n_peeled] = v
        n_peeled += 1
        for e in range(indptr[v], indptr[v + 1]):
            if alive[indices[e]]:
                parent[v] = indices[e]
        u = parent[v]
        fold_into(folded, v, u)
        degree[u] -= 1
        if degree[u] == 1:
            stack[n_stack] = u
            n_stack += 1
    return n_peeled


@kernel()
def solve_cyclic(nodes, costs, indptr, indices, alive, folded, numbers, labels):
    """Label a component of the active set that is no tree, or report it as HARD.

    `alive` is False everywhere, before and after; rows 1 to 4 of `numbers` and `folded` are work
    space. Writes `labels` at `nodes`.
    """
    degree, parent, order, local = numbers[1], numbers[2], numbers[3], numbers[4]
    for v in nodes:
        alive[v] = True
        for k in range(costs.shape[1]):
            folded[v, k] = costs[v, k]
    for v in nodes:
        degree[v] = 0
        for e in range(indptr[v], indptr[v + 1]):
            degree[v] += alive[indices[e]]
    n_peeled = peel_leaves(nodes, folded, indptr, indices, alive, degree, parent, order)
    core = np.empty(len(nodes) - n_peeled, np.int64)
    n_core = 0
    for v in nodes:
        if alive[v]:
            core[n_core] = v
            n_core += 1
    status = eliminate(core, folded, indptr, indices, alive, local, labels)
    for v in core:
        alive[v] = False
    if status == SOLVED:
        for i in range(n_peeled - 1, -1, -1):
            v = order[i]
            first, second = two_smallest(folded, v)
            chosen = second if labels[parent[v]] == first else first
            if chosen < 0 or folded[v, chosen] == np.inf:
                return INFEASIBLE
            labels[v] = chosen
    return status
