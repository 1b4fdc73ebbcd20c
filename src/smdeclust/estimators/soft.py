"""Soft pairs in an estimator: what a broken one costs, and which were broken in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from smdeclust.constraints import Constraints
from smdeclust.local_search import local_search
from smdeclust.memetic.initialization import random_points
from smdeclust.problem import Problem
from smdeclust.structure.graph import SoftPairs

# Local searches that the spread inside clusters is estimated from.
N_STARTS = 4

# Confidences from here on are as good as certain: their logarithm is not finite in practice.
SUREST = 1 - 1e-12


@dataclass(frozen=True)
class BrokenPair:
    """A soft pair that the clustering does not keep.

    Attributes
    ----------
    pair
        Two rows.
    kind
        ``"must_link"`` or ``"cannot_link"``.
    confidence
        As given; NaN where a price was given instead.
    price
        What breaking it costs.
    keeping
        What keeping it would have cost instead, the centers as they are, the two must-link groups
        whole and nobody else moving; infinite where hard pairs forbid it.
    """

    pair: tuple[int, int]
    kind: str
    confidence: float
    price: float
    keeping: float


def spread_inside(problem: Problem, deadline: float | None = None) -> float:
    """s^2 = f / (N d): the variance of a coordinate inside the clusters of a quick clustering.

    Always from the same starts: prices do not depend on anybody's seed. (After the deadline a start
    makes one iteration.)
    """
    rng = np.random.default_rng(0)
    start = random_points(problem)
    tries = (
        local_search(problem, start(rng), proof_pivots=0, deadline=deadline)
        for _ in range(N_STARTS)
    )
    least = min(solution.objective for solution in tries)
    weight = problem.n_points if problem.sample_weight is None else problem.sample_weight.sum()
    return float(least / (weight * problem.n_features))


def prices_of(confidence: np.ndarray, price: np.ndarray, unit: float) -> np.ndarray:
    """What broken pairs cost: their own price, or 4 s^2 log(p / (1 - p)).

    A pair that is right with probability p carries log(p / (1 - p)) nats, for each of its two
    points; the sum of squares carries |x - y|^2 / (2 s^2) nats a point.

    Parameters
    ----------
    confidence, price
        (m,) of which one is NaN.
    unit
        s^2.
    """
    sure = np.clip(confidence, 0.5, SUREST)
    return np.where(np.isnan(price), 4 * unit * np.log(sure / (1 - sure)), price)


def soft_pairs(known: Constraints, unit: float, penalty: float | None = None) -> SoftPairs | None:
    """The soft pairs of constraints with their prices; ``None`` where there are none.

    `penalty`: what a broken pair costs, times its confidence.
    """
    if known.n_soft == 0:
        return None
    prices = {}
    for kind in ("must_link", "cannot_link"):
        confidence = getattr(known, f"soft_{kind}_confidence")
        price = getattr(known, f"soft_{kind}_price")
        if penalty is not None:
            price = np.where(np.isnan(price), penalty * confidence, price)
        prices[kind] = prices_of(confidence, price, unit)
    return SoftPairs(
        known.soft_must_link, prices["must_link"], known.soft_cannot_link, prices["cannot_link"]
    )


def broken_pairs_of(
    known: Constraints,
    soft: SoftPairs,
    labels: np.ndarray,
    group_of: np.ndarray,
    squares: Callable[[np.ndarray], np.ndarray],
) -> list[BrokenPair]:
    """The soft pairs that these labels break, the dearest first.

    `group_of`: the must-link group of each row. `squares`: from rows to their (n, K) weighted
    squared distances to the centers.
    """

    @cache
    def costs_of(group: int) -> np.ndarray:
        return squares(np.flatnonzero(group_of == group)).sum(axis=0)

    broken = np.flatnonzero(soft.broken(labels))
    confidence = np.concatenate(
        [known.soft_must_link_confidence, known.soft_cannot_link_confidence]
    )
    pairs, price, n_must = soft.pairs, soft.price, len(soft.must_link)
    found = []
    for m in broken.tolist():
        i, j = (int(row) for row in pairs[m])
        found.append(
            BrokenPair(
                pair=(i, j),
                kind="must_link" if m < n_must else "cannot_link",
                confidence=float(confidence[m]),
                price=float(price[m]),
                keeping=np.inf
                if group_of[i] == group_of[j]
                else _cost_of_keeping(
                    costs_of(group_of[i]), costs_of(group_of[j]), labels[[i, j]], m < n_must
                ),
            )
        )
    return sorted(found, key=lambda pair: (-pair.price, pair.pair))


def _cost_of_keeping(
    first: np.ndarray, second: np.ndarray, labels: np.ndarray, together: bool
) -> float:
    """The least that two groups cost more where they keep their pair, all else as it is."""
    now = first[labels[0]] + second[labels[1]]
    sums = first[:, None] + second[None]
    same = np.eye(len(sums), dtype=bool)
    allowed = sums[same if together else ~same]
    return float(allowed.min() - now) if len(allowed) else np.inf
