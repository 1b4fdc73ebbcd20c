"""Sizes: what the groups count, and how much each cluster may hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Sizes that are sums of weights are met up to this share of their total: the rounding of sums.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Sizes:
    """Bounds on the sizes of clusters.

    Attributes
    ----------
    of_group
        (G,) what each group that takes part counts.
    low, high
        (K,) least and largest size of each cluster.
    filled
        (K,) what lies in the clusters already, from groups that do not take part.
    """

    of_group: np.ndarray
    low: np.ndarray
    high: np.ndarray
    filled: np.ndarray

    @classmethod
    def none_empty(cls, weights: np.ndarray, filled: np.ndarray) -> Sizes:
        """No cluster may be empty: each needs a group of positive weight."""
        n_clusters = len(filled)
        return cls(
            of_group=(weights > 0).astype(np.int64),
            low=np.ones(n_clusters, dtype=np.int64),
            high=np.full(n_clusters, np.inf),
            filled=np.asarray(filled, dtype=np.int64),
        )

    @property
    def only_none_empty(self) -> bool:
        """Whether they say no more than that no cluster may be empty."""
        return bool(
            (self.low == 1).all()
            and np.isinf(self.high).all()
            and ((self.of_group == 0) | (self.of_group == 1)).all()
        )

    def counts(self, labels: np.ndarray) -> np.ndarray:
        """Return the (K,) sizes of the clusters under these labels."""
        held = np.bincount(labels, self.of_group, minlength=len(self.low))
        return held.astype(self.filled.dtype) + self.filled

    def of(self, labels: np.ndarray) -> np.ndarray:
        """Return the (K,) sizes of the clusters under these labels, as floating-point numbers."""
        return np.bincount(labels, self.of_group, minlength=len(self.low)) + self.filled

    def hold(self, labels: np.ndarray) -> bool:
        """Whether these labels keep the bounds."""
        held, slack = self.of(labels), self.slack
        return bool((held >= self.low - slack).all() and (held <= self.high + slack).all())

    @property
    def slack(self) -> float:
        """By how much rounding may move a size."""
        return ROUNDING * float(self.of_group.sum() + self.filled.sum())

    @property
    def least_prices(self) -> np.ndarray:
        """(K,) least price that may be optimal: a cluster that cannot be too small has none < 0."""
        return np.where(self.low > self.filled, -np.inf, 0.0)

    @property
    def largest_prices(self) -> np.ndarray:
        """(K,) largest price that may be optimal: only a largest size makes one > 0."""
        return np.where(np.isfinite(self.high), np.inf, 0.0)

    def charge(self, prices: np.ndarray) -> float:
        """What these prices pay for the bounds: to be taken from the priced cost for a bound."""
        at = prices != 0
        bound = np.where(prices > 0, self.high, self.low) - self.filled
        return float(prices[at] @ bound[at])

    def units(self, unit: float, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many groups of this size each cluster must and may still take, (K,) whole numbers.

        `taken` (K,) is what other groups take of it, beside `filled`.
        """
        held, slack = self.filled + taken, self.slack
        low = np.ceil((self.low - held - slack) / unit)
        high = np.floor((self.high - held + slack) / unit)
        most = float(len(self.of_group))
        return low.astype(np.int64), np.clip(high, -most - 1, most).astype(np.int64)
