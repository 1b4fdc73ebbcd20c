"""What prices leave open under bounds: reduced costs fix labels, a small MILP decides the rest."""

import time
from typing import Any

import numpy as np

from smdeclust.assignment.linear_prices import find_prices, reach_of
from smdeclust.assignment.linked import LinkedLabels
from smdeclust.assignment.rounding_cuts import RoundingCuts, joined
from smdeclust.assignment.status import SOLVED, Budget
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph
from smdeclust.structure.label_program import SHARP, LabelProgram

# A budget of nodes or pivots becomes one of MILP nodes; and where some labels are known, no more
# than this many others may be open for each pivot: the root alone would take longer.
MOST_MILP_NODES, OPEN_A_PIVOT = 500, 0.25
# Labels are ruled out only where reduced costs exceed the gap by this share of all costs.
MARGIN = 1e-9
# Groups in a first program, beside three for each bound and cluster, and its nodes.
FEW_GROUPS, FEW_NODES = 50, 200
# Rounds of rows that shares of whole numbers keep.
MOST_CUTS = 8
# Labels in all ways to label what is open, where these are tried one by one.
FEW_WAYS = 1_000_000
# Entries of a MILP that are read in a second.
MOST_ENTRIES = 1_000_000


def solve_rest(
    found: Any, costs: np.ndarray, graph: PairGraph, bounds: Bounds, budget: Budget
) -> None:
    """Decide what the prices of `found` leave open; changes `found`.

    Where clusters may take their bounds in any order, the bound of `found` must hold for every one.
    """
    allowed = np.isfinite(costs)
    limited = np.isfinite(budget.max_nodes) or np.isfinite(budget.max_pivots)
    spent = limited and budget.is_spent() and found.labels is not None
    tight, prices = bounds, found.prices
    if found.labels is not None and np.isfinite(found.bound) and not spent:
        tight, prices = _with_cuts(found, costs, graph, bounds, budget)
        if found.is_proven():
            return
    if found.labels is not None and np.isfinite(found.bound):
        _, reduced = _reduced(prices, costs, graph, tight, budget)
        reach = reach_of(reduced, FEW_GROUPS + 3 * bounds.low.size)
        margin = MARGIN * max(found.scale, np.finfo(float).tiny)
        if reach < found.cost - found.bound + margin and not spent:
            # Better labels from few groups first: what is left open is smaller then.
            near = allowed & (reduced <= reach)
            near[np.arange(len(costs)), found.labels] = True
            few = _solve_milp(costs, graph, tight, near, budget.time_left(), FEW_NODES)
            kept = _offer(found, few[0], costs, graph, bounds)
            if kept and few[2] and found.cost - found.bound + margin <= reach:
                found.bound = found.cost  # better labels would be among the near ones
                return
        allowed &= reduced <= found.cost - found.bound + margin
    if not allowed.any(axis=1).all():
        found.bound = found.cost  # nothing is cheaper (infinite: there are no labels at all)
        return
    log_ways = np.log(allowed.sum(axis=1)).sum()
    if log_ways + np.log(len(costs) + len(graph.indices)) <= np.log(FEW_WAYS):
        _offer(found, _cheapest_way(costs, graph, bounds, allowed), costs, graph, bounds)
        found.bound = found.cost
        return
    if spent:
        return
    size = int(allowed.sum()) + len(graph.indices) * costs.shape[1]
    if found.labels is not None and size > MOST_ENTRIES * budget.time_left():
        return  # reading that much alone would take longer
    if found.labels is not None and allowed.sum() - len(costs) > OPEN_A_PIVOT * budget.max_pivots:
        return
    labels, bound, proven = _solve_milp(
        costs, graph, tight, allowed, budget.time_left(), MOST_MILP_NODES if limited else None
    )
    # HiGHS keeps rows to 1e-6: labels that do not fit are cheaper than any that do.
    proven &= _offer(found, labels, costs, graph, bounds)
    found.bound = found.cost if proven else max(found.bound, min(bound, found.cost))


def _with_cuts(
    found: Any, costs: np.ndarray, graph: PairGraph, bounds: Bounds, budget: Budget
) -> tuple[Bounds, np.ndarray]:
    """The bounds with rounding cuts, and prices of them all; changes `found` for the better."""
    tight, prices = bounds, found.prices
    if bounds.any_order or len(bounds.counts) == 1:
        return tight, prices
    alone, cuts = np.ones(len(costs), dtype=bool), RoundingCuts(bounds)
    alone[graph.ends] = False
    for _ in range(MOST_CUTS):
        others = tight.of_groups(~alone).held(found.labels[~alone])
        left = tight.of_groups(alone, others)
        moved, shares = find_prices(costs[alone], left, prices, budget)
        bound, _ = _reduced(moved, costs, graph, tight, budget)
        if bound >= found.bound:
            found.bound, prices = bound, moved
        if shares is None:
            break
        labels = found.labels.copy()
        labels[alone] = shares.argmax(axis=1)
        _offer(found, labels, costs, graph, bounds)
        more = cuts.broken((left.counts @ shares + left.filled)[: len(bounds.counts)])
        if found.is_proven() or more is None or budget.is_late():
            break
        tight = joined(tight, more)
        prices = np.concatenate([prices, np.zeros(more.low.shape)])
    return tight, prices


def _offer(
    found: Any, labels: np.ndarray | None, costs: np.ndarray, graph: PairGraph, bounds: Bounds
) -> bool:
    """Keep labels if they are better; returns whether they keep the bounds (or there are none)."""
    if labels is None:
        return True
    if not bounds.hold(labels):
        return False
    cost = float(costs[np.arange(len(costs)), labels].sum())
    found.offer(labels, cost + graph.penalty(labels[: graph.n_nodes]))
    return True


def _cheapest_way(
    costs: np.ndarray, graph: PairGraph, bounds: Bounds, allowed: np.ndarray
) -> np.ndarray | None:
    """Labels by enumeration, where few are open: exact to the rounding of sums, unlike a MILP."""
    choices = [np.flatnonzero(row) for row in allowed]
    open_groups = [g for g, labels in enumerate(choices) if len(labels) > 1]
    ways = np.tile(allowed.argmax(axis=1), (int(np.prod([len(c) for c in choices])), 1))
    grid = np.meshgrid(*(choices[g] for g in open_groups), indexing="ij")
    for g, labels in zip(open_groups, grid, strict=True):
        ways[:, g] = labels.ravel()
    values = costs[np.arange(len(costs)), ways].sum(axis=1)
    once = graph.ends < graph.indices
    first, second = ways[:, graph.ends[once]], ways[:, graph.indices[once]]
    broken = (first == second) != graph.together[once]
    values += np.where(broken, graph.price[once], 0.0).sum(axis=1)
    low, high = bounds.low - 2 * bounds.slack, bounds.high + 2 * bounds.slack
    if bounds.any_order:
        low[:], high[:] = low.min(axis=1, keepdims=True), high.max(axis=1, keepdims=True)
    fits = values < np.inf
    for k in range(costs.shape[1]):
        held = (ways == k) @ bounds.counts.T + bounds.filled[:, k]
        fits &= ((held >= low[:, k]) & (held <= high[:, k])).all(axis=1)
    there = np.flatnonzero(fits)
    ranked = ways[there[np.argsort(values[there], kind="stable")]]
    return next((labels for labels in ranked if bounds.hold(labels)), None)


def _reduced(
    prices: np.ndarray, costs: np.ndarray, graph: PairGraph, bounds: Bounds, budget: Budget
) -> tuple[float, np.ndarray]:
    """The bound at these prices, and (G, K) at least how much it rises if a group takes a label."""
    priced = bounds.priced(costs, prices)
    state = LinkedLabels(priced, graph)
    if state.relax(None, budget) != SOLVED:
        return -np.inf, np.zeros_like(priced)
    bound = state.cost() - state.unproven() - bounds.charge(prices)
    reduced = priced - state.nearest[:, None]
    active = np.flatnonzero(state.active)
    # An active group may spare its component all that it costs above nearest, pairs included.
    spared = state.regret[active] + graph.penalty(state.labels[: graph.n_nodes])
    reduced[active] = np.maximum(0.0, reduced[active] - spared[:, None])
    return bound, reduced


def _solve_milp(
    costs: np.ndarray,
    graph: PairGraph,
    bounds: Bounds,
    allowed: np.ndarray,
    max_time: float,
    max_nodes: int | None,
) -> tuple[np.ndarray | None, float, bool]:
    """The MILP over the allowed labels; returns labels or ``None``, a bound, whether proven."""
    program = LabelProgram(allowed)
    group, label = program.group, program.label
    least = np.where(allowed, costs, np.inf).min(axis=1)
    once = graph.ends < graph.indices
    price = graph.price[once]
    broken = program.add_pairs(graph.edges, price, graph.together[once])
    alone = np.ones(len(costs), dtype=bool)
    alone[graph.ends] = False
    if len(bounds.counts) > 1:
        program.count_by_kind(bounds.counts, alone)
    program.add_bounds(bounds)
    regrets = np.zeros(program.n_columns)
    regrets[: len(group)] = costs[group, label] - least[group]
    regrets[broken] = price[np.isfinite(price)]
    whole = np.ones(program.n_columns, dtype=np.int8)
    whole[broken], upper = 0, np.ones(program.n_columns)
    whole[program.following], upper[program.numbers] = 0, np.inf
    ceiling, until = float(regrets.max(initial=0.0)), time.perf_counter() + max_time
    while True:
        # HiGHS ends at an absolute gap of 1e-6, whatever the scale: hand it regrets of a known one.
        scale = 1e5 / ceiling if ceiling > 0 else 1.0
        left = until - time.perf_counter()
        result = program.solve(
            np.minimum(regrets, ceiling) * scale, whole=whole, upper=upper, max_time=left,
            max_nodes=max_nodes,
        )  # fmt: skip
        if result.status == 2:
            return None, np.inf, True
        bound = float(least.sum()) + float(result.mip_dual_bound or 0.0) / scale
        if result.x is None:
            return None, bound, False
        if np.abs(result.x - np.rint(result.x))[program.following].max(initial=0.0) > 1e-4:
            whole[program.following] = 1  # not a corner: some shares are left
            continue
        labels = program.labels(result.x)
        regret = float((costs[np.arange(len(costs)), labels] - least).sum())
        regret += graph.penalty(labels[: graph.n_nodes])
        sharp = not 0 < SHARP * regret < ceiling
        if sharp or result.status != 0 or left <= 0:
            return labels, bound, result.status == 0 and sharp
        ceiling = 2 * regret  # what costs more is in no better labels, and hides small differences
