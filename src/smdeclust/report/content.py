"""What a report says, as plain data; templates decide how it looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smdeclust.report.costly_pairs import CostlyPairs

Lines = Sequence[tuple[str, object]]  # of a table


@dataclass(frozen=True)
class Content:
    """Everything that the report of one clustering shows."""

    title: str
    X: np.ndarray  # (N, d) the points as they were clustered
    raw: np.ndarray  # (N, d) as they were given
    feature_names: Sequence[str]
    labels: np.ndarray
    n_clusters: int
    must_link: np.ndarray
    cannot_link: np.ndarray
    objective: float
    broken: tuple[int, int]  # must-links and cannot-links that do not hold
    seconds: float  # that the solver took
    asked: Lines
    facts: Lines  # what came out
    standardized: bool
    method_title: str
    name: Callable[[int], str]  # from a row to its name
    where: Callable[[str, int], str]  # from kind and position of a pair to where it was written
    ids_named: str = "row"  # what the names of rows are: id or row
    # The solution without pairs, its clusters numbered so that most points keep their number, and
    # why it is missing or cut short.
    free_objective: float | None = None
    free_labels: np.ndarray | None = None
    free_note: str = ""
    # Soft pairs that the method used, and those that do not hold.
    n_soft_pairs: int = 0
    broken_soft_pairs: int = 0
    proof: str = ""  # how good the clustering is proven to be
    # What single pairs cost, or why that was not computed.
    costs: CostlyPairs | None = None
    costs_note: str = ""
    feature_weights: Sequence[float] | None = None  # of columns in a learned distance
    history: dict[str, Any] | None = None  # of the run, for its pictures
    ended_early: bool = False
    agreement: tuple[float, float | None] | None = None  # ARI with classes, with and without pairs
    command: str = ""
    snippet: str = ""  # the same in Python
    provenance: Lines = ()
    weight: np.ndarray | None = None  # how much each point counts
    bounds: tuple[Sequence[str], Sequence[Sequence[object]]] = ((), ())  # a header and rows

    @property
    def moved(self) -> np.ndarray:
        """Points that are elsewhere because of the pairs."""
        return np.flatnonzero(0 if self.free_labels is None else self.free_labels != self.labels)

    def squares(self, centers: np.ndarray) -> np.ndarray:
        """(N,) weighted squared distances of the points to the centers of their clusters."""
        squares = ((self.X - centers[self.labels]) ** 2).sum(axis=1)
        return squares if self.weight is None else squares * self.weight

    def centers(self, points: np.ndarray) -> np.ndarray:
        """(K, d) weighted means of the clusters, of these coordinates; 0 where one is empty."""
        found = np.zeros((self.n_clusters, points.shape[1]))
        for cluster in np.unique(self.labels):
            members = self.labels == cluster
            weight = None if self.weight is None else self.weight[members]
            share = weight if weight is not None and weight.any() else None
            found[cluster] = np.average(points[members], axis=0, weights=share)
        return found
