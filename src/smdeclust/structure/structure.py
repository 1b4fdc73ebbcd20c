"""Structure: what people know, contracted once, in this one place."""

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.structure import rejections
from smdeclust.structure.bounds import Bounds, SizeBounds
from smdeclust.structure.coloring import Verdict, find_coloring
from smdeclust.structure.graph import (
    PairGraph,
    SoftPairs,
    all_read_only,
    cannot_link_graph,
    priced_graph,
    read_only,
)
from smdeclust.structure.groups import Coupling
from smdeclust.structure.pairs import as_pairs, count_broken
from smdeclust.structure.quotas import Quota, bounds_of

# Seconds that the search for colors may take whatever the deadline: without, nothing is found.
FIRST_SECONDS = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class Structure:
    """What is known of N points in K clusters. Make one with :meth:`Structure.build`.

    Points that must-links join are one group. Between groups there are edges, each with the price
    of breaking it (infinite where that is forbidden); and clusters have bounds.
    """

    # N and K
    n_points: int
    n_clusters: int
    # (m, 2) validated pairs of row positions
    must_link: np.ndarray
    cannot_link: np.ndarray
    soft: SoftPairs | None  # Pairs that may be broken, with their prices, or ``None``
    sample_weight: np.ndarray | None  # (N,) weights, or ``None`` for all ones
    coupling: Coupling  # the must-link groups, and which of them have pairs with others
    # Cannot-link graph over the linked groups (symmetric, each edge once). Where there are
    # bounds on sizes, groups of several points count as linked, too.
    cl_indptr: np.ndarray
    cl_indices: np.ndarray
    bounds: SizeBounds | None  # Least and largest sizes of clusters, or ``None``
    quotas: tuple[Quota, ...] = ()  # bounds on what each cluster holds, beside its size
    # (n_linked,) a cluster for each linked group that keeps the cannot-links, if one is known
    coloring: np.ndarray | None = None
    # (G,) labels that keep cannot-links and bounds, if some are known: first ones, of any cost
    packing: np.ndarray | None = None

    @classmethod
    def build(
        cls,
        n_points: int,
        n_clusters: int,
        must_link: Any = None,
        cannot_link: Any = None,
        sample_weight: np.ndarray | None = None,
        *,
        size_min: Any = None,
        size_max: Any = None,
        size_by: str = "points",
        soft: SoftPairs | None = None,
        quotas: tuple[Quota, ...] = (),
        deadline: float = np.inf,
        valid: bool = False,
    ) -> "Structure":
        """Validate, contract and check feasibility; the arguments are those of ``Problem.build``.

        `sample_weight` is (N,) and taken as valid.
        """
        n_clusters = as_n_clusters(n_clusters, n_points)
        together, apart = must_link, cannot_link
        if not valid:
            together = as_pairs(must_link, n_points, "must_link")
            apart = as_pairs(cannot_link, n_points, "cannot_link")
        bounds = SizeBounds.of(size_min, size_max, size_by, n_clusters)
        return Structure.contract(
            n_points, n_clusters, together, apart, soft, sample_weight, bounds, quotas,
            deadline=deadline,
        )  # fmt: skip

    @staticmethod
    def contract(
        n_points: int,
        n_clusters: int,
        together: np.ndarray,
        apart: np.ndarray,
        soft: SoftPairs | None,
        weight: np.ndarray | None,
        bounds: SizeBounds | None,
        quotas: tuple[Quota, ...] = (),
        *,
        again: bool = False,
        labels: np.ndarray | None = None,
        colorable: bool = False,
        deadline: float = np.inf,
    ) -> "Structure":
        """Contract what is validated already, and reject what cannot be.

        `again`: bounds are those of a structure, and only pairs are looked at. `labels`: (N,), keep
        all hard pairs. `colorable`: these were checked before. After the `deadline` of
        ``time.perf_counter()`` the search for first labels continues briefly; explanations stop.
        """
        if soft is not None:
            soft.reject_overflow()
            soft = soft if len(soft) else None
        linked = apart if soft is None else np.concatenate([apart, soft.pairs])
        coupling = Coupling.of_pairs(n_points, together, linked)
        edges = coupling.groups_of(apart)
        if (edges[:, 0] == edges[:, 1]).any():
            rejections.reject_contradictions(edges, together, apart)
        _reject_unfillable(coupling, weight, n_clusters)
        if quotas and bounds is None:
            bounds = SizeBounds(np.ones(n_clusters), np.full(n_clusters, np.inf))
        if bounds is not None:
            # Groups of several points depend on each other through the sizes.
            coupling = replace(coupling, n_linked=coupling.n_compound)
        indptr, indices = cannot_link_graph(edges, coupling.n_linked)
        colors = None
        if labels is not None:
            colors = np.empty(coupling.n_compound, dtype=np.int64)
            colors[coupling.groups] = labels[coupling.rows]
        elif not colorable:
            until = max(deadline, time.perf_counter() + FIRST_SECONDS)
            found = find_coloring(indptr, indices, n_clusters, deadline=until)
            if found.verdict is Verdict.INFEASIBLE:
                rejections.reject_uncolorable(found, n_clusters, coupling)
            colors = found.colors
        if bounds is not None and not again:
            bounds = _fillable(bounds, weight)
        colors = None if colors is None else colors[: coupling.n_linked]
        together, apart, indptr, indices, weight, colors = all_read_only(
            together, apart, indptr, indices, weight, colors
        )
        known = Structure(
            n_points=n_points,
            n_clusters=n_clusters,
            must_link=together,
            cannot_link=apart,
            soft=soft,
            sample_weight=weight,
            coupling=coupling,
            cl_indptr=indptr,
            cl_indices=indices,
            bounds=bounds,
            quotas=quotas,
            coloring=colors,
        )
        if known.group_bounds is None:
            return known
        packing = None if again else rejections.find_packing(known, deadline)
        if again and labels is not None:
            packing = known.group_labels(labels)
        if packing is None or not known.group_bounds.hold(packing):
            return known
        return replace(known, packing=read_only(packing))

    def without(self, kind: str, position: int) -> "Structure":
        """The same without one hard pair: ``"must_link"`` or ``"cannot_link"``, and which."""
        pairs = {"must_link": self.must_link, "cannot_link": self.cannot_link}
        pairs[kind] = np.delete(pairs[kind], position, axis=0)
        known = {"labels": self.feasible_labels, "colorable": True}
        return self._again(pairs["must_link"], pairs["cannot_link"], self.soft, **known)

    def with_soft(self, soft: SoftPairs | None) -> "Structure":
        """The same with these soft pairs instead."""
        known = {"labels": self.feasible_labels, "colorable": True}
        return self._again(self.must_link, self.cannot_link, soft, **known)

    def keeping(self, position: int) -> "Structure":
        """The same where one soft pair must hold; InfeasibleConstraintsError where it cannot."""
        assert self.soft is not None
        pair, is_must = self.soft.pairs[[position]], position < len(self.soft.must_link)
        must = np.concatenate([self.must_link, pair]) if is_must else self.must_link
        cannot = self.cannot_link if is_must else np.concatenate([self.cannot_link, pair])
        return self._again(must, cannot, self.soft.without(position))

    def _again(
        self, must: np.ndarray, cannot: np.ndarray, soft: SoftPairs | None, **known: Any
    ) -> "Structure":
        return Structure.contract(
            self.n_points, self.n_clusters, must, cannot, soft, self.sample_weight, self.bounds,
            self.quotas, again=True, **known,
        )  # fmt: skip

    @property
    def feasible_labels(self) -> np.ndarray | None:
        """(N,) labels that keep the hard pairs (and the bounds, if such are known), or ``None``."""
        if self.packing is not None:
            return self.expand(self.packing)
        if self.coloring is None:
            return None
        return self.expand(np.append(self.coloring, np.zeros(self.n_groups - self.n_linked)))

    @cached_property
    def n_groups(self) -> int:
        """G, the number of must-link groups (a lone point is a group)."""
        return self.coupling.n_groups

    @property
    def n_linked(self) -> int:
        """The number of groups that have a pair with another group; these come first."""
        return self.coupling.n_linked

    @cached_property
    def group_of_point(self) -> np.ndarray:
        """(N,) group of each point."""
        return read_only(self.coupling.of_point())

    @cached_property
    def weights(self) -> np.ndarray:
        """(G,) weight of each group."""
        return read_only(self.coupling.all_weights(self.sample_weight))

    @cached_property
    def size_of_group(self) -> np.ndarray:
        """(G,) what each group counts in the size of its cluster."""
        if self.bounds is not None and self.bounds.by_weight:
            return self.weights
        return read_only(self.coupling.all_weights(None))

    @property
    def graph(self) -> PairGraph:
        """The pairs between the linked groups, hard and soft."""
        return self._priced[0]

    @property
    def always_broken(self) -> float:
        """What the soft pairs cost that are broken under any labels."""
        return self._priced[1]

    @cached_property
    def _priced(self) -> tuple[PairGraph, float]:
        graph, always = PairGraph.hard(self.cl_indptr, self.cl_indices), 0.0
        if self.soft is not None:
            graph, always = priced_graph(
                self.cannot_link, self.soft, self.coupling.groups_of, self.coupling.n_linked
            )
        graph.know(self.n_clusters, self.coloring)
        return graph, always

    def penalty(self, group_labels: np.ndarray) -> float:
        """Return what the soft pairs that these (G,) labels break cost together."""
        if self.soft is None:
            return 0.0
        labels = np.asarray(group_labels)[: self.n_linked]
        return self.graph.penalty(labels) + self.always_broken

    @property
    def has_sizes(self) -> bool:
        """Whether bounds on sizes say more than that no cluster is empty."""
        if self.bounds is None or not self.quotas:
            return self.bounds is not None
        return bool((self.bounds.low > 1).any() or np.isfinite(self.bounds.high).any())

    @cached_property
    def group_bounds(self) -> Bounds | None:
        """The bounds on clusters with what each group counts, or ``None``."""
        if self.bounds is None:
            return None
        groups = self.group_of_point if self.quotas else np.empty(0, np.int64)  # (else unused)
        made = bounds_of(self.bounds, self.size_of_group, self.quotas, groups)
        return replace(made, packing=self.packing)

    def group_costs(self, of_points: np.ndarray) -> np.ndarray:
        """(G, K) costs of the groups from those of their points, weights included."""
        costs = np.zeros((self.n_groups, of_points.shape[1]))
        np.add.at(costs, self.group_of_point, of_points)
        return costs

    def expand(self, group_labels: np.ndarray) -> np.ndarray:
        """Return the (N,) labels of the points from the (G,) labels of their groups."""
        return np.asarray(group_labels, dtype=np.int64)[self.group_of_point]

    def group_labels(self, point_labels: np.ndarray) -> np.ndarray:
        """Return the (G,) labels of the groups from the (N,) labels of their points."""
        labels = np.empty(self.n_groups, dtype=np.int64)
        labels[self.group_of_point] = point_labels
        return labels

    def violations(self, point_labels: np.ndarray) -> tuple[int, int]:
        """How many must-links and cannot-links these (N,) labels break; a pair counts once."""
        return count_broken(self.must_link, self.cannot_link, np.asarray(point_labels))

    def holds(self, point_labels: np.ndarray) -> bool:
        """Whether these (N,) labels keep everything that must hold."""
        labels = np.asarray(point_labels)
        if sum(self.violations(labels)):
            return False
        groups = self.group_labels(labels)
        filling = self.weights > 0
        if len(np.unique(groups[filling])) < self.n_clusters:
            return False
        return self.group_bounds is None or self.group_bounds.hold(groups)


def as_n_clusters(n_clusters: Any, n_points: int) -> int:
    """Return K if it is an integer that this many points can fill."""
    whole = isinstance(n_clusters, (int, np.integer)) and not isinstance(n_clusters, bool)
    if not whole or n_clusters < 1:
        raise InvalidInputError(f"n_clusters must be a positive integer, got {n_clusters!r}.")
    if n_clusters > n_points:
        raise InvalidInputError(
            f"n_clusters={n_clusters} clusters cannot be made of n_samples={n_points} points: "
            f"each needs at least one."
        )
    return int(n_clusters)


def _fillable(bounds: SizeBounds, weight: np.ndarray | None) -> SizeBounds:
    """The bounds where no cluster may be empty."""
    if weight is not None and not (weight > 0).all():
        row = int(np.flatnonzero(weight <= 0)[0])
        raise InvalidInputError(
            f"sample_weight: row {row} has no weight; with bounds on sizes or quotas every point "
            f"needs a positive one."
        )
    by_weight = bounds.by_weight and weight is not None
    least = float(weight.min()) * (1 - 1e-9) if by_weight else 1.0  # type: ignore[union-attr]
    rejections.reject_closed_clusters(bounds, least)
    return replace(bounds, low=np.maximum(bounds.low, least))


def _reject_unfillable(coupling: Coupling, weight: np.ndarray | None, n_clusters: int) -> None:
    """Reject linked groups of no weight, and fewer groups of some weight than clusters."""
    weights = coupling.weights(weight)
    weightless = np.flatnonzero(weights[: coupling.n_linked] == 0)
    if len(weightless):
        row = int(coupling.rows[np.flatnonzero(coupling.groups == weightless[0])[0]])
        raise InvalidInputError(
            f"sample_weight: the group of row {row} has a cannot-link but no weight; give it a "
            f"positive weight or drop its pairs."
        )
    n_filling = coupling.n_groups
    if weight is not None:
        lone = np.count_nonzero(weight) - np.count_nonzero(weight[coupling.rows])
        n_filling = int(lone + np.count_nonzero(weights))
    if n_filling < n_clusters:
        rejections.reject_too_few_groups(
            n_filling, coupling.n_groups, coupling.n_points, n_clusters
        )
