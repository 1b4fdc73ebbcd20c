"""Bounds on cluster sizes as people give them: a number for all clusters, or one for each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from smdeclust.exceptions import InvalidInputError

SIZE_BY = ("points", "weight")


@dataclass(frozen=True, eq=False)
class SizeBounds:
    """Least and largest sizes. Which cluster gets which of them is part of the optimisation.

    Attributes
    ----------
    low, high
        (K,) bounds that belong together; 0 and infinity where there are none.
    by_weight
        Whether sizes are sums of ``sample_weight``, and not numbers of points.
    """

    low: np.ndarray
    high: np.ndarray
    by_weight: bool = False

    @classmethod
    def of(cls, size_min: Any, size_max: Any, size_by: str, n_clusters: int) -> SizeBounds | None:
        """Validate what was given; ``None`` where there are no bounds."""
        if size_by not in SIZE_BY:
            raise InvalidInputError(
                f"size_by must be one of {', '.join(SIZE_BY)}; got {size_by!r}."
            )
        if size_min is None and size_max is None:
            return None
        whole = size_by == "points"
        low = _as_bounds(size_min, "size_min", 0.0, n_clusters, whole)
        high = _as_bounds(size_max, "size_max", np.inf, n_clusters, whole)
        crossed = np.flatnonzero(low > high)
        if len(crossed):
            at = int(crossed[0])
            where = "" if np.ndim(size_min) == np.ndim(size_max) == 0 else f" (entry {at})"
            raise InvalidInputError(
                f"size_min={low[at]:g} is more than size_max={high[at]:g}{where}."
            )
        return cls(low, high, not whole)

    @property
    def alike(self) -> bool:
        """Whether all clusters have the same bounds."""
        return bool((self.low == self.low[0]).all() and (self.high == self.high[0]).all())

    def filling(self, least: float) -> SizeBounds:
        """The same where no cluster may be empty: every size is at least that of any group."""
        return SizeBounds(np.maximum(self.low, least), self.high, self.by_weight)

    def taken_by(self, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(K,) bounds of each cluster where cluster k takes those at ``order[k]``."""
        return self.low[order], self.high[order]

    def match_sizes(self, sizes: np.ndarray) -> np.ndarray:
        """(K,) which bounds each cluster takes so that sizes are off by as little as can be."""
        low, high = self.low[None], self.high[None]
        off = np.maximum(low - sizes[:, None], 0) + np.maximum(sizes[:, None] - high, 0)
        return np.asarray(linear_sum_assignment(off)[1])

    def cheaper_orders(self, prices: np.ndarray, order: np.ndarray) -> tuple[list[Any], bool]:
        """Orders whose bound on the cost is below that of `order` at these prices, least first.

        Also returns whether these are all. Prices bound the cost under every order: where there is
        no such order, the one at hand is optimal for the centers at hand.
        """
        charges, clusters = self._charges(prices), np.arange(len(prices))
        here = charges[clusters, order].sum()
        least = here + 1e-12 * np.abs(charges[np.abs(charges) < 1e15]).sum()
        if self.all_orders is None:
            best = np.asarray(linear_sum_assignment(charges, maximize=True)[1])
            better = charges[clusters, best].sum() > least
            return ([best] if better else []), not better
        there = charges[clusters, self.all_orders].sum(axis=1)
        ranked = np.argsort(-there, kind="stable")
        return [self.all_orders[i] for i in ranked if there[i] > least], True

    @cached_property
    def all_orders(self) -> np.ndarray | None:
        """Every order of bounds that differ, or ``None`` where there are too many to try."""
        kinds = np.unique(np.column_stack([self.low, self.high]), axis=0, return_inverse=True)[1]
        kinds = kinds.ravel()
        repeats = np.bincount(kinds)
        if math.factorial(min(len(kinds), 20)) / math.prod(map(math.factorial, repeats)) > 120:
            return None
        seen, orders = set(), []
        for order in _permutations(kinds.tolist()):
            if order not in seen:
                seen.add(order)
                orders.append(_places(order, kinds))
        return np.array(orders)

    def least_charge_gap(self, prices: np.ndarray, order: np.ndarray) -> float:
        """How much lower than under `order` the bound at these prices is under the best order."""
        charges, clusters = self._charges(prices), np.arange(len(prices))
        best = linear_sum_assignment(charges, maximize=True)[1]
        return max(0.0, float((charges[clusters, best] - charges[clusters, order]).sum()))

    def _charges(self, prices: np.ndarray) -> np.ndarray:
        most = np.where(np.isfinite(self.high), self.high, 1e18)
        at = prices[:, None]
        return np.where(at > 0, at * most, at * self.low)

    def hold(self, sizes: np.ndarray) -> bool:
        """Whether some order of the bounds fits these sizes."""
        order, slack = self.match_sizes(sizes), 1e-9 * float(sizes.sum()) * self.by_weight
        low, high = self.taken_by(order)
        return bool((sizes >= low - slack).all() and (sizes <= high + slack).all())


def _permutations(kinds: list[int]) -> Iterator[tuple[int, ...]]:
    """The distinct arrangements of some kinds."""
    if not kinds:
        yield ()
        return
    for first in sorted(set(kinds)):
        rest = kinds.copy()
        rest.remove(first)
        for others in _permutations(rest):
            yield (first, *others)


def _places(order: tuple[int, ...], kinds: np.ndarray) -> list[int]:
    """Positions of bounds of these kinds, each used once."""
    left = {kind: list(np.flatnonzero(kinds == kind)) for kind in set(order)}
    return [int(left[kind].pop()) for kind in order]


def _as_bounds(given: Any, name: str, absent: float, n_clusters: int, whole: bool) -> np.ndarray:
    """(K,) numbers, or an error that names what is wrong."""
    if given is None:
        return np.full(n_clusters, absent)
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{name} must be a number or {n_clusters} numbers, got {given!r}."
        ) from None
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_clusters):
        got = f"{len(values)} numbers" if values.ndim == 1 else f"shape {values.shape}"
        raise InvalidInputError(
            f"{name} must be one number or one for each of the n_clusters={n_clusters} clusters, "
            f"got {got}."
        )
    flat = np.atleast_1d(values)
    bad = np.flatnonzero(np.isnan(flat) | (flat < 0) | (np.isinf(flat) & (absent == 0)))
    if len(bad):
        raise InvalidInputError(f"{name} must not be negative or infinite, got {flat[bad[0]]:g}.")
    if whole:
        finite = flat[np.isfinite(flat)]
        broken = finite[finite != np.floor(finite)]
        if len(broken):
            raise InvalidInputError(
                f"{name} must be a whole number of points, got {broken[0]:g}. For sums of "
                f"sample_weight use size_by='weight'."
            )
    return np.broadcast_to(values, (n_clusters,)).copy()
