"""The local search under cluster sizes, for every storage that can label points at prices.

An iteration labels the free points at the prices of the last one, assigns the linked groups exactly
together with the free points nearest to indifference, and moves the centers to the means. All other
points stay where they are unless a price moved by more than their margin: that is checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.assignment.sized import assign_sized
from smdeclust.assignment.sizes_of import Sizes
from smdeclust.assignment.status import INFEASIBLE, PAUSED
from smdeclust.assignment.transport import drop_idle_prices, transport
from smdeclust.constraints.size_bounds import SizeBounds
from smdeclust.exceptions import InvalidInputError, NoFeasibleSolutionError
from smdeclust.local_search.kempe import kempe_descent
from smdeclust.local_search.limits import LEAST_FALL, Limits
from smdeclust.local_search.sized_lloyd import sized_lloyd
from smdeclust.problem import Problem, Solution

# Points that a first guess of prices looks at.
SAMPLE = 2048
# Looks at all points for one assignment; then labels are used as they are, without a proof.
MOST_LOOKS = 12
# Other orders of the bounds that are tried for one set of centers.
MOST_ORDERS = 24
# Multiplications that the compiled loop may make at a stretch: nothing interrupts it.
STRIDE = 10**8

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

    def takes(self, labels: Any, centers: np.ndarray, objective: float) -> bool:
        """Keep these if they are better; returns whether they are."""
        if not objective < self.objective * (1 - LEAST_FALL):
            return False
        self.labels, self.centers, self.objective = labels, centers, objective
        return True


def search_sized(problem: Problem, centers: np.ndarray, deep: bool, limits: Limits) -> Solution:
    """Search from (K, d') centers; `deep`: go on by swaps that keep the sizes where Lloyd stops."""
    bounds = problem.bounds
    assert bounds is not None
    if not problem.points.abilities.sizes:
        raise InvalidInputError(
            f"size_min and size_max do not work on {type(problem.points).__name__} yet: use a "
            f"dense array or a scipy.sparse matrix in memory, and device=None."
        )
    n_clusters = problem.n_clusters
    state = _State(
        centers=np.array(centers, dtype=np.float64, order="C"),
        prices=np.zeros(n_clusters),
        order=np.arange(n_clusters),
    )
    engine = _Compiled(problem) if _is_plain(problem) else _AnyStorage(problem)
    with engine:
        if not bounds.alike:
            state.order = bounds.match_sizes(engine.unbounded_sizes(state))
        while True:
            fell = engine.iterate(state, limits)
            if state.n_done > 0 and (state.n_done >= limits.max_iter or limits.is_late()):
                break
            if fell or (not bounds.alike and _reorder(bounds, engine, state, limits)):
                continue
            if not (deep and _swap(problem, state)):
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
    sizes = problem.size_of_group
    return problem.points.abilities.compiled and problem.n_linked == 0 and np.ptp(sizes) == 0


def _reorder(bounds: SizeBounds, engine: Any, state: _State, limits: Limits) -> bool:
    """Give clusters other bounds where the prices say that this could be cheaper.

    The prices bound the cost under every order of the bounds: where no other order has a lower
    bound, this one is optimal for the centers. Returns whether a better one was found.
    """
    orders, complete = bounds.cheaper_orders(state.prices, state.order)
    for order in orders[:MOST_ORDERS]:
        trial = replace(state, order=order, prices=state.prices.copy())
        if engine.iterate(trial, limits):
            vars(state).update(vars(trial))
            return True
        state.n_done = trial.n_done
        state.proven &= trial.proven
    state.proven &= complete and len(orders) <= MOST_ORDERS
    return False


def _swap(problem: Problem, state: _State) -> bool:
    """Go on by Kempe chains that keep the sizes; returns whether the objective fell."""
    bounds, core = problem.bounds, problem.contracted
    assert bounds is not None
    low, high = bounds.taken_by(state.order)
    labels = np.array(state.labels, dtype=np.int64)
    centers = state.centers.copy()
    swaps = kempe_descent(
        core.points, core.weights, *core.graph.hard_part.arrays[:2],
        core.graph.soft_part.arrays, labels, centers,
        state.objective - problem.constant, problem.size_of_group, low, high,
    )  # fmt: skip
    value = problem.objective(labels) + problem.penalty(labels)
    return swaps > 0 and state.takes(labels, centers, value)


class _Compiled:
    """The compiled loop."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.core = problem, problem.contracted
        self.unit = float(problem.size_of_group[0])
        n_products = self.core.points.size * problem.n_clusters
        self.stride = max(1, STRIDE // n_products)

    def __enter__(self) -> _Compiled:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def unbounded_sizes(self, state: _State) -> np.ndarray:
        """(K,) sizes where every point goes to its nearest center."""
        nearest = cdist(self.core.points, state.centers).argmin(axis=1)
        return np.bincount(nearest, minlength=len(state.centers)) * self.unit

    def iterate(self, state: _State, limits: Limits) -> bool:
        """Iterate for a while; returns whether the objective fell."""
        bounds, core = self.problem.bounds, self.core
        assert bounds is not None
        n = len(core.points)
        low, high = bounds.taken_by(state.order)
        low = np.ceil(low / self.unit - 1e-9).astype(np.int64)
        high = np.clip(np.floor(high / self.unit + 1e-9), -1, n).astype(np.int64)
        labels = np.full(n, -1, dtype=np.int64) if state.labels is None else state.labels.copy()
        centers = state.centers.copy()
        pause = min(limits.max_iter, state.n_done + self.stride)
        status, objective, state.n_done = sized_lloyd(
            core.points, core.lanes, core.lane_weights, low, high, centers, state.prices, labels,
            state.n_done, pause,
        )  # fmt: skip
        if status == INFEASIBLE:
            raise NoFeasibleSolutionError(NOT_FOUND)
        state.proven = status != PAUSED or state.proven
        return state.takes(labels, centers, objective + self.problem.scatter)


class _AnyStorage:
    """One iteration at a time, through the protocol of the points."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.batch: Any = problem.points.begin(1)

    def __enter__(self) -> _AnyStorage:
        self.batch.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.batch.__exit__(*error)

    def unbounded_sizes(self, state: _State) -> np.ndarray:
        """(K,) sizes where every group goes to its nearest center."""
        problem = self.problem
        costs, sizes = self._price(state.centers, np.zeros_like(state.prices))
        return sizes + np.bincount(
            costs.argmin(axis=1), problem.size_of_group[: problem.n_linked], problem.n_clusters
        )

    def iterate(self, state: _State, limits: Limits) -> bool:
        """Assign, move the centers; returns whether the objective fell."""
        linked, moves, proven = self._assign(state, limits)
        centers, _ = self.batch.move(linked[None], [moves])
        labels, place, value = self.batch.finish(0, centers[0], linked, moves)
        state.n_done += 1
        state.proven = proven and self.problem.points.abilities.exact
        return state.takes(labels, place, value + self.problem.penalty(linked))

    def _price(self, centers: np.ndarray, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bounds, batch = self.problem.bounds, self.batch
        assert bounds is not None
        costs, sizes = batch.price(centers, prices, bounds.by_weight)
        return costs, sizes

    def _assign(self, state: _State, limits: Limits) -> tuple[np.ndarray, dict[int, int], bool]:
        """Labels of the linked groups, free points elsewhere than priced, whether proven."""
        problem, bounds = self.problem, self.problem.bounds
        assert bounds is not None
        low, high = bounds.taken_by(state.order)
        n_linked, k = problem.n_linked, problem.n_clusters
        counted = problem.size_of_group[:n_linked]
        lone = problem.size_of_group[n_linked:]
        heaviest = float(lone.max(initial=0.0)) if bounds.by_weight else 1.0
        share = float(lone.mean()) if len(lone) else 1.0
        for look in range(MOST_LOOKS + 1):
            prices = np.clip(
                state.prices, np.where(low > 0, -np.inf, 0), np.where(np.isfinite(high), np.inf, 0)
            )
            costs, sizes = self._price(state.centers, prices)
            answer = (costs + counted[:, None] * prices).argmin(axis=1)
            off = _off(sizes + np.bincount(answer, counted, k), low, high, prices) / share
            if look == 0 and off > len(lone) / 16 and len(lone) >= 4 * SAMPLE:
                state.prices = self._guess(state.centers, prices, low, high)
                continue
            if off > len(lone) / 64 and len(lone) >= 4 * SAMPLE and look < MOST_LOOKS // 2:
                # Too many to look at all: some of them tell in which direction prices go.
                few, limit = self.batch.undecided(len(lone) // 16)
                of_few = few.weights if bounds.by_weight else np.ones(len(few.where))
                held = sizes + np.bincount(answer, counted, k)
                held -= np.bincount(few.labels, of_few, k)
                least = np.ceil((low - held) / share).astype(np.int64)
                most = np.floor(np.clip((high - held) / share, -(2**40), 2**40)).astype(np.int64)
                state.prices = prices.copy()
                ignored = np.empty(len(few.where), dtype=np.int64)
                transport(few.costs, least, np.maximum(least, most), state.prices, ignored, limit)
                continue
            few, limit = self.batch.undecided(max(256, int(4 * off) + 16 * k) << look)
            of_few = few.weights if bounds.by_weight else np.ones(len(few.where))
            found = assign_sized(
                np.concatenate([costs, few.costs]),
                problem.graph,
                Sizes(
                    np.concatenate([counted, of_few]), low, high,
                    sizes - np.bincount(few.labels, of_few, k),
                ),
                budget=limits.budget(),
                prices=prices,
            )  # fmt: skip
            if found.labels is None and limit < np.inf:
                continue
            if found.labels is None:
                raise NoFeasibleSolutionError(NOT_FOUND)
            state.prices = found.prices
            moved = found.prices - prices
            spread = max(0.0, moved.max()) - min(0.0, moved.min())
            sure = heaviest * spread + (found.cost - found.dual) <= limit
            if sure or look == MOST_LOOKS:
                linked, chosen = found.labels[:n_linked], found.labels[n_linked:]
                others = np.flatnonzero(chosen != few.labels)
                moves = {int(few.where[i]): int(chosen[i]) for i in others}
                return linked, moves, bool(sure and found.bound >= found.cost)
        raise NoFeasibleSolutionError(NOT_FOUND)

    def _guess(
        self, centers: np.ndarray, prices: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """Prices from some of the points, with bounds in proportion."""
        problem, bounds = self.problem, self.problem.bounds
        assert bounds is not None
        n = problem.n_points
        rows = np.arange(0, n, max(1, n // SAMPLE))
        costs = cdist(problem.enter(problem.points.fetch(rows)), centers, "sqeuclidean")
        total = float(problem.size_of_group.sum())
        if problem.sample_weight is not None and not bounds.by_weight:
            costs *= problem.sample_weight[rows, None]
        share = len(rows) / total
        least = np.floor(low * share).astype(np.int64)
        most = np.ceil(np.minimum(high, total) * share).astype(np.int64)
        guess = prices.copy()
        drop_idle_prices(least, most, len(rows), guess)
        transport(costs, least, most, guess, np.empty(len(rows), dtype=np.int64), np.inf)
        return guess


def _off(held: np.ndarray, low: np.ndarray, high: np.ndarray, prices: np.ndarray) -> float:
    """How much lies elsewhere than the prices ask for."""
    asked = np.where(prices > 0, high, np.where(prices < 0, low, np.clip(held, low, high)))
    return float(np.abs(held - asked).sum())
