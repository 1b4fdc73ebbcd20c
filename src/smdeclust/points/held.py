"""Rows of linked groups and of groups of several points: the few that a storage holds apart."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from smdeclust.points.validation import read_only
from smdeclust.structure.groups import Coupling


class Held:
    """Those rows, dense and minus the offset.

    Parameters
    ----------
    coupling
        Which rows they are.
    points
        (m, d) where they are.
    sample_weight
        (N,) weights of all rows, or ``None`` for ones.
    """

    def __init__(
        self, coupling: Coupling, points: np.ndarray, sample_weight: np.ndarray | None
    ) -> None:
        self.groups, self.points = coupling.groups, points
        self.weights = np.ones(len(points))
        if sample_weight is not None:
            self.weights = sample_weight[coupling.rows]
        self.group_weights = coupling.weights(sample_weight)

    @cached_property
    def means(self) -> np.ndarray:
        """(n_compound, d) means of the groups."""
        share = mean_shares(self.groups, self.weights, self.group_weights)
        means = np.zeros((len(self.group_weights), self.points.shape[1]))
        np.add.at(means, self.groups, self.points * share[:, None])
        return read_only(means)

    @cached_property
    def scatter(self) -> float:
        """Sum over groups of the squared distances of their points to the mean."""
        gaps = self.points - self.means[self.groups]
        return float(np.einsum("ij,ij->i", gaps, gaps) @ self.weights)

    def distances(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(m,) weighted distances of the rows to the centers of their groups' labels."""
        return np.linalg.norm(self.points - centers[labels[self.groups]], axis=1) * self.weights

    def row(self, i: int) -> np.ndarray:
        """Where a row is."""
        return self.points[i]


def mean_shares(groups: np.ndarray, weights: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """(m,) share of each row in the mean of its group.

    A group of no weight at all counts each of its points once.
    """
    weights = np.where(totals[groups] > 0, weights, 1.0)
    return weights / np.bincount(groups, weights, len(totals))[groups]
