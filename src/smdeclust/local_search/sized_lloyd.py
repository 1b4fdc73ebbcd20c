"""The compiled local search under cluster sizes, where all groups are single free points.

An iteration is an ordinary one at the prices of the last: one pass over all points. Then only the
points nearest to indifference take part in the transportation problem; the others stay where they
are as long as no price moves by more than their margin, which is checked.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.distances import squared_distances, transposed
from smdeclust.assignment.status import INFEASIBLE, PAUSED, SOLVED, STUCK
from smdeclust.assignment.transport import drop_idle_prices, set_places, spread, transport
from smdeclust.kernels import kernel
from smdeclust.local_search.lloyd import LEAST_FALL, _conclude, _move, _settle, _transfer
from smdeclust.points.priced import find_priced

# Points that a first guess of prices looks at, where there are many: enough for small noise.
SAMPLE = 1024
# Looks at all points with a limit on how far prices move; then there is none.
MOST_ATTEMPTS = 20
# Margins that are looked at to choose how many points take part.
LOOKED_AT = 256


@kernel()
def _costs_of(chosen, points, weights, centers, centers_t):
    costs = np.empty((len(chosen), len(centers)))
    for i in range(len(chosen)):
        g = chosen[i]
        squared_distances(points[g], centers, centers_t, costs[i])
        for k in range(len(centers)):
            costs[i, k] *= weights[g]
    return costs


@kernel()
def guess_prices(points, weights, centers, centers_t, low, high, prices):
    """Prices from some of the points, with bounds in proportion; changes `prices`."""
    n_points, n_clusters = len(points), len(centers)
    step = max(1, n_points // SAMPLE)
    chosen = np.arange(0, n_points, step)
    share = len(chosen) / n_points
    fewer_low, fewer_high = np.empty(n_clusters, np.int64), np.empty(n_clusters, np.int64)
    for k in range(n_clusters):
        fewer_low[k] = np.int64(np.floor(low[k] * share))
        fewer_high[k] = np.int64(np.ceil(high[k] * share))
    costs = _costs_of(chosen, points, weights, centers, centers_t)
    transport(costs, fewer_low, fewer_high, prices, np.empty(len(chosen), np.int64), np.inf)


@kernel()
def settle_units(
    points, weights, centers, centers_t, low, high, prices, labels, margins, attempt, reach
):  # fmt: skip
    """Bring labels at prices, with their margins, to the optimal ones within the bounds.

    Changes `labels` and `prices`. Returns SOLVED, INFEASIBLE, or PAUSED: look again at the new
    prices; `attempt` counts how often that was, and more points take part each time. `reach` is by
    how much prices may be expected to move.
    """
    n_points, n_clusters = len(points), len(centers)
    sizes = np.zeros(n_clusters, np.int64)
    for g in range(n_points):
        sizes[labels[g]] += 1
    held, excess = np.empty(n_clusters, np.int64), np.empty(n_clusters + 1, np.int64)
    set_places(low, high, sizes, prices, held, excess)
    too_many = 0
    for v in range(n_clusters + 1):
        too_many += max(0, excess[v])
    if too_many == 0:
        return SOLVED
    if attempt == 0 and too_many > n_points // 16 and n_points >= 4 * SAMPLE:
        guess_prices(points, weights, centers, centers_t, low, high, prices)
        drop_idle_prices(low, high, n_points, prices)
        return PAUSED
    n_wanted = max(4 * too_many + 16 * n_clusters, n_points // 64) << attempt
    limit = np.inf
    if attempt < MOST_ATTEMPTS:
        n_wanted = min(n_wanted, n_points // 2)
        step = max(1, n_points // LOOKED_AT)
        some = np.sort(margins[:n_points:step])
        limit = some[min(len(some) - 1, n_wanted * len(some) // n_points)]
        limit = max(limit, min(reach, some[len(some) // 2]))
    n_chosen = 0
    found = np.empty(n_points, np.int64)
    for g in range(n_points):
        if margins[g] <= limit:
            found[n_chosen] = g
            n_chosen += 1
    chosen = found[:n_chosen]
    for g in chosen:
        sizes[labels[g]] -= 1
    least, most = np.empty(n_clusters, np.int64), np.empty(n_clusters, np.int64)
    for k in range(n_clusters):
        least[k], most[k] = low[k] - sizes[k], high[k] - sizes[k]
    costs = _costs_of(chosen, points, weights, centers, centers_t)
    answer = np.empty(n_chosen, np.int64)
    status = transport(costs, least, most, prices, answer, limit)
    if status == SOLVED:
        for i in range(n_chosen):
            labels[chosen[i]] = answer[i]
    return status


@kernel()
def sized_lloyd(points, lanes, weights, low, high, centers, prices, labels, n_done, max_iter):
    """Iterate from `centers` and `prices` until the objective does not fall.

    As `lloyd`, for single points that each count once: sizes from `low` to `high` (K,). Changes
    `centers`, `prices` and `labels`. Returns (status, objective, n_done).
    """
    found = np.empty(len(weights), np.int64)
    margins = np.empty(len(weights))
    sums = np.empty(centers.shape)
    totals = np.empty(len(centers))
    counts = np.empty(len(centers), np.int64)
    objective, _ = _settle(points, weights, labels, found, sums, totals, counts, centers)
    status = PAUSED
    reach = 0.0
    before = prices.copy()
    while status == PAUSED and n_done < max_iter:
        centers_t = transposed(centers)
        for k in range(len(prices)):
            before[k] = prices[k]
        attempt = 0
        status = PAUSED
        drop_idle_prices(low, high, len(points), prices)
        while status == PAUSED:
            find_priced(lanes, weights, 0, 1, centers, prices, found, margins)
            status = settle_units(
                points, weights, centers, centers_t, low, high, prices, found, margins, attempt,
                reach,
            )  # fmt: skip
            attempt += 1
        if status != SOLVED:
            break
        reach = spread(before, prices)
        status, objective = _accept(
            points, weights, found, labels, objective, sums, totals, counts, centers
        )
        n_done += 1
    if status != INFEASIBLE:
        status, objective = _conclude(
            points, weights, labels, found, sums, totals, counts, centers, status
        )
    return status, objective, n_done


@kernel()
def _accept(points, weights, found, labels, objective, sums, totals, counts, centers):
    """Take over labels and move centers; returns (status, objective)."""
    n_changed, _ = _transfer(points, weights, labels, found, sums, totals, counts)
    if n_changed == 0:
        return SOLVED, objective
    cost = 0.0
    for g in range(len(points)):
        square = 0.0
        for j in range(points.shape[1]):
            gap = points[g, j] - centers[found[g], j]
            square += gap * gap
        cost += weights[g] * square
    fall, _ = _move(sums, totals, centers)
    f = cost - fall if fall < cost else 0.0
    if not f < objective * (1 - LEAST_FALL):
        return STUCK, objective
    for g in range(len(labels)):
        labels[g] = found[g]
    return PAUSED, f
