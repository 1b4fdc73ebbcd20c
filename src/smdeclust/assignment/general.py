"""The exact assignment of a table of costs, no cluster empty: branch over who fills the clusters.

Forcing or forbidding a label is an infinite cost, so each branch is the same problem with other
costs.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np

from smdeclust.assignment.bounded import assign_bounded
from smdeclust.assignment.budget import Budget
from smdeclust.assignment.cover import cover
from smdeclust.assignment.linked import LinkedLabels
from smdeclust.assignment.status import BRANCH, INFEASIBLE, PAUSED, SOLVED
from smdeclust.assignment.whole import assign_whole
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph

# After so many branches on single groups the whole coupled problem is solved at once.
MOST_BRANCHES = 30

# Two sums of the same costs may differ by this share of them.
ROUNDING = 1e-15


@dataclass
class _Branch:
    """One node of the tree over empty clusters: its costs and the solution of its relaxation."""

    costs: np.ndarray
    labels: np.ndarray | None = None  # feasible ones, if any were found
    value: float = np.inf  # their cost
    bound: float = np.inf  # on the cost of all feasible labels; infinite: there are none
    split: tuple[int, int] | None = None  # group and cluster to branch on, if need be


def assign(
    costs: np.ndarray,
    graph: PairGraph,
    bounds: Bounds | None,
    upper: np.ndarray | None = None,
    budget: Budget | None = None,
) -> tuple[np.ndarray | None, float, float]:
    """Label groups at the least total cost.

    Best bound first, until the best labels cost no more than any open branch must, or the budget
    is spent.

    Parameters
    ----------
    costs
        (G, K) costs of the groups that take part, linked ones first; infinity forbids.
    graph
        The pairs between the linked ones.
    bounds
        Bounds on the clusters; ``None``: any of them may be empty.
    upper
        (G,) labels known to be feasible, if any.
    budget
        What the proof may cost; it is charged. ``None``: no limit.

    Returns
    -------
    Labels (``None`` if there are none, or none were found), their cost (broken pairs included) and
    a true lower bound (equal to the cost if proven; infinite if infeasible).
    """
    budget = Budget() if budget is None else budget
    costs = np.require(costs, np.float64, ["C", "W"])
    if bounds is not None and not bounds.only_none_empty:
        found = assign_bounded(costs, graph, bounds, upper, budget)
        return found.labels, found.cost, found.bound

    tickets = itertools.count()
    root = _solve_branch(costs, graph, bounds, upper, budget)
    best = root
    waiting = [(root.bound, next(tickets), root)]
    closed = np.inf  # least bound of the branches that are not waiting any more
    n_branches = 0
    while waiting and _is_above(best.value, waiting[0][0]) and budget.may_branch():
        bound, _, branch = heapq.heappop(waiting)
        if branch.split is None:
            closed = min(closed, bound)
            continue
        n_branches += 1
        if n_branches > MOST_BRANCHES:
            assert bounds is not None
            whole = _Branch(costs, *assign_whole(costs, graph, bounds, best.labels, budget))
            whole.bound = max(whole.bound, bound)
            best = whole if whole.value < best.value else best
            closed = min(closed, whole.bound)
            waiting = []
            break
        budget.nodes += 1
        for child_costs in (_forbid(branch), _force(branch)):
            child = _solve_branch(child_costs, graph, bounds, upper, budget)
            child.bound = max(child.bound, bound)
            best = child if child.value < best.value else best
            if child.bound < np.inf:
                heapq.heappush(waiting, (child.bound, next(tickets), child))
    bound = min([closed, best.value, *(b for b, _, _ in waiting)])
    return best.labels, best.value, bound if _is_above(best.value, bound) else best.value


def _is_above(value: float, bound: float) -> bool:
    """Whether a cost is above a bound by more than rounding."""
    return value > bound and (value == np.inf or value - bound > ROUNDING * abs(value))


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
    costs: np.ndarray,
    graph: PairGraph,
    bounds: Bounds | None,
    upper: np.ndarray | None,
    budget: Budget,
) -> _Branch:
    """Solve the relaxation with these costs: active set, cores, then empty clusters."""
    state = LinkedLabels(costs, graph)
    while True:
        status = state.relax(upper, budget)
        if status == INFEASIBLE:
            return _Branch(costs)
        if status != SOLVED:
            return _Branch(costs, bound=float(state.nearest.sum()))
        cost, unproven = state.cost(), state.unproven()
        if cost == np.inf:
            return _Branch(costs)  # some group has no label left
        if bounds is None:
            return _Branch(costs, state.labels, cost, cost - unproven)
        counts = bounds.held(state.labels)[0].astype(np.int64)
        if (counts > 0).all():
            return _Branch(costs, state.labels, cost, cost - unproven)
        relaxed_labels = state.labels.copy()
        status, extra, group, cluster = cover(
            costs, bounds.counts[0] > 0, state.active, state.nearest, state.regret, state.labels,
            counts, budget,
        )  # fmt: skip
        if status == INFEASIBLE:
            return _Branch(costs)
        if status in (BRANCH, PAUSED):
            labels, value = _fill_greedily(costs, graph, relaxed_labels, bounds)
            split = (group, cluster) if status == BRANCH else None
            return _Branch(costs, labels, value, cost + extra - unproven, split)
        if state.grow() == 0:
            cost = state.cost()
            return _Branch(costs, state.labels, cost, cost - unproven)


def _fill_greedily(
    costs: np.ndarray, graph: PairGraph, labels: np.ndarray, bounds: Bounds
) -> tuple[np.ndarray, float]:
    """Move the cheapest group into each empty cluster: nobody is there to be apart from.

    Changes and returns `labels`, and what they cost then (infinite if no group may move).
    """
    rows = np.arange(len(costs))
    counts = bounds.held(labels)[0]
    for empty in np.flatnonzero(counts == 0):
        extra = costs[:, empty] - costs[rows, labels]
        extra[(bounds.counts[0] == 0) | (counts[labels] < 2)] = np.inf
        group = int(np.argmin(extra))
        if extra[group] == np.inf:
            return labels, np.inf
        counts[labels[group]] -= 1
        counts[empty] += 1
        labels[group] = empty
    return labels, float(costs[rows, labels].sum()) + graph.penalty(labels[: graph.n_nodes])
