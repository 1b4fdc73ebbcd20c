"""Quotas: how much of something each cluster holds, as sums over the groups of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.structure.bounds import Bounds, SizeBounds
from smdeclust.structure.groups import Coupling

RATIOS = ("share", "mean")


@dataclass(frozen=True, eq=False)
class Quota:
    """Bounds on what each cluster holds of one thing: a value of a column, or a number.

    Attributes
    ----------
    name, value
        The column, and the value of it that is counted; ``None`` where the column holds numbers.
    counts
        (N,) what each row counts: 1 where it has the value and else 0, or its number.
    low, high
        Least and largest of it in every cluster; minus and plus infinity where there is no bound.
    of
        What is bounded: ``"count"`` or ``"share"`` of a value, ``"sum"`` or ``"mean"`` of numbers.
    """

    name: str
    value: Any
    counts: np.ndarray
    low: float
    high: float
    of: str

    @property
    def what(self) -> str:
        """What is counted, in words."""
        return f"the {self.of} of {self.name}" if self.value is None else f"{self.value!r}"

    def take(self, rows: np.ndarray) -> Quota:
        """The same of some rows."""
        return replace(self, counts=self.counts[rows])

    def same(self, other: Quota) -> bool:
        """Whether both say the same."""
        mine, theirs = (
            (q.name, q.value, q.low, q.high, q.of, q.counts.tobytes()) for q in (self, other)
        )
        return mine == theirs

    def sums(self) -> list[tuple[np.ndarray, float, float]]:
        """As sums over the rows of a cluster: what each counts, the least and the largest sum.

        A ratio moves with the size of its cluster: sum of (count - low) >= 0, and so on.
        """
        if self.of not in RATIOS:
            return [(self.counts, self.low, self.high)]
        sums = []
        if np.isfinite(self.low):
            sums.append((self.counts - self.low, 0.0, np.inf))
        if np.isfinite(self.high):
            sums.append((self.counts - self.high, -np.inf, 0.0))
        return sums

    def held(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """(K,) what the clusters hold under these (N,) labels, in the units of the bounds."""
        total = np.bincount(labels, self.counts, n_clusters)
        if self.of in RATIOS:
            return total / np.maximum(np.bincount(labels, minlength=n_clusters), 1)
        return total

    def describe(self, labels: np.ndarray, n_clusters: int) -> dict[str, Any]:
        """What is bounded, the bounds, and what each cluster holds."""
        return {
            "name": self.name, "value": self.value, "of": self.of,
            "low": self.low if np.isfinite(self.low) else None,
            "high": self.high if np.isfinite(self.high) else None,
            "held": self.held(np.asarray(labels), n_clusters),
        }  # fmt: skip

    def overall(self) -> float:
        """The sum over all points, or their share or mean."""
        return float(self.counts.mean() if self.of in RATIOS else self.counts.sum())


def bounds_of(
    sizes: SizeBounds, counts: np.ndarray, quotas: tuple[Quota, ...], group_of_point: np.ndarray
) -> Bounds:
    """The bounds on groups that count so much (G,) in the sizes, and whose points have quotas."""
    ones, sums = np.ones(len(sizes.low)), [(counts, sizes.low, sizes.high)]
    for quota in quotas:
        for each, low, high in quota.sums():
            of_group = np.bincount(group_of_point, each, len(counts))
            sums.append((of_group, low * ones, high * ones))
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
        for side, bound, sign, words, verb in (
            ("low", quota.low, 1, "at least", "need"), ("high", quota.high, -1, "at most", "hold"),
        ):  # fmt: skip
            if sign * (bound - _limit(quota, sign, k)) <= rounding:
                continue
            # One number that was given for several values has to suit all of them.
            this = quota.name, quota.of, bound
            alike = [q for q in quotas if (q.name, q.of, getattr(q, side)) == this]
            nearest = sign * min(sign * _limit(q, sign, k) for q in alike)
            if quota.of != "sum":  # whole counts, and hundredths of a ratio
                unit = 100 if ratio else 1
                nearest = float(sign * np.floor(sign * nearest * unit) / unit)
            if not ratio:
                said = f"{k} clusters with {words} {bound:g} of {quota.what} {verb} {k * bound:g}"
                said += f", and there are {total:g}. {side}={nearest:g} would work"
            else:
                said = f"{quota.what} must be {words} {bound:g} in every cluster, but over all "
                said += f"points it is {total:.4g}"
                if quota.of == "share":
                    said += f" ({quota.counts.sum():g} of {len(quota.counts)})"
                said += f". {side} can be {'at most' if sign > 0 else 'at least'} {nearest:g}"
            _reject(f"quota on {quota.name}: {said}.", quota, **{f"nearest_{side}": nearest})
        if quota.of == "count" and coupling.n_compound:
            _reject_large_group(quota, coupling)


def _limit(quota: Quota, sign: int, n_clusters: int) -> float:
    """The bound beyond which totals alone rule it out; `sign` 1: a low, -1: a high."""
    if quota.of == "share" and sign > 0 and quota.counts.sum() < n_clusters:
        return 0.0  # not one for each cluster
    return quota.overall() / (1 if quota.of in RATIOS else n_clusters)


def _reject_large_group(quota: Quota, coupling: Coupling) -> None:
    held = coupling.weights(quota.counts)
    largest = int(np.argmax(held))
    if held[largest] > quota.high:
        rows = [row for row in coupling.rows_of(largest) if quota.counts[row] > 0]
        shown = ", ".join(map(str, rows[:8])) + (", ..." if len(rows) > 8 else "")
        _reject(
            f"quota on {quota.name}: must-links join {held[largest]:g} of {quota.what} (rows "
            f"{shown}), and a cluster may hold {quota.high:g}. high={held[largest]:g} would "
            f"work, or fewer must-links.",
            quota, rows=rows, nearest_high=float(held[largest]),
        )  # fmt: skip


def _reject(message: str, quota: Quota, **details: Any) -> NoReturn:
    details |= {"name": quota.name, "value": quota.value}
    raise InfeasibleConstraintsError(message, reason="quota", details=details)
