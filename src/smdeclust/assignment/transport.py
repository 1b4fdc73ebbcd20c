"""Free points under cluster sizes: a transportation problem, solved on a graph of K + 1 nodes.

Its dual is one price a cluster: every point goes where cost + price is least; a positive price
means that the cluster is at its largest size, a negative one that it is at its smallest. Points
too many somewhere travel along shortest paths of clusters to where points are missing, or to the
slack node: there a cluster takes or gives up a place between its smallest and largest size. An arc
costs the cheapest regret of moving a point; one heap for each pair of clusters knows it.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.status import INFEASIBLE, PAUSED, SOLVED
from smdeclust.kernels import kernel


@kernel()
def transport(costs, low, high, prices, labels, limit):
    """Label unit points at the least cost with low <= points <= high in each cluster.

    `costs` (m, K) are finite; `low`, `high` (K,) whole numbers. Starts from `prices`, and writes
    the optimal ones there (every point is at its least cost + price, up to rounding) and `labels`.

    With a finite `limit` no price moves against another by more than that: labels whose cost +
    price is worse by more than the limit at the start are left out.
    Returns SOLVED; PAUSED where the limit was reached: prices are better, labels mean nothing; or
    INFEASIBLE. O(m K) plus O(K^2 + K log m) a path; the better the prices, the fewer paths.
    """
    n_clusters = costs.shape[1]
    sizes = np.zeros(n_clusters, np.int64)
    label_by_price(costs, prices, labels, sizes)
    held = np.empty(n_clusters, np.int64)  # the places that the slack node counts
    excess = np.empty(n_clusters + 1, np.int64)
    asked, low = low, low.copy()
    for k in range(n_clusters):
        if low[k] > high[k]:
            return INFEASIBLE
        low[k] = min(max(low[k], 0), high[k])
    set_places(low, high, sizes, prices, held, excess)
    left = 0
    for v in range(n_clusters + 1):
        left += max(0, excess[v])
    if left == 0:
        _lift_idle(asked, prices)
        return SOLVED
    heaps = _fill_heaps(costs, prices, limit, labels)
    start = prices.copy()
    away = np.empty(n_clusters + 1)
    before = np.empty(n_clusters + 1, np.int64)
    waiting = np.empty(n_clusters + 1)
    cheapest = np.empty((n_clusters, n_clusters))
    for k in range(n_clusters):
        _look_up(heaps, k, cheapest)
    movers = np.empty(n_clusters + 1, np.int64)
    for _ in range(left):
        end = _shortest_path(cheapest, low, high, prices, held, excess, away, waiting, before)
        if end < 0 and limit == np.inf:
            return INFEASIBLE
        length = away[end] if end >= 0 else limit
        _raise_prices(prices, away, length)
        if spread(start, prices) > limit or end < 0:
            _shrink(start, prices, limit)
            return PAUSED
        _send(heaps, before, end, held, excess, labels, movers, cheapest)
    _lift_idle(asked, prices)
    return SOLVED


@kernel()
def _lift_idle(low, prices):
    """Raise negative prices to 0 where nothing is asked for: nobody is there, nobody comes."""
    for k in range(len(low)):
        if low[k] <= 0 and prices[k] < 0:
            prices[k] = 0.0


@kernel()
def _look_up(heaps, k, cheapest):
    """Write the least regrets of the points in cluster k."""
    root, key = heaps[0], heaps[4]
    for j in range(len(cheapest)):
        cheapest[k, j] = key[root[k, j]] if root[k, j] >= 0 else np.inf


@kernel()
def spread(start, prices):
    """By how much the price of one cluster has risen against that of another, or against 0."""
    rise, fall = 0.0, 0.0
    for k in range(len(prices)):
        rise = max(rise, prices[k] - start[k])
        fall = min(fall, prices[k] - start[k])
    return rise - fall


@kernel()
def _shrink(start, prices, limit):
    """Shorten the way from `start` to `prices` to the limit."""
    moved = spread(start, prices)
    if moved > limit:
        for k in range(len(prices)):
            prices[k] = start[k] + (prices[k] - start[k]) * (limit / moved)


@kernel()
def drop_idle_prices(low, high, n_points, prices):
    """Set prices to 0 whose sign speaks of a bound that cannot be tight."""
    for k in range(len(prices)):
        if low[k] != high[k] and (
            (prices[k] > 0 and high[k] >= n_points) or (prices[k] < 0 and low[k] <= 0)
        ):
            prices[k] = 0.0


@kernel()
def label_by_price(costs, prices, labels, sizes):
    """Write the label of least cost + price to `labels`; adds the points to `sizes`."""
    for g in range(len(costs)):
        best, least = 0, costs[g, 0] + prices[0]
        for k in range(1, costs.shape[1]):
            value = costs[g, k] + prices[k]
            if value < least:
                best, least = k, value
        labels[g] = best
        sizes[best] += 1


@kernel()
def set_places(low, high, sizes, prices, held, excess):
    """Write the sizes that the prices ask for to `held`, what is too many to `excess`.

    The last entry of `excess` is that of the slack node.
    """
    n_clusters, total, wanted = len(low), 0, 0
    for k in range(n_clusters):
        total += sizes[k]
    for k in range(n_clusters):
        if prices[k] > 0:
            held[k] = high[k]
        elif prices[k] < 0:
            held[k] = low[k]
        else:
            held[k] = min(max(sizes[k], low[k]), high[k])
        excess[k] = sizes[k] - held[k]
        wanted += held[k]
    excess[n_clusters] = wanted - total


@kernel()
def _raise_prices(prices, away, end):
    """Prices after a shortest path of length `end`; the slack node stays at 0."""
    slack = end - away[-1] if away[-1] < end else 0.0
    for k in range(len(prices)):
        if away[k] < end:
            prices[k] += end - away[k]
        prices[k] -= slack


@kernel()
def _shortest_path(cheapest, low, high, prices, held, excess, away, waiting, before):
    """Dijkstra from all nodes with too many to the nearest with too few; returns it, or -1.

    `cheapest` (K, K) is the least regret of moving a point from one cluster to another.
    """
    n_clusters = len(prices)
    for v in range(n_clusters + 1):
        away[v] = waiting[v] = 0.0 if excess[v] > 0 else np.inf
        before[v] = -1
    while True:
        here = np.inf
        for u in range(n_clusters + 1):
            here = min(here, waiting[u])
        if here == np.inf:
            return -1
        v = 0
        while waiting[v] != here:
            v += 1
        if excess[v] < 0:
            return v
        waiting[v] = np.inf
        if v == n_clusters:
            for k in range(n_clusters):
                length = here + max(0.0, prices[k])
                if held[k] > low[k] and length < away[k]:
                    away[k] = waiting[k] = length
                    before[k] = v
            continue
        row, base = cheapest[v], prices[v]
        for k in range(n_clusters):
            length = here + max(0.0, row[k] + prices[k] - base)
            closer = length < away[k]
            away[k] = length if closer else away[k]
            waiting[k] = length if closer else waiting[k]
            before[k] = v if closer else before[k]
        length = here + max(0.0, -base)
        if held[v] < high[v] and length < away[n_clusters]:
            away[n_clusters] = waiting[n_clusters] = length
            before[n_clusters] = v


@kernel()
def _send(heaps, before, end, held, excess, labels, movers, cheapest):
    """Send one unit along the path that ends at `end`."""
    root, point = heaps[0], heaps[6]
    n_clusters = len(cheapest)
    v = end
    while before[v] >= 0:  # all movers are chosen before any of them moves
        u = before[v]
        if u < n_clusters and v < n_clusters:
            movers[v] = point[root[u, v]]
        v = u
    excess[v] -= 1
    excess[end] += 1
    v = end
    while before[v] >= 0:
        u = before[v]
        if u == n_clusters:
            held[v] -= 1
        elif v == n_clusters:
            held[u] += 1
        else:
            _relabel(heaps, labels, movers[v], v)
        v = u
    v = end
    while v >= 0:
        if v < n_clusters:
            _look_up(heaps, v, cheapest)
        v = before[v]


@kernel()
def _fill_heaps(costs, prices, limit, labels):
    """One heap for each pair of clusters (k, l): the points in k by their regret of moving to l.

    Pairing heaps, so that a point can leave all of its own at any time. A point has one node for
    each cluster within the limit, in the heap of (its label, that cluster).
    """
    n_points, n_clusters = costs.shape
    first = np.empty(n_points + 1, np.int64)
    n_nodes = 0
    for g in range(n_points):
        first[g] = n_nodes
        most = costs[g, labels[g]] + prices[labels[g]] + limit
        for k in range(n_clusters):
            n_nodes += costs[g, k] + prices[k] <= most
    first[n_points] = n_nodes
    root = np.full((n_clusters, n_clusters), -1, np.int64)
    child = np.empty(n_nodes, np.int64)
    after = np.empty(n_nodes, np.int64)
    ahead = np.empty(n_nodes, np.int64)  # the sibling before, or the parent of a first child
    key = np.empty(n_nodes)
    point = np.empty(n_nodes, np.int64)
    cluster = np.empty(n_nodes, np.int64)
    cost = np.empty(n_nodes)
    heaps = (root, child, after, ahead, key, first, point, cluster, cost)
    node = 0
    for g in range(n_points):
        most = costs[g, labels[g]] + prices[labels[g]] + limit
        for k in range(n_clusters):
            if costs[g, k] + prices[k] <= most:
                point[node], cluster[node], cost[node] = g, k, costs[g, k]
                node += 1
        _enter(heaps, g, labels[g])
    return heaps


@kernel()
def _relabel(heaps, labels, g, to):
    """Move a point from its cluster's heaps to those of another."""
    root, first, cluster = heaps[0], heaps[5], heaps[7]
    k = labels[g]
    for node in range(first[g], first[g + 1]):
        j = cluster[node]
        if j != k:
            root[k, j] = _without(heaps, root[k, j], node)
    labels[g] = to
    _enter(heaps, g, to)


@kernel()
def _enter(heaps, g, k):
    """Put a point into the heaps of cluster k."""
    root, child, after, ahead, key, first, _, cluster, cost = heaps
    here = 0.0
    for node in range(first[g], first[g + 1]):
        if cluster[node] == k:
            here = cost[node]
    for node in range(first[g], first[g + 1]):
        j = cluster[node]
        if j != k:
            key[node] = cost[node] - here
            child[node] = after[node] = ahead[node] = -1
            root[k, j] = node if root[k, j] < 0 else _meld(heaps, root[k, j], node)


@kernel()
def _meld(heaps, a, b):
    """Join two heaps, neither empty; returns the root. The first of equals stays on top."""
    child, after, ahead, key = heaps[1], heaps[2], heaps[3], heaps[4]
    if key[b] < key[a]:
        a, b = b, a
    first = child[a]
    after[b] = first
    if first >= 0:
        ahead[first] = b
    ahead[b] = a
    child[a] = b
    return a


@kernel()
def _without(heaps, root, node):
    """Take a node out of the heap of this root; returns the new root, or -1."""
    child, after, ahead = heaps[1], heaps[2], heaps[3]
    if node != root:
        left, right = ahead[node], after[node]
        if child[left] == node:
            child[left] = right
        else:
            after[left] = right
        if right >= 0:
            ahead[right] = left
    # The children in pairs from left to right, then all of these from right to left.
    pairs, first = -1, child[node]
    while first >= 0:
        second = after[first]
        following = after[second] if second >= 0 else -1
        ahead[first] = after[first] = -1
        joined = first
        if second >= 0:
            ahead[second] = after[second] = -1
            joined = _meld(heaps, first, second)
        after[joined] = pairs
        pairs = joined
        first = following
    rest = -1
    while pairs >= 0:
        following = after[pairs]
        after[pairs] = ahead[pairs] = -1
        rest = pairs if rest < 0 else _meld(heaps, rest, pairs)
        pairs = following
    if node == root:
        return rest
    return root if rest < 0 else _meld(heaps, root, rest)
