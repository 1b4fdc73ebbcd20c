"""A dense core as branch and cut sees it: nodes, hard pairs, and one more node a soft pair.

A pair that may be broken is a node of its own with two labels: 0, kept, at no cost, and 1, broken,
at its price. Rows of the linear program tie it to the labels of its two ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smdeclust.assignment.dense.types import BoolArray, FloatArray, Graph, IntArray
from smdeclust.structure.graph import PairGraph


@dataclass(frozen=True, eq=False)
class Instance:
    """Nodes to be labeled.

    Attributes
    ----------
    costs
        (n + m, K) cost of each label of the n nodes and of the m soft pairs.
    indptr, indices
        The hard pairs, neighbors sorted.
    ends, together
        (m, 2) nodes of each soft pair, and its kind.
    need, counts
        (K,) labels that some node must have, and (n + m,) the nodes that count for that.
    """

    costs: FloatArray
    indptr: IntArray
    indices: IntArray
    ends: IntArray
    together: BoolArray
    need: BoolArray
    counts: BoolArray

    @classmethod
    def of(
        cls, costs: FloatArray, graph: PairGraph, need: BoolArray | None, counts: BoolArray | None
    ) -> Instance:
        """Make one of (n, K) costs and their pairs."""
        n, n_labels = costs.shape
        need = np.zeros(n_labels, dtype=bool) if need is None else need
        counts = np.zeros(n, dtype=bool) if counts is None else counts
        if graph.is_hard:
            none = np.empty((0, 2), np.int64), np.empty(0, dtype=bool)
            return cls(costs, *graph.arrays[:2], *none, need, counts)
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
            np.concatenate([need, np.zeros(width - n_labels, dtype=bool)]),
            np.concatenate([counts, np.zeros(m, dtype=bool)]),
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
        """What these labels of the nodes cost; infinite where a hard pair or a label is wrong."""
        n = self.n_nodes
        same = np.repeat(labels, np.diff(self.indptr[: n + 1])) == labels[self.indices]
        if same.any() or not self.fills(labels):
            return np.inf
        total = float(self.costs[np.arange(n), labels].sum())
        if len(self.ends):
            broken = (labels[self.ends[:, 0]] == labels[self.ends[:, 1]]) != self.together
            total += float(self.costs[n:, 1][broken].sum())
        return total

    def fills(self, labels: IntArray) -> bool:
        """Whether every label that is needed is there."""
        if not self.need.any():
            return True
        held = np.bincount(labels[self.counts[: self.n_nodes]], minlength=len(self.need))
        return bool((held[self.need] > 0).all())

    def fill(self, labels: IntArray, costs: FloatArray) -> IntArray | None:
        """Give each needed label that nobody has to the node that loses least; changes `labels`."""
        if self.fills(labels):
            return labels
        rows, counts = np.arange(self.n_nodes), self.counts[: self.n_nodes]
        held = np.bincount(labels[counts], minlength=len(self.need))
        for label in np.flatnonzero(self.need & (held == 0)):
            loss = costs[rows, label] - costs[rows, labels]
            loss[~counts | (self.need[labels] & (held[labels] < 2))] = np.inf
            node = int(np.argmin(loss))
            if loss[node] == np.inf:
                return None
            held[labels[node]] -= 1
            held[label] += 1
            labels[node] = label
        return labels

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
            self.need,
            self.counts[nodes],
        )
