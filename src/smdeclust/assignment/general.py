"""The exact assignment where the easy way ends: dense cores, and branching on empty clusters.

Slower than `easy` but complete. Forcing or forbidding a label is an infinite cost, so each branch
is the same problem with other costs.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from smdeclust.assignment.active_set import find_component, grow_active, nearest_labels, settle
from smdeclust.assignment.active_set import solve_active as solve_easy_components
from smdeclust.assignment.core import construct, solve_core
from smdeclust.assignment.cover import count_groups, cover
from smdeclust.assignment.distances import linked_costs, nearest_centers
from smdeclust.assignment.status import BRANCH, HARD, INFEASIBLE, SOLVED
from smdeclust.assignment.whole import assign_whole
from smdeclust.problem import Core

# After so many branches on single groups the whole coupled problem is solved at once.
MOST_BRANCHES = 30


@dataclass
class Budget:
    """What a proof may cost; the best feasible labels are found whatever it is.

    Attributes
    ----------
    max_time, max_nodes
        Seconds and branch and bound nodes, or ``None`` for no limit.
    nodes
        Nodes used so far.
    """

    max_time: float | None = None
    max_nodes: int | None = None
    nodes: int = 0
    started: float = field(default_factory=time.perf_counter)

    def time_left(self) -> float | None:
        """Seconds left, or ``None`` for no limit."""
        if self.max_time is None:
            return None
        return max(0.0, self.max_time - (time.perf_counter() - self.started))

    def nodes_left(self) -> int | None:
        """Nodes left, or ``None`` for no limit."""
        return None if self.max_nodes is None else max(0, self.max_nodes - self.nodes)

    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.time_left() == 0.0 or self.nodes_left() == 0


@dataclass
class _Branch:
    """One node of the tree over empty clusters: its costs and the solution of its relaxation."""

    costs: np.ndarray
    labels: np.ndarray | None = None
    bound: float = np.inf  # infinite: infeasible
    value: float = np.inf  # cost of the labels, where they are feasible
    split: tuple[int, int] | None = None  # group and cluster to branch on


def assign_general(
    core: Core,
    centers: np.ndarray,
    *,
    upper: np.ndarray | None,
    budget: Budget,
    spare: np.ndarray | None = None,
) -> tuple[np.ndarray | None, float, float]:
    """Label all groups for these centers, no cluster empty.

    Best bound first: a branch whose labels are feasible at its bound is optimal when its turn
    comes. Once the budget is spent, the newest branch is followed until labels are found.

    `spare` counts, for each cluster, groups elsewhere that fill it already.

    Returns labels (``None`` if there are none, or none were found), their cost and a true lower
    bound (equal to the cost if proven; infinite if infeasible).
    """
    centers_t = np.ascontiguousarray(centers.T)
    costs = np.empty((core.n_linked, len(centers)))
    linked_costs(core.points, core.weights, core.n_linked, centers, centers_t, costs)
    if spare is None:
        spare = np.zeros(len(centers), dtype=np.int64)
    relaxed = partial(
        _solve_branch, core, centers, centers_t, upper=upper, budget=budget, spare=spare
    )

    tickets = itertools.count()
    root = relaxed(costs)
    waiting = [(root.bound, next(tickets), root)] if root.bound < np.inf else []
    best = root if root.split is None else None
    unproven = np.inf  # least bound of a finished branch whose labels cost more than it
    while waiting and not (best is not None and best.value <= waiting[0][0]):
        if budget.is_spent():
            if best is not None:
                break
            newest = max(range(len(waiting)), key=lambda i: waiting[i][1])
            bound, _, branch = waiting.pop(newest)
            heapq.heapify(waiting)
        else:
            bound, _, branch = heapq.heappop(waiting)
        if branch.split is None:
            unproven = min(unproven, bound) if branch.value > bound else unproven
            continue  # its labels were weighed when it was made
        if budget.nodes >= MOST_BRANCHES and not budget.is_spent():
            return assign_whole(core, centers, budget.time_left(), spare)
        budget.nodes += 1
        for child_costs in (_forbid(branch), _force(branch)):
            child = relaxed(child_costs)
            if child.bound == np.inf:
                continue
            child.bound = max(child.bound, bound)
            heapq.heappush(waiting, (child.bound, next(tickets), child))
            if child.split is None and (best is None or child.value < best.value):
                best = child
    bound = min([unproven, *(b for b, _, _ in waiting)])
    if best is None or best.labels is None:
        return None, np.inf, bound
    return best.labels, best.value, min(bound, best.value)


def _force(branch: _Branch) -> np.ndarray:
    assert branch.split is not None
    g, k = branch.split
    costs = branch.costs.copy()
    costs[g] = np.inf
    costs[g, k] = branch.costs[g, k]
    return costs


def _forbid(branch: _Branch) -> np.ndarray:
    assert branch.split is not None
    costs = branch.costs.copy()
    costs[branch.split] = np.inf
    return costs


def _solve_branch(
    core: Core,
    centers: np.ndarray,
    centers_t: np.ndarray,
    costs: np.ndarray,
    *,
    upper: np.ndarray | None,
    budget: Budget,
    spare: np.ndarray,
) -> _Branch:
    """Solve the relaxation with these linked costs: active set, cores, then empty clusters."""
    n_linked = len(costs)
    labels = np.empty(len(core.points), dtype=np.int64)
    counts = np.empty(len(centers), dtype=np.int64)
    linked = _Linked(costs, core.indptr, core.indices, labels[:n_linked])
    while True:
        cost = nearest_centers(core.points, core.weights, n_linked, centers, centers_t, labels)
        status = linked.relax(upper, budget)
        if status != SOLVED:
            return _Branch(costs, bound=np.inf if status == INFEASIBLE else cost)
        cost += float(costs[np.arange(n_linked), linked.labels].sum())
        unproven = linked.unproven()
        if count_groups(labels, core.weights, spare, counts) == 0:
            return _Branch(costs, labels, cost - unproven, cost)
        status, extra, group, cluster = cover(
            core.points, core.weights, centers, centers_t, costs, linked.active, linked.nearest,
            linked.regret, labels, counts,
        )  # fmt: skip
        if status == INFEASIBLE:
            return _Branch(costs)
        cost += extra
        if status == BRANCH:
            return _Branch(costs, labels, cost - unproven, split=(group, cluster))
        if linked.grow() == 0:
            return _Branch(costs, labels, cost - unproven, cost)


class _Linked:
    """The linked groups of one branch and the state of their active set (steps 2 to 4)."""

    def __init__(
        self, costs: np.ndarray, indptr: np.ndarray, indices: np.ndarray, labels: np.ndarray
    ) -> None:
        n = len(costs)
        self.costs, self.labels = costs, labels
        self.graph = (indptr, indices)
        self.nearest = np.empty(n)
        self.regret = np.zeros(n)
        self.component_of = np.full(n, -1)
        self.active = np.zeros(n, dtype=np.bool_)
        self.fresh = np.zeros(n, dtype=np.bool_)
        self.gap = np.zeros(n)  # at each active node: cost minus bound of its component

    def grow(self) -> int:
        return grow_active(self.labels, *self.graph, self.active, self.fresh)

    def unproven(self) -> float:
        names = np.unique(self.component_of[self.active])
        return float(self.gap[names].sum())

    def relax(self, upper: np.ndarray | None, budget: Budget) -> int:
        """Label all linked groups; SOLVED (maybe with a gap), INFEASIBLE, or HARD: none found."""
        nearest_labels(self.costs, self.active, self.labels, self.nearest)
        self.fresh[:] = self.active
        self.grow()
        while self.fresh.any():
            status = solve_easy_components(
                self.costs, *self.graph, self.active, self.fresh, self.nearest, self.labels,
                self.regret, self.component_of,
            )  # fmt: skip
            if status == INFEASIBLE:
                return INFEASIBLE
            if status == HARD and self._foresee() == 0:
                status = self._solve_hard(upper, budget)
                if status != SOLVED:
                    return status
            self.grow()
        return SOLVED

    def _foresee(self) -> int:
        """Label hard components quickly and let the active set grow from that: each round saves
        an exact solution of a component that would grow anyway."""
        for nodes, graph in self._hard_components():
            quick = construct(self.costs[nodes], *graph, descent=False)
            if quick is None:
                return 0
            self.labels[nodes] = quick
        return self.grow()

    def _solve_hard(self, upper: np.ndarray | None, budget: Budget) -> int:
        for nodes, graph in self._hard_components():
            start = None if upper is None else upper[nodes]
            result = solve_core(
                self.costs[nodes], *graph, upper_labels=start,
                max_nodes=budget.nodes_left(), max_time=budget.time_left(),
            )  # fmt: skip
            budget.nodes += result.nodes
            if result.labels is None:
                return INFEASIBLE if result.proven else HARD
            self.labels[nodes] = result.labels
            settle(nodes, self.costs, self.nearest, self.labels, self.regret, self.component_of)
            self.gap[nodes] = result.cost - result.bound
            self.fresh[nodes] = False
        return SOLVED

    def _hard_components(self) -> list[tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]]:
        """The components that still hold fresh nodes, each with its own cannot-link graph."""
        n = len(self.costs)
        seen = np.zeros(n, dtype=np.bool_)
        degree = np.empty(n, dtype=np.int64)
        members = np.empty(n, dtype=np.int64)
        found = []
        for root in np.flatnonzero(self.fresh):
            if not seen[root]:
                size = find_component(root, *self.graph, self.active, seen, degree, members)
                nodes = np.sort(members[:size])
                found.append((nodes, self._induced(nodes)))
        return found

    def _induced(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        indptr, indices = self.graph
        number = np.full(len(self.costs), -1)
        number[nodes] = np.arange(len(nodes))
        rows = [number[indices[indptr[v] : indptr[v + 1]]] for v in nodes]
        rows = [row[row >= 0] for row in rows]
        starts = np.cumsum([0, *(len(row) for row in rows)])
        return starts, np.concatenate(rows)
