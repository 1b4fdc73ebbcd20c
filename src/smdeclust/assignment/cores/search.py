"""Branch and cut over the lazily grown relaxation, with restarts by connected component.

Every bound is the safe Lagrangian one of `LinearRelaxation.reduced_costs`. Labels whose reduced
cost lifts it to the cutoff are removed; after the root, what is left is split into the connected
components of nodes that still share open labels, and each is solved on its own, smaller, LP.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from smdeclust.assignment.cores.construct import greedy_labels, swap_chains
from smdeclust.assignment.cores.cuts import INTEGRALITY
from smdeclust.assignment.cores.instance import BoolArray, Instance, IntArray
from smdeclust.assignment.cores.relaxation import LinearRelaxation
from smdeclust.assignment.status import Budget
from smdeclust.kernels import kernel

#: Share of the open labels that must have gone for a restart on the smaller problem to pay.
_RESTART_SHARE = 0.25


@dataclass
class Incumbent:
    """The best labels below the cutoff (None if none), and a bound on all labels below it.

    At the end `bound` is at least the cutoff (infinity included) where it is proven that nothing
    lies below.
    """

    cutoff: float
    tolerance: float
    labels: IntArray | None = None
    cost: float = np.inf
    bound: float = -np.inf

    def offer(self, labels: IntArray, cost: float) -> None:
        """Keep these labels if they are better by more than the tolerance."""
        if cost < self.cutoff - self.tolerance:
            self.labels, self.cost, self.cutoff = labels.copy(), cost, cost

    def ends_at(self, bound: float) -> "Incumbent":
        """The same with the bound."""
        self.bound = bound
        return self


@kernel()
def propagate(allowed, indptr, indices):
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
    instance: Instance, allowed: BoolArray, cutoff: float, tolerance: float, budget: Budget
) -> Incumbent:
    """Find the cheapest labels below `cutoff` by more than `tolerance`, or prove that none are.

    Costs are finite wherever allowed. The search counts its nodes in the budget.
    """
    best = Incumbent(cutoff, tolerance)
    allowed = allowed.copy()
    costs = instance.costs
    if not propagate(allowed, *instance.hard):
        return best.ends_at(np.inf)
    lp = LinearRelaxation(instance, allowed)
    before = int(allowed.sum())
    best.bound = _process(lp, allowed, best, budget, root=True)
    if best.bound >= best.cutoff - tolerance:
        # Infinite where nothing is left below labels that were found here: these still count.
        return best.ends_at(min(best.bound, best.cutoff))
    left = int(allowed.sum()) - len(costs)
    shrunk = left <= (1.0 - _RESTART_SHARE) * (before - len(costs))
    parts = _components(instance, allowed)
    if parts and (shrunk or len(parts) > 1) and not budget.is_spent():
        return _restart(instance, allowed, parts, best, budget)
    return _tree(lp, allowed, best, budget)


def _process(
    lp: LinearRelaxation, allowed: BoolArray, best: Incumbent, budget: Budget, *, root: bool
) -> float:
    """Solve and cut at one search node; `allowed` shrinks in place. Returns its bound."""
    bound = -np.inf
    lp.restrict(allowed)
    rounds = slow = 0
    gain = np.inf
    while True:
        if lp.n_cuts == 0:  # nothing in the LP: x is the cheapest labels
            bound = float(np.where(allowed, lp.costs, np.inf).min(axis=1).sum())
        elif not lp.solve(budget):
            # Without an optimum there is no dual to trust: keep the bound we have.
            return np.inf if not lp.feasible else bound
        else:
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


def _round(lp: LinearRelaxation, allowed: BoolArray, best: Incumbent) -> None:
    """Look for a better incumbent near the LP solution."""
    instance, n = lp.instance, lp.instance.n_nodes
    rows = np.arange(n)
    labels = lp.x[:n].argmax(axis=1).astype(np.int64)
    found = instance.cost(labels)
    if found == np.inf or lp.x[rows, labels].min(initial=1.0) < 1.0 - INTEGRALITY:
        _, reduced = lp.reduced_costs()
        scale = float(np.abs(lp.costs[allowed]).max(initial=1.0))
        guided = np.where(allowed, reduced - scale * lp.x, np.inf)[:n]
        labels, stuck = greedy_labels(guided, instance.pairs.arrays, False)
        if stuck:
            labels, stuck = greedy_labels(guided, instance.pairs.arrays, True)
        if stuck:
            return
        masked = np.where(lp.allowed, lp.costs, np.inf)[:n]
        labels = swap_chains(masked, instance.pairs, labels)
        found = instance.cost(labels)
    best.offer(labels, found)


def _components(instance: Instance, allowed: BoolArray) -> list[IntArray]:
    """Node sets that still interact: several open labels, joined by pairs that still matter.

    A hard pair matters where its ends share an open label, a soft one unless it is broken anyway;
    its ends then belong to it even if they have one label left.
    """
    n, n_nodes = len(allowed), instance.n_nodes
    several = allowed.sum(axis=1) > 1
    source, target = instance.pairs.hard_part.edges.T
    open_pairs = np.flatnonzero(allowed[n_nodes:, 0])
    involved = several.copy()
    involved[n_nodes:] = False
    involved[instance.ends[open_pairs].ravel()] = True
    involved[n_nodes + open_pairs] = True
    both = involved[source] & involved[target]
    source, target = source[both], target[both]
    shared = (allowed[source] & allowed[target]).any(axis=1)
    source = np.concatenate([source[shared], instance.ends[open_pairs].ravel()])
    target = np.concatenate([target[shared], np.repeat(n_nodes + open_pairs, 2)])
    graph = csr_matrix((np.ones(len(source)), (source, target)), shape=(n, n))
    _, part = connected_components(graph, directed=False)
    nodes = np.flatnonzero(involved)
    order = np.argsort(part[nodes], kind="stable")
    nodes = nodes[order]
    cuts = np.flatnonzero(np.diff(part[nodes])) + 1
    return [np.sort(p) for p in np.split(nodes, cuts)] if len(nodes) else []


def _restart(
    instance: Instance, allowed: BoolArray, parts: list[IntArray], best: Incumbent, budget: Budget
) -> Incumbent:
    """Solve the components of what is left separately, and join them; `best` has a bound."""
    costs, n_nodes = instance.costs, instance.n_nodes
    labels = allowed.argmax(axis=1).astype(np.int64)
    decided = np.ones(len(costs), dtype=bool)
    for nodes in parts:
        decided[nodes] = False
    fixed_cost = float(costs[decided, labels[decided]].sum())
    lower = [float(np.where(allowed[p], costs[p], np.inf).min(axis=1).sum()) for p in parts]
    complete = True
    for i in sorted(range(len(parts)), key=lambda i: len(parts[i])):
        nodes = parts[i]
        others = fixed_cost + sum(lower[:i]) + sum(lower[i + 1 :])
        part, open_labels = instance.part(nodes, allowed), np.ascontiguousarray(allowed[nodes])
        cutoff = best.cutoff - others
        result = branch_and_cut(part, open_labels, cutoff, best.tolerance, budget)
        lower[i] = max(lower[i], result.bound)
        if fixed_cost + sum(lower) >= best.cutoff - best.tolerance:
            return best.ends_at(max(best.bound, fixed_cost + sum(lower)))
        if result.labels is None:
            complete = False
            continue
        labels[nodes[nodes < n_nodes]] = result.labels
    if complete:
        best.offer(labels[:n_nodes], instance.cost(labels[:n_nodes]))
    return best.ends_at(max(best.bound, fixed_cost + sum(lower)))


def _tree(lp: LinearRelaxation, allowed: BoolArray, best: Incumbent, budget: Budget) -> Incumbent:
    """Depth-first branching from a processed root, whose bound `best` has."""
    stack = [(best.bound, allowed, True)]
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
        if v < 0:  # one labeling left
            labels = allowed[: lp.instance.n_nodes].argmax(axis=1).astype(np.int64)
            best.offer(labels, lp.instance.cost(labels))
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
    return best.ends_at(max(best.bound, min(bound, best.cutoff)))


def _choose(lp: LinearRelaxation, allowed: BoolArray) -> tuple[int, int]:
    """The node and label to branch on; node -1 if every node has one label left.

    The most fractional label, weighted by the degree: deciding a hub decides much else. (Strong
    branching with pseudo-costs, tried once on three random starts, did not finish where this does.)
    """
    several = allowed.sum(axis=1) > 1
    several[lp.instance.n_nodes :] = False  # soft pairs follow from the labels of their ends
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
