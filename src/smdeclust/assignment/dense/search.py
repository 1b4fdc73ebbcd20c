"""Branch and cut over the lazily grown relaxation, with restarts by connected component.

Every bound is the safe Lagrangian one of `Relaxation.reduced_costs`. Labels whose reduced cost
lifts it to the cutoff are removed; after the root, what is left is split into the connected
components of nodes that still share open labels, and each is solved on its own, smaller, LP.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.dense.cliques import INTEGRALITY
from smdeclust.assignment.dense.construct import greedy_labels
from smdeclust.assignment.dense.improve import kempe_descent
from smdeclust.assignment.dense.relaxation import Relaxation
from smdeclust.assignment.dense.types import BoolArray, FloatArray, IntArray

#: Share of the open labels that must have gone for a restart on the smaller problem to pay.
_RESTART_SHARE = 0.25


@dataclass(frozen=True)
class SearchResult:
    """The best labels below the cutoff (None if none) and a bound on all labels below it.

    `bound` is at least the cutoff (infinity included) where it is proven that nothing lies below.
    """

    labels: IntArray | None
    cost: float
    bound: float


@dataclass
class _Incumbent:
    cutoff: float
    tolerance: float
    labels: IntArray | None = None
    cost: float = np.inf

    def offer(self, labels: IntArray, cost: float) -> None:
        if cost < self.cutoff - self.tolerance:
            self.labels, self.cost, self.cutoff = labels.copy(), cost, cost


@njit(cache=True)
def propagate(allowed: BoolArray, indptr: IntArray, indices: IntArray) -> bool:
    """Forward checking to the end, `allowed` in place; False if a node lost all its labels."""
    n, n_labels = allowed.shape
    count = np.zeros(n, np.int64)
    queue = np.empty(n, np.int64)
    size = 0
    for v in range(n):
        for k in range(n_labels):
            if allowed[v, k]:
                count[v] += 1
        if count[v] == 0:
            return False
        if count[v] == 1:
            queue[size] = v
            size += 1
    i = 0
    while i < size:
        v = queue[i]
        i += 1
        k = 0
        while not allowed[v, k]:
            k += 1
        for j in range(indptr[v], indptr[v + 1]):
            u = indices[j]
            if allowed[u, k]:
                allowed[u, k] = False
                count[u] -= 1
                if count[u] == 0:
                    return False
                if count[u] == 1:
                    queue[size] = u
                    size += 1
    return True


def branch_and_cut(
    costs: FloatArray,
    allowed: BoolArray,
    indptr: IntArray,
    indices: IntArray,
    cutoff: float,
    tolerance: float,
    budget: Budget,
) -> SearchResult:
    """Find the cheapest labels strictly below `cutoff`, or prove that there are none.

    Parameters
    ----------
    costs, allowed
        Finite costs wherever allowed.
    indptr, indices
        The graph, neighbours sorted.
    cutoff
        Only labels cheaper than this (by more than `tolerance`) are looked for.
    budget
        Shared with the caller; the search counts its nodes there.
    """
    best = _Incumbent(cutoff, tolerance)
    allowed = allowed.copy()
    if not propagate(allowed, indptr, indices):
        return SearchResult(None, np.inf, np.inf)
    lp = Relaxation(costs, allowed, indptr, indices)
    before = int(allowed.sum())
    root_bound = _process(lp, allowed, best, budget, root=True)
    if root_bound >= best.cutoff - tolerance:
        return SearchResult(best.labels, best.cost, root_bound)
    left = int(allowed.sum()) - len(costs)
    shrunk = left <= (1.0 - _RESTART_SHARE) * (before - len(costs))
    parts = _components(allowed, indptr, indices)
    if (shrunk or len(parts) > 1) and not budget.is_spent():
        return _restart(costs, allowed, indptr, indices, parts, root_bound, best, budget)
    return _tree(lp, allowed, root_bound, best, budget)


def _process(
    lp: Relaxation, allowed: BoolArray, best: _Incumbent, budget: Budget, *, root: bool
) -> float:
    """Solve and cut at one search node; `allowed` shrinks in place. Returns its bound."""
    bound = -np.inf
    lp.restrict(allowed)
    rounds = slow = 0
    gain = np.inf
    while True:
        if lp.n_cuts == 0:  # nothing in the LP: x is the cheapest labels
            bound = float(np.where(allowed, lp.costs, np.inf).min(axis=1).sum())
        elif not lp.solve():
            # Without an optimum there is no dual to trust: keep the bound we have.
            return np.inf if not lp.feasible else bound
        else:
            budget.pivots += lp.pivots
            new_bound, reduced = lp.reduced_costs()
            gain = new_bound - bound
            bound = max(bound, new_bound)
            if bound >= best.cutoff - best.tolerance:
                return bound
            keep = new_bound + reduced < best.cutoff - best.tolerance
            if not keep[allowed].all():
                allowed &= keep
                if not propagate(allowed, lp.indptr, lp.indices):
                    return np.inf
                lp.restrict(allowed)
        if rounds > 0 and budget.is_late():
            break
        lp.purge_if_long()
        rounds += 1
        # Tailing off is measured against the gap that is left to close, if there is one.
        gap = best.cutoff - bound if best.cutoff < np.inf else abs(bound)
        slow = slow + 1 if gain < 0.1 * gap else 0
        if slow >= 4:
            break
        if root and slow == 1:
            _round(lp, allowed, best)  # a lower cutoff removes labels in the rounds to come
        if lp.separate(cycles=slow > 0) == 0:
            break
    _round(lp, allowed, best)
    return bound


def _round(lp: Relaxation, allowed: BoolArray, best: _Incumbent) -> None:
    """Look for a better incumbent near the LP solution."""
    rows = np.arange(len(lp.costs))
    labels = lp.x.argmax(axis=1).astype(np.int64)
    if lp.x[rows, labels].min(initial=1.0) < 1.0 - INTEGRALITY:
        _, reduced = lp.reduced_costs()
        scale = float(np.abs(lp.costs[allowed]).max(initial=1.0))
        guided = np.where(allowed, reduced - scale * lp.x, np.inf)
        labels, stuck = greedy_labels(guided, lp.indptr, lp.indices, False)
        if stuck:
            labels, stuck = greedy_labels(guided, lp.indptr, lp.indices, True)
        if stuck:
            return
        labels = kempe_descent(
            np.where(lp.allowed, lp.costs, np.inf), lp.indptr, lp.indices, labels
        )
    elif (np.repeat(labels, np.diff(lp.indptr)) == labels[lp.indices]).any():
        return
    best.offer(labels, float(lp.costs[rows, labels].sum()))


def _components(allowed: BoolArray, indptr: IntArray, indices: IntArray) -> list[IntArray]:
    """Node sets that still interact: several open labels, joined by edges that share one."""
    several = allowed.sum(axis=1) > 1
    source = np.repeat(np.arange(len(allowed)), np.diff(indptr))
    both = several[source] & several[indices] & (source < indices)
    source, target = source[both], indices[both]
    shared = (allowed[source] & allowed[target]).any(axis=1)
    source, target = source[shared], target[shared]
    n = len(allowed)
    graph = csr_matrix((np.ones(len(source)), (source, target)), shape=(n, n))
    _, part = connected_components(graph, directed=False)
    nodes = np.flatnonzero(several)
    order = np.argsort(part[nodes], kind="stable")
    nodes = nodes[order]
    cuts = np.flatnonzero(np.diff(part[nodes])) + 1
    return [np.sort(p) for p in np.split(nodes, cuts)] if len(nodes) else []


def _subgraph(
    nodes: IntArray, allowed: BoolArray, indptr: IntArray, indices: IntArray
) -> tuple[IntArray, IntArray]:
    """The graph on `nodes` with the edges that still matter, neighbours sorted."""
    position = np.full(len(allowed), -1, np.int64)
    position[nodes] = np.arange(len(nodes))
    degree = np.diff(indptr)
    source = np.repeat(np.arange(len(allowed)), degree)
    inside = (position[source] >= 0) & (position[indices] >= 0)
    source, target = source[inside], indices[inside]
    shared = (allowed[source] & allowed[target]).any(axis=1)
    source, target = position[source[shared]], position[target[shared]]
    order = np.lexsort((target, source))
    sub_indptr = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=len(nodes)))))
    return sub_indptr.astype(np.int64), target[order].astype(np.int64)


def _restart(
    costs: FloatArray,
    allowed: BoolArray,
    indptr: IntArray,
    indices: IntArray,
    parts: list[IntArray],
    root_bound: float,
    best: _Incumbent,
    budget: Budget,
) -> SearchResult:
    """Solve the components of what is left separately and join them."""
    labels = allowed.argmax(axis=1).astype(np.int64)
    decided = np.ones(len(costs), dtype=bool)
    for nodes in parts:
        decided[nodes] = False
    fixed_cost = float(costs[decided, labels[decided]].sum())
    lower = [float(np.where(allowed[p], costs[p], np.inf).min(axis=1).sum()) for p in parts]
    complete = True
    cost = fixed_cost
    for i in sorted(range(len(parts)), key=lambda i: len(parts[i])):
        nodes = parts[i]
        sub_indptr, sub_indices = _subgraph(nodes, allowed, indptr, indices)
        others = fixed_cost + sum(lower[:i]) + sum(lower[i + 1 :])
        result = branch_and_cut(
            np.ascontiguousarray(costs[nodes]),
            np.ascontiguousarray(allowed[nodes]),
            sub_indptr,
            sub_indices,
            best.cutoff - others,
            best.tolerance,
            budget,
        )
        lower[i] = max(lower[i], result.bound)
        if fixed_cost + sum(lower) >= best.cutoff - best.tolerance:
            return SearchResult(best.labels, best.cost, max(root_bound, fixed_cost + sum(lower)))
        if result.labels is None:
            complete = False
            continue
        labels[nodes] = result.labels
        cost += result.cost
    bound = max(root_bound, fixed_cost + sum(lower))
    if complete:
        best.offer(labels, cost)
    return SearchResult(best.labels, best.cost, bound)


def _tree(
    lp: Relaxation, allowed: BoolArray, root_bound: float, best: _Incumbent, budget: Budget
) -> SearchResult:
    """Depth-first branching from a processed root."""
    stack = [(root_bound, allowed, True)]
    while stack:
        if budget.is_spent():
            break
        bound, allowed, processed = stack.pop()
        if bound >= best.cutoff - best.tolerance:
            continue
        if not processed:
            budget.nodes += 1
            bound = max(bound, _process(lp, allowed, best, budget, root=False))
            if bound >= best.cutoff - best.tolerance:
                continue
        v, k = _choose(lp, allowed)
        if v < 0:  # one labelling left
            labels = allowed.argmax(axis=1).astype(np.int64)
            best.offer(labels, float(lp.costs[np.arange(len(labels)), labels].sum()))
            continue
        without = allowed.copy()
        without[v, k] = False
        allowed[v] = False
        allowed[v, k] = True
        # The last one pushed is explored first: fixing a label dives to an incumbent soon.
        for child in (without, allowed):
            if propagate(child, lp.indptr, lp.indices):
                stack.append((bound, child, False))
    bound = min((entry[0] for entry in stack), default=np.inf)
    return SearchResult(best.labels, best.cost, max(root_bound, min(bound, best.cutoff)))


def _choose(lp: Relaxation, allowed: BoolArray) -> tuple[int, int]:
    """The node and label to branch on; node -1 if every node has one label left.

    The most fractional label, weighted by the degree: deciding a hub decides much else. (Strong
    branching with pseudo-costs, tried once on three random starts, did not finish where this does.)
    """
    several = allowed.sum(axis=1) > 1
    if not several.any():
        return -1, -1
    x = np.where(allowed, lp.x, 0.0)
    fraction = np.minimum(x, 1.0 - x) * several[:, None]
    if fraction.max() <= INTEGRALITY:
        v = int(np.flatnonzero(several)[0])
        return v, int(np.where(allowed[v], lp.costs[v], np.inf).argmin())
    score = fraction * (1.0 + np.diff(lp.indptr))[:, None]
    node, label = divmod(int(score.argmax()), allowed.shape[1])
    return node, label
