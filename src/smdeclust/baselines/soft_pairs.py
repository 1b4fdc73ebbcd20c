"""Pairs that may be broken: one signed graph over the points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smdeclust.structure.pairs import broken_pairs, merge_repeated


@dataclass(frozen=True)
class SoftPairs:
    """Soft pairs with what breaking each costs.

    Attributes
    ----------
    must_link, cannot_link
        (m, 2) pairs of row positions, each once.
    must_cost, cannot_cost
        (m,) cost of breaking each; of a pair that was listed several times, the largest.
    indptr, indices, signed
        Neighbours of each point, symmetric; `signed` is the cost of being apart from a must-linked
        one, minus the cost of being with a cannot-linked one. Pairs of a point with itself are
        left out.
    """

    must_link: np.ndarray
    cannot_link: np.ndarray
    must_cost: np.ndarray
    cannot_cost: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    signed: np.ndarray

    @classmethod
    def build(
        cls,
        n_points: int,
        must_link: np.ndarray,
        cannot_link: np.ndarray,
        must_cost: np.ndarray,
        cannot_cost: np.ndarray,
    ) -> SoftPairs:
        """Sort the pairs by point, in O(N + m log m)."""
        must_link, must_cost = merge_repeated(must_link, must_cost)
        cannot_link, cannot_cost = merge_repeated(cannot_link, cannot_cost)
        pairs = np.concatenate([must_link, cannot_link])
        cost = np.concatenate([must_cost, -cannot_cost])
        real = pairs[:, 0] != pairs[:, 1]
        pairs, cost = pairs[real], cost[real]
        source = np.concatenate([pairs[:, 0], pairs[:, 1]])
        order = np.argsort(source, kind="stable")
        indptr = np.zeros(n_points + 1, dtype=np.int64)
        np.cumsum(np.bincount(source, minlength=n_points), out=indptr[1:])
        return cls(
            must_link=must_link,
            cannot_link=cannot_link,
            must_cost=must_cost,
            cannot_cost=cannot_cost,
            indptr=indptr,
            indices=np.concatenate([pairs[:, 1], pairs[:, 0]])[order].astype(np.int64),
            signed=np.concatenate([cost, cost])[order].astype(np.float64),
        )

    def n_broken(self, labels: np.ndarray) -> int:
        """Return how many pairs these (N,) labels break."""
        apart, together = broken_pairs(self.must_link, self.cannot_link, labels)
        return int(np.count_nonzero(apart) + np.count_nonzero(together))

    def cost(self, labels: np.ndarray) -> float:
        """Return what the pairs that these (N,) labels break cost together."""
        apart, together = broken_pairs(self.must_link, self.cannot_link, labels)
        return float(self.must_cost[apart].sum() + self.cannot_cost[together].sum())
