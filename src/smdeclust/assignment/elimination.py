"""Step 4, cycles of low width: eliminate node after node into tables over its neighbors.

A node of degree D needs only its D + 1 cheapest labels: at most D are taken by neighbors. So the
tables are small whatever K is. (Not so for a node with a soft must-link: any label may be the one
of its neighbor.) Nodes with few neighbors go first. Where no node has at most two neighbors
(treewidth above 2) some more steps are made, as long as tables stay small. Time and memory are
linear in the number of pairs.
"""

import numpy as np

from smdeclust.assignment.components import pair_at, read_edges
from smdeclust.assignment.status import HARD, INFEASIBLE, SOLVED
from smdeclust.kernels import kernel

# A node with more neighbors than this is not eliminated.
MOST_NEIGHBOURS = 7
# Nodes with more than two neighbors that may be eliminated: each is searched for among all nodes.
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
def plan_elimination(size_of, entry, ends, most, order, scope, via, width):
    """Plan the elimination of nodes, those with fewest neighbors first, joining the neighbors.

    `size_of` says how many labels each node needs; those with more than two neighbors go in the
    order of the tables they leave. `ends` holds the nodes of the edges, each smaller end first,
    and has room for those that are made on the way; `entry` is that of each given one in the graph.
    Writes, step by step, the node (`order`), its neighbors at that time (`scope`, as many as
    `width` says) and the entries of the edges to them (`via`, -1 where an edge was made). Returns
    whether all nodes can be eliminated, with no more than `most` numbers to look at. O(n + m) but
    for nodes with more than two neighbors.
    """
    n, n_edges = len(size_of), len(entry)
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
    n_stack, n_done, n_wide, total = 0, 0, 0, 0
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
                return False
        done[v] = True
        order[n_done] = v
        found, half, entries = 0, head[v], size_of[v]
        while half >= 0:
            e = half // 2
            scope[n_done, found] = ends[e, 0] + ends[e, 1] - v
            entries *= size_of[scope[n_done, found]]
            via[n_done, found] = entry[e] if e < len(entry) else -1
            found += 1
            half = after[half]
            side = 1 if ends[e, 0] == v else 0
            _detach(ends[e, side], 2 * e + side, head, after, before)
            degree[ends[e, side]] -= 1
        width[n_done] = found
        total += entries
        if entries > MOST_AT_ONCE or total > most:
            return False
        for i in range(found):
            for j in range(i):
                a, b = scope[n_done, i], scope[n_done, j]
                lo, hi = min(a, b), max(a, b)
                place = _place_of(keys, lo * n + hi)
                if keys[place] >= 0:
                    continue
                if n_edges == len(ends):
                    return False
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
    return True


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
def _labels_needed(nodes, costs, graph, active, size):
    """Write how many of its cheapest labels each node needs."""
    indptr, indices = graph[0], graph[1]
    for i in range(len(nodes)):
        degree, any_label = 0, False
        for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            if active[indices[e]]:
                degree += 1
                any_label |= pair_at(graph, e)[1]
        size[i] = 0
        for k in range(costs.shape[1]):
            size[i] += costs[nodes[i], k] < np.inf
        if not any_label:
            size[i] = min(size[i], degree + 1)
        size[i] = max(size[i], 1)  # if that label is infinite, it is found out at the end


@kernel()
def eliminate(nodes, costs, graph, active, local, most, labels):
    """Label nodes optimally, or report HARD where the tables would have more than `most` numbers.

    Each node, when its turn comes, knows what it costs those it depends on: a table over the labels
    of the neighbors that it has left then. `nodes` are all active ones that hang together; `local`
    is work space. Writes `labels` at `nodes`.
    """
    n = len(nodes)
    room = 2 * n + min(16 * n, 4096)
    n_edges, ends, entry = read_edges(nodes, graph, active, local, MOST_NEIGHBOURS * n, room)
    if n_edges < 0:
        return HARD
    size = np.empty(n, np.int64)
    _labels_needed(nodes, costs, graph, active, size)
    order, width = np.empty(n, np.int64), np.empty(n, np.int64)
    scope = np.empty((n, MOST_NEIGHBOURS), np.int64)
    via = np.empty((n, MOST_NEIGHBOURS), np.int64)
    if not plan_elimination(size, entry, ends, most, order, scope, via, width):
        return HARD
    # The table of a step is handed to the step of the neighbor that is eliminated next.
    turn = np.empty(n, np.int64)
    for step in range(n):
        turn[order[step]] = step
    first_child, next_child = np.full(n, -1, np.int64), np.empty(n, np.int64)
    stride, offset = np.zeros((n, MOST_NEIGHBOURS + 1), np.int64), np.zeros(n + 1, np.int64)
    for step in range(n):
        entries, heir = 1, n
        for i in range(width[step]):
            entries *= size[scope[step, i]]
            heir = min(heir, turn[scope[step, i]])
        offset[step + 1] = offset[step] + entries
        if heir < n:
            next_child[step] = first_child[heir]
            first_child[heir] = step
            _set_strides(step, heir, order, scope, width, size, stride)

    start = np.zeros(n + 1, np.int64)
    for i in range(n):
        start[i + 1] = start[i] + size[i]
    domain, unary = np.empty(start[n], np.int64), np.empty(start[n])
    for i in range(n):
        cheapest_labels(costs[nodes[i]], size[i], domain[start[i] :])
        for s in range(size[i]):
            unary[start[i] + s] = costs[nodes[i], domain[start[i] + s]]
    place = np.zeros(n, np.int64)  # label (by place in the domain) of each node, as far as chosen
    own, pool = np.empty(costs.shape[1]), np.empty(offset[n])
    plan, choices = (order, scope, via, width), (start, domain, unary)
    tables = (first_child, next_child, stride, offset, pool)
    for step in range(n):
        for i in range(width[step]):
            place[scope[step, i]] = 0
        for row in range(offset[step], offset[step + 1]):
            _own_costs(step, graph, plan, choices, tables, place, own)
            least = np.inf
            for s in range(size[order[step]]):
                least = min(least, own[s])
            pool[row] = least
            _advance(scope[step], width[step], size, place)
    for step in range(n - 1, -1, -1):
        v, chosen = order[step], 0
        _own_costs(step, graph, plan, choices, tables, place, own)
        for s in range(1, size[v]):
            if own[s] < own[chosen]:
                chosen = s
        if np.isinf(own[chosen]):
            return INFEASIBLE
        place[v] = chosen
        labels[nodes[v]] = domain[start[v] + chosen]
    return SOLVED


@kernel(forceinline=True)
def _own_costs(step, graph, plan, choices, tables, place, own):
    """Write what each label of a step's node costs where its neighbors have the labels at `place`,
    with all that was eliminated before it."""
    order, scope, via, width = plan
    start, domain, unary = choices
    first_child, next_child, stride, offset, pool = tables
    first, last = start[order[step]], start[order[step] + 1]
    for s in range(last - first):
        own[s] = unary[first + s]
    for i in range(width[step]):
        if via[step, i] >= 0:
            price, together = pair_at(graph, via[step, i])
            taken = domain[start[scope[step, i]] + place[scope[step, i]]]
            for s in range(last - first):
                own[s] += price if (domain[first + s] == taken) != together else 0.0
    child = first_child[step]
    while child >= 0:
        at = offset[child]
        for i in range(width[step]):
            at += place[scope[step, i]] * stride[child, i]
        for s in range(last - first):
            own[s] += pool[at + s * stride[child, MOST_NEIGHBOURS]]
        child = next_child[child]


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
def _set_strides(child, step, order, scope, width, size, stride):
    """Write how far a label of each neighbor of a step moves in the table of a `child`, and at the
    end that of its own node; 0 where the table does not depend on it."""
    far = 1
    for j in range(width[child] - 1, -1, -1):
        u = scope[child, j]
        if u == order[step]:
            stride[child, MOST_NEIGHBOURS] = far
        for i in range(width[step]):
            if u == scope[step, i]:
                stride[child, i] = far
        far *= size[u]
