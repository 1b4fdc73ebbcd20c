"""The exact assignment where the easy way ends: cycles, dense cores and empty clusters.

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

from smdeclust.assignment.active_set import grow_active, nearest_labels, solve_active
from smdeclust.assignment.components import find_component
from smdeclust.assignment.cover import count_groups, cover, regrets
from smdeclust.assignment.dense import solve_core, solve_quickly
from smdeclust.assignment.distances import linked_costs, nearest_centers
from smdeclust.assignment.elimination import solve_cyclic
from smdeclust.assignment.status import BRANCH, HARD, INFEASIBLE, SOLVED
from smdeclust.assignment.whole import assign_whole
from smdeclust.problem import Core

# After so many branches on single groups the whole coupled problem is solved at once.
MOST_BRANCHES = 30
MOST_MILP_NODES = 500


@dataclass
class Budget:
    """What a proof may cost; the best feasible labels are found whatever it is.

    Attributes
    ----------
    max_time, max_nodes, max_pivots
        Seconds, branch and bound nodes and simplex pivots, or ``None`` for no limit. Nodes and
        pivots are the same on every machine, seconds are not.
    nodes, pivots, cores
        Nodes and pivots used, and dense cores met, so far.
    """

    max_time: float | None = None
    max_nodes: int | None = None
    max_pivots: int | None = None
    nodes: int = 0
    pivots: int = 0
    cores: int = 0
    started: float = field(default_factory=time.perf_counter)

    def time_left(self) -> float | None:
        """Seconds left, or ``None`` for no limit."""
        if self.max_time is None:
            return None
        return max(0.0, self.max_time - (time.perf_counter() - self.started))

    def nodes_left(self) -> int | None:
        """Nodes left, or ``None`` for no limit."""
        return None if self.max_nodes is None else max(0, self.max_nodes - self.nodes)

    def pivots_left(self) -> int | None:
        """Pivots left, or ``None`` for no limit."""
        return None if self.max_pivots is None else max(0, self.max_pivots - self.pivots)

    def is_spent(self) -> bool:
        """Whether nothing is left of one of them."""
        return 0 in (self.time_left(), self.nodes_left(), self.pivots_left())

    def may_branch(self) -> bool:
        """Whether to go on branching: pivots count only where there are dense cores."""
        if self.cores > 0:
            return not self.is_spent()
        return 0 not in (self.time_left(), self.nodes_left())


@dataclass
class _Branch:
    """One node of the tree over empty clusters: its costs and the solution of its relaxation."""

    costs: np.ndarray
    labels: np.ndarray | None = None  # feasible ones, if any were found
    value: float = np.inf  # their cost
    bound: float = np.inf  # on the cost of all feasible labels; infinite: there are none
    split: tuple[int, int] | None = None  # group and cluster to branch on, if need be


def assign_general(
    core: Core,
    centers: np.ndarray,
    *,
    upper: np.ndarray | None,
    budget: Budget,
    spare: np.ndarray | None = None,
) -> tuple[np.ndarray | None, float, float]:
    """Label all groups for these centers, no cluster empty.

    Best bound first, until the best labels cost no more than any open branch must, or the budget
    is spent.

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
    best = root
    waiting = [(root.bound, next(tickets), root)]
    closed = np.inf  # least bound of the branches that are not waiting any more
    n_branches = 0
    while waiting and best.value > waiting[0][0] and budget.may_branch():
        bound, _, branch = heapq.heappop(waiting)
        if branch.split is None:
            closed = min(closed, bound)
            continue
        n_branches += 1
        if n_branches > MOST_BRANCHES:
            whole = _solve_whole(core, centers, budget, spare)
            whole.bound = max(whole.bound, bound)
            best = whole if whole.value < best.value else best
            closed = min(closed, whole.bound)
            waiting = []
            break
        budget.nodes += 1
        for child_costs in (_forbid(branch), _force(branch)):
            child = relaxed(child_costs)
            child.bound = max(child.bound, bound)
            best = child if child.value < best.value else best
            if child.bound < np.inf:
                heapq.heappush(waiting, (child.bound, next(tickets), child))
    bound = min([closed, best.value, *(b for b, _, _ in waiting)])
    return best.labels, best.value, bound


def _solve_whole(core: Core, centers: np.ndarray, budget: Budget, spare: np.ndarray) -> _Branch:
    """All that is still open, at once; a budget of nodes or pivots becomes one of MILP nodes."""
    limited = budget.max_nodes is not None or budget.max_pivots is not None
    labels, value, bound = assign_whole(
        core, centers, budget.time_left(), spare, MOST_MILP_NODES if limited else None
    )
    return _Branch(np.empty(0), labels, value, bound)


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
    linked = _Linked(costs, core.indptr, core.indices, labels[:n_linked])
    while True:
        cost = nearest_centers(core.points, core.weights, n_linked, centers, centers_t, labels)
        status = linked.relax(upper, budget)
        if status != SOLVED:
            return _Branch(costs, bound=np.inf if status == INFEASIBLE else cost)
        cost += float(costs[np.arange(n_linked), linked.labels].sum())
        if cost == np.inf:
            return _Branch(costs)  # some group has no label left
        unproven = linked.unproven()
        counts = count_groups(labels, core.weights, spare)
        if counts.all():
            return _Branch(costs, labels, cost, cost - unproven)
        relaxed_labels = labels.copy()
        status, extra, group, cluster = cover(
            core.points, core.weights, centers, centers_t, costs, linked.active, linked.nearest,
            linked.regret, labels, counts,
        )  # fmt: skip
        if status == INFEASIBLE:
            return _Branch(costs)
        if status == BRANCH:
            labels, filling = _fill_greedily(core, centers, costs, relaxed_labels, spare)
            bound = cost + extra - unproven
            return _Branch(costs, labels, cost + filling, bound, (group, cluster))
        if linked.grow() == 0:
            return _Branch(costs, labels, cost + extra, cost + extra - unproven)


def _fill_greedily(
    core: Core, centers: np.ndarray, costs: np.ndarray, labels: np.ndarray, spare: np.ndarray
) -> tuple[np.ndarray, float]:
    """Move the cheapest group into each empty cluster: nobody is there to be apart from.

    Changes and returns `labels`, and what it costs (infinite if no group may move).
    """
    filling = core.weights > 0
    counts = np.bincount(labels[filling], minlength=len(centers)) + spare
    extra = 0.0
    for empty in np.flatnonzero(counts == 0):
        gaps, here = core.points - centers[empty], core.points - centers[labels]
        regrets = np.einsum("ij,ij->i", gaps, gaps) - np.einsum("ij,ij->i", here, here)
        regrets = regrets * core.weights
        linked = np.arange(len(costs))
        regrets[linked] = costs[linked, empty] - costs[linked, labels[linked]]
        regrets[~filling | (counts[labels] < 2)] = np.inf
        group = int(np.argmin(regrets))
        if regrets[group] == np.inf:
            return labels, np.inf
        extra += float(regrets[group])
        counts[labels[group]] -= 1
        counts[empty] += 1
        labels[group] = empty
    return labels, extra


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
        self.active = np.zeros(n, dtype=np.bool_)
        self.fresh = np.zeros(n, dtype=np.bool_)
        self.gap = np.zeros(n)  # at each active node: cost minus bound of its component
        self.seen = np.zeros(n, dtype=np.bool_)
        self.numbers = np.empty((5, n), dtype=np.int64)
        self.folded = np.empty_like(costs)

    def grow(self) -> int:
        return grow_active(self.labels, *self.graph, self.active, self.fresh)

    def unproven(self) -> float:
        """Sum of the gaps of all components; computes their regrets on the way."""
        regrets(
            self.costs, *self.graph, self.active, self.nearest, self.labels, self.numbers,
            self.regret,
        )  # fmt: skip
        names = np.unique(self.numbers[4, self.active])
        return float(self.gap[names].sum())

    def relax(self, upper: np.ndarray | None, budget: Budget) -> int:
        """Label all linked groups; SOLVED (maybe with a gap), INFEASIBLE, or HARD: none found."""
        nearest_labels(self.costs, self.active, self.labels, self.nearest)
        self.fresh[:] = self.active
        self.grow()
        while self.fresh.any():
            status = solve_active(
                self.costs, *self.graph, self.active, self.fresh, self.seen, self.numbers,
                self.folded, self.labels,
            )  # fmt: skip
            if status == HARD:
                status = self._solve_cycles()
            if status == HARD:
                status = self._solve_hard(upper, budget)
            if status != SOLVED:
                return status
            self.grow()
        return SOLVED

    def _solve_cycles(self) -> int:
        """Solve the components that are still fresh by elimination; HARD if some are left."""
        outcome = SOLVED
        alive = np.zeros(len(self.costs), dtype=np.bool_)
        for nodes in self._components(self.active):
            status = solve_cyclic(
                nodes, self.costs, *self.graph, alive, self.folded, self.numbers, self.labels
            )
            if status == INFEASIBLE:
                return INFEASIBLE
            if status == SOLVED:
                self.fresh[nodes] = False
            outcome = max(outcome, status)
        return outcome

    def _solve_hard(self, upper: np.ndarray | None, budget: Budget) -> int:
        """Solve the components that are still fresh, each with all that hangs together with it:
        the core solver looks only at what matters, and need not be asked again as they grow."""
        for nodes in self._components(np.ones(len(self.costs), dtype=np.bool_)):
            start = None if upper is None else upper[nodes]
            solve = solve_quickly if budget.is_spent() else solve_core
            result = solve(
                self.costs[nodes], *self._induced(nodes), upper_labels=start,
                max_nodes=budget.nodes_left(), max_pivots=budget.pivots_left(),
                max_time=budget.time_left(),
            )  # fmt: skip
            budget.nodes += result.nodes
            budget.pivots += result.pivots
            budget.cores += 1
            if result.labels is None:
                return INFEASIBLE if result.proven else HARD
            self.labels[nodes] = result.labels
            self.gap[nodes] = result.cost - result.bound
            self.active[nodes] = True
            self.fresh[nodes] = False
        return SOLVED

    def _components(self, among: np.ndarray) -> list[np.ndarray]:
        """The components of the cannot-link graph among these nodes that hold fresh ones."""
        self.seen[:] = False
        found = []
        for root in np.flatnonzero(self.fresh):
            if not self.seen[root]:
                size, _, _ = find_component(
                    root, *self.graph, among, self.seen, self.numbers[1], self.numbers[2],
                    self.numbers[0],
                )  # fmt: skip
                found.append(np.sort(self.numbers[0, :size]))
        return found

    def _induced(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        indptr, indices = self.graph
        number = np.full(len(self.costs), -1)
        number[nodes] = np.arange(len(nodes))
        rows = [number[indices[indptr[v] : indptr[v + 1]]] for v in nodes]
        rows = [row[row >= 0] for row in rows]
        starts = np.cumsum([0, *(len(row) for row in rows)])
        return starts, np.concatenate(rows)
