"""Prices in an estimator: what a broken soft pair costs, which were broken, what bounds cost.

Prices of pairs are computed once per fit. They depend on the points, their weights and K alone: not
on the order of the rows, not on the seed, and not on the pairs, so that clusterings with and
without a pair pay the same for all others.
"""

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from smdeclust.assignment import Budget, assign_groups
from smdeclust.assignment.exact import bound_prices
from smdeclust.constraints import Constraints
from smdeclust.constraints.store import SOFT
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.local_search import local_search
from smdeclust.points import is_dask
from smdeclust.points.sparse import squares_to
from smdeclust.problem import Problem
from smdeclust.structure import SoftPairs

# Confidences from here on are as good as certain: their logarithm is not finite in practice.
SUREST = 1 - 1e-12

# Points times features up to which rows are sorted, so that even the rounding of sums is the same.
MOST_SORTED = 2**23

# Broken pairs, the most expensive first, for which the cost of keeping them is computed, and what
# one such search may cost on dense pairs.
MOST_KEPT = 20
KEPT_PIVOTS = 2_000

# Points x clusters up to which bounds are priced, and the seconds that this may take.
MOST_PRICED, PRICE_SECONDS = 10_000_000, 0.5


@dataclass(frozen=True)
class BrokenPair:
    """A soft pair that the clustering does not satisfy."""

    pair: tuple[int, int]  # two rows
    kind: str  # "must_link" or "cannot_link"
    confidence: float  # as given; NaN where a price was given instead
    price: float  # what breaking it costs
    # What keeping it would have cost instead, with the centers as they are and everything else that
    # is known: the least increase of the rest of the objective. Infinite where nothing allows to
    # keep it; NaN where that was not computed (only for the most expensive pairs) or not proven.
    keeping: float


@dataclass(frozen=True)
class SoftPrices:
    """The price of breaking a soft pair, as a function of its confidence p.

    The price is 4 s^2 log(p / (1 - p)) or, if there is a penalty, the penalty times p. A pair that
    is right with probability p carries log(p / (1 - p)) nats about each of its two points; the sum
    of squares carries |x - y|^2 / (2 s^2) nats about a point.
    """

    spread: float  # s^2, the variance of a coordinate inside clusters
    penalty: float | None = None  # what a broken pair of confidence 1 costs, or ``None``

    @classmethod
    def estimate(
        cls, problem: Problem, penalty: float | None, deadline: float | None = None
    ) -> Self:
        """Prices for the points of a problem."""
        return cls(0.0 if penalty is not None else spread_inside(problem, deadline), penalty)

    def __call__(self, confidence: Any) -> np.ndarray:
        """Return the prices of pairs with these confidences."""
        sure = np.clip(np.asarray(confidence, dtype=np.float64), 0.5, SUREST)
        if self.penalty is not None:
            return self.penalty * np.asarray(confidence, dtype=np.float64)
        return 4 * self.spread * np.log(sure / (1 - sure))

    def fixed(self, known: Constraints) -> Constraints:
        """The same constraints with prices instead of confidences."""
        fields = {}
        for kind in SOFT:
            confidence, price = (getattr(known, f"{kind}_{n}") for n in ("confidence", "price"))
            fields[f"{kind}_price"] = np.where(np.isnan(price), self(confidence), price)
            fields[f"{kind}_confidence"] = np.full(len(price), np.nan)
        return known._with(**fields)

    def pairs(self, known: Constraints) -> SoftPairs | None:
        """The soft pairs of constraints with their prices; ``None`` where there are none."""
        if known.n_soft == 0:
            return None
        priced = self.fixed(known)
        must, cannot = known.soft_must_link, known.soft_cannot_link
        return SoftPairs(must, priced.soft_must_link_price, cannot, priced.soft_cannot_link_price)


def spread_inside(problem: Problem, deadline: float | None = None) -> float:
    """s^2 = f / (W d): the variance of a coordinate inside the clusters of a plain k-means.

    It starts from parts of the points, cut one after the other where they spread most, so that
    nothing is drawn. (After the deadline it makes one iteration.) Of a large Dask collection every
    this many rows are taken.
    """
    X, weight = problem.X, problem.sample_weight
    if is_dask(X):
        n_rows = max(MOST_SORTED // problem.n_features, 100 * problem.n_clusters)
        some = slice(None, None, -(-problem.n_points // n_rows))
        X, weight = X[some].compute(), None if weight is None else weight[some]
    if not issparse(X) and X.size <= MOST_SORTED:
        keys = X.T[::-1] if weight is None else [weight, *X.T[::-1]]
        order = np.lexsort(keys)
        X, weight = X[order], None if weight is None else weight[order]
    centers = cut_up(X, weight, problem.n_clusters, [part_of(X, weight, np.arange(X.shape[0]))])
    if centers is None:
        return 0.0  # no more different points than clusters
    plain = Problem.build(X, problem.n_clusters, sample_weight=weight)
    found = local_search(plain, plain.enter(centers), proof_pivots=0, deadline=deadline)
    total = X.shape[0] if weight is None else weight.sum()
    return float(found.objective / (total * problem.n_features))


# Sum of squares of some rows about their mean, the rows, the mean, and the widest axis.
Part = tuple[float, np.ndarray, np.ndarray, int]


def cut_up(X: Any, weight: np.ndarray | None, n_parts: int, parts: list[Part]) -> np.ndarray | None:
    """(K, d) means of parts of the points; ``None`` where there are fewer different points.

    Of the `parts` so far (which change), that of the largest sum of squares is cut at its mean,
    along the coordinate that varies most (Su and Dy 2007, "Var-Part").
    """
    while len(parts) < n_parts:
        largest = int(np.argmax([part[0] for part in parts]))
        squares, rows, mean, axis = parts[largest]
        column = X[rows, axis]
        column = column.toarray().ravel() if hasattr(column, "toarray") else column
        below = column <= mean[axis]
        if squares <= 0 or below.all() or not below.any():
            return None
        parts[largest] = part_of(X, weight, rows[below])
        parts.append(part_of(X, weight, rows[~below]))
    return np.array([part[2] for part in parts])


def part_of(X: Any, weight: np.ndarray | None, rows: np.ndarray) -> Part:
    """What some rows are like."""
    points: Any = X[rows]
    total = float(len(rows) if weight is None else weight[rows].sum())
    share = np.ones(len(rows)) if weight is None or total == 0 else weight[rows]
    if hasattr(points, "toarray"):
        mean, variance = mean_variance_axis(points.astype(np.float64), 0, weights=share)
    else:
        mean = np.average(points, axis=0, weights=share)
        variance = np.average((points - mean) ** 2, axis=0, weights=share)
    return float(variance.sum() * total), rows, mean, int(variance.argmax())


def broken_pairs_of(
    soft: SoftPairs,
    known: Constraints,
    labels: np.ndarray,
    centers: np.ndarray,
    problem: Problem | None,
    deadline: float | None = None,
) -> list[BrokenPair]:
    """The soft pairs that these (N,) labels break, the most expensive first.

    `centers` are those of the labels; what keeping pairs costs is asked where there is a `problem`
    whose objective the labels minimize, until the deadline.
    """
    confidence = np.concatenate(
        [known.soft_must_link_confidence, known.soft_cannot_link_confidence]
    )
    broken = np.flatnonzero(soft.broken(labels))
    broken = broken[np.lexsort((*soft.pairs[broken].T[::-1], -soft.price[broken]))]
    keeping = np.full(len(broken), np.nan)
    if len(broken) and problem is not None:
        keeping[:MOST_KEPT] = _costs_of_keeping(
            problem, broken[:MOST_KEPT], labels, centers, np.inf if deadline is None else deadline
        )
    out = []
    for m, kept in zip(broken.tolist(), keeping.tolist(), strict=True):
        kind = "must_link" if m < len(soft.must_link) else "cannot_link"
        i, j = soft.pairs[m].tolist()
        out.append(BrokenPair((i, j), kind, float(confidence[m]), float(soft.price[m]), kept))
    return out


def _costs_of_keeping(
    problem: Problem, broken: np.ndarray, labels: np.ndarray, centers: np.ndarray, deadline: float
) -> list[float]:
    """The least increase of the rest of the objective where each of these soft pairs is kept."""
    soft = problem.soft
    assert soft is not None
    squares = _squares(problem, centers)
    now = float(
        squares[np.arange(len(labels)), labels].sum() + soft.price[soft.broken(labels)].sum()
    )

    def keeping(m: int) -> float:
        if time.perf_counter() >= deadline:
            return np.nan
        try:
            known = problem.keeping(m)
        except InfeasibleConstraintsError:
            return np.inf
        budget = Budget(deadline=deadline, max_pivots=KEPT_PIVOTS)
        chosen, cost, bound = assign_groups(known, known.group_costs(squares), None, budget)
        if chosen is None:
            return np.inf if bound == np.inf else np.nan
        more = max(cost + known.always_broken - (now - soft.price[m]), 0.0)
        return more if cost <= bound * (1 + 1e-9) else np.nan

    return [keeping(m) for m in broken.tolist()]


def prices_of_bounds(problem: Problem, labels: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """(B, K) what the bounds on clusters cost at the centers of these labels; see `bound_prices`.

    NaN where that would take long.
    """
    bounds = problem.group_bounds
    assert bounds is not None
    if is_dask(problem.X) or problem.n_points * problem.n_clusters > MOST_PRICED:
        return np.full(bounds.low.shape, np.nan)
    costs = problem.group_costs(_squares(problem, centers))
    budget = Budget.of(max_time=PRICE_SECONDS, max_pivots=KEPT_PIVOTS)
    return bound_prices(problem, costs, problem.group_labels(labels), budget)


def _squares(problem: Problem, centers: np.ndarray) -> np.ndarray:
    """(N, K) weighted squared distances of the points to centers."""
    squares = np.concatenate([some for _, some in squares_to(problem.X, centers)])
    return squares if problem.sample_weight is None else squares * problem.sample_weight[:, None]
