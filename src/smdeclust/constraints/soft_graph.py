"""Soft pairs between groups: all pairs of two groups become one edge with one price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smdeclust.constraints.graph import PairGraph
from smdeclust.constraints.pairs import merge_repeated


@dataclass(frozen=True, eq=False)
class SoftPairs:
    """Pairs of rows that may be broken, at a price.

    Attributes
    ----------
    must_link, cannot_link
        (m, 2) rows that should, or should not, share a cluster.
    must_price, cannot_price
        (m,) what breaking each of them costs, in units of the objective.
    """

    must_link: np.ndarray
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

    def broken(self, labels: np.ndarray) -> np.ndarray:
        """(m,) which of them these labels of the points break."""
        same = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        return same != (np.arange(len(self)) < len(self.must_link))


def priced_graph(
    cannot_link: np.ndarray,
    soft: SoftPairs,
    groups_of: Callable[[np.ndarray], np.ndarray],
    n_linked: int,
) -> tuple[PairGraph, float]:
    """Return the graph of hard cannot-links and soft pairs between groups, and what soft pairs
    cost that are broken whatever the labels.

    Parameters
    ----------
    cannot_link
        (m, 2) rows that must be apart.
    soft
        The soft pairs. One that is listed several times counts once, at its largest price.
    groups_of
        From rows to their groups.
    n_linked
        Number of groups that have a pair, hard or soft; they come first.
    """
    must, must_price = merge_repeated(soft.must_link, soft.must_price)
    cannot, cannot_price = merge_repeated(soft.cannot_link, soft.cannot_price)
    pairs = groups_of(np.concatenate([must, cannot, cannot_link]))
    same = np.concatenate([np.zeros(len(must)), cannot_price, np.full(len(cannot_link), np.inf)])
    different = np.concatenate([must_price, np.zeros(len(cannot) + len(cannot_link))])
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
