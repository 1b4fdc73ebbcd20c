"""Points side by side: distances of many at once, and nearest centers at prices.

At prices every group goes to the least weight x squared distance + price of what it counts.
"""

import numpy as np

from smdeclust.kernels import kernel, summing_kernel
from smdeclust.structure.graph import all_read_only

# Groups side by side in memory, and features that a kernel takes at a time: measured.
LANES = 64
AT_ONCE = 4


def side_by_side(points: np.ndarray) -> np.ndarray:
    """Return the points as (blocks, features, LANES), filled up with zeros; read-only."""
    return laid_out(points, np.empty(0))[0]


def laid_out(points: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
    """Return the points as (blocks, features, LANES), and their weights; both filled up with zeros
    to whole blocks, and read-only."""
    n_blocks, width = -(-len(points) // LANES), -(-points.shape[1] // AT_ONCE) * AT_ONCE
    lanes, padded = np.zeros((n_blocks * LANES, width)), np.zeros(n_blocks * LANES)
    lanes[: len(points), : points.shape[1]] = points
    padded[: len(weights)] = weights
    return all_read_only(lanes.reshape(n_blocks, LANES, width).transpose(0, 2, 1), padded)


@kernel()
def by_twos(centers, width):
    """Return the centers filled up with zeros, to an even number and to the width of lanes."""
    wide = np.zeros((len(centers) + len(centers) % 2, width))
    for k in range(len(centers)):
        for j in range(centers.shape[1]):
            wide[k, j] = centers[k, j]
    return wide


@summing_kernel(forceinline=True)
def two_squares(block, wide, k, here, there):
    """Write the squared distances of a block's points to centers k and k + 1."""
    for i in range(LANES):
        here[i] = 0.0
        there[i] = 0.0
    for j in range(0, block.shape[0], AT_ONCE):
        x0, x1, x2, x3 = block[j], block[j + 1], block[j + 2], block[j + 3]
        y0, y1, y2, y3 = wide[k, j], wide[k, j + 1], wide[k, j + 2], wide[k, j + 3]
        z0, z1, z2, z3 = (
            wide[k + 1, j], wide[k + 1, j + 1], wide[k + 1, j + 2], wide[k + 1, j + 3],
        )  # fmt: skip
        for i in range(LANES):
            a0, a1, a2, a3 = x0[i] - y0, x1[i] - y1, x2[i] - y2, x3[i] - y3
            b0, b1, b2, b3 = x0[i] - z0, x1[i] - z1, x2[i] - z2, x3[i] - z3
            here[i] += (a0 * a0 + a1 * a1) + (a2 * a2 + a3 * a3)
            there[i] += (b0 * b0 + b1 * b1) + (b2 * b2 + b3 * b3)


@summing_kernel(forceinline=True)
def _offer(values, k, heavy, counted, prices, nearest, least, second):
    """Turn squared distances to center k to costs + prices, and take it where it is closer."""
    price, count = prices[0, k], counted[0]
    for i in range(LANES):
        values[i] = heavy[i] * values[i] + count[i] * price
    for b in range(1, len(prices)):
        price, count = prices[b, k], counted[b]
        for i in range(LANES):
            values[i] += count[i] * price
    for i in range(LANES):
        value = values[i]
        closer = value < least[i]
        other = least[i] if closer else value
        second[i] = other if other < second[i] else second[i]
        least[i] = value if closer else least[i]
        nearest[i] = k if closer else nearest[i]


@summing_kernel(forceinline=True)
def _label_lanes(block, wide, heavy, counted, prices, here, there, nearest, least, second):
    """Write the labels of a block, their cost + price of what they count, and the second best.

    `counted` (B, LANES) and `prices` (B, K) are those of all bounds.
    """
    n_clusters = prices.shape[1]
    for i in range(LANES):
        nearest[i] = 0
        least[i] = np.inf
        second[i] = np.inf
    for k in range(0, n_clusters, 2):
        two_squares(block, wide, k, here, there)
        _offer(here, k, heavy, counted, prices, nearest, least, second)
        if k + 1 < n_clusters:
            _offer(there, k + 1, heavy, counted, prices, nearest, least, second)


@summing_kernel()
def find_priced(lanes, weights, counted, centers, prices, labels, margins):
    """Label the groups at (B, K) prices; returns their cost without these. O(G K (d + B)).

    `counted` is what they count, side by side, or a single block for all. `margins` is by how much
    the second best is worse. `lanes` and `weights` are filled up to whole blocks; `labels` and
    `margins` have as many entries.
    """
    wide = by_twos(centers, lanes.shape[1])
    here, there, second = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    cost = 0.0
    for block in range(len(lanes)):
        at = block * LANES
        nearest, least, heavy = labels[at:], margins[at:], weights[at:]
        counts = counted[block if len(counted) > 1 else 0]
        _label_lanes(lanes[block], wide, heavy, counts, prices, here, there, nearest, least, second)
        for i in range(LANES):
            cost += least[i]
            least[i] = second[i] - least[i]
        for b in range(len(prices)):
            price, count = prices[b], counts[b]
            for i in range(LANES):
                cost -= count[i] * price[nearest[i]]
    return cost


@kernel()
def price_rows(X, weights, free, offset, counts, centers, prices, labels, margins, held):
    """Label the free rows of an array by the least cost + price of what they count.

    `counts` (B, n) has one column per row, or a single one for all; `prices` are (B, K). Writes
    `labels`, and to `margins` by how much the second best is worse; adds what rows count to `held`
    (B, K).
    """
    n_features, n_bounds = centers.shape[1], len(prices)
    block = np.zeros((-(-n_features // AT_ONCE) * AT_ONCE, LANES))
    wide = by_twos(centers, len(block))
    heavy, counted = np.zeros(LANES), np.ones((n_bounds, LANES))
    nearest, rows = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    least, second = np.empty(LANES), np.empty(LANES)
    here, there = np.empty(LANES), np.empty(LANES)
    n_rows = 0
    for i in range(len(X)):
        if free[i]:
            rows[n_rows] = i
            heavy[n_rows] = weights[i if len(weights) > 1 else 0]
            for b in range(n_bounds):
                counted[b, n_rows] = counts[b, i if counts.shape[1] > 1 else 0]
            for j in range(n_features):
                block[j, n_rows] = X[i, j] - offset[j]
            n_rows += 1
        if n_rows == LANES or (i == len(X) - 1 and n_rows > 0):
            _label_lanes(block, wide, heavy, counted, prices, here, there, nearest, least, second)
            for r in range(n_rows):
                labels[rows[r]] = nearest[r]
                margins[rows[r]] = second[r] - least[r]
                for b in range(n_bounds):
                    held[b, nearest[r]] += counted[b, r]
            n_rows = 0


@kernel()
def near_labels(points, weights, chosen, centers, prices, limit):
    """The labels of some points whose cost + price is within `limit` of the least one.

    Returns where those of each point begin, the clusters, and their costs without prices.
    """
    n_clusters, n_features = centers.shape
    block = np.zeros((-(-n_features // AT_ONCE) * AT_ONCE, LANES))
    wide = by_twos(centers, len(block))
    values = np.empty((len(wide), LANES))
    heavy, most = np.zeros(LANES), np.empty(LANES)
    first = np.zeros(len(chosen) + 1, np.int64)
    cluster, cost = np.empty(4 * len(chosen), np.int32), np.empty(4 * len(chosen))
    for start in range(0, len(chosen), LANES):
        n_here = min(LANES, len(chosen) - start)
        for i in range(n_here):
            g = chosen[start + i]
            heavy[i] = weights[g]
            for j in range(n_features):
                block[j, i] = points[g, j]
        for k in range(0, n_clusters, 2):
            two_squares(block, wide, k, values[k], values[k + 1])
        _least_values(values, heavy, prices, most)
        node = first[start]
        if len(cost) < node + n_here * n_clusters:
            cluster, cost = _longer(cluster, cost, node, n_here * n_clusters)
        for i in range(n_here):
            for k in range(n_clusters):
                if values[k, i] + prices[k] <= most[i] + limit:
                    cluster[node], cost[node] = k, values[k, i]
                    node += 1
            first[start + i + 1] = node
    return first, cluster[: first[-1]], cost[: first[-1]]


@kernel()
def _least_values(values, heavy, prices, least):
    """Multiply squared distances by weights; writes the least cost + price of each point."""
    for i in range(LANES):
        least[i] = np.inf
    for k in range(len(prices)):
        price = prices[k]
        row = values[k]
        for i in range(LANES):
            row[i] *= heavy[i]
            value = row[i] + price
            least[i] = value if value < least[i] else least[i]


@kernel()
def _longer(cluster, cost, used, more):
    """The arrays with room for more."""
    size = 2 * len(cost) + more
    more_cluster, more_cost = np.empty(size, np.int32), np.empty(size)
    for node in range(used):
        more_cluster[node], more_cost[node] = cluster[node], cost[node]
    return more_cluster, more_cost
