"""New rows under knowledge: exact labels at fixed centers, with pairs and within sizes.

An old row stands for its cluster, so all old rows of a cluster become one anchor: a must-link to it
fixes the label, a cannot-link forbids it. What is left is the usual assignment.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from smdeclust.assignment import Budget, assign
from smdeclust.constraints import Constraints, PairGraph
from smdeclust.estimators.soft import SoftPrices
from smdeclust.exceptions import InfeasibleConstraintsError, InvalidInputError
from smdeclust.structure.bounds import Bounds, SizeBounds
from smdeclust.structure.conflicts import find_conflicts
from smdeclust.structure.graph import net_edges
from smdeclust.structure.groups import contract

# What the proof may cost on dense cannot-links.
NEW_POINTS_PIVOTS = 50_000


def label_new(
    squares: np.ndarray,
    old_labels: np.ndarray,
    constraints: Constraints,
    prices: SoftPrices,
    bounds: SizeBounds | None = None,
    max_time: float | None = None,
) -> np.ndarray:
    """Return the (n,) cheapest labels of new rows that keep all hard pairs.

    Parameters
    ----------
    squares
        (n, K) squared distances of the new rows to the centers.
    old_labels
        (N,) labels of the rows that were fitted.
    constraints
        Of the n new rows, or of the N old rows and the n new ones after them.
    prices
        What a broken soft pair costs: those of ``fit``.
    bounds
        How many new rows each cluster takes, in the order of the clusters.
    max_time
        Seconds after which the best labels found come back, with a warning.
    """
    if bounds is not None:
        _reject_sums(bounds, len(squares))
    anchored = _Anchored.of(constraints.hardened(), len(squares), old_labels, squares.shape[1])
    try:
        groups, labels = anchored.solve(squares, prices, bounds, max_time)
    except _NoLabels as error:
        if error.args:
            raise InfeasibleConstraintsError(error.args[0], reason="bounds") from None
        raise anchored.explain(len(old_labels)) from None
    return labels[groups]


class _NoLabels(Exception):
    """No labels keep the pairs, or, as it says then, the sizes."""


def _reject_sums(bounds: SizeBounds, n: int) -> None:
    least, most = float(bounds.low.sum()), float(bounds.high.sum())
    if not least <= n <= most:
        name, total = ("size_min", least) if least > n else ("size_max", most)
        raise InfeasibleConstraintsError(
            f"{name} adds up to {total:g} over the {len(bounds.low)} clusters, and there are {n} "
            f"new rows.",
            reason="sizes",
        )


@dataclass(frozen=True, eq=False)
class _Anchored:
    """Pairs of new rows and anchors: row n + k stands for all old rows of cluster k.

    Attributes
    ----------
    known
        The pairs that say something of new rows, as given.
    must, cannot, soft_must, soft_cannot
        (m, 2) the same pairs with anchors for old rows.
    n_new, n_clusters
        n and K.
    first_new, old_labels
        Row of the first new one in `known`, and the labels of the old ones.
    """

    known: Constraints
    must: np.ndarray
    cannot: np.ndarray
    soft_must: np.ndarray
    soft_cannot: np.ndarray
    n_new: int
    n_clusters: int
    first_new: int
    old_labels: np.ndarray

    @classmethod
    def of(
        cls, known: Constraints, n_new: int, old_labels: np.ndarray, n_clusters: int
    ) -> _Anchored:
        n_old = len(old_labels)
        if known.n_points is None:
            raise InvalidInputError(
                f"The constraints do not say which rows they are of. Make them with "
                f"n_points={n_new} (pairs among the new rows) or n_points={n_old + n_new} (the old "
                f"rows first: new row i is row {n_old} + i)."
            )
        if known.n_points not in (n_new, n_old + n_new):
            raise InvalidInputError(
                f"The constraints are of {known.n_points} points. There are {n_new} new rows, "
                f"after {n_old} that were fitted: make constraints of {n_new} points (pairs "
                f"among new rows) or of {n_old + n_new} (old rows first: new row i is row "
                f"{n_old} + i)."
            )
        first_new = 0 if known.n_points == n_new else n_old
        node = np.arange(n_new)
        if first_new:
            node = np.concatenate([n_new + old_labels, node])
        masks, arrays = {}, {}
        for kind in ("must_link", "cannot_link", "soft_must_link", "soft_cannot_link"):
            pairs = getattr(known, kind)
            masks[kind] = (pairs >= first_new).any(axis=1)  # fit has dealt with the others
            arrays[kind] = node[pairs[masks[kind]]]
        return cls(
            known.keep(masks),
            arrays["must_link"],
            arrays["cannot_link"],
            arrays["soft_must_link"],
            arrays["soft_cannot_link"],
            n_new,
            n_clusters,
            first_new,
            old_labels,
        )

    def solve(
        self,
        squares: np.ndarray,
        prices: SoftPrices,
        bounds: SizeBounds | None,
        max_time: float | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the group of each new row, and the label of each group."""
        n, k = self.n_new, self.n_clusters
        of_row = contract(n + k, self.must, self.must[:0]).of_point
        n_groups = int(of_row.max()) + 1
        fixed = np.full(n_groups, -1, dtype=np.int64)
        fixed[of_row[n:]] = np.arange(k)
        if len(np.unique(of_row[n:])) < k:
            raise _NoLabels  # must-links join two clusters
        costs = np.zeros((n_groups, k))
        np.add.at(costs, of_row[:n], squares)
        edges, price, together = self._edges(of_row, prices)
        anchored = fixed[edges] >= 0
        # To a fixed group: a price on its label, or on all others.
        for side in (0, 1):
            rows = np.flatnonzero(anchored[:, 1 - side] & ~anchored[:, side])
            for e in rows.tolist():
                group, label = edges[e, side], fixed[edges[e, 1 - side]]
                where = np.arange(k) != label if together[e] else np.arange(k) == label
                costs[group, where] += price[e]
        both = anchored.all(axis=1)
        same = fixed[edges[both, 0]] == fixed[edges[both, 1]]
        if (np.isinf(price[both]) & (same != together[both])).any():
            raise _NoLabels
        free = np.flatnonzero(fixed < 0)
        inner = ~anchored.any(axis=1)
        labels = fixed.copy()
        limits = self._limits(of_row[:n], fixed, bounds)
        pairs = edges[inner], price[inner], together[inner]
        labels[free] = _assign_free(free, costs, *pairs, limits, max_time)
        return of_row[:n], labels

    def _limits(
        self, groups: np.ndarray, fixed: np.ndarray, bounds: SizeBounds | None
    ) -> Bounds | None:
        """Sizes of the new rows and quotas, with what fixed groups and old rows take of them."""
        n, k, old = self.n_new, self.n_clusters, self.old_labels
        sums: list[tuple[np.ndarray, ...]] = []
        if bounds is not None:
            sums.append((np.ones(n), bounds.low, bounds.high, np.zeros(k)))
        for counts, low, high in (each for quota in self.known.quotas for each in quota.sums()):
            taken = np.bincount(old, counts[: self.first_new], k) if self.first_new else np.zeros(k)
            sums.append((counts[self.first_new :], np.full(k, low), np.full(k, high), taken))
        if not sums:
            return None
        given, lows, highs, filled = (np.array(each) for each in zip(*sums, strict=True))
        counted = np.array([np.bincount(groups, c, len(fixed)) for c in given])
        there = np.flatnonzero(fixed >= 0)
        filled += np.array([np.bincount(fixed[there], c[there], k) for c in counted])
        return Bounds.of(counted, lows, highs, filled)

    def _edges(
        self, of_row: np.ndarray, prices: SoftPrices
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Net pairs between groups: what breaking each costs, and whether it is to be together."""
        soft = prices.pairs(self.known)
        pairs = [of_row[self.cannot], of_row[self.soft_must], of_row[self.soft_cannot]]
        same, different = (np.zeros(sum(map(len, pairs))) for _ in range(2))
        same[: len(self.cannot)] = np.inf
        if soft is not None:
            soft.reject_overflow()
            n_first = len(self.cannot) + len(self.soft_must)
            different[len(self.cannot) : n_first] = soft.must_price
            same[n_first:] = soft.cannot_price
        edges, together, price, constant = net_edges(np.concatenate(pairs), same, different)
        if constant == np.inf:
            raise _NoLabels  # a cannot-link within a group
        return edges, price, together

    def explain(self, n_old: int) -> InfeasibleConstraintsError:
        """Say which pairs no labels of the new rows can keep."""
        n, k = self.n_new, self.n_clusters
        first, second = np.triu_indices(k, 1)
        clusters_differ = np.stack([n + first, n + second], axis=1)
        cannot = np.concatenate([self.cannot, clusters_differ])
        cost = np.concatenate([np.ones(len(self.cannot)), np.full(len(clusters_differ), 1e6)])
        found = find_conflicts(n + k, k, self.must, cannot, cannot_link_cost=cost, max_time=5.0)
        hard = self.known.hard_only()
        words = []
        for conflict in found.conflicts:
            words += [
                f"{kind.replace('_', '-')} {i} - {j}"
                for kind, where in (
                    ("must_link", conflict.must_link),
                    ("cannot_link", conflict.cannot_link[conflict.cannot_link < len(self.cannot)]),
                )
                for i, j in hard.named(kind, where)
            ]
        numbering = f" (old rows first; new row i is row {n_old} + i)" if self.first_new else ""
        shown = "; ".join(words[:12]) + ("; ..." if len(words) > 12 else "")
        return InfeasibleConstraintsError(
            f"No labels of the new rows keep all pairs, with the {k} clusters and the labels of "
            f"the old rows as they are. These pairs cannot hold together{numbering}: {shown}.",
            reason="new_rows",
            details={
                "must_link": [hard.must_link[c.must_link].tolist() for c in found.conflicts],
                "cannot_link": [
                    hard.cannot_link[c.cannot_link[c.cannot_link < len(self.cannot)]].tolist()
                    for c in found.conflicts
                ],
            },
        )


def _assign_free(
    free: np.ndarray,
    costs: np.ndarray,
    edges: np.ndarray,
    price: np.ndarray,
    together: np.ndarray,
    limits: Bounds | None,
    max_time: float | None,
) -> np.ndarray:
    """The cheapest labels of the groups that no old row fixes; `limits` are of all groups."""
    too_narrow = _NoLabels(
        "No labels of the new rows keep the pairs and the bounds (sizes, quotas) together, or none "
        "were found: give wider bounds."
    )
    if len(free) == 0:
        if limits is not None and not limits.of_groups(free).hold(free):
            raise too_narrow
        return np.empty(0, dtype=np.int64)
    if np.isinf(costs[free]).all(axis=1).any():
        raise _NoLabels
    linked = np.unique(edges)
    order = np.concatenate([linked, np.setdiff1d(free, linked)])
    place = np.empty(int(order.max()) + 1, dtype=np.int64)
    place[order] = np.arange(len(order))
    graph = PairGraph.from_edges(place[edges].reshape(-1, 2), price, together, len(linked))
    budget = Budget.of(max_time=max_time, max_pivots=NEW_POINTS_PIVOTS)
    if limits is not None:
        limits = limits.of_groups(order)
    labels, cost, bound = assign(costs[order], graph, limits, None, budget)
    if labels is None and limits is not None and assign(costs[order], graph, None)[0] is not None:
        raise too_narrow
    if labels is None:
        raise _NoLabels
    if cost > bound * (1 + 1e-9):
        warnings.warn(
            f"The labels keep all pairs, but are not proven cheapest: they cost {cost:g}, and none "
            f"cost less than {bound:g}.",
            stacklevel=5,
        )
    found = np.empty(len(free), dtype=np.int64)
    found[np.searchsorted(free, order)] = labels
    return found
