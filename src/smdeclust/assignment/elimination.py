"""Step 4, cycles: peel leaves, then eliminate nodes of degree two into small tables (treewidth 2).

A node of degree D needs only its D + 1 cheapest labels: at most D are taken by neighbours. So the
tables are small whatever K is. (Not so for a node with a soft must-link: any label may be the one
of its neighbour.) Time and memory are linear in the number of pairs.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.components import (
    find_component,
    fold_into,
    fold_softly,
    reply,
    two_smallest,
)
from smdeclust.assignment.status import HARD, INFEASIBLE, SOLVED
from smdeclust.kernels import kernel

# Numbers in all tables of a component; larger ones are left to the solver of dense cores.
MOST_ENTRIES = 2**25


@kernel()
def _place_of(keys, key):
    """Where this key is in the hash table, or where it can be put (-1 there)."""
    mask = len(keys) - 1
    place = (key * 0x9E3779B1 ^ (key >> 15)) & mask
    while keys[place] >= 0 and keys[place] != key:
        place = (place + 1) & mask
    return place


@kernel()
def _attach(node, half, head, after, before):
    """Put a half-edge at the front of the list of its node."""
    first = head[node]
    after[half], before[half] = first, -1
    if first >= 0:
        before[first] = half
    head[node] = half


@kernel()
def _detach(node, half, head, after, before):
    if before[half] >= 0:
        after[before[half]] = after[half]
    else:
        head[node] = after[half]
    if after[half] >= 0:
        before[after[half]] = before[half]


@kernel()
def plan_elimination(n, n_edges, ends, order, via, target):
    """Plan the elimination of nodes of degree <= 2, joining the two neighbours of each.

    `ends` (m + n, 2) holds the nodes of `n_edges` edges, each smaller end first; the edges that are
    made on the way are added. Writes, step by step, the node (`order`), the edges to its
    neighbours (`via`, -1 where there is none) and the edge that joins these (`target`). Returns how
    many nodes can be eliminated, and how many edges there are at the end. O(n + m).
    """
    size = 8
    while size < 2 * (len(ends) + 1):
        size *= 2
    keys, named = np.empty(size, np.int64), np.empty(size, np.int64)
    for i in range(size):
        keys[i] = -1
    head, degree = np.empty(n, np.int64), np.zeros(n, np.int64)
    after, before = np.empty(2 * len(ends), np.int64), np.empty(2 * len(ends), np.int64)
    for v in range(n):
        head[v] = -1
    for e in range(n_edges):
        place = _place_of(keys, ends[e, 0] * n + ends[e, 1])
        keys[place], named[place] = ends[e, 0] * n + ends[e, 1], e
        for side in range(2):
            _attach(ends[e, side], 2 * e + side, head, after, before)
            degree[ends[e, side]] += 1
    done = np.zeros(n, np.bool_)
    stack = np.empty(3 * n + 1, np.int64)
    n_stack = 0
    for v in range(n):
        if degree[v] <= 2:
            stack[n_stack] = v
            n_stack += 1
    n_done = 0
    while n_stack:
        n_stack -= 1
        v = stack[n_stack]
        if done[v]:
            continue
        done[v] = True
        order[n_done], via[n_done, 0], via[n_done, 1], target[n_done] = v, -1, -1, -1
        found, half = 0, head[v]
        while half >= 0:
            via[n_done, found] = half // 2
            found += 1
            half = after[half]
        for i in range(found):
            e = via[n_done, i]
            side = 1 if ends[e, 0] == v else 0
            u = ends[e, side]
            _detach(u, 2 * e + side, head, after, before)
            degree[u] -= 1
        if found == 2:
            a = ends[via[n_done, 0], 0] + ends[via[n_done, 0], 1] - v
            b = ends[via[n_done, 1], 0] + ends[via[n_done, 1], 1] - v
            lo, hi = min(a, b), max(a, b)
            place = _place_of(keys, lo * n + hi)
            if keys[place] < 0:
                keys[place], named[place] = lo * n + hi, n_edges
                ends[n_edges, 0], ends[n_edges, 1] = lo, hi
                for side in range(2):
                    _attach(ends[n_edges, side], 2 * n_edges + side, head, after, before)
                    degree[ends[n_edges, side]] += 1
                n_edges += 1
            target[n_done] = named[place]
        for i in range(found):
            e = via[n_done, i]
            u = ends[e, 0] + ends[e, 1] - v
            if degree[u] <= 2 and not done[u]:
                stack[n_stack] = u
                n_stack += 1
        n_done += 1
    return n_done, n_edges


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
def edge_cost(e, a, i, b, j, edges, domain, start):
    """Cost that edge e between a and b adds where they take their i-th and j-th label."""
    price, together, table, pool = edges
    if table[e] >= 0:
        if a < b:
            return pool[table[e] + i * (start[b + 1] - start[b]) + j]
        return pool[table[e] + j * (start[a + 1] - start[a]) + i]
    same = domain[start[a] + i] == domain[start[b] + j]
    return price[e] if same != together[e] else 0.0


@kernel()
def eliminate(nodes, costs, graph, active, local, labels):
    """Label a component optimally, or report HARD if some minor has no node of degree <= 2.

    `nodes` are a component of the active ones; `local` is work space. Writes `labels` at `nodes`.
    """
    indptr, indices, price, together = graph
    n, n_clusters = len(nodes), costs.shape[1]
    n_edges = 0
    for i in range(n):
        local[nodes[i]] = i
        for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            n_edges += active[indices[e]]
    n_edges //= 2
    if n > 1 and n_edges > 2 * n - 3:
        return HARD
    ends = np.empty((n_edges + n, 2), np.int64)
    prices = np.zeros(n_edges + n)
    kinds = np.zeros(n_edges + n, np.bool_)
    size = np.empty(n, np.int64)
    n_edges = 0
    for i in range(n):
        degree, any_label = 0, False
        for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            u = indices[e]
            if not active[u]:
                continue
            degree += 1
            if len(price) > 0:
                any_label |= together[e]
            if local[u] > i:
                ends[n_edges, 0], ends[n_edges, 1] = i, local[u]
                prices[n_edges] = price[e] if len(price) > 0 else np.inf
                kinds[n_edges] = together[e] if len(price) > 0 else False
                n_edges += 1
        size[i] = n_clusters if any_label else min(degree + 1, n_clusters)
    order, target = np.empty(n, np.int64), np.empty(n, np.int64)
    via = np.empty((n, 2), np.int64)
    n_done, n_edges = plan_elimination(n, n_edges, ends, order, via, target)
    if n_done < n:
        return HARD
    table = np.full(n_edges, -1, np.int64)
    n_pool = 0
    for step in range(n):
        if target[step] >= 0 and table[target[step]] == -1:
            table[target[step]] = -2  # to be made
            n_pool += size[ends[target[step], 0]] * size[ends[target[step], 1]]
            if n_pool > MOST_ENTRIES:
                return HARD
    start = np.zeros(n + 1, np.int64)
    for i in range(n):
        start[i + 1] = start[i] + size[i]
    domain, unary = np.empty(start[n], np.int64), np.empty(start[n])
    for i in range(n):
        cheapest_labels(costs[nodes[i]], size[i], domain[start[i] :])
        for s in range(size[i]):
            unary[start[i] + s] = costs[nodes[i], domain[start[i] + s]]

    pool = np.empty(n_pool)
    edges = (prices, kinds, table, pool)
    n_pool = 0
    for step in range(n):
        v, first, second = order[step], via[step, 0], via[step, 1]
        if first < 0:
            continue
        a = ends[first, 0] + ends[first, 1] - v
        if second < 0:
            for i in range(size[a]):
                least = np.inf
                for s in range(size[v]):
                    c = unary[start[v] + s] + edge_cost(first, v, s, a, i, edges, domain, start)
                    least = min(least, c)
                unary[start[a] + i] += least
            continue
        b = ends[second, 0] + ends[second, 1] - v
        if a > b:
            a, b, first, second = b, a, second, first
        joined = target[step]
        if table[joined] < 0:
            for i in range(size[a]):
                for j in range(size[b]):
                    here = n_pool + i * size[b] + j
                    pool[here] = edge_cost(joined, a, i, b, j, edges, domain, start)
            table[joined] = n_pool
            n_pool += size[a] * size[b]
        for i in range(size[a]):
            for j in range(size[b]):
                least = np.inf
                for s in range(size[v]):
                    c = unary[start[v] + s] + edge_cost(first, v, s, a, i, edges, domain, start)
                    c += edge_cost(second, v, s, b, j, edges, domain, start)
                    least = min(least, c)
                pool[table[joined] + i * size[b] + j] += least

    chosen = np.empty(n, np.int64)
    for step in range(n - 1, -1, -1):
        v = order[step]
        least = np.inf
        for s in range(size[v]):
            c = unary[start[v] + s]
            for side in range(2):
                e = via[step, side]
                if e >= 0:
                    u = ends[e, 0] + ends[e, 1] - v
                    c += edge_cost(e, v, s, u, chosen[u], edges, domain, start)
            if c < least:
                least = c
                chosen[v] = s
        if np.isinf(least):
            return INFEASIBLE
        labels[nodes[v]] = domain[start[v] + chosen[v]]
    return SOLVED


@kernel()
def peel_leaves(nodes, folded, graph, alive, degree, link, order):
    """Fold leaves into their neighbour, again and again, until no leaf is left.

    Changes `folded`, `alive`, `degree`; writes `order` and the entry of the neighbour that each was
    folded into, `link`; returns how many nodes were peeled. O(K) a node, and its row.
    """
    indptr, indices, price, together = graph
    stack = np.empty(len(nodes), np.int64)
    n_stack, n_peeled = 0, 0
    for v in nodes:
        if degree[v] == 1:
            stack[n_stack] = v
            n_stack += 1
    while n_stack:
        n_stack -= 1
        v = stack[n_stack]
        if degree[v] != 1:
            continue  # the last of a tree
        alive[v] = False
        order[n_peeled] = v
        n_peeled += 1
        for e in range(indptr[v], indptr[v + 1]):
            if alive[indices[e]]:
                link[v] = e
        u = indices[link[v]]
        if len(price) > 0:
            fold_softly(folded, v, u, price[link[v]], together[link[v]])
        else:
            fold_into(folded, v, u)
        degree[u] -= 1
        if degree[u] == 1:
            stack[n_stack] = u
            n_stack += 1
    return n_peeled


@kernel()
def solve_cyclic(nodes, costs, graph, alive, folded, numbers, labels):
    """Label a component of the active set that is no tree, or report it as HARD.

    `alive` is False everywhere, before and after; rows 1 to 4 of `numbers` and `folded` are work
    space. Writes `labels` at `nodes`.
    """
    indptr, indices, price, together = graph
    degree, link, order, local = numbers[1], numbers[2], numbers[3], numbers[4]
    for v in nodes:
        alive[v] = True
        for k in range(costs.shape[1]):
            folded[v, k] = costs[v, k]
    for v in nodes:
        degree[v] = 0
        for e in range(indptr[v], indptr[v + 1]):
            degree[v] += alive[indices[e]]
    n_peeled = peel_leaves(nodes, folded, graph, alive, degree, link, order)
    core = np.empty(len(nodes) - n_peeled, np.int64)
    n_core = 0
    for v in nodes:
        if alive[v]:
            core[n_core] = v
            n_core += 1
    status = eliminate(core, folded, graph, alive, local, labels)
    for v in core:
        alive[v] = False
    if status == SOLVED:
        for i in range(n_peeled - 1, -1, -1):
            v = order[i]
            taken = labels[indices[link[v]]]
            if len(price) > 0:
                chosen = reply(folded, v, taken, price[link[v]], together[link[v]])
            else:
                first, second = two_smallest(folded, v)
                chosen = second if taken == first else first
            if chosen < 0 or folded[v, chosen] == np.inf:
                return INFEASIBLE
            labels[v] = chosen
    return status


@kernel()
def solve_cycles(costs, graph, flags, numbers, folded, labels):
    """Label the fresh components, whatever cycles they have; HARD where some are too dense: these
    stay fresh. `flags` and `numbers` are those of the active set."""
    active, fresh, seen = flags[0], flags[1], flags[2]
    alive = np.zeros(len(costs), np.bool_)
    for v in range(len(costs)):
        seen[v] = False
    outcome = SOLVED
    for root in range(len(costs)):
        if not fresh[root] or seen[root]:
            continue
        size, _, _ = find_component(
            root, graph[0], graph[1], active, seen, numbers[1], numbers[2], numbers[0]
        )
        nodes = numbers[0, :size]
        status = solve_cyclic(nodes, costs, graph, alive, folded, numbers, labels)
        if status == INFEASIBLE:
            return INFEASIBLE
        if status == SOLVED:
            for v in nodes:
                fresh[v] = False
        else:
            outcome = status
    return outcome
