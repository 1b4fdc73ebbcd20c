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
from smdeclust.assignment.status import INFEASIBLE, PAUSED, SOLVED
from smdeclust.assignment.transport import transport
from smdeclust.exceptions import InvalidInputError, NoFeasibleSolutionError
from smdeclust.local_search.kempe import kempe_descent
from smdeclust.local_search.limits import LEAST_FALL, NO_LIMIT, STRIDE, Limits
from smdeclust.local_search.sized_lloyd import sized_lloyd
from smdeclust.points.protocol import Fillers
from smdeclust.problem import Problem, Solution
from smdeclust.structure.bounds import SizeBounds

# Points that tell where prices go.
SAMPLE = 8192
# Looks at all points for one assignment; then labels are used as they are, without a proof.
MOST_LOOKS = 12
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
            f"size_min and size_max do not work on {type(problem.points).__name__} yet: use "
            f"device=None, with a dense array, a scipy.sparse matrix or a Dask collection."
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
            try:
                fell = engine.iterate(state, limits)
            except NoFeasibleSolutionError:
                if state.labels is None:
                    raise
                state.proven = False  # the last ones are feasible
                break
            if state.n_done > 0 and (state.n_done >= limits.max_iter or limits.is_late()):
                state.proven &= bounds.alike  # other orders of the bounds were not looked at
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
    bounds, contracted = problem.bounds, problem.contracted
    assert bounds is not None
    low, high = bounds.taken_by(state.order)
    labels = np.array(state.labels, dtype=np.int64)
    centers = state.centers.copy()
    swaps = kempe_descent(
        contracted.points, contracted.weights, *contracted.graph.hard_part.arrays[:2],
        contracted.graph.soft_part.arrays, labels, centers,
        state.objective - problem.constant, problem.size_of_group, low, high,
    )  # fmt: skip
    value = problem.objective(labels) + problem.penalty(labels)
    return swaps > 0 and state.takes(labels, centers, value)


class _Compiled:
    """The compiled loop."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.contracted = problem, problem.contracted
        self.unit = float(problem.size_of_group[0])
        n_products = self.contracted.points.size * problem.n_clusters
        self.stride = max(1, STRIDE // n_products)

    def __enter__(self) -> _Compiled:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def unbounded_sizes(self, state: _State) -> np.ndarray:
        """(K,) sizes where every point goes to its nearest center."""
        nearest = cdist(self.contracted.points, state.centers).argmin(axis=1)
        return np.bincount(nearest, minlength=len(state.centers)) * self.unit

    def iterate(self, state: _State, limits: Limits) -> bool:
        """Iterate for a while; returns whether the objective fell."""
        bounds, contracted = self.problem.bounds, self.contracted
        assert bounds is not None
        n = len(contracted.points)
        low, high = bounds.taken_by(state.order)
        low = np.ceil(low / self.unit - 1e-9).astype(np.int64)
        high = np.clip(np.floor(high / self.unit + 1e-9), -1, n).astype(np.int64)
        labels = np.full(n, -1, dtype=np.int64) if state.labels is None else state.labels.copy()
        centers = state.centers.copy()
        pause = min(limits.max_iter, state.n_done + self.stride)
        status, objective, state.n_done = sized_lloyd(
            contracted.points,
            contracted.lanes,
            contracted.lane_weights,
            low,
            high,
            centers,
            state.prices,
            labels,
            state.n_done,
            pause,
        )
        if status == INFEASIBLE:
            raise NoFeasibleSolutionError(NOT_FOUND)
        state.proven = status != PAUSED or state.proven
        return state.takes(labels, centers, objective + self.problem.scatter)


class _AnyStorage:
    """One iteration at a time, through the protocol of the points."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.batch: Any = problem.points.begin(1)
        self.reach = 0.0  # by how much prices may be expected to move

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
        unit = float(lone.mean()) if len(lone) else 1.0
        alike = n_linked == 0 and float(np.ptp(lone)) == 0
        start, tries = state.prices, 0
        for look in range(MOST_LOOKS + 1):
            prices = np.clip(
                state.prices, np.where(low > 0, -np.inf, 0), np.where(np.isfinite(high), np.inf, 0)
            )
            costs, sizes = self._price(state.centers, prices)
            answer = (costs + counted[:, None] * prices).argmin(axis=1)
            held = sizes + np.bincount(answer, counted, k)
            off = _off(held, low, high, prices) / unit
            n_wanted = max(256, int(4 * off) + 16 * k) << tries
            if off > len(lone) / 16 or look == MOST_LOOKS:
                n_wanted = len(lone)
            # Some of too many tell where prices go.
            early = look < MOST_LOOKS // 2
            reach = self.reach if n_wanted < len(lone) else np.inf
            few, limit, share = self.batch.undecided(n_wanted, reach, SAMPLE if early else NO_LIMIT)
            ends = (low - held) / unit, (high - held) / unit
            status, chosen, state.prices = _trade(
                few, share, bounds.by_weight, *ends, prices, limit
            )
            if share < 1 or (status != SOLVED and limit < np.inf and (alike or early)):
                moved = _spread(state.prices - prices)
                self.reach = moved / 4 if status == SOLVED else 4 * limit
                tries += status != SOLVED
                continue
            if alike:
                if status != SOLVED:
                    break
                self.reach = _spread(state.prices - start)
                return answer, few.moves(chosen), True
            of_few = few.weights if bounds.by_weight else np.ones(len(few.where))
            found = assign_sized(
                np.concatenate([costs, few.costs]),
                problem.graph,
                Sizes(
                    np.concatenate([counted, of_few]), low, high,
                    sizes - np.bincount(few.labels, of_few, k),
                ),
                budget=limits.budget(),
                prices=state.prices,
            )  # fmt: skip
            self.reach, tries = 4 * limit, tries + 1
            if found.labels is None:
                if limit == np.inf:
                    break
                continue
            moved = heaviest * _spread(found.prices - prices) + (found.cost - found.dual)
            sure = moved <= limit
            if sure or look == MOST_LOOKS:
                state.prices = found.prices
                self.reach = _spread(state.prices - start)
                moves = few.moves(found.labels[n_linked:])
                return found.labels[:n_linked], moves, bool(sure and found.bound >= found.cost)
        raise NoFeasibleSolutionError(NOT_FOUND)


def _trade(
    few: Fillers,
    share: float,
    by_weight: bool,
    least: np.ndarray,
    most: np.ndarray,
    prices: np.ndarray,
    limit: float,
) -> tuple[int, np.ndarray, np.ndarray]:
    """Label some of the points as if all counted the same, and nobody else moved.

    Their clusters may change by `least` to `most` points, or by that share where they stand for
    more. Returns the status, labels and new prices.
    """
    counted = few.weights if by_weight else np.ones(len(few.where))
    counted = np.where(counted > 0, counted, 1.0)
    held, far = np.bincount(few.labels, minlength=len(prices)), 2.0**40
    slack = 1e-9 if share == 1 else 1.0
    low = held + np.ceil(np.clip(least * share - slack, -far, far)).astype(np.int64)
    high = held + np.floor(np.clip(most * share + slack, -far, far)).astype(np.int64)
    if share < 1:
        high = np.maximum(high, 0)
    labels, prices = np.empty(len(few.labels), dtype=np.int64), prices.copy()
    heaviest = counted.max() if len(counted) else 1.0
    status = transport(few.costs / counted[:, None], low, high, prices, labels, limit / heaviest)
    return status, labels, prices


def _spread(moved: np.ndarray) -> float:
    """By how much one price moved against another, or against 0."""
    return float(max(0.0, moved.max()) - min(0.0, moved.min()))


def _off(held: np.ndarray, low: np.ndarray, high: np.ndarray, prices: np.ndarray) -> float:
    """How much lies elsewhere than the prices ask for."""
    asked = np.where(prices > 0, high, np.where(prices < 0, low, np.clip(held, low, high)))
    return float(np.abs(held - asked).sum())
