"""The pair graph between groups, as symmetric compressed sparse rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from smdeclust.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class PairGraph:
    """Pairs between linked groups and what breaking each costs; edges are stored at both ends."""

    # the neighbors of each linked group, sorted
    indptr: np.ndarray
    indices: np.ndarray
    price: np.ndarray  # (nnz,) what a broken pair costs; infinite where it must not be broken
    # (nnz,) whether the pair is broken by different labels (a soft must-link) and not by equal
    # ones (a cannot-link). Hard must-links are contracted, so these have finite prices.
    together: np.ndarray

    @classmethod
    def hard(cls, indptr: np.ndarray, indices: np.ndarray) -> PairGraph:
        """Make the graph whose edges are cannot-links that must hold."""
        n = len(indices)
        return cls(indptr, indices, np.broadcast_to(np.inf, n), np.broadcast_to(False, n))

    @classmethod
    def from_edges(
        cls, edges: np.ndarray, price: np.ndarray, together: np.ndarray, n_nodes: int
    ) -> PairGraph:
        """Make the graph with these (m, 2) `edges`, no two between the same nodes. O(m log m)."""
        source, target = np.concatenate([edges, edges[:, ::-1]]).T
        order = np.lexsort((target, source))
        indptr = np.cumsum(np.bincount(source + 1, minlength=n_nodes + 1))
        return cls(
            indptr,
            target[order].astype(np.int64),
            np.tile(np.asarray(price, dtype=np.float64), 2)[order],
            np.tile(np.asarray(together, dtype=np.bool_), 2)[order],
        )

    @property
    def n_nodes(self) -> int:
        """Number of linked groups."""
        return len(self.indptr) - 1

    @cached_property
    def is_hard(self) -> bool:
        """Whether no pair may be broken."""
        return not self.together.any() and bool(np.isinf(self.price).all())

    @cached_property
    def hard_part(self) -> PairGraph:
        """The same nodes with the pairs alone that must hold."""
        return self if self.is_hard else self._part(np.isinf(self.price))

    @cached_property
    def soft_part(self) -> PairGraph:
        """The same nodes with the pairs alone that may be broken."""
        return self._part(np.isfinite(self.price))

    def _part(self, kept: np.ndarray) -> PairGraph:
        indptr = np.cumsum(np.bincount(self.ends[kept] + 1, minlength=self.n_nodes + 1))
        return PairGraph(indptr, self.indices[kept], self.price[kept], self.together[kept])

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What the kernels take; prices and kinds are left out (empty) where all pairs are hard."""
        if self.is_hard:
            rest = np.empty(0), np.empty(0, dtype=np.bool_)
        else:
            rest = np.array(self.price), np.array(self.together)
        return tuple(read_only(a) for a in (self.indptr, self.indices, *rest))  # type: ignore[return-value]

    @cached_property
    def ends(self) -> np.ndarray:
        """(nnz,) the node in whose row each entry is."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))

    @cached_property
    def edges(self) -> np.ndarray:
        """(m, 2) the two groups of each pair, once."""
        return np.column_stack([self.ends, self.indices])[self.ends < self.indices]

    @cached_property
    def component_of(self) -> np.ndarray:
        """(n,) number of the connected component of each node."""
        n, entries = self.n_nodes, np.ones(len(self.indices), np.int8)
        graph = csr_array((entries, self.indices, self.indptr), shape=(n, n))
        return np.asarray(connected_components(graph, directed=False)[1])

    @cached_property
    def components(self) -> list[np.ndarray]:
        """The nodes of each connected component, ascending."""
        order = np.argsort(self.component_of, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.component_of[order])) + 1)

    def component(self, nodes: np.ndarray) -> PairGraph:
        """Return the graph of a whole component (or several), over the positions of its nodes."""
        if len(nodes) == self.n_nodes:
            return self
        degree = np.diff(self.indptr)[nodes]
        starts = np.concatenate([[0], np.cumsum(degree)])
        entries = np.arange(starts[-1]) + np.repeat(self.indptr[nodes] - starts[:-1], degree)
        return self._among(nodes, starts, entries)

    def _among(self, nodes: np.ndarray, indptr: np.ndarray, entries: np.ndarray) -> PairGraph:
        """Some nodes with some entries, and what is known of their colors."""
        number = np.full(self.n_nodes, -1)
        number[nodes] = np.arange(len(nodes))
        indices = number[self.indices[entries]]
        part = PairGraph(indptr, indices, self.price[entries], self.together[entries])
        for k, colors in self.hard_part.colorings.items():
            if colors is not None:
                part.hard_part.colorings[k] = colors[nodes]
        return part

    def with_free(self, n_nodes: int) -> PairGraph:
        """Return the same graph with nodes without pairs after the others, `n_nodes` in all."""
        more = np.full(n_nodes - self.n_nodes, self.indptr[-1])
        indptr = np.concatenate([self.indptr, more])
        return PairGraph(indptr, self.indices, self.price, self.together)

    def coloring(self, n_colors: int, deadline: float = np.inf) -> np.ndarray | None:
        """Colors that keep every hard pair, or ``None`` if none were found; searched once."""
        if not self.is_hard:
            return self.hard_part.coloring(n_colors, deadline)
        from smdeclust.structure.coloring import Verdict, find_coloring  # (made of such graphs)

        known = self.colorings
        if n_colors not in known:
            found = find_coloring(self.indptr, self.indices, n_colors, deadline=deadline)
            if found.verdict is Verdict.UNKNOWN and time.perf_counter() >= deadline:
                return None  # there may be time for it later
            known[n_colors] = found.colors
        return known[n_colors]

    @cached_property
    def colorings(self) -> dict[int, np.ndarray | None]:
        """The colors found for each number of them, as far as they were looked for."""
        return {}

    def know(self, n_colors: int, colors: np.ndarray | None) -> None:
        """Remember colors that were found elsewhere, or that none were."""
        self.hard_part.colorings[n_colors] = colors

    def induced(self, nodes: np.ndarray) -> PairGraph:
        """Return the graph among these nodes (sorted), numbered by their positions."""
        chosen = np.zeros(self.n_nodes, dtype=bool)
        chosen[nodes] = True
        kept = np.flatnonzero(chosen[self.ends] & chosen[self.indices])
        counted = np.bincount(self.ends[kept], minlength=self.n_nodes)[nodes]
        indptr = np.concatenate([[0], np.cumsum(counted)]).astype(np.int64)
        return self._among(nodes, indptr, kept)

    def broken(self, labels: np.ndarray) -> np.ndarray:
        """Return which entries these labels of the linked groups break (a pair has two)."""
        return (labels[self.ends] == labels[self.indices]) != self.together

    def penalty(self, labels: np.ndarray) -> float:
        """Return what the pairs that these labels break cost together; infinite for a hard one."""
        if self.is_hard:
            same = labels[self.ends] == labels[self.indices]
            return np.inf if same.any() else 0.0
        return float(self.price[self.broken(labels) & (self.ends < self.indices)].sum())


def cannot_link_graph(edges: np.ndarray, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(indptr, indices)`` of the undirected graph with these `edges`, each kept once.

    Rows are sorted; `edges` is (m, 2) and has no loops. O(m log m).
    """
    both = np.concatenate([edges, edges[:, ::-1]]) if len(edges) else np.empty((0, 2), np.int64)
    keys = distinct(both[:, 0] * np.int64(n_nodes) + both[:, 1])
    return np.searchsorted(keys, np.arange(n_nodes + 1) * n_nodes), keys % max(n_nodes, 1)


def distinct(keys: np.ndarray) -> np.ndarray:
    """Return the different numbers, ascending, by sorting: hashing is slow on regular keys."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


def read_only(array: np.ndarray) -> np.ndarray:
    """A contiguous view that cannot be written to: kernels are compiled once, for such arrays."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def all_read_only(*arrays: np.ndarray | None) -> list[Any]:
    """The same of several arrays, or of ``None``."""
    return [None if array is None else read_only(array) for array in arrays]


# What all soft pairs may cost together: sums with distances must neither overflow nor be infinite.
MOST_PRICES = 1e300


@dataclass(frozen=True, eq=False)
class SoftPairs:
    """Pairs of rows that may be broken, at a price; one that is listed again costs it again."""

    # (m, 2) rows that should, or should not, share a cluster
    must_link: np.ndarray
    # (m,) what breaking each of them costs, in units of the objective
    must_price: np.ndarray
    cannot_link: np.ndarray
    cannot_price: np.ndarray

    def __len__(self) -> int:
        return len(self.must_link) + len(self.cannot_link)

    @property
    def pairs(self) -> np.ndarray:
        """(m, 2) all of them, must-links first."""
        return np.concatenate([self.must_link, self.cannot_link])

    @property
    def price(self) -> np.ndarray:
        """(m,) their prices."""
        return np.concatenate([self.must_price, self.cannot_price])

    def without(self, position: int) -> SoftPairs:
        """The same without one of them."""
        kept = np.arange(len(self)) != position
        must, cannot = np.split(kept, [len(self.must_link)])
        return SoftPairs(
            self.must_link[must], self.must_price[must],
            self.cannot_link[cannot], self.cannot_price[cannot],
        )  # fmt: skip

    def reject_overflow(self) -> None:
        """Raise an error where sums of these prices are not numbers that one can compare."""
        with np.errstate(over="ignore"):
            total = float(self.price.sum())
        if not total <= MOST_PRICES:
            raise InvalidInputError(
                f"The prices of the soft pairs add up to {total:.3g}, and sums above "
                f"{MOST_PRICES:g} cannot be computed. Give smaller prices (or a smaller penalty), "
                f"or make the pairs hard."
            )

    def broken(self, labels: np.ndarray) -> np.ndarray:
        """(m,) which of them these labels of the points break."""
        # Few of the labels are looked at: they may be lazy.
        first, second = np.asarray(labels[self.pairs.T.ravel()]).reshape(2, -1)
        return (first == second) != (np.arange(len(self)) < len(self.must_link))


def priced_graph(
    cannot_link: np.ndarray,
    soft: SoftPairs,
    groups_of: Callable[[np.ndarray], np.ndarray],
    n_linked: int,
) -> tuple[PairGraph, float]:
    """Return the graph of hard cannot-links and soft pairs between groups, and what soft pairs
    cost that are broken whatever the labels.

    A soft pair that is listed several times costs the sum of its prices. `groups_of` leads from
    rows to their groups, of which the first `n_linked` have a pair, hard or soft.
    """
    n_must, n_hard = len(soft.must_link), len(cannot_link)
    pairs = groups_of(np.concatenate([soft.must_link, soft.cannot_link, cannot_link]))
    same = np.concatenate([np.zeros(n_must), soft.cannot_price, np.full(n_hard, np.inf)])
    different = np.concatenate([soft.must_price, np.zeros(len(soft.cannot_link) + n_hard)])
    edges, together, price, constant = net_edges(pairs, same, different)
    return PairGraph.from_edges(edges, price, together, n_linked), constant


def net_edges(
    pairs: np.ndarray, same: np.ndarray, different: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Join pairs of the same two groups, given what equal and what different labels cost.

    What both cost is a constant; what is left makes the edge one of the two kinds. Returns edges,
    whether each is broken by different labels, its price, and the constant.
    """
    loops = pairs[:, 0] == pairs[:, 1]
    constant = float(same[loops].sum())
    edges, which = np.unique(np.sort(pairs[~loops], axis=1), axis=0, return_inverse=True)
    equal = np.bincount(which.ravel(), same[~loops], minlength=len(edges))
    unequal = np.bincount(which.ravel(), different[~loops], minlength=len(edges))
    common = np.minimum(equal, unequal)
    matters = equal != unequal
    price = (np.maximum(equal, unequal) - common)[matters]
    together = (unequal > equal)[matters]
    return edges[matters].reshape(-1, 2), together, price, constant + float(common.sum())
