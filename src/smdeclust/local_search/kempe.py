"""Deep local search: where Lloyd stops, swap Kempe chains between two clusters.

Moving a group from cluster a to b drags along its cannot-linked groups in b, theirs in a, and so
on: the connected component of the cannot-link graph between the two clusters. Swapping it keeps
every cannot-link. A lone group is the classical Hartigan move. The change of the objective follows
exactly from the two clusters' means and weights.

A chain between two clusters is the same from whichever of its groups one starts, and its gain
changes only when one of the two clusters does. So every chain is weighed once, and again only
after a swap that touched its clusters.
"""

import numpy as np

from smdeclust.kernels import kernel, summing_kernel
from smdeclust.points.centers import FEW_FEATURES, squared_distances, transposed
from smdeclust.problem import Contracted
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.coloring import kempe_chain, soft_gain

# A move must gain more than these shares of the objective and of the scatter about the mean, which
# is the scale of rounding: where every group is its own cluster the objective is 0, and chains
# would be swapped to and fro for ever.
LEAST_GAIN = 1e-12
ROUNDING = 1e-14

# Edges of chains that may be walked, as a multiple of the size of the problem: on a star every swap
# makes chains of thousands of groups worth another look.
MOST_VISITS = 20


@summing_kernel()
def squared_distance(x, y):
    total = 0.0
    for j in range(len(x)):
        gap = x[j] - y[j]
        total += gap * gap
    return total


@summing_kernel()
def _distances_to(x, centers, centers_t, wanted, row):
    """Write |x - y_k|^2 to `row`, at least for the wanted clusters."""
    n_clusters, n_features = centers.shape
    if n_features <= FEW_FEATURES:  # all of them at once take no longer
        squared_distances(x, centers, centers_t, row)
        return
    for k in range(n_clusters):
        if wanted[k]:
            row[k] = squared_distance(x, centers[k])


@kernel()
def _net_flow(chain, weights, counts, labels, a, flow):
    """Weight that a swap of the chain takes from cluster a, net; writes its counts to `flow`."""
    weight = 0.0
    for b in range(len(flow)):
        flow[b] = 0.0
    for g in chain:
        sign = 1.0 if labels[g] == a else -1.0
        weight += sign * weights[g]
        for b in range(len(flow)):
            flow[b] += sign * counts[b, g]
    return weight


@kernel()
def _fits(held, flow, low, high, a, b):
    """Whether clusters a and b keep their bounds if `flow` goes from a to b."""
    for i in range(len(flow)):
        left, right = held[i, a] - flow[i], held[i, b] + flow[i]
        if left < low[i, a] or left > high[i, a] or right < low[i, b] or right > high[i, b]:
            return False
    return True


@summing_kernel()
def _swap_gain(chain, points, weights, labels, a, b, centers, weight_a, weight_b, shift):
    """How much the objective falls if the chain is swapped between a and b.

    `weight_a` and `weight_b` are the clusters' weights after the swap. With s the sum of w (x - y)
    over what enters a cluster minus that over what leaves, the sum of squares about the old center
    changes by a known amount, and moving the center to the new mean saves |s|^2 / W. Writes s of
    a to `shift[0]`, of b to `shift[1]`. O(chain * d).
    """
    n_features = centers.shape[1]
    for j in range(n_features):
        shift[0, j] = shift[1, j] = 0.0
    gain = 0.0
    for g in chain:
        w = weights[g] if labels[g] == a else -weights[g]
        closer = 0.0
        for j in range(n_features):
            to_a = points[g, j] - centers[a, j]
            to_b = points[g, j] - centers[b, j]
            closer += to_a * to_a - to_b * to_b
            shift[0, j] -= w * to_a
            shift[1, j] += w * to_b
        gain += w * closer
    square_a, square_b = 0.0, 0.0
    for j in range(n_features):
        square_a += shift[0, j] * shift[0, j]
        square_b += shift[1, j] * shift[1, j]
    return gain + square_a / weight_a + square_b / weight_b


@kernel()
def _gain_bound(chain, weights, labels, a, b, distances, weight_a, weight_b):
    """At least `_swap_gain`, from distances to the two centers alone: |s| <= sum of w |x - y|."""
    gain, reach_a, reach_b = 0.0, 0.0, 0.0
    for g in chain:
        w = weights[g]
        to_a, to_b = distances[g, a], distances[g, b]
        gain += w * (to_a - to_b) if labels[g] == a else w * (to_b - to_a)
        reach_a += w * np.sqrt(to_a)
        reach_b += w * np.sqrt(to_b)
    return gain + reach_a * reach_a / weight_a + reach_b * reach_b / weight_b


@kernel()
def _soft_prices(g, soft, labels, prices):
    """Write what the soft pairs of `g` would cost in each cluster, up to a common constant."""
    indptr, indices, price, together = soft
    for k in range(len(prices)):
        prices[k] = 0.0
    for e in range(indptr[g], indptr[g + 1]):
        prices[labels[indices[e]]] += -price[e] if together[e] else price[e]


@kernel()
def kempe_descent(
    points, weights, indptr, indices, soft, labels, centers, objective, counts, low, high
):  # fmt: skip
    """Swap improving chains until a whole pass finds none, or there were very many.

    For each group the best target cluster is taken. Changes `labels` and `centers` (means stay
    means). Chains follow the hard pairs (`indptr`, `indices`); what the pairs of `soft` cost, which
    may be broken, counts in the gain. Of each bound, the sum of the (B, G) `counts` over a cluster
    stays between `low` and `high` (B, K). Returns the number of swaps. The first pass costs
    O(G K d) plus the chains walked, later ones only what the swaps touched.
    """
    n_groups, n_linked = len(points), len(indptr) - 1
    n_clusters, n_features = centers.shape
    total = np.zeros(n_clusters)
    held, flow = np.zeros(low.shape), np.zeros(len(low))
    scatter = 0.0
    for g in range(n_groups):
        for j in range(n_features):
            scatter += weights[g] * points[g, j] * points[g, j]
        total[labels[g]] += weights[g]
        for i in range(len(held)):
            held[i, labels[g]] += counts[i, g]
    # Time is counted in swaps: a look is out of date if its clusters changed after it.
    clock = 1
    changed = np.zeros(n_clusters, np.int64)
    looked = np.zeros(n_groups, np.int64)
    weighed = np.zeros((n_linked, n_clusters), np.int64)
    measured = np.zeros((n_linked, n_clusters), np.int64)
    distances = np.zeros((n_linked, n_clusters))
    mark = np.zeros(n_linked, np.int64)
    stamp = 0
    chain = np.zeros(n_linked + 1, np.int64)
    shift = np.zeros((2, n_features))
    blocked = np.zeros(n_clusters, np.int64)  # the last look at a group with a cannot-link to it
    stale = np.zeros(n_clusters, np.int64)
    centers_t = transposed(centers)
    row = np.zeros(n_clusters)
    near = np.zeros(n_clusters, np.int64)
    # At least how far the nearest other cluster was from a group (0: unknown), plus `drift`, how
    # far any center has moved in the passes before; in this one each has `moved` so far.
    apart = np.zeros(n_groups)
    moved = np.zeros(n_clusters)
    farthest = drift = 0.0
    prices = np.zeros(n_clusters)
    has_soft = len(soft[2]) > 0
    lightest = np.inf
    for k in range(n_clusters):
        changed[k] = clock
        lightest = min(lightest, total[k])
    least = LEAST_GAIN * objective + ROUNDING * scatter
    # With weights of very different size rounding can make swaps to and fro look like gains.
    most_swaps = 100 + 4 * n_groups
    visits_left = 1_000_000 + MOST_VISITS * (n_groups * n_clusters + len(indices))
    swaps, looks, idle, g = 0, 0, 0, -1
    while idle < n_groups and swaps < most_swaps and visits_left > 0:
        g = g + 1 if g + 1 < n_groups else 0
        idle += 1
        since = looked[g]
        w = weights[g]
        if g == 0:  # a new pass
            drift += farthest
            farthest = 0.0
            for k in range(n_clusters):
                moved[k] = 0.0
        if since == clock or w <= 0:
            continue
        looked[g] = clock
        looks += 1
        a = labels[g]
        best, best_gain = a, least  # a: none
        linked = g < n_linked
        if linked:
            for e in range(indptr[g], indptr[g + 1]):
                blocked[labels[indices[e]]] = looks
        # Clusters further away than this cannot gain: none weighs less than the lightest.
        leaving = squared_distance(points[g], centers[a])
        leaving *= w * total[a] / (total[a] - w)  # counts only where others stay behind
        reach = (leaving - least) * (lightest + w) / (lightest * w)
        gap = apart[g] - drift - farthest
        n_near = 0
        if gap > 0 and gap * gap > reach * (1 + 1e-9) and not (linked and has_soft):
            if linked:
                for e in range(indptr[g], indptr[g + 1]):
                    b = labels[indices[e]]
                    if blocked[b] == looks and b != a:
                        near[n_near] = b
                        n_near += 1
                        blocked[b] = -looks
        else:
            if changed[a] > since:
                since = -1  # all gains are out of date
            for b in range(n_clusters):
                stale[b] = b == a or changed[b] > since
                if stale[b] and b != a:
                    near[n_near] = b
                    n_near += 1
            _distances_to(points[g], centers, centers_t, stale, row)
            if n_features <= FEW_FEATURES or since < 0:
                row[a] = np.inf
                nearest = row[0]
                for b in range(1, n_clusters):
                    nearest = row[b] if row[b] < nearest else nearest
                apart[g] = np.sqrt(nearest) + drift
            if linked and has_soft:
                _soft_prices(g, soft, labels, prices)
                reach = np.inf
        for i_near in range(n_near):
            b = near[i_near]
            if abs(blocked[b]) != looks:
                if not row[b] <= reach:
                    continue
                gain = leaving - row[b] * w * total[b] / (total[b] + w)
                if has_soft and linked:
                    gain += prices[a] - prices[b]
                if gain > best_gain:
                    for i in range(len(flow)):
                        flow[i] = counts[i, g]
                    if _fits(held, flow, low, high, a, b):
                        best, best_gain = b, gain
                continue
            if weighed[g, b] >= max(changed[a], changed[b]):
                continue
            stamp += 1
            n = kempe_chain(g, b, labels, indptr, indices, mark, stamp, chain)
            for i in range(n):
                v = chain[i]
                visits_left -= 1 + indptr[v + 1] - indptr[v]
                weighed[v, b if labels[v] == a else a] = clock
                for end in range(2):
                    k = a if end == 0 else b
                    if measured[v, k] < changed[k]:
                        distances[v, k] = squared_distance(points[v], centers[k])
                        measured[v, k] = clock
            members = chain[:n]
            weight = _net_flow(members, weights, counts, labels, a, flow)
            if not _fits(held, flow, low, high, a, b):
                continue
            after_a, after_b = total[a] - weight, total[b] + weight
            cheaper = soft_gain(members, soft, labels, a, b, mark, stamp) if has_soft else 0.0
            bound = _gain_bound(members, weights, labels, a, b, distances, after_a, after_b)
            if bound + cheaper > best_gain:
                gain = cheaper + _swap_gain(
                    members, points, weights, labels, a, b, centers, after_a, after_b, shift
                )
                if gain > best_gain:
                    best, best_gain = b, gain
        if best == a:
            continue
        b = best
        n = 1
        chain[0] = g
        if g < n_linked:
            stamp += 1
            n = kempe_chain(g, b, labels, indptr, indices, mark, stamp, chain)
        weight = _net_flow(chain[:n], weights, counts, labels, a, flow)
        total[a] -= weight
        total[b] += weight
        lightest = min(lightest, total[a], total[b])
        for i in range(len(flow)):
            held[i, a] -= flow[i]
            held[i, b] += flow[i]
        _swap_gain(chain[:n], points, weights, labels, a, b, centers, total[a], total[b], shift)
        for end in range(2):
            k, square = (a if end == 0 else b), 0.0
            for j in range(n_features):
                step = shift[end, j] / total[k]
                square += step * step
                centers[k, j] += step
                centers_t[j, k] = centers[k, j]
            moved[k] += np.sqrt(square)
            farthest = max(farthest, moved[k])
        for i in range(n):
            labels[chain[i]] = b if labels[chain[i]] == a else a
            apart[chain[i]] = 0.0
        clock += 1
        changed[a] = clock
        changed[b] = clock
        swaps += 1
        idle = 0
    return swaps


def swap_chains(
    contracted: Contracted,
    labels: np.ndarray,
    centers: np.ndarray,
    objective: float,
    bounds: Bounds | None = None,
) -> bool:
    """Swap chains within the bounds (``None``: no cluster may be empty) as long as that helps.

    `objective` is without what no labels change. Changes `labels` and `centers`; returns whether
    any chain was swapped.
    """
    bounds = contracted.none_empty if bounds is None else bounds
    n_swaps = kempe_descent(
        contracted.points, contracted.weights, *contracted.graph.hard_part.arrays[:2],
        contracted.graph.soft_part.arrays, labels, centers, objective, bounds.counts, bounds.low,
        bounds.high,
    )  # fmt: skip
    return n_swaps > 0
