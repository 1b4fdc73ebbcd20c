"""The local search under bounds on clusters, for every storage that can label points at prices.

An iteration labels the free points at the prices of the last one, assigns the linked groups exactly
together with the free points nearest to indifference, and moves the centers to the means. All other
points stay where they are unless a price moved by more than their margin: that is checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.assignment import assign
from smdeclust.assignment.bounded import assign_bounded
from smdeclust.assignment.status import INFEASIBLE, PAUSED, SOLVED
from smdeclust.assignment.transport import transport
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.kempe import kempe_descent
from smdeclust.local_search.limits import LEAST_FALL, NO_LIMIT, STRIDE, Limits
from smdeclust.local_search.sized_lloyd import sized_lloyd
from smdeclust.local_search.trades import (
    LOOKS,
    MOST_ROUNDS,
    SOME,
    bounded_lloyd,
    climb,
    trade,
)
from smdeclust.points.protocol import Fillers
from smdeclust.problem import Problem, Solution
from smdeclust.structure.bounds import Bounds

# Points that tell where prices go.
SAMPLE = 8192
# Looks at all points for one assignment; then labels are used as they are, without a proof.
MOST_LOOKS = 12
# Groups x clusters up to which a search works on a table of them: beyond, blocks are faster.
LARGEST_TABLE = 2**17
# Other orders of the bounds that are tried for one set of centers.
MOST_ORDERS = 24

NOT_FOUND = (
    "No clustering within size_min and size_max was found in the time or with the effort allowed; "
    "whether there is one is not known. Give more time, or wider bounds."
)


@dataclass
class _State:
    """Where a search stands: the best labels, their means, prices, which bounds each cluster has"""

    centers: np.ndarray
    prices: np.ndarray
    order: np.ndarray
    labels: Any = None
    objective: float = np.inf
    n_done: int = 0
    proven: bool = True
    gap: float = 0.0  # what the last labels cost above what their prices account for

    def takes(self, labels: Any, centers: np.ndarray, objective: float) -> bool:
        """Keep these if they are better; returns whether they are."""
        if not objective < self.objective * (1 - LEAST_FALL):
            return False
        self.labels, self.centers, self.objective = labels, centers, objective
        return True


def search_bounded(
    problem: Problem, centers: np.ndarray, deep: bool, limits: Limits, hopeless: float = np.inf
) -> Solution:
    """Search from (K, d') centers; `deep`: where Lloyd stops, go on by swaps within the bounds.

    Good labels will do while the objective falls; then optimal ones, unless it is `hopeless`.
    """
    bounds = problem.group_bounds
    assert bounds is not None
    state = _State(
        centers=np.array(centers, dtype=np.float64, order="C"),
        prices=np.zeros(bounds.low.shape),
        order=np.arange(problem.n_clusters),
    )
    engine = _Compiled(problem) if _is_plain(problem) else _AnyStorage(problem)
    with engine:
        if bounds.any_order:
            state.order = bounds.match(engine.unbounded(state))
        exact = False  # whether good labels helped no more
        while True:
            try:
                fell = engine.iterate(state, limits, quick=not exact)
            except NoFeasibleSolutionError:
                if state.labels is None:
                    raise
                state.proven = False  # the last ones are feasible
                break
            if state.n_done > 0 and (state.n_done >= limits.max_iter or limits.is_late()):
                state.proven &= not bounds.any_order  # other orders were not looked at
                break
            if fell or (deep and _swap(problem, state)):
                exact = False
            elif not (exact or state.proven) and state.objective < hopeless:
                exact = True
            elif bounds.any_order and _reorder(bounds, engine, state, limits):
                exact = False
            else:
                break
    return Solution(
        labels=state.labels,
        centers=state.centers,
        objective=state.objective,
        n_iterations=state.n_done,
        proven=state.proven,
    )


def _is_plain(problem: Problem) -> bool:
    """Whether all groups are single free points of one size, in a contracted copy."""
    bounds = problem.group_bounds
    assert bounds is not None
    alike = len(bounds.counts) == 1 and bool(np.ptp(bounds.counts) == 0)
    return problem.points.abilities.compiled and problem.n_linked == 0 and alike


def _reorder(bounds: Bounds, engine: Any, state: _State, limits: Limits) -> bool:
    """Give clusters other bounds where the prices say that this could be cheaper.

    The prices bound the cost under every order of the bounds: where no other order has a lower
    bound, this one is optimal for the centers. Returns whether a better one was found.
    """
    orders, complete = bounds.cheaper_orders(state.prices, state.order, state.gap)
    for order in orders[:MOST_ORDERS]:
        trial = replace(state, order=order, prices=state.prices.copy())
        try:
            fell = not limits.is_late() and engine.iterate(trial, limits)
        except NoFeasibleSolutionError:
            fell = trial.proven = False
        if limits.is_late():
            trial.proven = False
        if fell:
            vars(state).update(vars(trial))
            return True
        state.n_done = trial.n_done
        state.proven &= trial.proven
    state.proven &= complete and len(orders) <= MOST_ORDERS
    return False


def _swap(problem: Problem, state: _State) -> bool:
    """Go on by Kempe chains that keep the sizes; returns whether the objective fell."""
    contracted = problem.contracted
    assert problem.group_bounds is not None
    bounds = problem.group_bounds.ordered(state.order)
    labels = np.array(state.labels, dtype=np.int64)
    centers = state.centers.copy()
    swaps = kempe_descent(
        contracted.points, contracted.weights, *contracted.graph.hard_part.arrays[:2],
        contracted.graph.soft_part.arrays, labels, centers,
        state.objective - problem.constant, bounds.counts, bounds.low, bounds.high,
    )  # fmt: skip
    value = problem.objective(labels) + problem.penalty(labels)
    return swaps > 0 and bounds.hold(labels) and state.takes(labels, centers, value)


class _Compiled:
    """The compiled loop."""

    def __init__(self, problem: Problem) -> None:
        assert problem.group_bounds is not None
        self.problem, self.contracted = problem, problem.contracted
        self.bounds = problem.group_bounds
        self.unit = float(self.bounds.counts[0, 0])
        n_products = self.contracted.points.size * problem.n_clusters
        self.stride = max(1, STRIDE // n_products)

    def __enter__(self) -> _Compiled:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def unbounded(self, state: _State) -> np.ndarray:
        """(1, K) sums where every point goes to its nearest center."""
        return self.bounds.held(cdist(self.contracted.points, state.centers).argmin(axis=1))

    def iterate(self, state: _State, limits: Limits, quick: bool = False) -> bool:
        """Iterate for a while; returns whether the objective fell."""
        contracted, k = self.contracted, len(state.centers)
        n = len(contracted.points)
        low, high = self.bounds.ordered(state.order).units(self.unit, np.zeros(k))
        labels = np.full(n, -1, dtype=np.int64) if state.labels is None else state.labels.copy()
        centers, prices = state.centers.copy(), state.prices[0] * self.unit
        pause = min(limits.max_iter, state.n_done + self.stride)
        status, objective, state.n_done = sized_lloyd(
            contracted.points,
            contracted.lanes,
            contracted.lane_weights,
            low,
            high,
            centers,
            prices,
            labels,
            state.n_done,
            pause,
        )
        if status == INFEASIBLE:
            raise NoFeasibleSolutionError(NOT_FOUND)
        state.prices = prices[None] / self.unit
        state.proven = status != PAUSED or state.proven
        return state.takes(labels, centers, objective + self.problem.scatter)


class _AnyStorage:
    """One iteration at a time, through the protocol of the points."""

    def __init__(self, problem: Problem) -> None:
        assert problem.group_bounds is not None
        self.problem, self.bounds = problem, problem.group_bounds
        n_linked = problem.n_linked
        self.of_linked = self.bounds.of_groups(slice(0, n_linked), np.zeros_like(self.bounds.low))
        free = self.bounds.counts[:, n_linked:]
        self.alike = free.shape[1] == 0 or bool((np.ptp(free, axis=1) == 0).all())
        self.free = free[:, :1] if self.alike and free.shape[1] else free
        # What a free point counts, on average and at most.
        sizes = np.abs(self.free) if self.free.size else np.ones((len(free), 1))
        self.unit, self.heaviest = sizes.mean(axis=1, keepdims=True), sizes.max(axis=1)
        self.unit = np.where(self.unit > 0, self.unit, 1.0)
        self.n_free = free.shape[1]
        size = problem.n_groups * problem.n_clusters
        self.has_table = problem.points.abilities.compiled and size <= LARGEST_TABLE
        # All groups count the same in a single bound: the transportation problem is exact.
        self.plain = n_linked == 0 and self.alike and len(free) == 1
        self.batch: Any = problem.points.begin(1)
        self.reach = 0.0  # by how much prices may be expected to move
        self.order: np.ndarray | None = None
        self.linked: np.ndarray | None = None  # the last labels of the linked groups

    def __enter__(self) -> _AnyStorage:
        self.batch.__enter__()
        self.batch.count(self.free)
        return self

    def __exit__(self, *error: object) -> None:
        self.batch.__exit__(*error)

    def unbounded(self, state: _State) -> np.ndarray:
        """(B, K) sums where every group goes to its nearest center."""
        costs, held = self._label(state.centers, np.zeros_like(state.prices))
        return np.asarray(held + self.of_linked.held(costs.argmin(axis=1)))

    def _by_table(self, state: _State, most: int) -> bool:
        """Iterate for a while on a table of costs; returns whether the objective fell."""
        problem, contracted = self.problem, self.problem.contracted
        bounds, unit = self._ordered(state.order), self.unit
        n, d = contracted.points.shape
        labels = np.full(n, -1, dtype=np.int64) if state.labels is None else state.labels.copy()
        labels, centers, prices = labels.astype(np.int64), state.centers.copy(), state.prices * unit
        work = n * problem.n_clusters * (d + 8 * len(unit))
        pause = min(most, state.n_done + max(1, STRIDE // work))
        _, objective, state.n_done = bounded_lloyd(
            contracted.points, contracted.weights, *contracted.graph.arrays,
            np.ascontiguousarray((bounds.counts / unit).T), (bounds.low - bounds.slack / 2) / unit,
            (bounds.high + bounds.slack / 2) / unit, bounds.least_prices, bounds.largest_prices,
            centers, prices, labels, state.n_done, pause,
        )  # fmt: skip
        state.prices, state.proven = bounds.admit(prices / unit), False
        return state.takes(labels, centers, objective + problem.constant)

    def _ordered(self, order: np.ndarray) -> Bounds:
        """The bounds in this order, made once as long as it is the same."""
        if self.order is None or (self.order != order).any():
            self.order, self.in_order = order.copy(), self.bounds.ordered(order)
        return self.in_order

    def _label(self, centers: np.ndarray, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(L, K) costs of the linked groups, and (B, K) what the free ones count at prices."""
        (costs,) = self.batch.label(centers[None], prices)
        return costs, self.batch.held()[0][0]

    def iterate(self, state: _State, limits: Limits, quick: bool = False) -> bool:
        """Assign, move the centers; returns whether the objective fell.

        `quick`: good labels will do, as long as the objective falls.
        """
        # The last labels are to be optimal where that is not too much to ask.
        most = limits.max_iter - (len(self.bounds.counts) == 1)
        quick = quick and not self.plain and state.n_done < most
        if quick and self.has_table:
            n_before = state.n_done
            fell = self._by_table(state, most)
            if state.n_done > n_before:
                return fell
        found = self._good(state, limits) if quick else None
        linked, moves, proven = found or self._assign(state, limits, quick)
        self.linked = linked
        centers, _ = self.batch.move(linked[None], [moves])
        labels, place, value = self.batch.finish(0, centers[0], linked, moves)
        state.n_done += 1
        state.proven = proven and self.problem.points.abilities.exact
        return state.takes(labels, place, value + self.problem.penalty(linked))

    def _assign(
        self, state: _State, limits: Limits, quick: bool
    ) -> tuple[np.ndarray, dict[int, int], bool]:
        """Labels of the linked groups, free points elsewhere than priced, whether proven."""
        problem, bounds = self.problem, self._ordered(state.order)
        n_linked, k = problem.n_linked, problem.n_clusters
        plain = self.plain
        start, tries = state.prices, 0
        for look in range(MOST_LOOKS + 1):
            prices = bounds.admit(state.prices)
            costs, at_prices = self._label(state.centers, prices)
            answer = (costs + self.of_linked.counts.T @ prices).argmin(axis=1)
            held = at_prices + self.of_linked.held(answer)
            off = float((np.abs(held - bounds.asked(held, prices)) / self.unit).sum())
            n_wanted = max(256, int(4 * off) + 16 * k) << tries
            if off > self.n_free / 16 or look == MOST_LOOKS:
                n_wanted = self.n_free
            # Some of too many tell where prices go.
            early = look < (2 if limits.is_late() else MOST_LOOKS // 2)
            reach = self.reach if n_wanted < self.n_free else np.inf
            few, limit, share = self.batch.undecided(n_wanted, reach, SAMPLE if early else NO_LIMIT)
            if len(bounds.counts) == 1:
                status, chosen, state.prices = self._trade(bounds, few, share, held, prices, limit)
            elif share < 1:
                status = SOLVED
                state.prices = self._climb(bounds, few, share, held, prices, limit)
            else:
                status = SOLVED
            if share < 1 or (status != SOLVED and limit < np.inf and (plain or early)):
                moved = float(_spreads(state.prices - prices).max())
                self.reach = moved / 4 if status == SOLVED else 4 * limit
                tries += status != SOLVED
                continue
            if plain:
                if status != SOLVED:
                    break
                self.reach = float(_spreads(state.prices - start).max())
                state.gap = 0.0
                return answer, few.moves(chosen), True
            counts = np.concatenate([self.of_linked.counts, few.counts], axis=1)
            filled = at_prices - Bounds.of(few.counts, bounds.low, bounds.high).held(few.labels)
            found = assign_bounded(
                np.concatenate([costs, few.costs]),
                problem.graph,
                Bounds(counts, bounds.low, bounds.high, filled),
                budget=replace(limits.budget(), max_nodes=0) if quick else limits.budget(),
                prices=state.prices,
            )
            self.reach, tries = 4 * limit, tries + 1
            if found.labels is None:
                if limit == np.inf:
                    break
                continue
            moved = float(self.heaviest @ _spreads(found.prices - prices))
            sure = moved + (found.cost - found.dual) <= limit
            if sure or (quick and moved <= limit) or look == MOST_LOOKS or limits.is_late():
                state.prices, state.gap = found.prices, max(0.0, found.cost - found.dual)
                self.reach = float(_spreads(state.prices - start).max())
                moves = few.moves(found.labels[n_linked:])
                return found.labels[:n_linked], moves, bool(sure and found.bound >= found.cost)
        raise NoFeasibleSolutionError(NOT_FOUND)

    def _trade(
        self,
        bounds: Bounds,
        few: Fillers,
        share: float,
        held: np.ndarray,
        prices: np.ndarray,
        limit: float,
    ) -> tuple[int, np.ndarray, np.ndarray]:
        """Label some of the points as if all counted the same, and nobody else moved.

        Their clusters may change by what the bounds leave, or by that share where they stand for
        more. Returns the status, labels and new prices.
        """
        counted = np.where(few.counts[0] > 0, few.counts[0], 1.0)
        here, far = np.bincount(few.labels, minlength=held.shape[1]), 2.0**40
        slack, unit = (1e-9 if share == 1 else 1.0), float(self.unit[0, 0])
        least, most = (bounds.low - held)[0] / unit, (bounds.high - held)[0] / unit
        low = here + np.ceil(np.clip(least * share - slack, -far, far)).astype(np.int64)
        high = here + np.floor(np.clip(most * share + slack, -far, far)).astype(np.int64)
        if share < 1:
            high = np.maximum(high, 0)
        labels, moved = np.empty(len(few.labels), dtype=np.int64), prices[0].copy()
        heaviest = counted.max() if len(counted) else 1.0
        status = transport(few.costs / counted[:, None], low, high, moved, labels, limit / heaviest)
        return status, labels, moved[None]

    def _good(
        self, state: _State, limits: Limits
    ) -> tuple[np.ndarray, dict[int, int], bool] | None:
        """Good labels within several bounds, or ``None`` where they are not found quickly."""
        problem, bounds = self.problem, self._ordered(state.order)
        prices, n_linked = bounds.admit(state.prices), problem.n_linked
        answer = np.empty(0, dtype=np.int64)
        for look in range(LOOKS):
            costs, at_prices = self._label(state.centers, prices)
            if n_linked:
                priced = self.of_linked.priced(costs, prices)
                quick = replace(limits.budget(), max_pivots=0)
                found = assign(priced, problem.graph, None, self.linked, quick)
                if found[0] is None:
                    return None
                answer = found[0]
            held = at_prices + self.of_linked.held(answer)
            off = float((np.abs(held - np.clip(held, bounds.low, bounds.high)) / self.unit).sum())
            if off <= self.n_free / 64 or look == LOOKS - 1:
                break
            n_wanted = self.n_free if look == 0 else int(2 * off) + 256
            few, limit, share = self.batch.undecided(n_wanted, 0.0, SOME)
            prices = self._climb(bounds, few, share, held, prices, limit)
        n_wanted = int(2 * off) + 128
        for _ in range(4):
            few, limit, _ = self.batch.undecided(n_wanted, 0.0, NO_LIMIT)
            labels, sums = few.labels.copy(), held / self.unit
            low, high = bounds.low - bounds.slack / 2, bounds.high + bounds.slack / 2
            priced = few.costs + few.counts.T @ prices
            counts = np.ascontiguousarray((few.counts / self.unit).T)
            ends = low / self.unit, high / self.unit
            if trade(priced, counts, *ends, sums, labels, MOST_ROUNDS):
                state.prices = self._climb(bounds, few, 1.0, held, prices, limit, n_steps=2)
                return answer, few.moves(labels), False
            n_wanted *= 4
        return None

    def _climb(
        self,
        bounds: Bounds,
        few: Fillers,
        share: float,
        held: np.ndarray,
        prices: np.ndarray,
        limit: float,
        n_steps: int = 15,
    ) -> np.ndarray:
        """Better prices from some of the points, whose sums may change by that share of what all
        may; `limit` is the margin up to which all are among them."""
        if few.costs.size == 0 or few.costs.shape[1] < 2:
            return prices
        here, room = Bounds.of(few.counts, bounds.low, bounds.high).held(few.labels), self.unit
        low, high = (bounds.low - held) * share - room, (bounds.high - held) * share + room
        reach, fade = limit / 4, 0.8
        if limit == np.inf:  # they stand for all points: prices may go anywhere
            two = np.partition(few.costs, 1, axis=1)[:, :2]
            reach, fade, n_steps = float(np.median(np.ptp(two, axis=1))), 0.9, 40
        moved = np.ascontiguousarray(prices * self.unit)
        climb(
            few.costs, np.ascontiguousarray((few.counts / self.unit).T), (here + low) / self.unit,
            (here + high) / self.unit, bounds.least_prices, bounds.largest_prices, moved, reach,
            fade, n_steps,
        )  # fmt: skip
        return bounds.admit(moved / self.unit)


def _spreads(moved: np.ndarray) -> np.ndarray:
    """(B,) by how much one price of each bound moved against another, or against 0."""
    return np.asarray(np.maximum(moved.max(axis=1), 0) - np.minimum(moved.min(axis=1), 0))
