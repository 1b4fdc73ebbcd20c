"""The compiled local search under cluster sizes, where all groups are single free points.

An iteration is an ordinary one at the prices of the last: one pass over all points. Then only the
points nearest to indifference take part in the transportation problem; the others stay where they
are as long as no price moves by more than their margin, which is checked.
"""

import numpy as np

from smdeclust.assignment.status import INFEASIBLE, PAUSED, SOLVED
from smdeclust.assignment.transport import drop_idle_prices, set_places, spread, transport_among
from smdeclust.kernels import kernel
from smdeclust.local_search.jumps import sort_places
from smdeclust.local_search.lloyd import accept, conclude, new_tally, settle
from smdeclust.points.lanes import LANES, find_priced, near_labels

# Points that a guess of prices looks at, where there are many: enough for small noise.
SAMPLE = 1024
# Looks at all points with a limit on how far prices move; then there is none.
MOST_ATTEMPTS = 20
# Prices may move this much more than in the last iteration before all points are looked at again.
MORE = 1.5
# Margins that are looked at to choose how many points take part.
LOOKED_AT = 256


@kernel()
def _count(labels, which, n_clusters):
    """(K,) how many of some points have each label."""
    sizes = np.zeros(n_clusters, np.int64)
    for g in which:
        sizes[labels[g]] += 1
    return sizes


@kernel()
def _trade(points, weights, chosen, share, centers, low, high, sizes, prices, labels, limit):
    """Bring the labels of some points, a `share` of those that could move, to optimal ones.

    `sizes` (K,) are those of all points. Bounds and what is too many are taken in proportion: a
    part of the points tells where prices go. Changes `prices`, and `labels` where the share is 1.
    Returns the status and by how much the cost changed.
    """
    n_clusters = len(centers)
    held = _count(labels, chosen, n_clusters)
    least, most = np.empty(n_clusters, np.int64), np.empty(n_clusters, np.int64)
    for k in range(n_clusters):
        least[k] = held[k] + np.int64(np.floor(share * (low[k] - sizes[k])))
        most[k] = held[k] + np.int64(np.ceil(share * (high[k] - sizes[k])))
        if share < 1:
            most[k] = max(most[k], 0)
    first, cluster, cost = near_labels(points, weights, chosen, centers, prices, limit)
    answer = np.empty(len(chosen), np.int64)
    for i in range(len(chosen)):
        answer[i] = labels[chosen[i]]
    before = _cost_of(first, cluster, cost, answer)
    status = transport_among(first, cluster, cost, least, most, prices, answer, limit)
    if share < 1 or status != SOLVED:
        return status, 0.0
    for i in range(len(chosen)):
        labels[chosen[i]] = answer[i]
    return SOLVED, _cost_of(first, cluster, cost, answer) - before


@kernel()
def _cost_of(first, cluster, cost, labels):
    total = 0.0
    for i in range(len(labels)):
        for node in range(first[i], first[i + 1]):
            if cluster[node] == labels[i]:
                total += cost[node]
    return total


@kernel()
def _too_many(low, high, sizes, prices):
    """How many points lie elsewhere than the prices ask for."""
    held, excess = np.empty(len(low), np.int64), np.empty(len(low) + 1, np.int64)
    set_places(low, high, sizes, prices, held, excess)
    total = 0
    for v in range(len(excess)):
        total += max(0, excess[v])
    return total


@kernel()
def _guess_prices(points, weights, centers, low, high, sizes, prices, labels):
    """Prices from some of the points, whose own sizes may change as those of all must."""
    chosen = np.arange(len(points))[:: max(1, len(points) // SAMPLE)]
    share = len(chosen) / len(points)
    _trade(points, weights, chosen, share, centers, low, high, sizes, prices, labels, np.inf)
    drop_idle_prices(low, high, len(points), prices)


@kernel()
def settle_units(points, weights, centers, low, high, prices, labels, margins, attempt, reach):
    """Bring labels at prices, with their margins, to the optimal ones within the bounds.

    Changes `labels` and `prices`. Returns the status, SOLVED, INFEASIBLE, or PAUSED: look again at
    the new prices, and how much the cost changed. `attempt` counts how often that was, and more
    points take part each time. `reach` is by how much prices may be expected to move.
    """
    n_points, n_clusters = len(points), len(centers)
    sizes = _count(labels, range(n_points), n_clusters)
    too_many = _too_many(low, high, sizes, prices)
    if too_many == 0:
        return SOLVED, 0.0
    if attempt == 0 and n_points >= 4 * SAMPLE and too_many > n_points // 16:
        _guess_prices(points, weights, centers, low, high, sizes, prices, labels)
        return PAUSED, 0.0
    n_wanted = max(4 * too_many + 16 * n_clusters, n_points // 64) << attempt
    limit = np.inf
    if attempt < MOST_ATTEMPTS:
        n_wanted = min(n_wanted, n_points // 2)
        step = max(1, n_points // LOOKED_AT)
        some = margins[:n_points:step]
        order = np.empty(len(some), np.int64)
        sort_places(some, 1.0, order)
        limit = some[order[min(len(some) - 1, n_wanted * len(some) // n_points)]]
        limit = max(limit, min(MORE * reach, some[order[len(some) // 2]]))
    n_chosen = 0
    found = np.empty(n_points, np.int64)
    for g in range(n_points):
        if margins[g] <= limit:
            found[n_chosen] = g
            n_chosen += 1
    # Some of many tell where prices go; but few are not worth another look at all points.
    step = n_chosen // (2 * SAMPLE) if too_many > n_points // 64 and attempt < 4 else 1
    chosen = found[: n_chosen : max(1, step)]
    share = len(chosen) / n_chosen
    status, more = _trade(
        points, weights, chosen, share, centers, low, high, sizes, prices, labels, limit
    )
    return (PAUSED if share < 1 else status), more


@kernel()
def sized_lloyd(points, lanes, weights, low, high, centers, prices, labels, n_done, max_iter):
    """Iterate from `centers` and `prices` until the objective does not fall.

    As `lloyd`, for single points that each count once: sizes from `low` to `high` (K,). Changes
    `centers`, `prices` and `labels`. Returns (status, objective, n_done).
    """
    found, tally = np.empty(len(weights), np.int64), new_tally(centers)
    margins, ones = np.empty(len(weights)), np.ones((1, 1, LANES))
    objective, _ = settle(points, weights, labels, found, tally, centers)
    status = PAUSED
    reach = 0.0
    before = prices.copy()
    while status == PAUSED and n_done < max_iter:
        for k in range(len(prices)):
            before[k] = prices[k]
        attempt = 0
        status = PAUSED
        drop_idle_prices(low, high, len(points), prices)
        cost = 0.0
        while status == PAUSED:
            at = prices.reshape((1, len(prices)))
            cost = find_priced(lanes, weights, ones, centers, at, found, margins)
            status, more = settle_units(
                points, weights, centers, low, high, prices, found, margins, attempt, reach
            )
            cost += more
            attempt += 1
        if status != SOLVED:
            break
        reach = spread(before, prices)
        status, objective = accept(points, weights, found, labels, cost, objective, tally, centers)
        n_done += 1
    if status != INFEASIBLE:
        status, objective = conclude(points, weights, labels, found, tally, centers, status)
    return status, objective, n_done
