"""The cheapest pairs to drop so that the rest hold: an implicit hitting set.

Every set of pairs that cannot hold together must lose one. Sets are found as they are needed: drop
the cheapest pairs that hit the sets known so far, look for what still contradicts, go on. The first
answer that leaves no contradiction is the cheapest of all, for every set that forced it is a true
one. Labels that break few pairs give an answer from the start, in case the time is short.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from smdeclust.constraints.least_broken import least_broken
from smdeclust.constraints.numbered import NumberedPairs

# Costs that differ by no more than this share are the same.
_SAME = 1e-7


@dataclass(frozen=True)
class Repair:
    """Pairs to drop so that the rest hold.

    Attributes
    ----------
    must_link, cannot_link
        Positions of the pairs in the arrays given, sorted.
    cost
        What they cost together (each 1 where no costs were given).
    bound
        No repair costs less.
    proven
        Whether no repair is cheaper: cost and bound are the same.
    """

    must_link: np.ndarray
    cannot_link: np.ndarray
    cost: float
    bound: float
    proven: bool

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.must_link) + len(self.cannot_link)


def find_repair(
    pairs: NumberedPairs,
    n_clusters: int,
    sets: set[frozenset[int]],
    contradictions: Callable[[np.ndarray], set[frozenset[int]]],
    deadline: float,
) -> Repair:
    """Return the cheapest repair, or the best found when the time is over.

    Parameters
    ----------
    pairs, n_clusters
        The pairs and K.
    sets
        Sets of pairs that cannot hold together, known already.
    contradictions
        Finds more of them among some of the pairs, none where it finds none.
    deadline
        A moment of ``time.monotonic()``.
    """
    best = least_broken(pairs, n_clusters)
    cost = _cost(pairs, best)
    bound, n_before, n_rounds = 0.0, -1, 0
    while bound < cost * (1 - _SAME) and len(sets) > n_before:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        drop, least = _hit(sets, pairs.cost, left)
        bound = max(bound, least)
        n_before = len(sets)
        sets = sets | contradictions(pairs.without(drop))
        n_rounds += 1
        if len(sets) > n_before and n_rounds & (n_rounds - 1) == 0:  # now and then is enough
            drop = _complete(pairs, drop, contradictions, deadline)
        if _cost(pairs, drop) < cost and pairs.hold(pairs.without(drop), n_clusters):
            best, cost = drop, _cost(pairs, drop)
    must, cannot = pairs.positions(best)
    bound = float(min(bound, cost))
    return Repair(must, cannot, cost, bound, bool(bound >= cost * (1 - _SAME)))


def _complete(
    pairs: NumberedPairs,
    drop: frozenset[int],
    contradictions: Callable[[np.ndarray], set[frozenset[int]]],
    deadline: float,
) -> frozenset[int]:
    """Drop more, the pair that hits most contradictions for its cost first, until none is left."""
    while left := contradictions(pairs.without(drop)):
        if time.monotonic() > deadline:
            break
        while left:
            hits = Counter(number for found in left for number in found)
            number = max(sorted(hits), key=lambda n: hits[n] / pairs.cost[n])
            drop |= {number}
            left = {found for found in left if number not in found}
    return drop


def _cost(pairs: NumberedPairs, drop: frozenset[int]) -> float:
    return float(pairs.cost[sorted(drop)].sum())


def _hit(
    sets: set[frozenset[int]], cost: np.ndarray, seconds: float
) -> tuple[frozenset[int], float]:
    """Pairs that hit all sets, the cheapest within the time, and a lower bound on their cost."""
    ordered = sorted(sets, key=sorted)
    numbers, columns = np.unique(
        np.array([number for pairs in ordered for number in sorted(pairs)], dtype=np.int64),
        return_inverse=True,
    )
    rows = np.repeat(np.arange(len(ordered)), [len(pairs) for pairs in ordered])
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(ordered), len(numbers)))
    scale = 1.0 / cost[numbers].min()  # costs from 1 on: far above the solver's absolute gap
    result = milp(
        cost[numbers] * scale,
        integrality=np.ones(len(numbers), dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, lb=1.0),
        options={"mip_rel_gap": 0.0, "time_limit": max(seconds, 0.1)},
    )
    bound = 0.0 if result.mip_dual_bound is None else float(result.mip_dual_bound) / scale
    if result.x is None:
        return frozenset(numbers.tolist()), bound
    return frozenset(numbers[result.x > 0.5].tolist()), bound
