"""Free points under cluster sizes: a transportation problem, solved on a graph of K + 1 nodes.

Its dual is one price per cluster: every point goes where cost + price is least; a positive price
means that the cluster is at its largest size, a negative one that it is at its smallest. Surplus
points move along shortest paths of clusters to where points are missing, or to the
slack node: there a cluster takes or gives up a place between its smallest and largest size. An arc
costs the cheapest regret of moving a point; one heap for each pair of clusters knows it.
"""

import numpy as np

from smdeclust.assignment.status import INFEASIBLE, PAUSED, SOLVED
from smdeclust.kernels import kernel

# Links of a heap's node: first child, next sibling, the sibling before or the parent, its point.
CHILD, AFTER, AHEAD, POINT = 0, 1, 2, 3
# No node, of the type of links: with one type, what joins heaps is compiled only once.
NONE = np.int32(-1)


def transport(
    costs: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    prices: np.ndarray,
    labels: np.ndarray,
    limit: float,
) -> int:
    """Label unit points at the least cost with low <= points <= high in each cluster.

    `costs` (m, K) are finite; `low`, `high` (K,) whole numbers. Starts from `prices`, and writes
    the optimal ones there (every point is at its least cost + price, up to rounding) and `labels`.

    With a finite `limit` no price moves against another by more than that: labels whose cost +
    price is worse by more than the limit at the start are left out.
    Returns SOLVED; PAUSED where the limit was reached: prices are better, labels mean nothing; or
    INFEASIBLE. O(m K) plus O(K^2 + K log m) a path; the better the prices, the fewer paths.
    """
    priced = costs + prices
    near = priced <= priced.min(axis=1, keepdims=True) + limit
    first = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
    cluster = np.nonzero(near)[1].astype(np.int32)
    status = transport_among(first, cluster, costs[near], low, high, prices, labels, limit)
    return int(status)


@kernel()
def transport_among(first, cluster, cost, low, high, prices, labels, limit):
    """The same where point g has only the labels `cluster`, at `cost`, from first[g] on.

    These are at least all whose cost + price is within the limit of the least one.
    """
    n_clusters = len(prices)
    sizes = np.zeros(n_clusters, np.int64)
    _label_by_price(first, cluster, cost, prices, labels, sizes)
    held = np.empty(n_clusters, np.int64)  # the places that the slack node counts
    excess = np.empty(n_clusters + 1, np.int64)
    required, low, start = low, low.copy(), prices.copy()
    for k in range(n_clusters):
        if low[k] > high[k]:
            return INFEASIBLE
        low[k] = min(max(low[k], 0), high[k])
    set_places(low, high, sizes, prices, held, excess)
    left = 0
    for v in range(n_clusters + 1):
        left += max(0, excess[v])
    status = SOLVED
    if left > 0:
        heaps = _fill_heaps(first, cluster, cost, n_clusters, labels)
        status = _flow(heaps, left, low, high, start, prices, held, excess, labels, limit)
    for k in range(n_clusters):
        if status == SOLVED and required[k] < 0 and prices[k] < 0:
            prices[k] = 0.0  # no group is needed there
    moved = spread(start, prices)
    if status != INFEASIBLE and moved > limit:
        for k in range(n_clusters):  # only so far
            prices[k] = start[k] + (prices[k] - start[k]) * (limit / moved)
        return PAUSED
    return status


@kernel()
def _flow(heaps, left, low, high, start, prices, held, excess, labels, limit):
    """Send what is too many along shortest paths, one unit each."""
    n_clusters = len(prices)
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
        _raise_prices(prices, away, away[end] if end >= 0 else limit)
        if spread(start, prices) > limit or end < 0:
            return PAUSED
        _send(heaps, before, end, held, excess, labels, movers, cheapest)
    return SOLVED


@kernel()
def _look_up(heaps, k, cheapest):
    """Write the least regrets of the points in cluster k."""
    root, _, key, _, _, _ = heaps
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
def drop_idle_prices(low, high, n_points, prices):
    """Set prices to 0 whose sign speaks of a bound that cannot be tight."""
    for k in range(len(prices)):
        if low[k] != high[k] and (
            (prices[k] > 0 and high[k] >= n_points) or (prices[k] < 0 and low[k] <= 0)
        ):
            prices[k] = 0.0


@kernel()
def _label_by_price(first, cluster, cost, prices, labels, sizes):
    """Write the label of least cost + price to `labels`; adds the points to `sizes`."""
    for g in range(len(labels)):
        best, least = -1, np.inf
        for node in range(first[g], first[g + 1]):
            value = cost[node] + prices[cluster[node]]
            if value < least:
                best, least = cluster[node], value
        labels[g] = best
        sizes[best] += 1


@kernel()
def set_places(low, high, sizes, prices, held, excess):
    """Write the sizes that prices ask for to `held`, and the `excess`, of the slack node last."""
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
    root, links, _, _, _, _ = heaps
    n_clusters = len(cheapest)
    v = end
    while before[v] >= 0:  # all movers are chosen before any of them moves
        u = before[v]
        if u < n_clusters and v < n_clusters:
            movers[v] = links[root[u, v], POINT]
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
def _fill_heaps(first, cluster, cost, n_clusters, labels):
    """One heap for each pair of clusters (k, l): the points in k by their regret of moving to l.

    Pairing heaps, so that a point can leave all of its own at any time. A point has one node for
    each label that it may have, in the heap of (its label, that one). A node's links lie together.
    """
    root = np.full((n_clusters, n_clusters), -1, np.int32)
    links = np.empty((len(cost), 4), np.int32)
    heaps = (root, links, np.empty(len(cost)), first, cluster, cost)
    for g in range(len(labels)):
        for node in range(first[g], first[g + 1]):
            links[node, POINT] = g
        _enter(heaps, g, labels[g])
    return heaps


@kernel()
def _relabel(heaps, labels, g, to):
    """Move a point from its cluster's heaps to those of another."""
    root, _, _, first, cluster, _ = heaps
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
    root, links, key, first, cluster, cost = heaps
    here = 0.0
    for node in range(first[g], first[g + 1]):
        if cluster[node] == k:
            here = cost[node]
    for node in range(first[g], first[g + 1]):
        j = cluster[node]
        if j != k:
            key[node] = cost[node] - here
            links[node, CHILD] = links[node, AFTER] = links[node, AHEAD] = -1
            root[k, j] = node if root[k, j] < 0 else _meld(heaps, root[k, j], np.int32(node))


@kernel()
def _meld(heaps, a, b):
    """Join two heaps, neither empty; returns the root. The first of equals stays on top."""
    _, links, key, _, _, _ = heaps
    if key[b] < key[a]:
        a, b = b, a
    first = links[a, CHILD]
    links[b, AFTER] = first
    if first >= 0:
        links[first, AHEAD] = b
    links[b, AHEAD] = a
    links[a, CHILD] = b
    return a


@kernel()
def _without(heaps, root, node):
    """Take a node out of the heap of this root; returns the new root, or -1."""
    links = heaps[1]
    if node != root:
        left, right = links[node, AHEAD], links[node, AFTER]
        if links[left, CHILD] == node:
            links[left, CHILD] = right
        else:
            links[left, AFTER] = right
        if right >= 0:
            links[right, AHEAD] = left
    # The children in pairs from left to right, then all of these from right to left.
    pairs, first = NONE, links[node, CHILD]
    while first >= 0:
        second = links[first, AFTER]
        following = links[second, AFTER] if second >= 0 else NONE
        links[first, AHEAD] = links[first, AFTER] = -1
        joined = first
        if second >= 0:
            links[second, AHEAD] = links[second, AFTER] = -1
            joined = _meld(heaps, first, second)
        links[joined, AFTER] = pairs
        pairs = joined
        first = following
    rest = NONE
    while pairs >= 0:
        following = links[pairs, AFTER]
        links[pairs, AFTER] = links[pairs, AHEAD] = -1
        rest = pairs if rest < 0 else _meld(heaps, rest, pairs)
        pairs = following
    if node == root:
        return rest
    return root if rest < 0 else _meld(heaps, root, rest)
