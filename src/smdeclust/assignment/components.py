"""Step 4 of the exact assignment: one connected component of the active set, the easy way.

Trees are solved by a dynamic program, K = 2 by comparing the two colorings. What has a cycle is
left to `elimination` or to `cores`.
"""

import numpy as np

from smdeclust.assignment.status import INFEASIBLE, SOLVED
from smdeclust.kernels import kernel
from smdeclust.points.blocks import two_least


@kernel()
def find_component(root, indptr, indices, active, seen, parent, side, out):
    """Write the active component of `root` to `out`, breadth first, with parents and sides.

    `parent` is the node from which each was reached (-1 at the root), `side` alternates along. The
    nodes are marked in `seen`. Returns their number, how many edges there are among them,
    and whether these all join different sides. O(edges).
    """
    out[0] = root
    seen[root] = True
    parent[root] = -1
    side[root] = 0
    n = 1
    i = 0
    n_ends = 0
    proper = True
    while i < n:
        v = out[i]
        i += 1
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if not active[u]:
                continue
            n_ends += 1
            if not seen[u]:
                seen[u] = True
                parent[u] = v
                side[u] = 1 - side[v]
                out[n] = u
                n += 1
            elif side[u] == side[v]:
                proper = False
    return n, n_ends // 2, proper


@kernel()
def color_in_two(nodes, costs, side, labels):
    """K = 2: a component has two colorings; take the cheaper one. Writes `labels`."""
    straight = 0.0
    swapped = 0.0
    for v in nodes:
        straight += costs[v, side[v]]
        swapped += costs[v, 1 - side[v]]
    for v in nodes:
        labels[v] = side[v] if straight <= swapped else 1 - side[v]
    return SOLVED if straight < np.inf or swapped < np.inf else INFEASIBLE


@kernel()
def find_edge(indptr, indices, v, u):
    """The entry of neighbor u in the row of v. O(degree of v)."""
    e = indptr[v]
    while indices[e] != u:
        e += 1
    return e


@kernel()
def pair_at(graph, e):
    """Price and kind of an entry; hard pairs alone have no arrays of them."""
    if len(graph[2]) == 0:
        return np.inf, False
    return graph[2][e], graph[3][e]


@kernel()
def read_edges(nodes, graph, active, local, most, room):
    """The edges of a component: how many, their ends by the positions of its nodes, the smaller one
    first, and the entry of each in the graph. -1 edges: there are more than `most`.

    Writes the positions to `local`. The ends have `room` for as many edges more.
    """
    indptr, indices = graph[0], graph[1]
    n_ends = 0
    for i in range(len(nodes)):
        local[nodes[i]] = i
        for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            n_ends += active[indices[e]]
    n_edges = n_ends // 2 if n_ends // 2 <= most else 0
    ends, entry = np.empty((n_edges + room, 2), np.int64), np.empty(n_edges, np.int64)
    if n_ends // 2 > most:
        return -1, ends, entry
    found = 0
    for i in range(len(nodes)):
        for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            if active[indices[e]] and local[indices[e]] > i:
                ends[found, 0], ends[found, 1], entry[found] = i, local[indices[e]], e
                found += 1
    return n_edges, ends, entry


@kernel()
def fold_into(folded, v, u, price, together):
    """Add to node u, for each label k of u, what its neighbor v costs then: its own cheapest that
    avoids k (or, of a pair to be together, is k), or the cheapest and the price. O(K)."""
    first, second = two_least(folded[v])
    least = folded[v, first]
    if together:
        for k in range(folded.shape[1]):
            folded[u, k] += min(folded[v, k], least + price)
        return
    for k in range(folded.shape[1]):
        if k != first:
            folded[u, k] += least
    other = folded[v, second] if second >= 0 else np.inf
    folded[u, first] += min(other, least + price)


@kernel()
def reply(folded, v, label, price, together):
    """The label of v that is best where its neighbor has taken `label`; -1 if there is none."""
    first, second = two_least(folded[v])
    if together:
        return label if folded[v, label] <= folded[v, first] + price else first
    if label != first:
        return first
    if second < 0:
        return first if price < np.inf else -1
    return second if folded[v, second] <= folded[v, first] + price else first


@kernel()
def label_tree(nodes, costs, graph, parent, folded, labels):
    """A tree, parents first: fold each node into its parent, unfold. Writes `labels`. O(n K)."""
    indptr, indices, prices, kinds = graph
    price, together = np.inf, False  # of every pair, where all are hard
    for v in nodes:
        for k in range(costs.shape[1]):
            folded[v, k] = costs[v, k]
    for i in range(len(nodes) - 1, 0, -1):
        v = nodes[i]
        if len(prices) > 0:
            e = find_edge(indptr, indices, v, parent[v])
            price, together = prices[e], kinds[e]
        fold_into(folded, v, parent[v], price, together)
    for v in nodes:
        u = parent[v]
        if u < 0:
            chosen = two_least(folded[v])[0]
        else:
            if len(prices) > 0:
                e = find_edge(indptr, indices, v, u)
                price, together = prices[e], kinds[e]
            chosen = reply(folded, v, labels[u], price, together)
        if chosen < 0 or folded[v, chosen] == np.inf:
            return INFEASIBLE
        labels[v] = chosen
    return SOLVED


@kernel()
def regrets(costs, graph, active, nearest, labels, numbers, regret):
    """Write, at each active group, what its component of the active set costs above nearest, the
    soft pairs that it breaks included.

    `numbers` (5, n) is work space; its last row names the component of each group afterwards.
    """
    indptr, indices, price, together = graph
    n = len(costs)
    seen = np.zeros(n, np.bool_)
    for root in range(n):
        if not active[root] or seen[root]:
            continue
        size, _, _ = find_component(
            root, indptr, indices, active, seen, numbers[1], numbers[2], numbers[0]
        )
        total = 0.0
        for v in numbers[0, :size]:
            total += costs[v, labels[v]] - nearest[v]
            if len(price) > 0:
                for e in range(indptr[v], indptr[v + 1]):
                    u = indices[e]
                    if active[u] and u < v and (labels[u] == labels[v]) != together[e]:
                        total += price[e]
        for v in numbers[0, :size]:
            regret[v] = total
            numbers[4, v] = root
