"""Step 3 of the exact assignment: only groups on broken cannot-links need optimising.

Each round solves the problem restricted to the active groups and their cannot-links among
themselves, all others at their nearest center. That is a relaxation which only grows, so the first
answer that breaks nothing is optimal.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.components import solve_component
from smdeclust.assignment.status import HARD, INFEASIBLE, SOLVED
from smdeclust.kernels import kernel


@kernel()
def nearest_labels(costs, active, labels, nearest):
    """Write the cheapest cost of each row to `nearest`, its label to `labels` unless active."""
    for g in range(len(costs)):
        best = 0
        for k in range(1, costs.shape[1]):
            if costs[g, k] < costs[g, best]:
                best = k
        nearest[g] = costs[g, best]
        if not active[g]:
            labels[g] = best


@kernel()
def grow_active(labels, indptr, indices, active, fresh):
    """Add the ends of broken cannot-links to the active set; returns how many were added."""
    n_new = 0
    for v in range(len(indptr) - 1):
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if u > v and labels[u] == labels[v]:
                if not active[v]:
                    active[v] = fresh[v] = True
                    n_new += 1
                if not active[u]:
                    active[u] = fresh[u] = True
                    n_new += 1
    return n_new


@kernel()
def find_component(root, indptr, indices, active, seen, degree, out):
    """Write the active component of `root` to `out`, and each node's degree in it; returns size."""
    out[0] = root
    seen[root] = True
    n = 1
    i = 0
    while i < n:
        v = out[i]
        i += 1
        degree[v] = 0
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if active[u]:
                degree[v] += 1
                if not seen[u]:
                    seen[u] = True
                    out[n] = u
                    n += 1
    return n


@kernel()
def solve_active(costs, indptr, indices, active, fresh, nearest, labels, regret, component_of):
    """Label every component that has a fresh node; the others are solved already.

    Writes `labels`, `regret` (at each node: what its component costs above nearest),
    `component_of` (a name for the component: its first node), and clears `fresh` in what was
    solved. Returns SOLVED, or HARD with the fresh nodes of hard components left, or INFEASIBLE.
    """
    n = len(costs)
    seen = np.zeros(n, np.bool_)
    alive = np.zeros(n, np.bool_)
    degree = np.empty(n, np.int64)
    members = np.empty(n, np.int64)
    parent = np.empty(n, np.int64)
    side = np.empty(n, np.int64)
    for v in range(n):
        side[v] = -1
    folded = np.empty(costs.shape)
    outcome = SOLVED
    for root in range(n):
        if not fresh[root] or seen[root]:
            continue
        size = find_component(root, indptr, indices, active, seen, degree, members)
        nodes = members[:size]
        for v in nodes:
            alive[v] = True
        status = solve_component(
            nodes, costs, indptr, indices, alive, degree, folded, parent, side, labels
        )
        if status == INFEASIBLE:
            return INFEASIBLE
        if status == HARD:
            outcome = HARD
            continue
        settle(nodes, costs, nearest, labels, regret, component_of)
        for v in nodes:
            fresh[v] = False
    return outcome


@kernel()
def settle(nodes, costs, nearest, labels, regret, component_of):
    """Record what a solved component costs above nearest."""
    total = 0.0
    for v in nodes:
        total += costs[v, labels[v]] - nearest[v]
    for v in nodes:
        regret[v] = total
        component_of[v] = nodes[0]
