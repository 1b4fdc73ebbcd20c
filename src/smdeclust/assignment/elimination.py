"""Step 4, cycles of low width: eliminate node after node into tables over its neighbors.

A node of degree D needs only its D + 1 cheapest labels: at most D are taken by neighbors. So the
tables are small whatever K is. (Not so for a node with a soft must-link: any label may be the one
of its neighbor.) Nodes with few neighbors go first. Where no node has at most two neighbors
(treewidth above 2) some more steps are made, as long as tables stay small. Time and memory are
linear in the number of pairs.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.status import HARD, INFEASIBLE, SOLVED
from smdeclust.kernels import kernel

# A node with more neighbors than this is not eliminated.
MOST_NEIGHBOURS = 7
# Nodes with more than two neighbors that may be eliminated: each is looked for among all nodes.
MOST_WIDE = 200
# Numbers that one step may look at.
MOST_AT_ONCE = 2**17


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
def _smallest_table(size, done, degree, head, after, ends):
    """The node whose elimination leaves the smallest table; -1 if all have too many neighbors."""
    best, least = -1, MOST_AT_ONCE + 1
    for v in range(len(done)):
        if done[v] or degree[v] > MOST_NEIGHBOURS:
            continue
        entries, half = size[v], head[v]
        while half >= 0 and entries < least:
            entries *= size[ends[half // 2, 0] + ends[half // 2, 1] - v]
            half = after[half]
        if entries < least:
            best, least = v, entries
    return best


@kernel()
def plan_elimination(size_of, n_edges, ends, order, scope, via, width):
    """Plan the elimination of nodes, those with fewest neighbors first, joining the neighbors.

    `size_of` says how many labels each node needs; those with more than two neighbors go in the
    order of the tables they leave. `ends` holds the nodes of `n_edges` edges, each smaller end
    first, and has room for those that are made on the way. Writes, step by step, the node
    (`order`), its neighbors at that time (`scope`, as many as `width` says) and the given edges to
    them (`via`, -1 where it was made). Returns how many nodes can be eliminated. O(n + m) but for
    nodes with more than two neighbors.
    """
    n, n_given = len(size_of), n_edges
    size = 8
    while size < 2 * (len(ends) + 1):
        size *= 2
    keys = np.empty(size, np.int64)
    for i in range(size):
        keys[i] = -1
    head, degree = np.empty(n, np.int64), np.zeros(n, np.int64)
    after, before = np.empty(2 * len(ends), np.int64), np.empty(2 * len(ends), np.int64)
    for v in range(n):
        head[v] = -1
    for e in range(n_edges):
        keys[_place_of(keys, ends[e, 0] * n + ends[e, 1])] = ends[e, 0] * n + ends[e, 1]
        for side in range(2):
            _attach(ends[e, side], 2 * e + side, head, after, before)
            degree[ends[e, side]] += 1
    done = np.zeros(n, np.bool_)
    stack = np.empty(n + 2 * len(ends) + 1, np.int64)
    n_stack, n_done, n_wide = 0, 0, 0
    for v in range(n):
        if degree[v] <= 2:
            stack[n_stack] = v
            n_stack += 1
    while n_done < n:
        v = -1
        while n_stack and v < 0:
            n_stack -= 1
            if not done[stack[n_stack]]:
                v = stack[n_stack]
        if v < 0:
            v = _smallest_table(size_of, done, degree, head, after, ends)
            n_wide += 1
            if v < 0 or n_wide > MOST_WIDE:
                return n_done
        done[v] = True
        order[n_done] = v
        found, half = 0, head[v]
        while half >= 0:
            e = half // 2
            scope[n_done, found] = ends[e, 0] + ends[e, 1] - v
            via[n_done, found] = e if e < n_given else -1
            found += 1
            half = after[half]
            side = 1 if ends[e, 0] == v else 0
            _detach(ends[e, side], 2 * e + side, head, after, before)
            degree[ends[e, side]] -= 1
        width[n_done] = found
        for i in range(found):
            for j in range(i):
                a, b = scope[n_done, i], scope[n_done, j]
                lo, hi = min(a, b), max(a, b)
                place = _place_of(keys, lo * n + hi)
                if keys[place] >= 0:
                    continue
                if n_edges == len(ends):
                    return n_done
                keys[place] = lo * n + hi
                ends[n_edges, 0], ends[n_edges, 1] = lo, hi
                for side in range(2):
                    _attach(ends[n_edges, side], 2 * n_edges + side, head, after, before)
                    degree[ends[n_edges, side]] += 1
                n_edges += 1
        for i in range(found):
            if degree[scope[n_done, i]] <= 2:
                stack[n_stack] = scope[n_done, i]
                n_stack += 1
        n_done += 1
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
def _read_component(nodes, costs, graph, active, local):
    """The edges of a component over the positions of its nodes, and how many labels each needs.

    Returns the number of edges, their ends (with room for more), prices and kinds, and the sizes;
    `local` is work space. -1 edges mean that there are too many for elimination.
    """
    indptr, indices, price, together = graph
    n, n_edges = len(nodes), 0
    for i in range(n):
        local[nodes[i]] = i
        for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            n_edges += active[indices[e]]
    n_edges //= 2
    too_many = n_edges > MOST_NEIGHBOURS * n
    if too_many:
        n_edges = 0
    ends = np.empty((n_edges + 2 * n + min(16 * n, 4096), 2), np.int64)
    prices = np.empty(n_edges)
    kinds = np.empty(n_edges, np.bool_)
    size = np.empty(n, np.int64)
    if too_many:
        return -1, ends, prices, kinds, size
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
        size[i] = 0
        for k in range(costs.shape[1]):
            size[i] += costs[nodes[i], k] < np.inf
        if size[i] > degree + 1 and not any_label:
            size[i] = degree + 1
        if size[i] == 0:
            size[i] = 1  # its one label is infinite: found out at the end
    return n_edges, ends, prices, kinds, size


@kernel()
def _pair_cost(e, v, s, u, i, prices, kinds, domain, start):
    """Cost of the given edge e between v and u where they take their s-th and i-th label."""
    same = domain[start[v] + s] == domain[start[u] + i]
    return prices[e] if same != kinds[e] else 0.0


@kernel()
def eliminate(nodes, costs, graph, active, local, most, labels):
    """Label nodes optimally, or report HARD where the tables would have more than `most` numbers.

    Each node, when its turn comes, knows what it costs those it depends on: a table over the labels
    of the neighbors that it has left then. `nodes` are all active ones that hang together; `local`
    is work space. Writes `labels` at `nodes`.
    """
    n = len(nodes)
    n_edges, ends, prices, kinds, size = _read_component(nodes, costs, graph, active, local)
    if n_edges < 0:
        return HARD
    order, width = np.empty(n, np.int64), np.empty(n, np.int64)
    scope = np.empty((n, MOST_NEIGHBOURS), np.int64)
    via = np.empty((n, MOST_NEIGHBOURS), np.int64)
    if plan_elimination(size, n_edges, ends, order, scope, via, width) < n:
        return HARD
    # The table of a step is handed to the step of the neighbor that is eliminated next.
    turn = np.empty(n, np.int64)
    for step in range(n):
        turn[order[step]] = step
    first_child, next_child = np.full(n, -1, np.int64), np.empty(n, np.int64)
    offset = np.zeros(n + 1, np.int64)
    total, largest = 0, 0
    for step in range(n):
        entries, heir = 1, n
        for i in range(width[step]):
            entries *= size[scope[step, i]]
            heir = min(heir, turn[scope[step, i]])
            if entries * size[order[step]] > MOST_AT_ONCE:
                return HARD
        largest = max(largest, entries * size[order[step]])
        total += entries * size[order[step]]
        offset[step + 1] = offset[step] + entries
        if heir < n:
            next_child[step] = first_child[heir]
            first_child[heir] = step
    if total > most:
        return HARD

    start = np.zeros(n + 1, np.int64)
    for i in range(n):
        start[i + 1] = start[i] + size[i]
    domain, unary = np.empty(start[n], np.int64), np.empty(start[n])
    for i in range(n):
        cheapest_labels(costs[nodes[i]], size[i], domain[start[i] :])
        for s in range(size[i]):
            unary[start[i] + s] = costs[nodes[i], domain[start[i] + s]]
    pool = np.empty(offset[n])
    place = np.zeros(n, np.int64)  # label (by place in the domain) of each node, as far as chosen
    joint = np.empty(largest)
    stride = np.empty(MOST_NEIGHBOURS, np.int64)
    for step in range(n):
        v, entries = order[step], offset[step + 1] - offset[step]
        n_own = size[v]
        for i in range(width[step]):
            place[scope[step, i]] = 0
        for row in range(entries):
            for s in range(n_own):
                c = unary[start[v] + s]
                for i in range(width[step]):
                    e = via[step, i]
                    if e >= 0:
                        u = scope[step, i]
                        c += _pair_cost(e, v, s, u, place[u], prices, kinds, domain, start)
                joint[row * n_own + s] = c
            _advance(scope[step], width[step], size, place)
        child = first_child[step]
        while child >= 0:
            own = _strides(scope[child], width[child], size, v, scope[step], width[step], stride)
            for row in range(entries):  # places are all zero again after a full turn
                base = offset[child]
                for i in range(width[step]):
                    base += place[scope[step, i]] * stride[i]
                for s in range(n_own):
                    joint[row * n_own + s] += pool[base + s * own]
                _advance(scope[step], width[step], size, place)
            child = next_child[child]
        for row in range(entries):
            least = np.inf
            for s in range(n_own):
                least = min(least, joint[row * n_own + s])
            pool[offset[step] + row] = least

    for step in range(n - 1, -1, -1):
        v, least = order[step], np.inf
        chosen = 0
        for s in range(size[v]):
            c = unary[start[v] + s]
            for i in range(width[step]):
                e = via[step, i]
                if e >= 0:
                    u = scope[step, i]
                    c += _pair_cost(e, v, s, u, place[u], prices, kinds, domain, start)
            child = first_child[step]
            while child >= 0:
                own = _strides(
                    scope[child], width[child], size, v, scope[step], width[step], stride
                )
                base = offset[child] + s * own
                for i in range(width[step]):
                    base += place[scope[step, i]] * stride[i]
                c += pool[base]
                child = next_child[child]
            if c < least:
                least = c
                chosen = s
        if np.isinf(least):
            return INFEASIBLE
        place[v] = chosen
        labels[nodes[v]] = domain[start[v] + chosen]
    return SOLVED


@kernel()
def _advance(scope, width, size, place):
    """Go on to the next labels of the nodes of a scope, the last one fastest."""
    for i in range(width - 1, -1, -1):
        u = scope[i]
        place[u] += 1
        if place[u] < size[u]:
            return
        place[u] = 0


@kernel()
def _strides(scope, width, size, v, among, n_among, stride):
    """How far a label of each node of `among` moves in the table over `scope`; returns that of v.

    Writes `stride`, 0 for nodes that are not in the scope.
    """
    for i in range(n_among):
        stride[i] = 0
    own, step = 0, 1
    for j in range(width - 1, -1, -1):
        if scope[j] == v:
            own = step
        for i in range(n_among):
            if scope[j] == among[i]:
                stride[i] = step
        step *= size[scope[j]]
    return own
