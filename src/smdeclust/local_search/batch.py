"""One iteration through the protocol of the points: for every storage, with bounds or without.

The free points are labeled where they are, at the prices of the last iteration; the linked groups
are assigned exactly from their costs. Without bounds only a cluster that would be empty concerns
free points. Under bounds those nearest to indifference take part, and all others stay where they
are unless a price moved by more than their margin: that is checked.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from smdeclust.assignment import assign
from smdeclust.assignment.bounded import assign_bounded
from smdeclust.assignment.compiled import assign_tables
from smdeclust.assignment.status import INFEASIBLE, PAUSED, SOLVED
from smdeclust.assignment.transport import transport
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.sized_lloyd import sized_lloyd
from smdeclust.local_search.state import NO_LIMIT, STRIDE, Limits, State
from smdeclust.local_search.trades import LOOKS, MOST_ROUNDS, SOME, bounded_lloyd, climb, trade
from smdeclust.points.lanes import side_by_side
from smdeclust.points.protocol import Fillers, Moves
from smdeclust.points.threads import available_threads
from smdeclust.problem import Problem
from smdeclust.structure.bounds import Bounds

# Threads that assign the linked groups of several solutions: more would hand a lock around. Each
# has at least so many costs to read: less takes no longer than to start it.
MOST_JOBS, LEAST_JOB = 5, 2**18
# Points that tell where prices go.
SAMPLE = 8192
# Looks at all points for one assignment; then labels are used as they are, without a proof.
MOST_LOOKS = 12

NOT_FOUND = (
    "No clustering within the sizes and quotas was found in the time or with the effort allowed; "
    "whether there is one is not known. Give more time, or wider bounds."
)

# Labels of the linked groups, free groups that are elsewhere than labeled, whether that is proven.
Found = tuple[np.ndarray, Moves, bool]


@dataclass
class _Last:
    """The last iteration of one solution; `gain` is how much centers lower the sum of squares."""

    linked: np.ndarray
    moves: Moves = field(default_factory=dict)
    gain: float = -np.inf


@dataclass(frozen=True)
class _Look:
    """The (B, K) sums of all points at prices; and some free points: all up to a margin there, or
    a share of them."""

    held: np.ndarray
    prices: np.ndarray
    few: Fillers
    limit: float
    share: float


class Engine(ExitStack):
    """Iterations of some solutions at once (under bounds: of one); used in a ``with`` statement."""

    def __init__(self, problem: Problem, states: list[State]) -> None:
        super().__init__()
        self.problem, self.bounds = problem, problem.group_bounds
        self.centers: Any = np.stack([state.centers for state in states])
        self.last = [_Last(np.full(problem.n_linked, -1)) for _ in states]
        self.ended: list[tuple[list[State], Callable[[], list[Any]]]] = []
        if self.bounds is not None:
            self._prepare(self.bounds)

    @cached_property
    def batch(self) -> Any:
        """The points at work; begun where they are needed."""
        batch = self.enter_context(self.problem.points.begin(len(self.last)))
        if self.bounds is not None:
            batch.count(self.free)
        return batch

    def keep(self, which: list[int]) -> None:
        """Only these solutions continue."""
        self.last, self.centers = [self.last[s] for s in which], self.batch.keep(which)

    def finish(self, which: list[int], states: list[State]) -> None:
        """Solutions that do not continue."""
        if which and self.bounds is None:
            self.ended.append(([states[s] for s in which], self._evaluate(which)))

    def evaluate(self) -> None:
        """The labels, centers and objectives of solutions that do not continue."""
        for states, results in self.ended:
            for state, found in zip(states, results(), strict=True):
                state.labels, state.centers, state.objective = found

    def _evaluate(self, which: list[int]) -> Callable[[], list[tuple[Any, np.ndarray, float]]]:
        """A call that gives them."""
        linked = [self.last[s].linked for s in which]
        moves = [self.last[s].moves for s in which]
        results = self.batch.finish(which, self.centers, np.stack(linked), moves)
        penalties = [self.problem.penalty(each) for each in linked]
        return lambda: [(*e, f + p) for (*e, f), p in zip(results(), penalties, strict=True)]

    def iterate(self, states: list[State], limits: Limits) -> list[bool]:
        """Assign, move the centers; returns whether the objectives fell."""
        if self.bounds is None:
            found, changed = self._assign_all(states, limits)
        else:
            quickly = self._compiled(states[0], limits)
            if quickly is not None:
                return [quickly]
            # Good labels as long as these will do and are found quickly, else optimal ones.
            quick, changed = self._may_be_quick(states[0], limits), np.ones(1, dtype=bool)
            good = self._good(states[0], limits) if quick else None
            found = [good or self._assign(states[0], limits, quick)]
        self.centers, gains = self.batch.move(
            np.stack([linked for linked, _, _ in found]), [moves for _, moves, _ in found]
        )
        fell = []
        for s, state in enumerate(states):
            self.last[s].linked, self.last[s].moves, state.proven = found[s]
            state.proven &= self.problem.points.abilities.exact
            state.n_done += 1
            if self.bounds is None:
                fell.append(changed[s] and self._falls(s, state, float(gains[s])))
            else:
                fell.append(state.takes(*self._evaluate([s])()[0]))
        return fell

    # ------------------------------------------------------------------------ without bounds

    def _falls(self, s: int, state: State, gain: float) -> bool:
        """Whether the objective fell by more than rounding."""
        # f = (a constant) - sum of W_k |y_k|^2, plus prices: the larger that sum, the better.
        last, batch = self.last[s], self.batch
        penalty = self.problem.penalty(last.linked)
        falling = gain - penalty - last.gain > batch.rounding * self.problem.total_squares
        last.gain = max(last.gain, gain - penalty)
        if not falling:
            # That sum has too few digits left where points are far apart: ask f itself.
            direct = batch.squares(s, self.centers[s], last.linked, last.moves) + penalty
            falling = direct < state.objective * (1 - batch.rounding / 10)
            state.objective = min(state.objective, direct)
        return bool(falling)

    def _assign_all(self, states: list[State], limits: Limits) -> tuple[list[Found], np.ndarray]:
        """Label all groups, no cluster empty; also returns in which solutions labels changed."""
        costs = self.batch.label(self.centers)
        # While a device labels the free groups:
        found: list[Found] = [(each, {}, sure) for each, sure in self.assign_linked(costs, limits)]
        linked = np.stack([labels for labels, _, _ in found])
        size, k = costs.shape[0] * costs.shape[2], costs.shape[2]
        places = (linked + k * np.arange(len(found))[:, None]).ravel()
        here = np.bincount(places, minlength=size).reshape(-1, k)
        before = np.stack([last.linked for last in self.last])
        held, n_changed = self.batch.held()
        for s in np.flatnonzero(~(held[:, 0] + here).all(axis=1)).tolist():
            found[s] = self._fill(s, costs[s], held[s, 0], limits)
            linked[s] = found[s][0]
        return found, (n_changed > 0) | (linked != before).any(axis=1)

    def assign_linked(self, costs: np.ndarray, limits: Limits) -> list[tuple[np.ndarray, bool]]:
        """Label the linked groups exactly, clusters may stay empty; and whether that is proven."""
        labels = np.empty(costs.shape[:2], dtype=np.int64)
        statuses, graph = np.full(len(costs), SOLVED), self.problem.graph
        n_jobs = min(len(costs), available_threads(), MOST_JOBS, 1 + costs.size // LEAST_JOB)
        ends = np.linspace(0, len(costs), n_jobs + 1).astype(int)

        def solve(start: int, stop: int) -> None:
            part = slice(start, stop)
            assign_tables(costs[part], graph.arrays, labels[part], statuses[part])

        list((_pool().map if n_jobs > 1 else map)(solve, ends[:-1], ends[1:]))
        found = [(each, True) for each in labels]
        for s in np.flatnonzero(statuses != SOLVED):
            given = assign(costs[s], graph, None, self._upper(int(s)), limits.budget())
            if given[0] is None:
                raise NoFeasibleSolutionError
            found[s] = given[0], bool(given[2] >= given[1])
        return found

    def _upper(self, s: int) -> np.ndarray | None:
        """Labels of linked groups that are known to be feasible, if any."""
        linked = self.last[s].linked
        return linked if len(linked) and linked[0] >= 0 else None

    def _fill(self, s: int, costs: np.ndarray, counts: np.ndarray, limits: Limits) -> Found:
        """The same where a cluster would be empty: the cheapest free groups take part."""
        few, n_linked, upper = self.batch.fillers(s), self.problem.n_linked, self._upper(s)
        filled = counts - np.bincount(few.labels, minlength=len(counts))
        taking_part = np.concatenate([np.ones(n_linked), few.weights])
        labels, cost, bound = assign(
            np.concatenate([costs, few.costs]),
            self.problem.graph,
            Bounds.none_empty(taking_part, filled),
            None if upper is None else np.concatenate([upper, few.labels]),
            limits.budget(),
        )
        if labels is None:
            raise NoFeasibleSolutionError
        return labels[:n_linked], few.moves(labels[n_linked:]), bool(bound >= cost)

    # ------------------------------------------------------------------------- under bounds

    def _prepare(self, bounds: Bounds) -> None:
        """What all iterations share."""
        n_linked = self.problem.n_linked
        self.of_linked = bounds.of_groups(slice(0, n_linked), np.zeros_like(bounds.low))
        free = bounds.counts[:, n_linked:]
        self.alike = free.shape[1] == 0 or bool((np.ptp(free, axis=1) == 0).all())
        self.free = free[:, :1] if self.alike and free.shape[1] else free
        # What a free point counts, on average and at most.
        sizes = np.abs(self.free) if self.free.size else np.ones((len(free), 1))
        self.unit, self.heaviest = sizes.mean(axis=1, keepdims=True), sizes.max(axis=1)
        self.unit = np.where(self.unit > 0, self.unit, 1.0)
        self.n_free = free.shape[1]
        # All groups count the same in a single bound: the transportation problem is exact.
        self.units = n_linked == 0 and self.alike and len(free) == 1
        self.reach = 0.0  # by how much prices may be expected to move
        self.order: np.ndarray | None = None

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray]:
        """(G, B) what groups count, in units of what a free one does; also side by side."""
        assert self.bounds is not None
        counts = np.ascontiguousarray((self.bounds.counts / self.unit).T)
        return counts, side_by_side(counts)

    def unbounded(self, state: State) -> np.ndarray:
        """(B, K) sums where every group goes to its nearest center."""
        costs, held = self._label(state.centers, np.zeros_like(state.prices))
        return np.asarray(held + self.of_linked.held(costs.argmin(axis=1)))

    def _compiled(self, state: State, limits: Limits) -> bool | None:
        """Iterate for a while in compiled code: whether the objective fell.

        ``None`` where that cannot be, or labels are to be optimal, or no good ones were found. On
        single free points of one size all labels are optimal.
        """
        units, state.settled = self.units, False
        if not self.problem.points.abilities.contracted or not (
            units or self._may_be_quick(state, limits)
        ):
            return None
        problem, contracted = self.problem, self.problem.contracted
        bounds, unit, n_before = self._ordered(state.order), self.unit, state.n_done
        (n, d), k, most = contracted.points.shape, problem.n_clusters, self._most_quick(limits)
        labels = np.full(n, -1) if state.labels is None else np.array(state.labels, np.int64)
        centers, prices = state.centers.copy(), state.prices * unit
        if units:
            low, high = bounds.units(float(unit[0, 0]), np.zeros(k))
            pause = min(limits.max_iter, n_before + max(1, STRIDE // (n * k * d)))
            status, objective, state.n_done = sized_lloyd(
                contracted.points, *contracted.lanes, low, high, centers, prices[0], labels,
                n_before, pause,
            )  # fmt: skip
            if status == INFEASIBLE:
                raise NoFeasibleSolutionError(NOT_FOUND)
            state.prices, state.proven = prices / unit, status != PAUSED or state.proven
            state.settled = status != PAUSED
            return state.takes(labels, centers, objective + problem.constant)
        pause = min(most, n_before + max(1, STRIDE // (n * k * (d + 8 * len(unit)))))
        _, objective, state.n_done = bounded_lloyd(
            contracted.points, *contracted.lanes, *contracted.graph.arrays, *self._counts,
            (bounds.low - bounds.slack / 2) / unit, (bounds.high + bounds.slack / 2) / unit,
            bounds.least_prices, bounds.largest_prices, centers, prices, labels, n_before, pause,
        )  # fmt: skip
        state.prices, state.proven = bounds.admit(prices / unit), False
        state.settled = n_before < state.n_done < pause
        fell = state.takes(labels, centers, objective + problem.constant)
        return fell if state.n_done > n_before else None

    def _may_be_quick(self, state: State, limits: Limits) -> bool:
        """Whether good labels will do."""
        return not (state.exact or self.units) and state.n_done < self._most_quick(limits)

    def _most_quick(self, limits: Limits) -> int:
        """Iterations with good labels: the last are to be optimal where that is not too much."""
        return limits.max_iter - (len(self.unit) == 1)

    def _ordered(self, order: np.ndarray) -> Bounds:
        """The bounds in this order, made once as long as it is the same."""
        if self.order is None or (self.order != order).any():
            assert self.bounds is not None
            self.order, self.in_order = order.copy(), self.bounds.with_order(order)
        return self.in_order

    def _label(self, centers: np.ndarray, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(L, K) costs of the linked groups, and (B, K) what the free ones count at prices."""
        (costs,) = self.batch.label(centers[None], prices)
        return costs, self.batch.held()[0][0]

    def _assign(self, state: State, limits: Limits, quick: bool) -> Found:
        """Labels of the linked groups, free points elsewhere than priced, whether proven."""
        problem, bounds = self.problem, self._ordered(state.order)
        n_linked, k = problem.n_linked, problem.n_clusters
        start, tries = state.prices, 0
        for look in range(MOST_LOOKS + 1):
            prices = bounds.admit(state.prices)
            costs, at_prices = self._label(state.centers, prices)
            answer = (costs + self.of_linked.counts.T @ prices).argmin(axis=1)
            held = at_prices + self.of_linked.held(answer)
            off = float((np.abs(held - bounds.implied(held, prices)) / self.unit).sum())
            n_wanted = max(256, int(4 * off) + 16 * k) << tries
            if off > self.n_free / 16 or look == MOST_LOOKS:
                n_wanted = self.n_free
            # Some of too many tell where prices go.
            early = look < (2 if limits.is_late() else MOST_LOOKS // 2)
            reach = self.reach if n_wanted < self.n_free else np.inf
            few, limit, share = self.batch.undecided(n_wanted, reach, SAMPLE if early else NO_LIMIT)
            at, status = _Look(held, prices, few, limit, share), SOLVED
            if len(bounds.counts) == 1:
                status, chosen, state.prices = self._trade(at)
            elif share < 1:
                state.prices = self._climb(at)
            if share < 1 or (status != SOLVED and limit < np.inf and (self.units or early)):
                moved = float(_spreads(state.prices - prices).max())
                self.reach = moved / 4 if status == SOLVED else 4 * limit
                tries += status != SOLVED
                continue
            if self.units:
                if status != SOLVED:
                    break
                self.reach = float(_spreads(state.prices - start).max())
                state.gap = 0.0
                return answer, few.moves(chosen), True
            counts = np.concatenate([self.of_linked.counts, few.counts], axis=1)
            filled = at_prices - Bounds.of(few.counts, bounds.low, bounds.high).held(few.labels)
            last = None
            if problem.points.abilities.contracted and state.labels is not None:
                last = np.append(state.labels[:n_linked], state.labels[n_linked + few.where])
            found = assign_bounded(
                np.concatenate([costs, few.costs]),
                problem.graph,
                Bounds(counts, bounds.low, bounds.high, filled),
                last,
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

    def _trade(self, at: _Look) -> tuple[int, np.ndarray, np.ndarray]:
        """Label some of the points as if all counted the same, and no others moved.

        Their clusters may change by what the bounds leave, or by that share where they stand for
        more. Returns the status, labels and new prices.
        """
        few, bounds, slack = at.few, self.in_order, (1e-9 if at.share == 1 else 1.0)
        counted = np.where(few.counts[0] > 0, few.counts[0], 1.0)
        here, far = np.bincount(few.labels, minlength=at.held.shape[1]), 2.0**40
        share = at.share / float(self.unit[0, 0])
        least, most = (bounds.low - at.held)[0] * share, (bounds.high - at.held)[0] * share
        low = here + np.ceil(np.clip(least - slack, -far, far)).astype(np.int64)
        high = here + np.floor(np.clip(most + slack, -far, far)).astype(np.int64)
        if at.share < 1:
            high = np.maximum(high, 0)
        labels, moved = np.empty(len(few.labels), dtype=np.int64), at.prices[0].copy()
        limit = at.limit / counted.max(initial=0.0) if len(counted) else at.limit
        status = transport(few.costs / counted[:, None], low, high, moved, labels, limit)
        return status, labels, moved[None]

    def _good(self, state: State, limits: Limits) -> Found | None:
        """Good labels within several bounds, or ``None`` where they are not found quickly."""
        problem, bounds = self.problem, self._ordered(state.order)
        prices, n_linked = bounds.admit(state.prices), problem.n_linked
        answer = np.empty(0, dtype=np.int64)
        for look in range(LOOKS):
            costs, at_prices = self._label(state.centers, prices)
            if n_linked:
                priced = self.of_linked.priced(costs, prices)
                quick = replace(limits.budget(), max_pivots=0)
                found = assign(priced, problem.graph, None, self._upper(0), quick)
                if found[0] is None:
                    return None
                answer = found[0]
            held = at_prices + self.of_linked.held(answer)
            off = float((np.abs(held - np.clip(held, bounds.low, bounds.high)) / self.unit).sum())
            if off <= self.n_free / 64 or look == LOOKS - 1:
                break
            n_wanted = self.n_free if look == 0 else int(2 * off) + 256
            at = _Look(held, prices, *self.batch.undecided(n_wanted, 0.0, SOME))
            prices = self._climb(at)
        n_wanted = int(4 * off) + 128
        for _ in range(4):
            at = _Look(held, prices, *self.batch.undecided(n_wanted, 0.0, NO_LIMIT))
            few, labels, sums = at.few, at.few.labels.copy(), held / self.unit
            low, high = bounds.low - bounds.slack / 2, bounds.high + bounds.slack / 2
            priced = few.costs + few.counts.T @ prices
            counts = np.ascontiguousarray((few.counts / self.unit).T)
            ends = low / self.unit, high / self.unit
            if trade(priced, counts, *ends, sums, labels, MOST_ROUNDS):
                state.prices = self._climb(at, n_steps=2)
                return answer, few.moves(labels), False
            n_wanted *= 4
        return None

    def _climb(self, at: _Look, n_steps: int = 15) -> np.ndarray:
        """Better prices from some of the points, by their share of what all may change."""
        few, bounds = at.few, self.in_order
        if few.costs.size == 0 or few.costs.shape[1] < 2:
            return at.prices
        here, room = Bounds.of(few.counts, bounds.low, bounds.high).held(few.labels), self.unit
        low = (bounds.low - at.held) * at.share - room
        high = (bounds.high - at.held) * at.share + room
        reach, fade = at.limit / 4, 0.8
        if at.limit == np.inf:  # they stand for all points: prices may go anywhere
            two = np.partition(few.costs, 1, axis=1)[:, :2]
            reach, fade, n_steps = float(np.median(np.ptp(two, axis=1))), 0.9, 40
        moved = np.ascontiguousarray(at.prices * self.unit)
        climb(
            few.costs, np.ascontiguousarray((few.counts / self.unit).T), (here + low) / self.unit,
            (here + high) / self.unit, bounds.least_prices, bounds.largest_prices, moved, reach,
            fade, n_steps,
        )  # fmt: skip
        return bounds.admit(moved / self.unit)


def _spreads(moved: np.ndarray) -> np.ndarray:
    """(B,) by how much one price of each bound moved against another, or against 0."""
    return np.asarray(np.maximum(moved.max(axis=1), 0) - np.minimum(moved.min(axis=1), 0))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_JOBS)
