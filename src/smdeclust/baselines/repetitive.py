"""Repetitive branch and bound (Brusco 2006; with pairs Guns et al. 2016): exact, small N."""

from typing import Any, NamedTuple

import numpy as np

from smdeclust.baselines.base import StrictBaseline, Task
from smdeclust.estimators.parameters import documented, whole
from smdeclust.kernels import kernel
from smdeclust.local_search import PROOF_PIVOTS, local_search
from smdeclust.local_search.kempe import squared_distance
from smdeclust.local_search.state import is_past
from smdeclust.memetic.operators import random_points
from smdeclust.points.centers import cost_of
from smdeclust.problem import Contracted

# Nodes at a stretch of compiled code, less than a second.
NODES_AT_A_TIME = 2_000_000
# A branch must be better than the best known by this share of it.
MARGIN = 1e-9
# Local searches before the proof.
N_STARTS = 20


@documented
class RepetitiveBB(StrictBaseline):
    """Repetitive branch and bound (Brusco 2006; Guns, Dao, Vrain and Duong 2016), an exact method.

    It is practical for dozens of groups of must-linked points, and more if clusters are far apart.
    It solves the problem for the last 1, 2, ... groups in a fixed order. Each optimum bounds the
    cost of these groups in the larger problems.

    Our choices: a depth-first search with the same propagation and bounds replaces the constraint
    solver, and the order is farthest first. Local searches find a first solution.
    """

    _attributes = {  # noqa: RUF012
        "lower_bound_": "A lower bound on the objective of every feasible clustering.",
        "optimal_": "Whether the clustering is optimal, because no limit was reached.",
        "n_iter_": "The number of nodes.",
    }

    max_nodes: int | None = whole(None, "The maximum number of nodes of all trees, or None.", low=1)

    def _solve(self, task: Task) -> np.ndarray:
        problem, deadline = task.problem, task.deadline
        starts = random_points(problem)(N_STARTS, self._generator())
        limits: dict[str, Any] = {"proof_pivots": PROOF_PIVOTS, "deadline": deadline}
        found = [local_search(problem, start, deep=True, **limits) for start in starts]
        known = min(found, key=lambda solution: solution.objective)
        most = np.inf if self.max_nodes is None else self.max_nodes
        proof = repetitive(problem.contracted, np.array(known.labels), most, deadline)
        self.lower_bound_ = proof.bound + problem.scatter
        self.optimal_ = proof.optimal
        self.n_iter_ = proof.n_nodes
        # The proof allows fewer clusters than K, never at a lower cost than the known labels.
        better = proof.cost + problem.scatter < known.objective * (1 - 1e-9)
        all_used = len(np.unique(proof.labels)) == problem.n_clusters
        return proof.labels if better and all_used else known.labels


class Proof(NamedTuple):
    """The best known (G,) labels, their cost and a lower bound (without the scatter inside groups),
    the nodes of all trees, and whether the run ended before its limits: cost and bound agree."""

    labels: np.ndarray
    cost: float
    bound: float
    n_nodes: int
    optimal: bool


def repetitive(
    contracted: Contracted,
    known: np.ndarray,
    max_nodes: float = np.inf,
    deadline: float | None = None,
) -> Proof:
    """Solve the problem exactly, within limits; `known` are feasible (G,) labels."""
    points, weights, n_clusters = contracted.points, contracted.weights, contracted.n_clusters
    order, n_groups = spread_order(points), len(points)
    rank = np.argsort(order)
    starts, after = _earlier_links(rank, contracted.graph)
    points, weights, known_here = points[order], weights[order], known[order]
    bounds = np.zeros(n_groups + 1)  # bounds[s]: optimum for the groups from s on
    labels = np.zeros(n_groups, dtype=np.int64)
    n_nodes = 0
    for first in range(n_groups - 1, -1, -1):
        upper = cost_of(points[first:], known_here[first:], weights[first:])
        best = known_here[first:].copy()
        if _extend(labels[first:], first, starts, after, n_clusters):
            extended = cost_of(points[first:], labels[first:], weights[first:])
            if extended < upper:
                upper, best = extended, labels[first:].copy()
        stack, at = np.full(n_groups + 1, -1, dtype=np.int64), first
        while True:
            budget = int(min(NODES_AT_A_TIME, max_nodes - n_nodes))
            at, upper, used = _search(
                points, weights, starts, after, n_clusters, first, bounds, stack, at, upper,
                best, budget,
            )  # fmt: skip
            n_nodes += used
            if at < first or is_past(deadline) or n_nodes >= max_nodes:
                break
        if at >= first:  # not finished: what is proven so far bounds the whole from below
            cost = cost_of(points, known_here, weights)
            return Proof(known, cost, float(bounds[first + 1]), n_nodes, False)
        labels[first:] = best
        bounds[first] = upper
    return Proof(labels[rank], float(bounds[0]), float(bounds[0]), n_nodes, True)


def spread_order(points: np.ndarray) -> np.ndarray:
    """Farthest first, so that costs show early; the first group is farthest from the mean."""
    order = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    least = np.full(len(points), np.inf)
    while len(order) < len(points):
        least = np.minimum(least, ((points - points[order[-1]]) ** 2).sum(axis=1))
        least[order] = -1.0
        order.append(int(least.argmax()))
    return np.array(order, dtype=np.int64)


def _earlier_links(rank, graph):
    """For each place in the order, the earlier places that are cannot-linked to it."""
    place, other = rank[graph.ends], rank[graph.indices]
    earlier = np.flatnonzero(other < place)
    earlier = earlier[np.argsort(place[earlier], kind="stable")]
    starts = np.cumsum(np.bincount(place[earlier] + 1, minlength=len(rank) + 1))
    return starts, other[earlier]


def _extend(labels, first, starts, after, n_clusters):
    """Label the first group of `labels` so that no cannot-link breaks; returns whether it can."""
    later = range(first + 1, first + len(labels))
    taken = {labels[p - first] for p in later if first in after[starts[p] : starts[p + 1]]}
    free = [k for k in range(n_clusters) if k not in taken]
    labels[0] = free[0] if free else 0
    return bool(free)


@kernel()
def _search(
    points, weights, starts, after, n_clusters, first, bounds, stack, at, upper, best, max_nodes
):
    """Depth-first search for the groups from `first` on; continues from `stack` and `at`.

    ``stack[g]`` is the label of group g, -1 where none was tried. Changes `stack` and `best`.
    Returns where it stands (below `first`: done), the upper bound, and the nodes used.
    """
    n_groups, n_features = points.shape
    totals = np.zeros(n_clusters)
    means = np.zeros((n_clusters, n_features))
    costs = np.zeros(n_groups + 1)  # costs[g]: what the groups before g cost
    used = np.zeros(n_groups + 1, np.int64)  # clusters in use before g
    old = np.zeros((n_groups, n_features))  # the mean that group g changed
    for g in range(first, at):  # build up the state where the last call stopped
        _enter(points, weights, g, stack[g], totals, means, old, costs)
        used[g + 1] = max(used[g], stack[g] + 1)
    n_nodes = 0
    g = at
    while g >= first and n_nodes < max_nodes:
        n_nodes += 1
        if g == n_groups:
            if costs[g] < upper * (1 - MARGIN):
                upper = costs[g]
                for i in range(first, n_groups):
                    best[i - first] = stack[i]
            g -= 1
            _leave(points, weights, g, stack[g], totals, means, old)
            continue
        # The next label of group g whose branch can still be better than what is known.
        k = stack[g] + 1
        most = used[g] + 1 if used[g] < n_clusters else n_clusters
        while k < most:
            allowed = True
            for e in range(starts[g], starts[g + 1]):
                u = after[e]
                if u >= first and stack[u] == k:
                    allowed = False
            if allowed:
                share = weights[g] * totals[k] / (weights[g] + totals[k]) if totals[k] > 0 else 0.0
                rise = share * squared_distance(points[g], means[k])
                if costs[g] + rise + bounds[g + 1] < upper * (1 - MARGIN):
                    break
            k += 1
        if k >= most:
            stack[g] = -1
            g -= 1
            if g >= first:
                _leave(points, weights, g, stack[g], totals, means, old)
            continue
        stack[g] = k
        _enter(points, weights, g, k, totals, means, old, costs)
        used[g + 1] = max(used[g], k + 1)
        g += 1
    return g, upper, n_nodes


@kernel()
def _enter(points, weights, g, k, totals, means, old, costs):
    """Put group g into cluster k."""
    w = weights[g]
    share = w * totals[k] / (w + totals[k]) if totals[k] > 0 else 0.0
    costs[g + 1] = costs[g] + share * squared_distance(points[g], means[k])
    for j in range(points.shape[1]):
        old[g, j] = means[k, j]
        if w + totals[k] > 0:
            means[k, j] += w / (w + totals[k]) * (points[g, j] - means[k, j])
    totals[k] += w


@kernel()
def _leave(points, weights, g, k, totals, means, old):
    """Take group g, the last that came, out of cluster k."""
    totals[k] -= weights[g]
    for j in range(points.shape[1]):
        means[k, j] = old[g, j]
