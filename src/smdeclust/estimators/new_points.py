"""New rows under constraints: exact labels at fixed centers, with pairs and within sizes.

An old row stands for its cluster: a must-link to it forbids all other labels, a cannot-link forbids
its own. What is left is the usual assignment.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from smdeclust.assignment import Budget, assign
from smdeclust.constraints import KINDS, Constraints, PairGraph
from smdeclust.estimators.soft import SoftPrices
from smdeclust.exceptions import (
    InfeasibleConstraintsError,
    InvalidInputError,
    NoFeasibleSolutionError,
)
from smdeclust.structure.bounds import Bounds, SizeBounds
from smdeclust.structure.conflicts import find_conflicts
from smdeclust.structure.graph import SoftPairs, priced_graph
from smdeclust.structure.groups import Coupling
from smdeclust.structure.quotas import reject_impossible_quotas

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

    `squares` are the (n, K) squared distances to the centers; `constraints` are of the n new rows,
    or of the N old rows and the n new ones after them; `prices` of broken soft pairs are those of
    ``fit``; `bounds` say how many new rows each cluster takes, in the order of the clusters.
    """
    least, most = (0.0, np.inf) if bounds is None else (bounds.low.sum(), bounds.high.sum())
    if not least <= len(squares) <= most:
        name, total = ("size_min", least) if least > len(squares) else ("size_max", most)
        raise InfeasibleConstraintsError(
            f"{name} adds up to {total:g} over the {squares.shape[1]} clusters, but there are "
            f"{len(squares)} new rows.",
            reason="sizes",
        )
    new = _NewRows.of(constraints.hardened(), len(squares), old_labels, squares.shape[1])
    return new.solve(squares, prices, bounds, max_time)


@dataclass(frozen=True, eq=False)
class _NewRows:
    """New rows and the pairs that say something of them, as given.

    `first_new` is the row of the first new one in `known`.
    """

    known: Constraints
    n_new: int
    n_clusters: int
    first_new: int
    old_labels: np.ndarray

    @classmethod
    def of(
        cls, known: Constraints, n_new: int, old_labels: np.ndarray, n_clusters: int
    ) -> "_NewRows":
        n_old = len(old_labels)
        if known.n_points is None:
            raise InvalidInputError(
                f"The constraints do not say which rows they are for. Create them with "
                f"n_points={n_new} (pairs among the new rows) or n_points={n_old + n_new} (the old "
                f"rows first: new row i is row {n_old} + i)."
            )
        if known.n_points not in (n_new, n_old + n_new):
            raise InvalidInputError(
                f"The constraints are for {known.n_points} points. There are {n_new} new rows, "
                f"after {n_old} fitted ones: create constraints for {n_new} points (pairs "
                f"among new rows) or for {n_old + n_new} (old rows first: new row i is row "
                f"{n_old} + i)."
            )
        first_new = 0 if known.n_points == n_new else n_old
        # fit has dealt with pairs of old rows
        masks = {kind: (getattr(known, kind) >= first_new).any(axis=1) for kind in KINDS}
        return cls(known.keep(masks), n_new, n_clusters, first_new, old_labels)

    def nodes(self, kind: str) -> np.ndarray:
        """(m, 2) pairs as new rows 0 to n - 1, and n + k for an old row of cluster k."""
        node = np.arange(self.n_new)
        if self.first_new:
            node = np.concatenate([self.n_new + self.old_labels, node])
        return node[getattr(self.known, kind)]

    def solve(
        self,
        squares: np.ndarray,
        prices: SoftPrices,
        bounds: SizeBounds | None,
        max_time: float | None,
    ) -> np.ndarray:
        """Return the (n,) labels."""
        n, k, priced = self.n_new, self.n_clusters, prices.fixed(self.known)
        costs, inner, paid = squares.copy(), [], []
        for kind in KINDS:
            pairs = self.nodes(kind)
            price = getattr(priced, f"{kind}_price", np.full(len(pairs), np.inf))
            new, old = pairs.min(axis=1), pairs.max(axis=1)
            free = old < n
            own = np.eye(k, dtype=bool)[old[~free] - n]
            pays = own == (kind in ("cannot_link", "soft_cannot_link"))
            np.add.at(costs, new[~free], np.where(pays, price[~free, None], 0.0))
            inner.append(pairs[free])
            paid.append(price[free])
        must, cannot, soft_must, soft_cannot = inner
        soft = SoftPairs(soft_must, paid[2], soft_cannot, paid[3])
        soft.reject_overflow()
        coupling = Coupling.of_pairs(n, must, np.concatenate([cannot, soft.pairs]))
        groups = coupling.of_point()
        graph, always = priced_graph(cannot, soft, groups.__getitem__, coupling.n_linked)
        of_groups = np.zeros((coupling.n_groups, k))
        np.add.at(of_groups, groups, costs)
        if always == np.inf or np.isinf(of_groups).all(axis=1).any():
            raise self.explain()  # a cannot-link within a group, or no cluster that is allowed
        limits = self._limits(groups, coupling.n_groups, bounds)
        return self._assign(of_groups, graph, limits, max_time)[groups]

    def _limits(
        self, groups: np.ndarray, n_groups: int, bounds: SizeBounds | None
    ) -> Bounds | None:
        """Sizes of the new rows and quotas, with what old rows take of them."""
        n, k, old = self.n_new, self.n_clusters, self.old_labels
        sums: list[tuple[np.ndarray, ...]] = []
        none, free = np.zeros(k), np.full(k, np.inf)
        any_order = any(quota.differs for quota in self.known.quotas)
        if bounds is not None:
            low, high, ones = bounds.low, np.minimum(bounds.high, n), np.ones(n)
            sums = [(ones, low, high, none)]
            if any_order:  # of the quotas: sizes are those of each cluster
                sums = [(ones, none, free, -low), (ones, -free, none, -high)]
        for counts, low, high in (each for quota in self.known.quotas for each in quota.sums(k)):
            taken = np.bincount(old, counts[: self.first_new], k) if self.first_new else none
            sums.append((counts[self.first_new :], low, high, taken))
        if not sums:
            return None
        given, lows, highs, filled = (np.array(each) for each in zip(*sums, strict=True))
        counted = np.array([np.bincount(groups, c, n_groups) for c in given])
        return Bounds.of(counted, lows, highs, filled, any_order)

    def _assign(
        self, costs: np.ndarray, graph: PairGraph, limits: Bounds | None, max_time: float | None
    ) -> np.ndarray:
        """The cheapest labels of the groups."""
        if len(costs) == 0 and (limits is None or limits.hold(np.empty(0, dtype=np.int64))):
            return np.empty(0, dtype=np.int64)
        budget = Budget.of(max_time=max_time, max_pivots=NEW_POINTS_PIVOTS)
        labels, cost, bound = assign(costs, graph, limits, None, budget)
        if labels is None and bound < np.inf:
            raise NoFeasibleSolutionError(
                "Time or budget ran out before labels of the new rows that satisfy all constraints "
                "were found. Such labels may exist: allow more time (max_time), wider bounds or "
                "fewer pairs."
            )
        if labels is None:
            if limits is not None and assign(costs, graph, None, None, budget)[2] < np.inf:
                known = self.known
                joined = Coupling.of_pairs(len(known), known.must_link, known.must_link[:0])
                reject_impossible_quotas(known.quotas, joined, self.n_clusters)
                raise InfeasibleConstraintsError(
                    "No labels of the new rows satisfy both the pairs and the bounds (sizes, "
                    "quotas). Use wider bounds.",
                    reason="bounds",
                )
            raise self.explain()
        if cost > bound * (1 + 1e-9):
            warnings.warn(
                f"The labels satisfy all pairs, but are not proven optimal: they cost {cost:g}, "
                f"and no labels cost less than {bound:g}.",
                stacklevel=5,
            )
        return labels

    def explain(self) -> InfeasibleConstraintsError:
        """Say which pairs no labels of the new rows can keep."""
        n, k, n_old = self.n_new, self.n_clusters, len(self.old_labels)
        must, given = self.nodes("must_link"), self.nodes("cannot_link")
        first, second = np.triu_indices(k, 1)
        clusters_differ = np.stack([n + first, n + second], axis=1)
        cannot = np.concatenate([given, clusters_differ])
        cost = np.concatenate([np.ones(len(given)), np.full(len(clusters_differ), 1e6)])
        found = find_conflicts(n + k, k, must, cannot, cannot_link_cost=cost, max_time=5.0)
        known = self.known
        # The pairs of each contradiction, without those that say that clusters differ.
        sides = [(c.must_link, c.cannot_link[c.cannot_link < len(given)]) for c in found.conflicts]
        words = [word for side in sides for word in known.in_words(*side)]
        numbering = f" (old rows first; new row i is row {n_old} + i)" if self.first_new else ""
        shown = "; ".join(words[:12]) + ("; ..." if len(words) > 12 else "")
        return InfeasibleConstraintsError(
            f"No labels of the new rows satisfy all pairs, with the {k} clusters and the labels of "
            f"the old rows as they are. These pairs contradict each other{numbering}: {shown}.",
            reason="new_rows",
            details={
                "must_link": [known.must_link[must].tolist() for must, _ in sides],
                "cannot_link": [known.cannot_link[cannot].tolist() for _, cannot in sides],
            },
        )
