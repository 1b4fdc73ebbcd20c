"""Prices of several bounds at once, for groups without pairs: a linear program on few of them.

At the right prices nearly every group has the cheapest cost + price by a margin. So only those near
to indifference take part in the program, with the labels near to their best, and the others count
as they are. Its duals are better prices. Where these move other groups, more take part.
"""

import numpy as np

from smdeclust.assignment.cores.linear_program import OPTIMAL, linear_program
from smdeclust.assignment.status import Budget
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph
from smdeclust.structure.tabu import mend

# Programs that are solved for one answer, and groups in the first of them at least.
MOST_PROGRAMS = 30
LEAST_GROUPS = 256
# A bound that is missed by more than this is not kept yet.
LEAST_MISSED = 1e-7
# Moves that bring rounded shares within the bounds.
ROUNDING_MOVES = 200
# Groups that tell where prices go, where there are many.
LEAST_SAMPLE, LARGEST_SAMPLE = 400, 1024

NO_PAIRS = PairGraph.hard(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64))


def settle(
    costs: np.ndarray, bounds: Bounds, prices: np.ndarray, budget: Budget
) -> tuple[np.ndarray | None, np.ndarray]:
    """Label groups without pairs within the bounds, near to the least cost.

    Returns labels (``None`` where none were found) and the prices of the linear program, which are
    the best that there are.
    """
    prices, shares = find_prices(costs, bounds, prices, budget)
    if shares is None:
        return None, prices
    labels = shares.argmax(axis=1)
    if bounds.hold(labels):
        return labels, prices
    priced = bounds.priced(costs, prices)
    return mend(priced, NO_PAIRS, bounds, labels, budget.deadline, ROUNDING_MOVES), prices


def find_prices(
    costs: np.ndarray, bounds: Bounds, prices: np.ndarray, budget: Budget
) -> tuple[np.ndarray, np.ndarray | None]:
    """(B, K) prices of the linear relaxation, and its (G, K) shares (``None``: no solution)."""
    n = len(costs)
    sample = int(np.clip(n // 10, LEAST_SAMPLE, LARGEST_SAMPLE))
    prices = bounds.admit(prices)
    if n >= 4 * sample:
        held = bounds.held(bounds.priced(costs, prices).argmin(axis=1))
        if np.abs(held - bounds.implied(held, prices)).sum() > n / 16:
            few = np.arange(0, n, -(-n // sample))
            share = len(few) / n
            # The sample has a little more or less of everything than its share.
            more = bounds.counts[:, few].sum(axis=1) - share * bounds.counts.sum(axis=1)
            more = more[:, None] / bounds.low.shape[1]
            some = Bounds(
                bounds.counts[:, few],
                bounds.low * share + more - np.abs(bounds.counts).mean(axis=1, keepdims=True),
                bounds.high * share + more + np.abs(bounds.counts).mean(axis=1, keepdims=True),
                bounds.filled * share,
            )
            prices = bounds.admit(find_prices(costs[few], some, prices, budget)[0])
    opened = np.zeros(costs.shape, dtype=bool)
    shares: np.ndarray | None = None
    held = bounds.held(bounds.priced(costs, prices).argmin(axis=1))
    off = float(np.abs(held - bounds.implied(held, prices)).sum())
    n_wanted, n_pressed = int(np.clip(off, LEAST_GROUPS, sample)) if n > sample else n, 0
    for _ in range(MOST_PROGRAMS):
        value = bounds.priced(costs, prices)
        value -= value.min(axis=1, keepdims=True)
        took_part = np.where(opened, value, np.inf).min(axis=1)
        if shares is not None and took_part.max(initial=0.0) <= 0.0:
            return prices, shares  # the best label of every group was among them
        reach = reach_of(value, n_wanted)
        near = value <= reach
        opened = near if shares is None else opened | near
        status, prices, shares = _solve(costs, bounds, prices, value, opened, reach / 2, budget)
        if status != OPTIMAL and (reach == np.inf or budget.is_late()):
            return prices, None
        n_pressed += shares is None
        # Prices that press on their limit have far to go: again from there, in the end with more.
        if shares is not None or n_pressed % 4 == 0:
            n_wanted *= 2
    return prices, shares


def reach_of(value: np.ndarray, n_wanted: int) -> float:
    """The regret that the second best labels of about this many groups do not exceed."""
    if value.shape[1] < 2 or n_wanted >= len(value):
        return np.inf
    second = np.partition(value, 1, axis=1)[:, 1]
    reach = float(np.partition(second, n_wanted)[n_wanted])
    return reach if reach > 0 else float(second[second > 0].min(initial=np.inf))  # many ties


def _solve(
    costs: np.ndarray,
    bounds: Bounds,
    prices: np.ndarray,
    value: np.ndarray,
    opened: np.ndarray,
    most: float,
    budget: Budget,
) -> tuple[int, np.ndarray, np.ndarray | None]:
    """The program over the open labels: status, prices, shares.

    No price moves by more than `most`: what the open labels cannot bring within the bounds costs
    that much, and where there is such a rest, there are no shares.

    It starts at `prices`: costs are regrets at these, and what a cluster leaves of a bound that has
    a price costs that price. So the basis of best labels is dual feasible, and the dual simplex
    method has only as far to go as the sums are off.
    """
    n, k = costs.shape
    best = value.argmin(axis=1)
    opened[np.arange(n), best] = True
    opened &= np.isfinite(costs)
    several = np.flatnonzero(opened.sum(axis=1) > 1)
    shares = np.zeros(costs.shape)
    shares[np.arange(n), best] = 1.0
    row, label = np.nonzero(opened[several])
    group = several[row]
    alone = np.ones(n, dtype=bool)
    alone[several] = False
    fixed = bounds.of_groups(alone).held(best[alone])
    use = np.flatnonzero((np.isfinite(bounds.low) | np.isfinite(bounds.high)).ravel())
    at_high = (prices.ravel()[use] > 0) | ~np.isfinite(bounds.low.ravel()[use])
    room = (bounds.high - bounds.low).ravel()[use]
    n_x, n_use = len(group), len(use)
    # Columns: shares, what is left of bounds, and by how much each is missed, either way.
    n_missed = 2 * n_use if most < np.inf else 0
    program = linear_program()
    program.add_columns(
        np.concatenate([value[group, label], np.abs(prices.ravel()[use]), np.full(n_missed, most)]),
        np.concatenate([np.full(n_x, np.inf), room, np.full(n_missed, np.inf)]),
    )
    starts = np.searchsorted(row, np.arange(len(several) + 1))
    ones = np.ones(len(several))
    program.add_rows(ones, ones, starts, np.arange(n_x), np.ones(n_x))
    column = np.full(costs.shape, -1)
    column[group, label] = np.arange(n_x)
    program.make_basic(column[several, best[several]], len(several))
    # sum of counts + what is left = high, or sum of counts - what is more = low
    columns, values, sizes = [], [], []
    for i, place in enumerate(use):
        b, j = divmod(int(place), k)
        mine = np.flatnonzero((label == j) & (bounds.counts[b, group] != 0))
        missed = [n_x + n_use + i, n_x + 2 * n_use + i] if n_missed else []
        columns += [mine, [n_x + i, *missed]]
        ends = [1.0 if at_high[i] else -1.0, 1.0, -1.0]
        values += [bounds.counts[b, group[mine]], ends[: 1 + len(missed)]]
        sizes.append(len(mine) + 1 + len(missed))
    end = np.where(at_high, bounds.high.ravel()[use], bounds.low.ravel()[use]) - fixed.ravel()[use]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    none = np.empty(0)
    program.add_rows(
        end,
        end,
        starts,
        np.concatenate([none, *columns]).astype(np.int64),
        np.concatenate([none, *values]),
    )
    status = program.solve(budget)
    if status != OPTIMAL:
        return status, prices, None
    shares[group, label] = program.x[:n_x]
    moved = prices.copy().ravel()
    moved[use] -= program.row_dual[len(several) :]
    pressed = bool((program.x[n_x + n_use :] > LEAST_MISSED).any())
    return status, bounds.admit(moved.reshape(prices.shape)), None if pressed else shares
