"""The exact assignment under cluster sizes: K prices on top of the ordinary one.

For given prices everybody goes to the cheapest cost + price. Groups of several points, and groups
on cannot-links that this breaks, are few: the ordinary assignment labels them at these prices. The
many others count the same and break nothing: they fill up what is left at the least cost, and that
sets new prices (`transport`). Where both agree, duality proves the labels. Where they do not, the
prices still give a bound, reduced costs fix nearly everything, and a small MILP decides the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from smdeclust.assignment.active_set import grow_active
from smdeclust.assignment.budget import Budget
from smdeclust.assignment.linked import LinkedLabels
from smdeclust.assignment.sizes_of import Sizes
from smdeclust.assignment.small_rest import solve_rest
from smdeclust.assignment.status import INFEASIBLE, SOLVED
from smdeclust.assignment.transport import drop_idle_prices, transport
from smdeclust.structure.graph import PairGraph

# Rounds of prices and answers, and steps up the dual, before the rest is decided otherwise.
MOST_ROUNDS = 30
MOST_STEPS = 40
# A gap of this share of the costs is rounding.
TOLERANCE = 1e-12


@dataclass
class Found:
    """The best labels so far, the best bound, and the prices that gave it."""

    prices: np.ndarray
    labels: np.ndarray | None = None
    cost: float = np.inf
    bound: float = -np.inf
    dual: float = -np.inf
    scale: float = 0.0

    def offer(self, labels: np.ndarray, cost: float) -> None:
        """Keep these feasible labels if they are the best."""
        if cost < self.cost:
            self.labels, self.cost = labels.copy(), cost

    def is_proven(self) -> bool:
        """Whether the bound is as high as the cost."""
        gap = self.cost - self.bound
        return self.labels is not None and gap <= TOLERANCE * max(self.scale, abs(self.cost))


def assign_sized(
    costs: np.ndarray,
    graph: PairGraph,
    sizes: Sizes,
    upper: np.ndarray | None = None,
    budget: Budget | None = None,
    prices: np.ndarray | None = None,
) -> Found:
    """Label all groups at the least cost within the sizes.

    Parameters
    ----------
    costs
        (G, K) cost of each group in each cluster.
    graph
        The pairs between the first groups.
    sizes
        The bounds.
    upper
        (G,) feasible labels, if any are known.
    budget
        What the proof may cost; it is charged.
    prices
        (K,) a guess.

    Returns
    -------
    Found
        ``labels`` (``None`` if there are none or none were found), ``cost``, ``bound`` (infinite
        if there are none), ``prices`` and the bound ``dual`` that follows from them alone.
    """
    budget = Budget() if budget is None else budget
    n_clusters = costs.shape[1]
    start = np.zeros(n_clusters) if prices is None else np.array(prices, dtype=np.float64)
    found = Found(np.clip(start, sizes.least_prices, sizes.largest_prices))
    found.scale = float(np.where(np.isfinite(costs), np.abs(costs), 0.0).max(axis=1).sum())
    market = _Market.of(costs, graph, sizes, budget)
    if upper is not None and sizes.hold(upper):
        found.offer(upper, market.cost_of(upper))
    _bargain(found, market)
    if not found.is_proven() and found.bound < np.inf:
        _climb(found, market)
    found.dual = found.bound
    if not found.is_proven() and found.bound < np.inf:
        solve_rest(found, costs, graph, sizes, budget)
    if found.is_proven():
        found.bound = found.cost
    return found


@dataclass
class _Market:
    """One assignment: who sets prices (`points`, all of one size) and who answers (`others`)."""

    costs: np.ndarray
    graph: PairGraph
    sizes: Sizes
    budget: Budget
    unit: float
    active: np.ndarray  # linked groups on pairs that have been broken
    alike: np.ndarray  # groups of one unit
    points: np.ndarray = field(init=False)
    others: np.ndarray = field(init=False)

    @classmethod
    def of(cls, costs: np.ndarray, graph: PairGraph, sizes: Sizes, budget: Budget) -> _Market:
        positive = sizes.of_group[sizes.of_group > 0]
        unit = 1.0
        if len(positive):
            values, counts = np.unique(positive, return_counts=True)
            unit = float(values[np.argmax(counts)])
        alike = (sizes.of_group == unit) & np.isfinite(costs).all(axis=1)
        active = np.zeros(graph.n_nodes, dtype=np.bool_)
        market = cls(costs, graph, sizes, budget, unit, active, alike)
        market.divide()
        return market

    def divide(self) -> None:
        """Who is a point and who is not, after pairs have become active."""
        point = self.alike.copy()
        point[: len(self.active)] &= ~self.active
        self.points, self.others = np.flatnonzero(point), np.flatnonzero(~point)
        self.point_costs = np.ascontiguousarray(self.costs[self.points])
        self.other_costs = np.ascontiguousarray(self.costs[self.others])
        self.counted = self.sizes.of_group[self.others]
        self.among = self.graph.induced(self.others[self.others < len(self.active)])

    def answer(self, prices: np.ndarray) -> tuple[np.ndarray | None, float]:
        """Labels of the others at these prices, and a lower bound on the cost of all labels."""
        priced = self.other_costs + self.counted[:, None] * prices
        state = LinkedLabels(priced, self.among)
        status = state.relax(None, self.budget)
        if status == INFEASIBLE:
            return None, np.inf
        labels, bound = None, float(state.nearest.sum())
        if status == SOLVED:
            labels, bound = state.labels, state.cost() - state.unproven()
        if bound < np.inf:
            bound += float((self.point_costs + self.unit * prices).min(axis=1).sum())
            bound -= self.sizes.charge(prices)
        return labels, bound

    def fill_up(self, answer: np.ndarray, prices: np.ndarray) -> np.ndarray | None:
        """Labels of all groups where the others are as answered; changes `prices`."""
        n_clusters = len(prices)
        low, high = self.sizes.units(self.unit, np.bincount(answer, self.counted, n_clusters))
        prices *= self.unit
        labels = np.empty(len(self.costs), dtype=np.int64)
        filling = np.empty(len(self.points), dtype=np.int64)
        drop_idle_prices(low, high, len(self.points), prices)
        status = transport(self.point_costs, low, high, prices, filling, np.inf)
        prices /= self.unit
        np.clip(prices, self.sizes.least_prices, self.sizes.largest_prices, out=prices)
        if status != SOLVED:
            return None
        labels[self.others], labels[self.points] = answer, filling
        return labels

    def activate(self, labels: np.ndarray) -> bool:
        """Make the groups of broken pairs active; returns whether there were any new ones."""
        fresh = np.zeros_like(self.active)
        if grow_active(labels, self.graph.arrays, self.active, fresh) == 0:
            return False
        self.divide()
        return True

    def cost_of(self, labels: np.ndarray) -> float:
        """What these labels of all groups cost, broken pairs included."""
        own = float(self.costs[np.arange(len(labels)), labels].sum())
        return own + self.graph.penalty(labels[: self.graph.n_nodes])


def _bargain(found: Found, market: _Market) -> None:
    """Prices to the others, their answer to the points, new prices, until they agree."""
    prices = found.prices.copy()
    answers: set[bytes] = set()
    for _ in range(MOST_ROUNDS):
        answer, bound = market.answer(prices)
        if bound > found.bound:
            found.bound, found.prices = bound, prices.copy()
        if bound == np.inf or found.is_proven() or answer is None:
            return
        if answer.tobytes() in answers:
            return
        answers.add(answer.tobytes())
        labels = market.fill_up(answer, prices)
        if labels is None:
            return
        if market.activate(labels):
            answers = set()
        else:
            found.offer(labels, market.cost_of(labels))


def _climb(found: Found, market: _Market) -> None:
    """Steps along subgradients to prices of a higher bound; every answer may be filled up."""
    sizes, prices = market.sizes, found.prices.copy()
    share, since = 1.0, 0
    for _ in range(MOST_STEPS):
        answer, bound = market.answer(prices)
        if bound == np.inf:
            found.bound = np.inf
            return
        since += 1
        if bound > found.bound:
            found.bound, found.prices, since = bound, prices.copy(), 0
        if found.is_proven() or answer is None:
            return
        trial = prices.copy()
        labels = market.fill_up(answer, trial)
        if labels is not None:
            if market.activate(labels):
                continue
            found.offer(labels, market.cost_of(labels))
        labels = np.empty(len(market.costs), dtype=np.int64)
        labels[market.others] = answer
        labels[market.points] = (market.point_costs + market.unit * prices).argmin(axis=1)
        held = sizes.of(labels)
        wanted = np.where(prices > 0, sizes.high, np.where(prices < 0, sizes.low, held))
        uphill = held - np.clip(wanted, sizes.low, sizes.high)
        steepness = float(uphill @ uphill)
        if steepness == 0:
            return
        if since > 3:
            share, since = share / 2, 0
            prices = found.prices.copy()
        goal = found.cost if found.labels is not None else found.bound + 0.05 * abs(found.bound)
        prices = prices + share * max(goal - bound, 0.0) / steepness * uphill
        prices = np.clip(prices, sizes.least_prices, sizes.largest_prices)
