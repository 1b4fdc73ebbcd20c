"""The exact assignment where clusters have different bounds: which takes which is part of it."""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.sized import Found, assign_sized
from smdeclust.assignment.sizes_of import Sizes
from smdeclust.assignment.small_rest import solve_rest
from smdeclust.structure.bounds import SizeBounds
from smdeclust.structure.graph import PairGraph

# Orders of the bounds that are tried before a MILP chooses among all of them.
MOST_ORDERS = 10


def assign_ordered(
    costs: np.ndarray,
    graph: PairGraph,
    of_group: np.ndarray,
    bounds: SizeBounds,
    upper: np.ndarray | None = None,
    budget: Budget | None = None,
) -> tuple[np.ndarray | None, float, float]:
    """Label all groups at the least cost over all orders of the bounds.

    The prices of one order bound the cost under every other: where that is not below the cost, the
    order is optimal. Else the order of the least bound is tried, and in the end a MILP chooses
    among all orders, with the labels that the bound leaves open. Returns labels (or ``None``), cost
    and lower bound as ``assign`` does.
    """
    k = costs.shape[1]
    budget = Budget() if budget is None else budget
    order = bounds.match_sizes(np.bincount(costs.argmin(axis=1), of_group, k))
    best: Found | None = None
    bound = -np.inf  # on the cost under every order
    for _ in range(MOST_ORDERS):
        sizes = Sizes(of_group, *bounds.taken_by(order), np.zeros(k))
        found = assign_sized(costs, graph, sizes, upper, budget)
        if bounds.alike:
            return found.labels, found.cost, found.bound
        if best is None or found.cost < best.cost:
            best, taken = found, sizes
        if found.labels is None:
            break
        bound = max(bound, found.dual - bounds.least_charge_gap(found.prices, order))
        best.bound = max(bound, found.dual - bounds.least_charge_gap(found.prices, order))
        if best.is_proven() or found is not best:
            break
        orders, _ = bounds.cheaper_orders(found.prices, order)
        if not orders:
            break
        order = orders[0]
    assert best is not None
    if best.labels is None:
        best.bound = -np.inf
    if not best.is_proven():
        if best.labels is not None:
            # The labels that reduced costs rule out follow from its own prices.
            best.bound = best.dual - bounds.least_charge_gap(best.prices, _order_of(taken, bounds))
        fits = lambda labels: bounds.hold(taken.of(labels))  # noqa: E731
        solve_rest(best, costs, graph, taken, budget, any_order=fits)
        best.bound = min(best.cost, max(best.bound, bound))
    if best.is_proven():
        best.bound = best.cost
    return best.labels, best.cost, best.bound


def _order_of(sizes: Sizes, bounds: SizeBounds) -> np.ndarray:
    """The order in which clusters have taken their bounds."""
    left = list(range(len(bounds.low)))
    order = []
    for low, high in zip(sizes.low, sizes.high, strict=True):
        at = next(j for j in left if bounds.low[j] == low and bounds.high[j] == high)
        left.remove(at)
        order.append(at)
    return np.array(order)
