"""What a report says, as plain data; templates decide how it looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from smdeclust.constraints import KINDS, Constraints
from smdeclust.points.centers import cluster_means
from smdeclust.report.costly_pairs import CostlyPairs
from smdeclust.structure.pairs import count_broken

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
    constraints: Constraints  # that the method used
    ids: Sequence[str] | None  # of the points
    objective: float
    seconds: float  # that the solver took
    asked: Lines
    facts: Lines  # what came out
    columns: str  # how they were scaled
    method_title: str
    # The solution without pairs, its clusters numbered so that most points keep their number, and
    # why it is missing or cut short.
    free_objective: float | None = None
    free_labels: np.ndarray | None = None
    free_note: str = ""
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

    def name(self, row: int) -> str:
        """The id of a point, or its row."""
        return str(row) if self.ids is None else self.ids[row]

    @property
    def ids_named(self) -> str:
        """What the names of points are."""
        return "row" if self.ids is None else "id"

    @cached_property
    def pairs(self) -> np.ndarray:
        """All hard pairs."""
        return np.concatenate([self.constraints.must_link, self.constraints.cannot_link])

    def broken(self, labels: np.ndarray, soft: str = "") -> tuple[int, int]:
        """How many must-links and cannot-links, hard or ``"soft_"``, labels break."""
        must, cannot = (getattr(self.constraints, soft + kind) for kind in KINDS[:2])
        return count_broken(must, cannot, labels)

    @property
    def moved(self) -> np.ndarray:
        """Points that are elsewhere because of the pairs."""
        return np.flatnonzero(0 if self.free_labels is None else self.free_labels != self.labels)

    def squares(self, centers: np.ndarray) -> np.ndarray:
        """(N,) weighted squared distances of the points to the centers of their clusters."""
        squares = ((self.X - centers[self.labels]) ** 2).sum(axis=1)
        return squares if self.weight is None else squares * self.weight

    def centers(self, points: np.ndarray) -> np.ndarray:
        """(K, d) weighted means of the clusters, of these coordinates."""
        return cluster_means(points, self.labels, self.n_clusters, self.weight)
