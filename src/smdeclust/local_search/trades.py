"""Good labels within several bounds, quickly: prices by steps, then moves of the least cost.

A search needs no optimal labels as long as its objective falls. Prices of the last iteration leave
few points where they must not be; these move elsewhere, those with the best repair for the cost
first.
"""

import numpy as np

from smdeclust.assignment.active_set import broken_price
from smdeclust.assignment.compiled import assign_tables
from smdeclust.assignment.status import HARD, PAUSED, SOLVED
from smdeclust.kernels import kernel
from smdeclust.local_search.jumps import sort_places
from smdeclust.local_search.lloyd import accept, conclude, new_tally, settle
from smdeclust.points.blocks import two_least
from smdeclust.points.centers import costs_of, sum_of_squares
from smdeclust.points.lanes import find_priced
from smdeclust.structure.tabu import beyond

# The share of a full step that is made: each price is moved as if no other was.
DAMPING = 0.7
# Sums that are off by no more than one group in this many are close: the rest is traded.
CLOSE = 128
# What is mended by less than this is rounding.
LEAST_MENDED = 1e-9
# Looks at all groups for one assignment, groups that tell where prices go, and rounds of moves.
LOOKS = 4
SOME = 512
MOST_ROUNDS = 50


@kernel()
def climb(costs, counts, low, high, least, largest, prices, reach, fade, n_steps):
    """Move prices up the dual, each by how far its sum is off over how many points are near.

    `costs` are (n, K), `counts` (n, B); `low` and `high` (B, K) bound the sums over these points,
    `least` and `largest` the prices. No price moves by more than `reach`, which fades from step to
    step. Changes `prices`. O(n K B) a step.
    """
    n, k = costs.shape
    n_bounds = len(low)
    if n == 0 or not reach < np.inf:
        return  # nothing shows where prices should go
    held, crowd, row = np.empty(low.shape), np.empty(low.shape), np.empty(k)
    for _ in range(n_steps):
        for b in range(n_bounds):
            for j in range(k):
                held[b, j] = crowd[b, j] = 0.0
        for g in range(n):
            _at_prices(costs[g], counts[g], prices, row)
            best, second = two_least(row)
            near = second >= 0 and row[second] - row[best] <= reach
            for b in range(n_bounds):
                count = counts[g, b]
                held[b, best] += count
                if near:
                    crowd[b, best] += count * count
                    crowd[b, second] += count * count
        missed = 0.0
        for b in range(n_bounds):
            for j in range(k):
                price, off = prices[b, j], 0.0
                if price > 0 or held[b, j] > high[b, j]:
                    off = held[b, j] - high[b, j]
                elif price < 0 or held[b, j] < low[b, j]:
                    off = held[b, j] - low[b, j]
                if off == 0.0:
                    continue
                missed += abs(off)
                step = DAMPING * off * reach / max(crowd[b, j], 1.0)
                moved = price + min(max(step, -reach), reach)
                if price * moved < 0:
                    moved = 0.0  # not from one bound to the other at once
                prices[b, j] = min(max(moved, least[b, j]), largest[b, j])
        if missed * CLOSE <= n:
            break
        reach *= fade


@kernel()
def _mended(counts, sign, j, low, high, held):
    """By how much less the bounds on cluster j are broken if a point enters it, or leaves (-1)."""
    mended = 0.0
    for b in range(len(low)):
        if counts[b] != 0.0:
            mended += beyond(low[b, j], high[b, j], held[b, j])
            mended -= beyond(low[b, j], high[b, j], held[b, j] + sign * counts[b])
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
            leaving = _mended(counts[g], -1.0, a, low, high, held)
            for j in range(k):
                if j != a and costs[g, j] < np.inf:
                    mended = leaving + _mended(counts[g], 1.0, j, low, high, held)
                    loss = costs[g, j] - costs[g, a]
                    if mended > LEAST_MENDED and loss < price[g] * mended:
                        price[g], target[g] = loss / mended, j
            n_useful += price[g] < np.inf
        sort_places(price, 1.0, order)
        for i in range(n_useful):
            g = order[i]
            a, j = labels[g], target[g]
            mended = _mended(counts[g], -1.0, a, low, high, held)
            mended += _mended(counts[g], 1.0, j, low, high, held)
            # (What repairs less than before costs more than before.)
            if mended <= LEAST_MENDED or costs[g, j] - costs[g, a] > 2 * abs(price[g]) * mended:
                continue
            labels[g] = j
            for b in range(n_bounds):
                held[b, a] -= counts[g, b]
                held[b, j] += counts[g, b]
        if n_useful == 0:
            return False
    return False


@kernel()
def bounded_lloyd(
    points, lanes, weights, indptr, indices, price, together, counts, counted, low, high, least,
    largest, centers, prices, labels, n_done, max_iter,
):  # fmt: skip
    """Iterate with good labels within the bounds until the objective does not fall.

    As `lloyd`; `counts` (G, B), also side by side (`counted`), `low` to `largest` and `prices`
    (B, K) are those of the bounds. Changes `centers`, `prices` and `labels`. Returns (status,
    objective, n_done); HARD where no good labels were found for `centers`.
    """
    graph = (indptr, indices, price, together)
    found, tally = np.empty(len(weights), np.int64), new_tally(centers)
    objective, _ = settle(points, weights, labels, found, tally, centers)
    objective += broken_price(labels, graph)
    status = PAUSED
    while status == PAUSED and n_done < max_iter:
        if not _label_within(
            points, lanes, weights, graph, counts, counted, low, high, least, largest, centers,
            prices, found,
        ):  # fmt: skip
            status = HARD
            break
        cost = broken_price(found, graph) + sum_of_squares(points, weights, found, centers)
        status, objective = accept(points, weights, found, labels, cost, objective, tally, centers)
        n_done += 1
    status, objective = conclude(points, weights, labels, found, tally, centers, status)
    return status, objective + broken_price(labels, graph), n_done


@kernel()
def _label_within(
    points, lanes, weights, graph, counts, counted, low, high, least, largest, centers, prices,
    labels,
):  # fmt: skip
    """Good labels of all groups within the bounds; returns whether there are any.

    Linked groups take what is best for them at the prices, the free ones trade. Changes `prices`,
    writes `labels`.
    """
    n, k = len(points), len(centers)
    n_linked, n_bounds = len(graph[0]) - 1, len(low)
    n_free = n - n_linked
    filled_up, held = np.empty(len(weights)), np.empty(low.shape)
    margins = filled_up[:n]
    statuses = np.zeros(1, np.int64)
    linked_costs = costs_of(points, weights, np.arange(n_linked), centers)
    off = 0.0
    for look in range(LOOKS):
        find_priced(lanes, weights, counted, centers, prices, labels, filled_up)
        if n_linked > 0:
            table = _priced(linked_costs, counts, prices).reshape((1, n_linked, k))
            assign_tables(table, graph, labels[:n_linked].reshape((1, n_linked)), statuses)
            if statuses[0] != SOLVED:
                return False
        _sum_up(counts, labels, np.arange(n), held)
        off = 0.0
        for b in range(n_bounds):
            for j in range(k):
                off += beyond(low[b, j], high[b, j], held[b, j])
        if off * 64 <= n_free or look == LOOKS - 1:
            break
        # First some groups tell where prices go, then those near to indifference how to get nearer.
        # (Linked ones as if they had no pairs: these change where they go much less than prices.)
        some, fade, n_steps = np.arange(n), 0.9, 40
        reach = _margin(margins, 0.5)
        if look > 0:
            reach, fade, n_steps = _margin(margins, min(0.5, (2 * off + 256) / n)) / 4, 0.8, 15
            some = _near(margins, 0, 4 * reach)
        step = max(1, len(some) // SOME)
        some = some[::step]
        _climb_on(costs_of(points, weights, some, centers), counts, labels, some, step, held, low,
                  high, least, largest, prices, reach, fade, n_steps)  # fmt: skip
    share = (4 * off + 128) / max(1, n_free)
    for _ in range(4):
        limit = _margin(margins[n_linked:], share)
        few = _near(margins, n_linked, limit)
        now, costs = held.copy(), costs_of(points, weights, few, centers)
        count, chosen = _rows(counts, few), np.empty(len(few), np.int64)
        for i in range(len(few)):
            chosen[i] = labels[few[i]]
        if trade(_priced(costs, count, prices), count, low, high, now, chosen, MOST_ROUNDS):
            reach = min(limit, _margin(margins[n_linked:], 0.5)) / 4
            _climb_on(costs, counts, labels, few, 1, held, low, high, least, largest, prices, reach,
                      0.8, 2)  # fmt: skip
            for i in range(len(few)):
                labels[few[i]] = chosen[i]
            return True
        share *= 4
    return False


@kernel()
def _near(margins, first, limit):
    """The groups from `first` on whose margin is at most `limit`."""
    near, n = np.empty(len(margins) - first, np.int64), 0
    for g in range(first, len(margins)):
        near[n] = g
        n += margins[g] <= limit
    return near[:n]


@kernel()
def _priced(costs, counts, prices):
    """The costs of groups with what they pay for what they count."""
    priced = np.empty(costs.shape)
    for i in range(len(costs)):
        _at_prices(costs[i], counts[i], prices, priced[i])
    return priced


@kernel()
def _at_prices(costs, counts, prices, row):
    """Write the costs of a group with what it pays for what it counts."""
    for j in range(len(row)):
        row[j] = costs[j]
    for b in range(len(prices)):
        count = counts[b]
        for j in range(len(row)):
            row[j] += count * prices[b, j]


@kernel()
def _sum_up(counts, labels, which, held):
    """Write the (B, K) sums of some groups."""
    for b in range(held.shape[0]):
        for j in range(held.shape[1]):
            held[b, j] = 0.0
    for g in which:
        for b in range(len(held)):
            held[b, labels[g]] += counts[g, b]


@kernel()
def _margin(margins, share):
    """The margin that about this share of the groups does not exceed, from some of them."""
    step = max(1, len(margins) // 256)
    n = (len(margins) + step - 1) // step
    some, order = np.empty(n), np.empty(n, np.int64)
    for i in range(n):
        some[i] = margins[i * step]
    sort_places(some, 1.0, order)
    place = int(share * n)
    return some[order[place]] if place < n else np.inf


@kernel()
def _rows(table, which):
    """Some rows of a table."""
    rows = np.empty((len(which), table.shape[1]))
    for i in range(len(which)):
        for j in range(table.shape[1]):
            rows[i, j] = table[which[i], j]
    return rows


@kernel()
def _climb_on(costs, counts, labels, which, step, held, low, high, least, largest, prices, reach,
              fade, n_steps):  # fmt: skip
    """Climb on some groups, one in `step`, whose sums may change by their share of what all may."""
    lowest, highest = np.empty(low.shape), np.empty(low.shape)
    _sum_up(counts, labels, which, lowest)
    room = 0.0 if step == 1 else 1.0
    for b in range(len(low)):
        for j in range(low.shape[1]):
            here = lowest[b, j]
            lowest[b, j] = here + (low[b, j] - held[b, j]) / step - room
            highest[b, j] = here + (high[b, j] - held[b, j]) / step + room
    climb(costs, _rows(counts, which), lowest, highest, least, largest, prices, reach,
          fade, n_steps)  # fmt: skip
