"""The exact assignment of a table of costs: pairs, and one price for each bound and cluster.

"No cluster is empty" is also a bound: it matters only if the cheapest labels leave a cluster empty.
For given prices every group takes the lowest cost + price. Groups whose cannot-links break (and,
under a single bound, those that count more or less than most) are few: the ordinary assignment
labels them at these prices. All others fill the remaining space at the lowest cost, and that sets
new prices (`transport` under a single bound, otherwise a linear program).
Where both agree, duality proves the labels. Where they do not, the prices still give a bound,
reduced costs fix nearly everything, and a small MILP decides the rest (`residue`).
"""

from dataclasses import dataclass

import numpy as np

from smdeclust.assignment.active_set import grow_active
from smdeclust.assignment.linear_prices import settle
from smdeclust.assignment.linked import GRACE, Begun, LinkedLabels
from smdeclust.assignment.residue import solve_rest
from smdeclust.assignment.status import INFEASIBLE, SOLVED, Budget
from smdeclust.assignment.transport import drop_idle_prices, transport
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph
from smdeclust.structure.tabu import best_renaming, mend

# Rounds of prices and answers, and steps up the dual, before the rest is decided otherwise.
MOST_ROUNDS = 30
MOST_STEPS = 40
# Orders of the bounds that are tried before a MILP chooses among all of them.
MOST_ORDERS = 10
# A gap of this share of the cost is rounding.
ROUNDING = 1e-15
# A bound proves nothing if the numbers it is a sum of are this many times the cost.
HOLLOW = 1e3


@dataclass
class Found:
    """The best labels so far, the best bound, and the (B, K) prices that gave it."""

    prices: np.ndarray
    labels: np.ndarray | None = None
    cost: float = np.inf
    bound: float = -np.inf
    dual: float = -np.inf
    scale: float = 0.0

    def raise_bound(self, bound: float, prices: np.ndarray, size: float) -> bool:
        """Keep a higher bound with its prices; `size` is that of the numbers it is a sum of."""
        higher = bound > self.bound
        if higher:
            self.bound, self.prices, self.scale = bound, prices.copy(), size
        return higher

    def offer(self, labels: np.ndarray, cost: float) -> None:
        """Keep these feasible labels if they are the best."""
        if cost < self.cost:
            self.labels, self.cost = labels.copy(), cost

    def is_proven(self) -> bool:
        """Whether the bound is as high as the cost."""
        gap = self.cost - self.bound
        if self.labels is None:
            return False
        # A bound is a sum over the groups, each term of which may be rounded.
        share = min(1e-12, 4 * np.finfo(float).eps * max(4, len(self.labels)))
        return gap <= share * max(self.scale, abs(self.cost))


def assign(
    costs: np.ndarray,
    graph: PairGraph,
    bounds: Bounds | None,
    upper: np.ndarray | None = None,
    budget: Budget | None = None,
    begun: Begun | None = None,
) -> tuple[np.ndarray | None, float, float]:
    """Find labels of groups with the lowest total cost.

    Parameters
    ----------
    costs
        The (G, K) costs of the groups, those with cannot-links first. Infinity forbids a label.
    graph
        The pairs between groups.
    bounds
        Bounds on the clusters. By default, clusters may be empty.
    upper
        (G,) labels that satisfy all constraints, if any are known.
    budget
        Limits on the proof, which are updated in place. By default, there are none.
    begun
        Where to continue, as for ``LinkedLabels.relax``.

    Returns
    -------
    tuple
        The labels (``None`` if there are none), their cost including broken pairs, and a lower
        bound, which equals the cost if the labels are proven optimal, and is infinite if there are
        none.
    """
    budget = Budget() if budget is None else budget
    costs = np.require(costs, np.float64, ["C", "W"])
    if bounds is None or bounds.only_none_empty:
        state = LinkedLabels(costs, graph)
        status = state.relax(upper, budget, begun)
        if status == INFEASIBLE:
            return None, np.inf, np.inf
        if status != SOLVED:
            return None, np.inf, float(state.nearest.sum())
        cost = state.cost()
        if cost == np.inf:  # some group has no label left
            return None, np.inf, np.inf
        gap = state.unproven()
        bound = cost if gap <= ROUNDING * abs(cost) else cost - gap
        if bounds is None or bounds.hold(state.labels):
            return state.labels, cost, bound
        filled = _fill(state, bounds, bound)
        if filled.is_proven():
            return filled.labels, filled.cost, filled.cost
        return _fill_exactly(
            state, bounds, upper if filled.labels is None else filled.labels, budget
        )
    found = assign_bounded(costs, graph, bounds, upper, budget)
    return found.labels, found.cost, found.bound


def _fill(state: LinkedLabels, bounds: Bounds, bound: float) -> Found:
    """Move the cheapest group into each empty cluster: no other is there to be apart from.

    `bound` is one on the cost where clusters may be empty. On top of that every empty cluster costs
    at least what the cheapest group does, for one on broken pairs less what these cost already.
    """
    costs, labels, rows = state.costs, state.labels.copy(), np.arange(len(state.costs))
    filling, held = bounds.counts[0] > 0, bounds.held(labels)[0]
    spent = state.nearest.copy()
    spent[: len(state.regret)] += np.where(state.active, state.regret, 0.0)
    found = Found(np.empty(0), bound=bound, scale=float(np.abs(state.nearest).sum()))
    for empty in np.flatnonzero(held == 0):
        found.bound += max(0.0, float((costs[:, empty] - spent)[filling].min(initial=np.inf)))
        extra = costs[:, empty] - costs[rows, labels]
        extra[~filling | (held[labels] < 2)] = np.inf
        group = int(np.argmin(extra))
        if extra[group] == np.inf:
            return found
        held[labels[group]] -= 1
        held[empty] += 1
        labels[group] = empty
    penalty = state.pairs.penalty(labels[: len(state.regret)])
    found.offer(labels, float(costs[rows, labels].sum()) + penalty)
    return found


def _fill_exactly(
    state: LinkedLabels, bounds: Bounds, upper: np.ndarray | None, budget: Budget
) -> tuple[np.ndarray | None, float, float]:
    """The assignment where labels of least cost, those of `state`, leave a cluster empty.

    Of the free groups only those among the K cheapest to move to some cluster take part: of K that
    are cheaper for a cluster than its filler, one is needed nowhere else.
    """
    costs, graph = state.costs, state.pairs
    k, n_linked = costs.shape[1], graph.n_nodes
    free = np.flatnonzero(bounds.counts[0, n_linked:] > 0) + n_linked
    if len(free) > k:
        regrets = costs[free] - state.nearest[free, None]
        free = free[np.unique(np.argpartition(regrets, k - 1, axis=0)[:k])]
    take = np.concatenate([np.arange(n_linked), free])
    others = np.delete(np.arange(len(costs)), take)
    few = bounds.of_groups(take, bounds.of_groups(others).held(state.labels[others]))
    found = assign_bounded(
        np.ascontiguousarray(costs[take]), graph, few, None if upper is None else upper[take],
        budget, active=state.active,
    )  # fmt: skip
    base, labels = float(state.nearest[others].sum()), None
    if found.labels is not None:
        labels = state.labels.copy()
        labels[take] = found.labels
    return labels, base + found.cost, base + found.bound


def assign_bounded(
    costs: np.ndarray,
    graph: PairGraph,
    bounds: Bounds,
    upper: np.ndarray | None = None,
    budget: Budget | None = None,
    prices: np.ndarray | None = None,
    active: np.ndarray | None = None,
) -> Found:
    """Label all groups at the least cost within the bounds.

    As :func:`assign`; `prices` are a (B, K) guess, `active` the (L,) linked groups on pairs that
    labels of least cost break, as far as known. Returns labels (``None`` if there are none or none
    were found), cost, bound (infinite if there are none), prices and the bound `dual` that follows
    from these alone.
    """
    budget = Budget() if budget is None else budget
    if bounds.any_order:
        return _assign_in_any_order(costs, graph, bounds, upper, budget)
    start = np.zeros(bounds.low.shape) if prices is None else np.array(prices, dtype=np.float64)
    found = Found(bounds.admit(start))
    market = _Market(costs, graph, bounds, budget, active)
    if upper is not None and bounds.hold(upper):
        found.offer(upper, market.cost_of(upper))
    _bargain(found, market)
    if found.is_proven() and found.scale > HOLLOW * abs(found.cost):
        capped = _cap(costs, found.cost)
        if not np.array_equal(capped, costs):
            return assign_bounded(capped, graph, bounds, found.labels, budget, None, market.active)
    if found.labels is None and found.bound < np.inf and bounds.packing is not None:
        packing = bounds.packing
        if (bounds.low == bounds.low[:, :1]).all() and (bounds.high == bounds.high[:, :1]).all():
            packing = best_renaming(costs, packing)
        cost = market.cost_of(packing)
        if cost < np.inf:
            found.offer(packing, cost)
    if found.labels is None and found.bound < np.inf:
        market.mend(found)
    settled = len(bounds.counts) > 1 and not market.active.any()  # a program gave the best prices
    if not found.is_proven() and found.bound < np.inf and not settled:
        _climb(found, market)
    found.dual = found.bound
    if not found.is_proven() and found.bound < np.inf:
        solve_rest(found, costs, graph, bounds, budget)
    if found.is_proven():
        found.bound = found.cost
    return found


def _cap(costs: np.ndarray, cost: float) -> np.ndarray:
    """The costs, those of labels that are in no solution below `cost` just high enough for that."""
    nearest = costs.min(axis=1)
    highest = nearest + 2 * (cost - nearest.sum())
    return np.where(costs < np.inf, np.minimum(costs, highest[:, None]), np.inf)


def _assign_in_any_order(
    costs: np.ndarray, graph: PairGraph, bounds: Bounds, upper: np.ndarray | None, budget: Budget
) -> Found:
    """The same over all orders of the bounds.

    The prices of one order bound the cost under every other: where that is not below the cost, the
    order is optimal. Else the order of the least bound is tried, and in the end a MILP chooses
    among all orders, with the labels that the bound leaves open.
    """
    order = bounds.match(bounds.held(costs.argmin(axis=1)))
    best: Found | None = None
    bound = -np.inf  # on the cost under every order
    for _ in range(MOST_ORDERS):
        found = assign_bounded(costs, graph, bounds.with_order(order), upper, budget)
        if best is None or found.cost < best.cost:
            best, taken = found, order
        if found.labels is None:
            break
        here = found.dual - bounds.least_charge_gap(found.prices, order)
        best.bound = bound = max(bound, here)
        if best.is_proven() or found is not best or budget.is_late():
            break
        orders, _ = bounds.cheaper_orders(found.prices, order)
        if not orders:
            break
        order = orders[0]
    assert best is not None
    if best.labels is None:
        best.bound = -np.inf
    if upper is not None and bounds.hold(upper):
        own = costs[np.arange(len(costs)), upper].sum() + graph.penalty(upper[: graph.n_nodes])
        best.offer(upper, float(own))
    if not best.is_proven():
        if best.labels is not None:
            # The labels that reduced costs rule out follow from its own prices.
            best.bound = best.dual - bounds.least_charge_gap(best.prices, taken)
        solve_rest(best, costs, graph, bounds, budget)
        best.bound = min(best.cost, max(best.bound, bound))
    if best.is_proven():
        best.bound = best.cost
    return best


class _Market:
    """One assignment: who sets prices (`points`) and who answers (`others`).

    `active` are linked groups on pairs that have been broken, `alike` the groups that can set
    prices: under a single bound those of one `unit`.
    """

    def __init__(
        self,
        costs: np.ndarray,
        graph: PairGraph,
        bounds: Bounds,
        budget: Budget,
        active: np.ndarray | None,
    ) -> None:
        self.costs, self.graph, self.bounds, self.budget = costs, graph, bounds, budget
        self.unit, self.alike = 1.0, np.ones(len(costs), dtype=np.bool_)
        if len(bounds.counts) == 1:
            counted = bounds.counts[0]
            if (counted > 0).any():
                values, counts = np.unique(counted[counted > 0], return_counts=True)
                self.unit = float(values[np.argmax(counts)])
            self.alike = (counted == self.unit) & np.isfinite(costs).all(axis=1)
        self.active = np.zeros(graph.n_nodes, dtype=np.bool_) if active is None else active.copy()
        nearest = np.abs(costs.min(axis=1))
        self.least = float(nearest[np.isfinite(nearest)].sum())  # the sizes of the least costs
        self.divide()

    def divide(self) -> None:
        """Tell single points from other groups, after pairs have become active."""
        point = self.alike.copy()
        point[: len(self.active)] &= ~self.active
        self.points, self.others = np.flatnonzero(point), np.flatnonzero(~point)
        self.point_costs = np.ascontiguousarray(self.costs[self.points])
        self.other_costs = np.ascontiguousarray(self.costs[self.others])
        self.of_points = self.bounds.of_groups(self.points)
        self.of_others = self.bounds.of_groups(self.others)
        self.among = self.graph.induced(self.others[self.others < len(self.active)])

    def answer(self, prices: np.ndarray) -> tuple[np.ndarray | None, float]:
        """Labels of the others at these prices, and a lower bound on the cost of all labels."""
        state = LinkedLabels(self.of_others.priced(self.other_costs, prices), self.among)
        status = state.relax(None, self.budget)
        if status == INFEASIBLE:
            return None, np.inf
        labels, bound = None, float(state.nearest.sum())
        if status == SOLVED:
            labels, bound = state.labels, state.cost() - state.unproven()
        if bound < np.inf:
            bound += float(self.of_points.priced(self.point_costs, prices).min(axis=1).sum())
            bound -= self.bounds.charge(prices)
        return labels, bound

    def fill_up(self, answer: np.ndarray, prices: np.ndarray) -> np.ndarray | None:
        """Labels of all groups where the others are as answered; changes `prices`."""
        if len(self.bounds.counts) == 1:
            taken = np.bincount(answer, self.of_others.counts[0], prices.shape[1])
            low, high = self.bounds.units(self.unit, taken)
            scaled = prices[0] * self.unit
            filling = np.empty(len(self.points), dtype=np.int64)
            drop_idle_prices(low, high, len(self.points), scaled)
            status = transport(self.point_costs, low, high, scaled, filling, np.inf)
            prices[0] = scaled / self.unit
            filled: np.ndarray | None = filling if status == SOLVED else None
        else:
            left = self.bounds.of_groups(self.points, self.of_others.held(answer))
            filled, prices[:] = settle(self.point_costs, left, prices, self.budget)
        prices[:] = self.bounds.admit(prices)
        if filled is None:
            return None
        labels = np.empty(len(self.costs), dtype=np.int64)
        labels[self.others], labels[self.points] = answer, filled
        return labels

    def activate(self, labels: np.ndarray) -> bool:
        """Make the groups of broken pairs active; returns whether there were any new ones."""
        fresh = np.zeros_like(self.active)
        if not len(fresh) or not grow_active(labels, self.graph.arrays, self.active, fresh):
            return False
        self.divide()
        return True

    def cost_of(self, labels: np.ndarray) -> float:
        """What these labels of all groups cost, broken pairs included."""
        own = float(self.costs[np.arange(len(labels)), labels].sum())
        return own + self.graph.penalty(labels[: self.graph.n_nodes])

    def size_of(self, prices: np.ndarray) -> float:
        """How large the numbers are that add up to the bound at these prices."""
        bound = np.where(prices > 0, self.bounds.high, self.bounds.low)[prices != 0]
        return self.least + float(np.abs(prices[prices != 0] * bound).sum())

    def mend(self, found: Found) -> None:
        """First labels that keep everything, near to what the prices say: any will do."""
        priced = self.bounds.priced(self.costs, found.prices)
        start, until = priced.argmin(axis=1), self.budget.deadline + GRACE
        labels = mend(priced, self.graph, self.bounds, start, until)
        if labels is not None:
            found.offer(labels, self.cost_of(labels))


def _bargain(found: Found, market: _Market) -> None:
    """Prices to the others, their answer to the points, new prices, until they agree."""
    prices = found.prices.copy()
    answers: set[bytes] = set()
    for _ in range(MOST_ROUNDS):
        answer, bound = market.answer(prices)
        found.raise_bound(bound, prices, market.size_of(prices))
        if bound == np.inf or found.is_proven() or answer is None:
            return
        late = market.budget.is_late()
        if answer.tobytes() in answers or (late and found.labels is not None):
            return
        answers.add(answer.tobytes())
        labels = market.fill_up(answer, prices)
        if labels is None:
            return
        found.offer(labels, market.cost_of(labels))  # (infinite where hard pairs are broken)
        if late:
            return
        if market.activate(labels):
            answers = set()


def _climb(found: Found, market: _Market) -> None:
    """Steps along subgradients to prices of a higher bound; every answer may be filled up."""
    bounds, prices = market.bounds, found.prices.copy()
    share, since = 1.0, 0
    for _ in range(MOST_STEPS):
        if market.budget.is_late():
            return
        answer, bound = market.answer(prices)
        if bound == np.inf:
            found.bound = np.inf
            return
        since = 0 if found.raise_bound(bound, prices, market.size_of(prices)) else since + 1
        if found.is_proven() or answer is None:
            return
        trial = prices.copy()
        labels = market.fill_up(answer, trial)
        if labels is not None:
            found.offer(labels, market.cost_of(labels))
            if market.activate(labels):
                continue
        labels = np.empty(len(market.costs), dtype=np.int64)
        labels[market.others] = answer
        labels[market.points] = market.of_points.priced(market.point_costs, prices).argmin(axis=1)
        held = bounds.held(labels)
        uphill = held - np.clip(bounds.implied(held, prices), bounds.low, bounds.high)
        steepness = float((uphill * uphill).sum())
        if steepness == 0:
            return
        if since > 3:
            share, since = share / 2, 0
            prices = found.prices.copy()
        goal = found.cost if found.labels is not None else found.bound + 0.05 * abs(found.bound)
        prices = bounds.admit(prices + share * max(goal - bound, 0.0) / steepness * uphill)
