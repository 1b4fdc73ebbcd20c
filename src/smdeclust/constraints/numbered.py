"""Pairs numbered through, must-links first: what the search for contradictions works on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smdeclust.constraints.feasibility import Verdict, find_coloring
from smdeclust.constraints.graph import cannot_link_graph
from smdeclust.constraints.groups import contract


@dataclass(frozen=True, eq=False)
class NumberedPairs:
    """Different pairs of the rows that occur in any; repeated ones are one pair.

    Attributes
    ----------
    n_points
        N; rows that are in no pair are only counted.
    n_rows
        Rows that are in pairs; they are numbered from 0 here.
    ends
        (m, 2) rows, the must-links first.
    n_must
        How many of the pairs are must-links.
    cost
        (m,) what dropping each costs, all its copies together.
    copies
        Where each stands in the arrays given.
    """

    n_points: int
    n_rows: int
    ends: np.ndarray
    n_must: int
    cost: np.ndarray
    copies: list[np.ndarray]

    @classmethod
    def of(
        cls,
        n_points: int,
        must_link: np.ndarray,
        cannot_link: np.ndarray,
        must_cost: np.ndarray | None = None,
        cannot_cost: np.ndarray | None = None,
    ) -> NumberedPairs:
        """Number the pairs; costs are 1 where none are given."""
        ends, cost, copies = [], [], []
        for pairs, given in ((must_link, must_cost), (cannot_link, cannot_cost)):
            weight = np.ones(len(pairs)) if given is None else np.asarray(given, dtype=float)
            distinct, number = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)
            distinct, number = distinct.reshape(-1, 2), number.reshape(-1)
            order = np.argsort(number, kind="stable")
            starts = np.cumsum(np.bincount(number, minlength=len(distinct)))[:-1]
            ends.append(distinct)
            cost.append(np.bincount(number, weight, len(distinct)))
            copies += np.split(order, starts) if len(distinct) else []
        rows, local = np.unique(np.concatenate(ends), return_inverse=True)
        local = local.reshape(-1, 2)
        return cls(n_points, len(rows), local, len(ends[0]), np.concatenate(cost), copies)

    @property
    def n_pairs(self) -> int:
        """m."""
        return len(self.ends)

    def split(self, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the must-links and of the cannot-links among these."""
        return some[some < self.n_must], some[some >= self.n_must]

    def without(self, gone: frozenset[int] | set[int]) -> np.ndarray:
        """Numbers of all pairs but these."""
        kept = np.ones(self.n_pairs, dtype=bool)
        kept[np.fromiter(gone, dtype=np.int64, count=len(gone))] = False
        return np.flatnonzero(kept)

    def positions(
        self, some: frozenset[int], *, all_copies: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where these pairs (or the first copy of each) stand: must-links, cannot-links."""
        sides: tuple[list[int], list[int]] = ([], [])
        for number in sorted(some):
            copies = self.copies[number].tolist()
            sides[number >= self.n_must].extend(copies if all_copies else copies[:1])
        must, cannot = (np.array(sorted(side), dtype=np.int64) for side in sides)
        return must, cannot

    def n_groups(self, some: np.ndarray) -> int:
        """How many groups of points the must-links among these leave."""
        must, _ = self.split(some)
        alone = self.n_points - self.n_rows
        if self.n_rows == 0:
            return alone
        return contract(self.n_rows, self.ends[must], self.ends[:0]).n_groups + alone

    def hold(self, some: np.ndarray, n_clusters: int) -> bool | None:
        """Whether these pairs can hold in K clusters; None where it is not known."""
        if self.n_groups(some) < n_clusters:
            return False
        must, cannot = self.split(some)
        if len(cannot) == 0:
            return True
        grouping = contract(self.n_rows, self.ends[must], self.ends[cannot])
        edges = grouping.of_point[self.ends[cannot]]
        if (edges[:, 0] == edges[:, 1]).any():
            return False
        graph = cannot_link_graph(edges, grouping.n_linked)
        verdict = find_coloring(*graph, n_clusters).verdict
        return None if verdict is Verdict.UNKNOWN else verdict is Verdict.FEASIBLE
