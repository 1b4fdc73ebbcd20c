"""Quotas: how much of something each cluster holds, as sums over the groups of a cluster."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np

from smdeclust.exceptions import InfeasibleConstraintsError, Names
from smdeclust.structure.bounds import Bounds, SizeBounds
from smdeclust.structure.groups import Coupling
from smdeclust.structure.pairs import in_words, one_each

RATIOS = ("share", "mean")


@dataclass(frozen=True, eq=False)
class Quota:
    """Bounds on what each cluster holds of one thing: a value of a column, or a number.

    There is one bound for all, or K where these differ (which cluster gets which is part of the
    optimization); minus and plus infinity where there is none.
    """

    name: str  # of the column
    value: Any  # the one that is counted; None where the column holds numbers
    counts: np.ndarray  # (N,) 1 where a row has the value and else 0, or its number
    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    of: str  # what is bounded: "count" or "share" of a value, "sum" or "mean" of numbers

    @property
    def what(self) -> str:
        """What is counted, in words."""
        return f"the {self.of} of {self.name}" if self.value is None else f"{self.value!r}"

    @property
    def differs(self) -> bool:
        """Whether there is a bound for each cluster."""
        return isinstance(self.low, tuple) or isinstance(self.high, tuple)

    def take(self, rows: np.ndarray) -> Self:
        """The same of some rows."""
        return replace(self, counts=self.counts[rows])

    def same(self, other: "Quota") -> bool:
        """Whether both say the same."""
        mine, theirs = (
            (q.name, q.value, q.low, q.high, q.of, q.counts.tobytes()) for q in (self, other)
        )
        return mine == theirs

    def ends(self, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
        """(K,) least and largest of it, in the order that was given."""
        of_value = "" if self.value is None else f", {self.value!r}"
        where, clusters = f"quota on {self.name}{of_value}", f"n_clusters={n_clusters} clusters"
        low, high = (
            one_each(getattr(self, side), n_clusters, f"{where}: {side}", clusters)
            for side in ("low", "high")
        )
        return low, high

    def sums(self, n_clusters: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """As sums over the rows of a cluster: what each counts, the (K,) least and largest sums.

        A ratio moves with the size of its cluster: sum of (count - low) >= 0, and so on, one for
        each of the bounds that differ.
        """
        low, high = self.ends(n_clusters)
        if self.of not in RATIOS:
            return [(self.counts, low, high)]
        free = np.full(n_clusters, np.inf)
        lows, highs = (np.unique(ends[np.isfinite(ends)]) for ends in (low, high))
        return [
            *((self.counts - bound, np.where(low == bound, 0.0, -np.inf), free) for bound in lows),
            *(
                (self.counts - bound, -free, np.where(high == bound, 0.0, np.inf))
                for bound in highs
            ),
        ]

    def held(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """(K,) what the clusters hold under these (N,) labels, in the units of the bounds."""
        total = np.bincount(labels, self.counts, n_clusters)
        if self.of in RATIOS:
            return total / np.maximum(np.bincount(labels, minlength=n_clusters), 1)
        return total

    def describe(self, labels: np.ndarray, order: np.ndarray) -> dict[str, Any]:
        """What is bounded, what each cluster holds, and the bounds: one number, or those that the
        clusters take in this order."""
        found = {"name": self.name, "value": self.value, "of": self.of}
        for side, each in zip(("low", "high"), self.ends(len(order)), strict=True):
            differ = isinstance(getattr(self, side), tuple)
            found[side] = each[order] if differ else each[0] if np.isfinite(each[0]) else None
        return found | {"held": self.held(np.asarray(labels), len(order))}

    def overall(self) -> float:
        """The sum over all points, or their share or mean."""
        return float(self.counts.mean() if self.of in RATIOS else self.counts.sum())


def bounds_of(
    sizes: SizeBounds, counts: np.ndarray, quotas: tuple[Quota, ...], group_of_point: np.ndarray
) -> Bounds:
    """The bounds on groups that count this much (G,) in the sizes, and whose points have quotas."""
    sums = [(counts, sizes.low, sizes.high)]
    for each, low, high in (each for quota in quotas for each in quota.sums(len(sizes.low))):
        sums.append((np.bincount(group_of_point, each, len(counts)), low, high))
    each_of, lows, highs = (np.array(each) for each in zip(*sums, strict=True))
    return Bounds.of(each_of, lows, highs, any_order=True)


def reject_impossible_quotas(
    quotas: tuple[Quota, ...], coupling: Coupling, n_clusters: int
) -> None:
    """Raise an error that explains why no clustering keeps one of the quotas by itself."""
    k = n_clusters
    for quota in quotas:
        total, ratio = quota.overall(), quota.of in RATIOS
        rounding = 1e-12 * np.abs(quota.counts).sum() / (len(quota.counts) if ratio else k)
        for side, ends, sign, words, verb in (
            ("low", quota.ends(k)[0], 1, "at least", "need"),
            ("high", quota.ends(k)[1], -1, "at most", "have room for"),
        ):
            # (Whatever the sizes, some cluster is at or below the share of all points.)
            loosest = sign * np.min(sign * ends) if ratio else ends.mean()
            if sign * (loosest - _limit(quota, sign, k)) <= rounding:
                continue
            # What was given for several values has to suit all of them.
            this, bound = (quota.name, quota.of, getattr(quota, side)), in_words(ends)
            alike = [q for q in quotas if (q.name, q.of, getattr(q, side)) == this]
            nearest = sign * min(sign * _limit(q, sign, k) for q in alike)
            if quota.of != "sum":  # whole counts, and hundredths of a ratio
                unit = 100 if ratio else 1
                nearest = float(sign * np.floor(sign * nearest * unit) / unit)
            if not ratio:
                why = f"{k} clusters with {words} {bound} of {quota.what} {verb} {ends.sum():g}"
                why += f", and there are {total:g}"
            else:
                every = "the clusters" if "," in bound else "every cluster"
                why = f"{quota.what} must be {words} {bound} in {every}, but over all points it "
                why += f"is {total:.4g}"
                if quota.of == "share":
                    why += f" ({quota.counts.sum():g} of {len(quota.counts)})"
            why += f". {side} {'can be at most' if sign > 0 else 'must be at least'} {nearest:g}."
            _reject(f"quota on {quota.name}: {why}", quota, **{f"nearest_{side}": nearest})
        if quota.of == "count" and coupling.n_compound:
            _reject_large_group(quota, coupling, float(quota.ends(k)[1].max()))


def _limit(quota: Quota, sign: int, n_clusters: int) -> float:
    """The bound beyond which totals alone rule it out; `sign` 1: a low, -1: a high."""
    if quota.of == "share" and sign > 0 and quota.counts.sum() < n_clusters:
        return 0.0  # not one for each cluster
    return quota.overall() / (1 if quota.of in RATIOS else n_clusters)


def _reject_large_group(quota: Quota, coupling: Coupling, high: float) -> None:
    held = coupling.weights(quota.counts)
    largest = int(np.argmax(held))
    if held[largest] > high:
        rows = [row for row in coupling.rows_of(largest) if quota.counts[row] > 0]
        _reject(
            lambda name: (
                f"quota on {quota.name}: must-links join {held[largest]:g} of {quota.what} "
                f"({name(*rows, noun='rows')}), more than the {high:g} that a cluster may have. "
                f"high must be at least {held[largest]:g}, or remove must-links."
            ),
            quota, rows=rows, nearest_high=float(held[largest]),
        )  # fmt: skip


def _reject(message: str | Callable[[Names], str], quota: Quota, **details: Any) -> NoReturn:
    details |= {"name": quota.name, "value": quota.value}
    raise InfeasibleConstraintsError(message, reason="quota", details=details)
