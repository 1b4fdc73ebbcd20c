"""Good labels within several bounds, quickly: prices by steps, then moves of the least cost.

A search needs no optimal labels as long as its objective falls. Prices of the last iteration leave
few points where they must not be; these go elsewhere, the cheapest for what they mend first.
"""

from __future__ import annotations

import numpy as np

from smdeclust.kernels import kernel
from smdeclust.local_search.jumps import sort_places
from smdeclust.structure.mending import beyond

# The share of a full step that is made: each price is moved as if no other was.
DAMPING = 0.7
# What is mended by less than this is rounding.
LEAST_MENDED = 1e-9


@kernel()
def climb(costs, counts, low, high, least, largest, prices, reach, fade, n_steps):
    """Move prices up the dual, each by how far its sum is off over how many points are near.

    `costs` are (n, K), `counts` (n, B); `low` and `high` (B, K) bound the sums over these points,
    `least` and `largest` the prices. No price moves by more than `reach`, which fades from step to
    step. Changes `prices`. O(n K B) a step.
    """
    n, k = costs.shape
    n_bounds = len(low)
    held, crowd = np.empty(low.shape), np.empty(low.shape)
    for _ in range(n_steps):
        for b in range(n_bounds):
            for j in range(k):
                held[b, j] = crowd[b, j] = 0.0
        for g in range(n):
            best, second = 0, 0
            value, next_value = np.inf, np.inf
            for j in range(k):
                here = costs[g, j]
                for b in range(n_bounds):
                    here += counts[g, b] * prices[b, j]
                if here < value:
                    second, next_value = best, value
                    best, value = j, here
                elif here < next_value:
                    second, next_value = j, here
            for b in range(n_bounds):
                count = counts[g, b]
                held[b, best] += count
                if next_value - value <= reach:
                    crowd[b, best] += count * count
                    crowd[b, second] += count * count
        for b in range(n_bounds):
            for j in range(k):
                price, off = prices[b, j], 0.0
                if price > 0 or held[b, j] > high[b, j]:
                    off = held[b, j] - high[b, j]
                elif price < 0 or held[b, j] < low[b, j]:
                    off = held[b, j] - low[b, j]
                if off == 0.0:
                    continue
                step = DAMPING * off * reach / max(crowd[b, j], 1.0)
                moved = price + min(max(step, -reach), reach)
                if price * moved < 0:
                    moved = 0.0  # not from one bound to the other at once
                prices[b, j] = min(max(moved, least[b, j]), largest[b, j])
        reach *= fade


@kernel()
def _mended(counts, g, a, j, low, high, held):
    """By how much less the bounds are broken if point g goes from a to j."""
    mended = 0.0
    for b in range(len(low)):
        count = counts[g, b]
        mended += beyond(low[b, a], high[b, a], held[b, a])
        mended -= beyond(low[b, a], high[b, a], held[b, a] - count)
        mended += beyond(low[b, j], high[b, j], held[b, j])
        mended -= beyond(low[b, j], high[b, j], held[b, j] + count)
    return mended


@kernel()
def trade(costs, counts, low, high, held, labels, n_rounds):
    """Move points until the (B, K) sums `held` are within the bounds; returns whether they are.

    A round looks at every point once, and then moves those that still mend something in the order
    of what that costs. Changes `held` and `labels`. O(n K B + n log n) a round.
    """
    n, k = costs.shape
    n_bounds = len(low)
    price = np.empty(n)  # what mending costs, at the best other label
    target, order = np.empty(n, np.int64), np.empty(n, np.int64)
    for _ in range(n_rounds):
        broken = 0.0
        for b in range(n_bounds):
            for j in range(k):
                broken += beyond(low[b, j], high[b, j], held[b, j])
        if broken <= 0.0:
            return True
        n_useful = 0
        for g in range(n):
            a = labels[g]
            price[g] = np.inf
            for j in range(k):
                if j != a and costs[g, j] < np.inf:
                    mended = _mended(counts, g, a, j, low, high, held)
                    loss = costs[g, j] - costs[g, a]
                    if mended > LEAST_MENDED and loss < price[g] * mended:
                        price[g], target[g] = loss / mended, j
            n_useful += price[g] < np.inf
        sort_places(price, 1.0, order)
        for i in range(n_useful):
            g = order[i]
            a, j = labels[g], target[g]
            mended = _mended(counts, g, a, j, low, high, held)
            # (What mends less than it did is dearer than it was.)
            if mended <= LEAST_MENDED or costs[g, j] - costs[g, a] > 2 * abs(price[g]) * mended:
                continue
            labels[g] = j
            for b in range(n_bounds):
                held[b, a] -= counts[g, b]
                held[b, j] += counts[g, b]
        if n_useful == 0:
            return False
    return False
