"""A dense core as branch and cut sees it: nodes, hard pairs, and one more node a soft pair.

A pair that may be broken is a node of its own with two labels: 0, kept, at no cost, and 1, broken,
at its price. Rows of the linear program tie it to the labels of its two ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.structure.graph import PairGraph

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]
#: indptr, indices, prices and kinds as `PairGraph.arrays` gives them.
Graph = tuple[AnyArray, AnyArray, AnyArray, AnyArray]

#: Relative tolerance (of the magnitude of the costs) within which two costs count as equal.
RELATIVE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class CoreResult:
    """What `solve_core` found and what it proved."""

    # one label per node, or None where there is none (proven) or none was found (not proven)
    labels: IntArray | None
    cost: float  # the cost of `labels`; infinity without labels
    # A true lower bound on the cost of every feasible labeling; equals `cost` when proven
    bound: float
    proven: bool  # whether `labels` is proven optimal, or, without labels, proven not to exist
    nodes: int  # nodes of the search tree; 0 where the bound alone closed the gap
    pivots: int = 0  # simplex pivots of all linear programs


@dataclass(frozen=True, eq=False)
class Instance:
    """Nodes to be labeled."""

    costs: FloatArray  # (n + m, K) cost of each label of the n nodes and of the m soft pairs
    # the hard pairs, neighbors sorted
    indptr: IntArray
    indices: IntArray
    # (m, 2) nodes of each soft pair, and its kind
    ends: IntArray
    together: BoolArray

    @classmethod
    def of(cls, costs: FloatArray, graph: PairGraph) -> Instance:
        """Make one of (n, K) costs and their pairs."""
        n, n_labels = costs.shape
        if graph.is_hard:
            none = np.empty((0, 2), np.int64), np.empty(0, dtype=bool)
            return cls(costs, *graph.arrays[:2], *none)
        hard = np.isinf(graph.price)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(graph.ends[hard], minlength=n))])
        once = ~hard & (graph.ends < graph.indices)
        m, width = int(np.count_nonzero(once)), max(n_labels, 2)
        wide = np.full((n + m, width), np.inf)
        wide[:n, :n_labels] = costs
        wide[n:, 0] = 0.0
        wide[n:, 1] = graph.price[once]
        return cls(
            wide,
            np.concatenate([indptr, np.full(m, indptr[-1])]).astype(np.int64),
            np.ascontiguousarray(graph.indices[hard]),
            np.column_stack([graph.ends[once], graph.indices[once]]),
            graph.together[once],
        )

    @property
    def n_nodes(self) -> int:
        """n, without the soft pairs."""
        return len(self.costs) - len(self.ends)

    @cached_property
    def graph(self) -> Graph:
        """All pairs of the nodes, as the heuristics take them."""
        n = self.n_nodes
        if len(self.ends) == 0:
            return self.indptr, self.indices, np.empty(0), np.empty(0, dtype=bool)
        source = np.repeat(np.arange(n), np.diff(self.indptr[: n + 1]))
        once = source < self.indices
        hard = np.column_stack([source[once], self.indices[once]])
        price = np.concatenate([np.full(len(hard), np.inf), self.costs[n:, 1]])
        together = np.concatenate([np.zeros(len(hard), dtype=bool), self.together])
        return PairGraph.from_edges(np.concatenate([hard, self.ends]), price, together, n).arrays

    def cost(self, labels: IntArray) -> float:
        """What these labels of the nodes cost; infinite where a hard pair is broken."""
        n = self.n_nodes
        same = np.repeat(labels, np.diff(self.indptr[: n + 1])) == labels[self.indices]
        if same.any():
            return np.inf
        total = float(self.costs[np.arange(n), labels].sum())
        if len(self.ends):
            broken = (labels[self.ends[:, 0]] == labels[self.ends[:, 1]]) != self.together
            total += float(self.costs[n:, 1][broken].sum())
        return total

    def part(self, nodes: IntArray, allowed: BoolArray) -> Instance:
        """Some nodes and soft pairs (ascending) with the hard pairs that still matter."""
        position = np.full(len(self.costs), -1, np.int64)
        position[nodes] = np.arange(len(nodes))
        source = np.repeat(np.arange(len(self.costs)), np.diff(self.indptr))
        inside = (position[source] >= 0) & (position[self.indices] >= 0)
        source, target = source[inside], self.indices[inside]
        shared = (allowed[source] & allowed[target]).any(axis=1)
        source, target = position[source[shared]], position[target[shared]]
        order = np.lexsort((target, source))
        indptr = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=len(nodes)))))
        pairs = nodes[nodes >= self.n_nodes] - self.n_nodes
        return Instance(
            np.ascontiguousarray(self.costs[nodes]),
            indptr.astype(np.int64),
            target[order].astype(np.int64),
            position[self.ends[pairs]],
            self.together[pairs],
        )
