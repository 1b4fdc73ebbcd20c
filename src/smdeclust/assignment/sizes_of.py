"""Sizes: what the groups count, and how much each cluster may hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
