"""What a report says, as plain data; templates decide how it looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smdeclust.report.costly_pairs import CostlyPairs
from smdeclust.report.moved import Moved


@dataclass(frozen=True)
class Content:
    """Everything that the report of one clustering shows.

    Attributes
    ----------
    title
        Heading.
    X
        (N, d) the points as they were clustered.
    raw
        (N, d) the points as they were given; differ from `X` where columns were scaled.
    feature_names
        One name a column.
    labels
        (N,) the clustering.
    n_clusters
        K.
    must_link, cannot_link
        (m, 2) pairs of row positions.
    objective
        Of `labels`.
    broken
        Must-links and cannot-links that do not hold.
    seconds
        How long the solver took.
    asked, facts
        What was asked for and what came out, as lines of a table.
    standardized
        Whether columns were scaled.
    method_title
        Name of the method.
    name, where
        From a row to its name; from kind and position of a pair to the place where it was written.
    ids_named
        What the names of rows are: ``"id"`` or ``"row"``.
    free_objective, moved
        The solution without constraints, and the comparison with it; None where there are no pairs.
    free_note
        Why the solution without constraints is missing or not to be trusted; empty otherwise.
    n_soft_pairs, broken_soft_pairs
        Soft pairs that the method used, and those that do not hold.
    proof
        How good the clustering is proven to be; empty where nothing is proven.
    costs
        What single pairs cost; None where that was not computed, and `costs_note` says why.
    feature_weights
        How much each column counts in a learned distance; None for Euclid's.
    history, ended_early
        Of the run, for its pictures; whether the time limit or Ctrl-C ended it.
    agreement
        Adjusted Rand index with known classes, with and without constraints.
    command, snippet
        How to make the same result again, in the shell and in Python.
    provenance
        Versions and digests, as lines of a table.
    """

    title: str
    X: np.ndarray
    raw: np.ndarray
    feature_names: Sequence[str]
    labels: np.ndarray
    n_clusters: int
    must_link: np.ndarray
    cannot_link: np.ndarray
    objective: float
    broken: tuple[int, int]
    seconds: float
    asked: Sequence[tuple[str, object]]
    facts: Sequence[tuple[str, object]]
    standardized: bool
    method_title: str
    name: Callable[[int], str]
    where: Callable[[str, int], str]
    ids_named: str = "row"
    free_objective: float | None = None
    moved: Moved | None = None
    free_note: str = ""
    n_soft_pairs: int = 0
    broken_soft_pairs: int = 0
    proof: str = ""
    costs: CostlyPairs | None = None
    costs_note: str = ""
    feature_weights: Sequence[float] | None = None
    history: dict[str, Any] | None = None
    ended_early: bool = False
    agreement: tuple[float, float | None] | None = None
    command: str = ""
    snippet: str = ""
    provenance: Sequence[tuple[str, object]] = field(default_factory=tuple)
