"""Bounds on clusters: sizes as people give them; B sums and their limits as searches see them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment

from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.pairs import one_each

SIZE_BY = ("points", "weight")
# Sums of weights are met up to this share of their total: the rounding of sums.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SizeBounds:
    """Least and largest sizes. Which cluster gets which of them is part of the optimization."""

    # (K,) bounds that belong together; 0 and infinity where there are none
    low: np.ndarray
    high: np.ndarray
    by_weight: bool = False  # whether sizes are sums of weights, and not numbers of points

    @classmethod
    def of(cls, size_min: Any, size_max: Any, size_by: str, n_clusters: int) -> "SizeBounds | None":
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

    def taken(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(K,) bounds of each cluster in the order that these sizes miss by as little as can be."""
        order = Bounds.of(np.empty(0), self.low, self.high, any_order=True).match(sizes[None])
        return self.low[order], self.high[order]

    def hold(self, sizes: np.ndarray) -> bool:
        """Whether some order of the bounds fits these sizes."""
        (low, high), slack = self.taken(sizes), 1e-9 * float(sizes.sum()) * self.by_weight
        return bool((sizes >= low - slack).all() and (sizes <= high + slack).all())


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on sums over the groups of each cluster, such as sizes and quotas.

    "At least 40% of the cluster is in S" means that the sum of 1[group in S] - 0.4 is at least 0,
    so counts may be negative. The dual of a bound is one price for each cluster: each group goes to
    the cluster k with the smallest cost[g, k] + sum over b of counts[b, g] prices[b, k].
    """

    counts: np.ndarray  # (B, G) what each group that takes part counts
    # (B, K) least and largest sums; minus and plus infinity where there are none
    low: np.ndarray
    high: np.ndarray
    filled: np.ndarray  # (B, K) what groups that do not take part count in the clusters
    # whether clusters may take the K columns of `low` and `high` in any order
    any_order: bool = False
    # (G,) labels that keep the bounds in the order of the columns (and the hard pairs), if some
    # are known, whatever they cost
    packing: np.ndarray | None = None

    @classmethod
    def of(
        cls, counts: Any, low: Any, high: Any, filled: Any = None, any_order: bool = False
    ) -> Self:
        """Make bounds from (B, G) or (G,) counts and from the lower and upper bounds."""
        counts, low, high = (
            np.atleast_2d(np.asarray(v, dtype=np.float64)) for v in (counts, low, high)
        )
        taken = (
            np.zeros_like(low) if filled is None else np.atleast_2d(np.asarray(filled, np.float64))
        )
        alike = bool((low == low[:, :1]).all() and (high == high[:, :1]).all())
        return cls(counts, low, high, taken, any_order and not alike)

    @classmethod
    def none_empty(cls, weights: np.ndarray, filled: np.ndarray) -> Self:
        """Make the bound that no cluster is empty: each needs a group of positive weight."""
        k = len(filled)
        return cls.of(weights > 0, np.ones(k), np.full(k, np.inf), filled)

    @property
    def only_none_empty(self) -> bool:
        """Whether the only bound is that no cluster may be empty."""
        return bool(
            len(self.low) == 1
            and (self.low == 1).all()
            and np.isinf(self.high).all()
            and ((self.counts == 0) | (self.counts == 1)).all()
        )

    def of_groups(self, groups: Any, filled: np.ndarray | None = None) -> Self:
        """Return the bounds for some of the groups. `filled` contains the sums of the others."""
        filled = self.filled if filled is None else filled
        return replace(self, counts=self.counts[:, groups], filled=filled, packing=None)

    def held(self, labels: np.ndarray) -> np.ndarray:
        """Return the (B, K) sums for the given labels of the groups."""
        k = self.low.shape[1]
        return np.stack([np.bincount(labels, c, k) for c in self.counts]) + self.filled

    def hold(self, labels: np.ndarray) -> bool:
        """Return whether labels respect the bounds (in some order, if the order is free)."""
        held = self.held(labels)
        low, high = self.low, self.high
        if self.any_order:
            order = self.match(held)
            low, high = low[:, order], high[:, order]
        return bool(((held >= low - self.slack) & (held <= high + self.slack)).all())

    @cached_property
    def slack(self) -> np.ndarray:
        """(B, 1) by how much rounding may move a sum."""
        size = np.abs(self.counts).sum(axis=1) + np.abs(self.filled).sum(axis=1)
        return ROUNDING * size[:, None]

    @cached_property
    def least_prices(self) -> np.ndarray:
        """(B, K) least prices that may be optimal: 0 where a sum cannot be too small."""
        least = self.filled + np.minimum(self.counts, 0.0).sum(axis=1)[:, None]
        return np.where(self.low > least, -np.inf, 0.0)

    @cached_property
    def largest_prices(self) -> np.ndarray:
        """(B, K) largest prices that may be optimal: 0 where a sum cannot be too large."""
        most = self.filled + np.maximum(self.counts, 0.0).sum(axis=1)[:, None]
        return np.where(self.high < most, np.inf, 0.0)

    def admit(self, prices: np.ndarray) -> np.ndarray:
        """Return the prices without those that cannot be optimal."""
        return np.clip(prices, self.least_prices, self.largest_prices)

    def priced(self, costs: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return the (G, K) costs plus the prices of the groups."""
        return np.asarray(costs + self.counts.T @ prices)

    def charge(self, prices: np.ndarray) -> float:
        """Return what to subtract from the priced cost to get a lower bound on the cost."""
        at = prices != 0
        bound = np.where(prices > 0, self.high, self.low) - self.filled
        return float(prices[at] @ bound[at])

    def implied(self, held: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return the (B, K) sums that these prices imply. A sum with a price is at its bound."""
        inside = np.clip(held, self.low, self.high)
        return np.where(prices > 0, self.high, np.where(prices < 0, self.low, inside))

    def units(self, unit: float, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For a single bound, the smallest and largest number of groups of size `unit` that each
        cluster can still take: (K,) whole numbers. `taken` (K,) adds to `filled`."""
        held, slack = self.filled[0] + taken, float(self.slack[0, 0])
        low = np.ceil((self.low[0] - held - slack) / unit)
        high = np.floor((self.high[0] - held + slack) / unit)
        most = float(self.counts.shape[1])
        return (
            np.clip(low, -most - 1, most + 1).astype(np.int64),
            np.clip(high, -most - 1, most).astype(np.int64),
        )

    # ------------------------------------------------------- which cluster takes which bounds

    def with_order(self, order: np.ndarray) -> Self:
        """Return the bounds with ``order[k]`` fixed for cluster k."""
        if not self.any_order:
            return self
        packing = None if self.packing is None else np.argsort(order)[self.packing]
        low, high = self.low[:, order], self.high[:, order]
        return replace(self, low=low, high=high, any_order=False, packing=packing)

    def match(self, held: np.ndarray) -> np.ndarray:
        """Return which bounds each cluster gets so that sums violate them as little as possible."""
        if not self.any_order:
            return np.arange(self.low.shape[1])
        low, high, held = self.low[:, None], self.high[:, None], held[:, :, None]
        off = (np.maximum(low - held, 0) + np.maximum(held - high, 0)).sum(axis=0)
        return np.asarray(linear_sum_assignment(off)[1])

    def cheaper_orders(
        self, prices: np.ndarray, order: np.ndarray, gap: float = 0.0
    ) -> tuple[list[Any], bool]:
        """Other orders whose bound on the cost at these prices is below the cost under `order`.

        That cost is `gap` above the bound of `order` itself. The lowest bound comes first. Also
        returns whether these are all; if there is no such order, `order` is optimal for the
        current centers.
        """
        charges, clusters = self._charges(prices), np.arange(prices.shape[1])
        here = charges[clusters, order].sum()
        rounding = 1e-12 * np.abs(charges[np.abs(charges) < 1e15]).sum()
        least = here + rounding if gap <= rounding else here - gap
        if self.all_orders is None:
            best = np.asarray(linear_sum_assignment(charges, maximize=True)[1])
            better = charges[clusters, best].sum() > least
            return ([best] if better and (best != order).any() else []), not better
        there = charges[clusters, self.all_orders].sum(axis=1)
        ranked = np.argsort(-there, kind="stable")
        both = np.concatenate([self.low, self.high])
        other = (both[:, self.all_orders] != both[:, None, order]).any(axis=(0, 2))
        return [self.all_orders[i] for i in ranked if there[i] > least and other[i]], True

    @cached_property
    def all_orders(self) -> np.ndarray | None:
        """Every order of bounds that differ, or ``None`` where there are too many to try."""
        both = np.concatenate([self.low, self.high])
        kinds = np.unique(both, axis=1, return_inverse=True)[1].ravel()
        repeats = np.bincount(kinds)
        if math.factorial(min(len(kinds), 20)) / math.prod(map(math.factorial, repeats)) > 120:
            return None
        places = tuple(
            tuple(np.flatnonzero(kinds == kind).tolist()) for kind in range(len(repeats))
        )
        return np.array(list(_orders(places)))

    def least_charge_gap(self, prices: np.ndarray, order: np.ndarray) -> float:
        """How much lower the bound at these prices is under the best order than under `order`."""
        charges, clusters = self._charges(prices), np.arange(prices.shape[1])
        best = linear_sum_assignment(charges, maximize=True)[1]
        return max(0.0, float((charges[clusters, best] - charges[clusters, order]).sum()))

    def _charges(self, prices: np.ndarray) -> np.ndarray:
        """(K, K) what cluster k pays for the bounds of j."""
        low = np.maximum(self.low, -1e18)[:, None]
        most, at = np.minimum(self.high, 1e18)[:, None], prices[:, :, None]
        return np.where(at > 0, at * most, at * low).sum(axis=0)


def _orders(places: tuple[tuple[int, ...], ...]) -> Iterator[list[int]]:
    """Every order of places that differs by their kinds, one tuple of places each."""
    if not any(places):
        yield []
    for kind, (first, *rest) in ((k, each) for k, each in enumerate(places) if each):
        left = (*places[:kind], tuple(rest), *places[kind + 1 :])
        yield from ([first, *others] for others in _orders(left))


def _as_bounds(given: Any, name: str, absent: float, n_clusters: int, whole: bool) -> np.ndarray:
    """(K,) numbers, or an error that names what is wrong."""
    if given is None:
        return np.full(n_clusters, absent)
    values = one_each(given, n_clusters, name, f"n_clusters={n_clusters} clusters")
    bad = values[np.isnan(values) | (values < 0) | (np.isinf(values) & (absent == 0))]
    if len(bad):
        raise InvalidInputError(f"{name} must not be negative or infinite, got {bad[0]:g}.")
    broken = values[np.isfinite(values) & (values != np.floor(values))]
    if whole and len(broken):
        raise InvalidInputError(
            f"{name} must be a whole number of points, got {broken[0]:g}. For sums of "
            f"sample_weight use size_by='weight'."
        )
    return values
