"""A dense core as branch and cut sees it: nodes, hard pairs, and one more node per soft pair.

A pair that may be broken is a node of its own with two labels: 0, kept, at no cost, and 1, broken,
at its price. Rows of the linear program tie it to the labels of its two ends.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smdeclust.structure.graph import PairGraph

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

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


@dataclass(frozen=True, eq=False)
class Instance:
    """Nodes to be labeled."""

    costs: FloatArray  # (n + m, K) cost of each label of the n nodes and of the m soft pairs
    pairs: PairGraph  # between the n nodes; the soft ones in the order of their rows of costs

    @classmethod
    def of(cls, costs: FloatArray, pairs: PairGraph) -> "Instance":
        """Make one of (n, K) costs and their pairs."""
        if pairs.is_hard:
            return cls(costs, pairs)
        n, n_labels = costs.shape
        soft = pairs.soft_part
        wide = np.full((n + len(soft.edges), max(n_labels, 2)), np.inf)
        wide[:n, :n_labels] = costs
        wide[n:, 0], wide[n:, 1] = 0.0, soft.price[soft.ends < soft.indices]
        return cls(wide, pairs)

    def scaled(self, exponent: int) -> "Instance":
        """All costs times 2 to this power."""
        if exponent == 0:
            return self
        pairs = replace(self.pairs, price=np.ldexp(self.pairs.price, exponent))
        return Instance(np.ldexp(self.costs, exponent), pairs)

    @property
    def n_nodes(self) -> int:
        """n, without the soft pairs."""
        return self.pairs.n_nodes

    @cached_property
    def hard(self) -> tuple[IntArray, IntArray]:
        """The hard pairs, neighbors sorted: indptr and indices, soft pairs as nodes without any."""
        return self.pairs.hard_part.with_free(len(self.costs)).arrays[:2]

    @cached_property
    def ends(self) -> IntArray:
        """(m, 2) nodes of each soft pair."""
        return self.pairs.soft_part.edges

    @cached_property
    def together(self) -> BoolArray:
        """(m,) kind of each soft pair."""
        soft = self.pairs.soft_part
        return soft.together[soft.ends < soft.indices]

    def cost(self, labels: IntArray) -> float:
        """What these labels of the nodes cost; infinite where a hard pair is broken."""
        return float(self.costs[np.arange(len(labels)), labels].sum()) + self.pairs.penalty(labels)

    def part(self, nodes: IntArray, allowed: BoolArray) -> "Instance":
        """Some nodes and soft pairs (ascending) with the hard pairs that still matter."""
        inside, soft = np.split(nodes, [np.searchsorted(nodes, self.n_nodes)])
        number = np.full(self.n_nodes, -1, np.int64)
        number[inside] = np.arange(len(inside))
        hard = self.pairs.hard_part.edges
        shared = (allowed[hard[:, 0]] & allowed[hard[:, 1]]).any(axis=1)
        hard = hard[shared & (number[hard] >= 0).all(axis=1)]
        price = np.concatenate([np.full(len(hard), np.inf), self.costs[soft, 1]])
        of_soft = soft - self.n_nodes
        together = np.concatenate([np.zeros(len(hard), dtype=bool), self.together[of_soft]])
        ends = number[np.concatenate([hard, self.ends[of_soft]])]
        pairs = PairGraph.from_edges(ends, price, together, len(inside))
        return Instance(np.ascontiguousarray(self.costs[nodes]), pairs)
