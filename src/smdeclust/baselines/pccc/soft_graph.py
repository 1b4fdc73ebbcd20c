"""All pairs of a problem between groups, hard and soft, as one graph: each edge has one cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smdeclust.problem import Problem
from smdeclust.structure.graph import PairGraph, net_edges
from smdeclust.structure.pairs import merge_repeated


@dataclass(frozen=True)
class SoftGraph:
    """Edges between must-link groups, at most one between two of them.

    All pairs between two groups only ask whether their labels are equal. What both answers cost
    has a common part, a constant; what is left makes the edge one of the two kinds.

    Attributes
    ----------
    edges
        (m, 2) groups.
    together
        (m,) whether the edge is broken by different labels (else by equal ones).
    cost
        (m,) what breaking it costs; infinite for a hard cannot-link.
    constant
        What soft pairs cost that are broken whatever the labels.
    """

    edges: np.ndarray
    together: np.ndarray
    cost: np.ndarray
    constant: float

    @classmethod
    def build(
        cls,
        problem: Problem,
        must_link: np.ndarray,
        cannot_link: np.ndarray,
        must_cost: np.ndarray,
        cannot_cost: np.ndarray,
    ) -> SoftGraph:
        """Contract soft pairs with these costs to groups, and join the hard cannot-links.

        A pair that is listed several times counts once, at the largest of its costs.
        """
        must_link, must_cost = merge_repeated(must_link, must_cost)
        cannot_link, cannot_cost = merge_repeated(cannot_link, cannot_cost)
        heads = np.repeat(np.arange(problem.n_linked), np.diff(problem.cl_indptr))
        hard = np.column_stack([heads, problem.cl_indices])
        pairs = np.concatenate(
            [problem.group_of_point[must_link], problem.group_of_point[cannot_link], hard]
        )
        n_must, n_soft = len(must_link), len(must_link) + len(cannot_link)
        same_cost = np.full(len(pairs), np.inf)
        same_cost[:n_must] = 0.0
        same_cost[n_must:n_soft] = cannot_cost
        different_cost = np.zeros(len(pairs))
        different_cost[:n_must] = must_cost

        return cls(*net_edges(pairs, same_cost, different_cost))

    @cached_property
    def members(self) -> np.ndarray:
        """The groups that have pairs, ascending."""
        return np.unique(self.edges)

    @cached_property
    def pairs(self) -> PairGraph:
        """The same graph over the positions of the members."""
        edges = np.searchsorted(self.members, self.edges)
        return PairGraph.from_edges(edges, self.cost, self.together, len(self.members))

    def broken(self, labels: np.ndarray) -> np.ndarray:
        """Return which edges these (G,) labels break."""
        same = labels[self.edges[:, 0]] == labels[self.edges[:, 1]]
        return same != self.together

    def penalty(self, labels: np.ndarray) -> float:
        """Return what the soft pairs broken by these (G,) labels cost; hard ones must hold."""
        return self.constant + float(self.cost[self.broken(labels)].sum())
