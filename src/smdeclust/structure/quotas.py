"""Quotas: how much of something each cluster holds, as sums over the groups of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from smdeclust.exceptions import InfeasibleConstraintsError
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
    quotas: tuple[Quota, ...], group_of_point: np.ndarray, n_groups: int, n_clusters: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(B, G) counts, (B, K) lows and highs of quotas on groups."""
    sums = [each for quota in quotas for each in quota.sums()]
    counts = np.array([np.bincount(group_of_point, c, n_groups) for c, _, _ in sums])
    low, high = (
        np.repeat(np.array([each[side] for each in sums])[:, None], n_clusters, axis=1)
        for side in (1, 2)
    )
    return counts.reshape(len(sums), n_groups), low, high


def reject_impossible_quotas(
    quotas: tuple[Quota, ...], coupling: Coupling, n_clusters: int
) -> None:
    """Raise an error that explains why no clustering keeps one of the quotas by itself."""
    for quota in quotas:
        total, k, where = quota.overall(), n_clusters, f"quota on {quota.name}"
        ratio, slack = quota.of in RATIOS, 1e-12 * float(np.abs(quota.counts).sum())
        least, most = (1, 1) if ratio else (k * quota.low, k * quota.high)
        if ratio and total < quota.low - 1e-12:
            _reject(
                f"{where}: every cluster needs {quota.what} at {quota.low:g} or more, but over all "
                f"points it is {total:.4g}. low={_down(total)} would do.",
                quota, nearest_low=_down(total),
            )  # fmt: skip
        if ratio and total > quota.high + 1e-12:
            _reject(
                f"{where}: no cluster may have {quota.what} above {quota.high:g}, but over all "
                f"points it is {total:.4g}. high={_up(total)} would do.",
                quota, nearest_high=_up(total),
            )  # fmt: skip
        if not ratio and least > total + slack:
            nearest = total // k if quota.of == "count" else total / k
            _reject(
                f"{where}: {k} clusters with at least {quota.low:g} of {quota.what} need "
                f"{least:g}, and there are {total:g}. low={nearest:g} would do.",
                quota, nearest_low=nearest,
            )  # fmt: skip
        if not ratio and most < total - slack:
            nearest = -(-total // k) if quota.of == "count" else total / k
            _reject(
                f"{where}: {k} clusters with at most {quota.high:g} of {quota.what} hold "
                f"{most:g}, and there are {total:g}. high={nearest:g} would do.",
                quota, nearest_high=nearest,
            )  # fmt: skip
        if quota.of == "count" and coupling.n_compound:
            _reject_large_group(quota, coupling)


def _reject_large_group(quota: Quota, coupling: Coupling) -> None:
    held = coupling.weights(quota.counts)
    largest = int(np.argmax(held))
    if held[largest] > quota.high:
        rows = [row for row in coupling.rows_of(largest) if quota.counts[row] > 0]
        shown = ", ".join(map(str, rows[:8])) + (", ..." if len(rows) > 8 else "")
        _reject(
            f"quota on {quota.name}: must-links join {held[largest]:g} of {quota.what} (rows "
            f"{shown}), and a cluster may hold {quota.high:g}. high={held[largest]:g} would do, or "
            f"fewer must-links.",
            quota, rows=rows, nearest_high=float(held[largest]),
        )  # fmt: skip


def _reject(message: str, quota: Quota, **details: Any) -> NoReturn:
    details |= {"name": quota.name, "value": quota.value}
    raise InfeasibleConstraintsError(message, reason="quota", details=details)


def _down(share: float) -> float:
    return float(np.floor(share * 100) / 100)


def _up(share: float) -> float:
    return float(np.ceil(share * 100) / 100)
