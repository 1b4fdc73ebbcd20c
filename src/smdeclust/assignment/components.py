"""Step 4 of the exact assignment: one connected component of the active set, the easy way.

Trees are solved by a dynamic programme, K = 2 by comparing the two colourings, cycles by
eliminating nodes of degree two. What these cannot finish is reported as HARD.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.elimination import eliminate
from smdeclust.assignment.status import INFEASIBLE, SOLVED
from smdeclust.kernels import kernel


@kernel()
def two_smallest(values):
    """Return the positions of the smallest and second smallest entry (-1 if there is none)."""
    first, second = 0, -1
    for k in range(1, len(values)):
        if values[k] < values[first]:
            first, second = k, first
        elif second < 0 or values[k] < values[second]:
            second = k
    return first, second


@kernel()
def two_colors(nodes, costs, indptr, indices, alive, side, labels):
    """K = 2: a connected component has two colourings; take the cheaper one. O(edges).

    `side` must be -1 at `nodes`; it is left so. Writes `labels`.
    """
    stack = np.empty(len(nodes), np.int64)
    stack[0] = nodes[0]
    side[nodes[0]] = 0
    n_stack = 1
    proper = True
    while n_stack:
        n_stack -= 1
        v = stack[n_stack]
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if not alive[u]:
                continue
            if side[u] < 0:
                side[u] = 1 - side[v]
                stack[n_stack] = u
                n_stack += 1
            elif side[u] == side[v]:
                proper = False
    straight = 0.0
    swapped = 0.0
    for v in nodes:
        straight += costs[v, side[v]]
        swapped += costs[v, 1 - side[v]]
    for v in nodes:
        labels[v] = side[v] if straight <= swapped else 1 - side[v]
        side[v] = -1
    if not proper or np.isinf(min(straight, swapped)):
        return INFEASIBLE
    return SOLVED


@kernel()
def peel_leaves(nodes, folded, indptr, indices, alive, degree, parent, order):
    """Fold leaves into their neighbour, again and again, until no leaf is left.

    A leaf v tells its neighbour u, for each label k of u, its own cost if it avoids k: its smallest
    cost, or its second smallest where k is its favourite. Changes `folded`, `alive`, `degree`;
    writes `parent` and `order`; returns how many nodes were peeled. O(K) a node.
    """
    n_peeled = 0
    stack = np.empty(len(nodes), np.int64)
    n_stack = 0
    for v in nodes:
        if degree[v] <= 1:
            stack[n_stack] = v
            n_stack += 1
    while n_stack:
        n_stack -= 1
        v = stack[n_stack]
        alive[v] = False
        order[n_peeled] = v
        n_peeled += 1
        parent[v] = -1
        if degree[v] == 0:
            continue
        for e in range(indptr[v], indptr[v + 1]):
            if alive[indices[e]]:
                parent[v] = indices[e]
                break
        u = parent[v]
        first, second = two_smallest(folded[v])
        smallest = folded[v, first]
        for k in range(folded.shape[1]):
            if k != first:
                folded[u, k] += smallest
        folded[u, first] += folded[v, second] if second >= 0 else np.inf
        degree[u] -= 1
        if degree[u] == 1:
            stack[n_stack] = u
            n_stack += 1
    return n_peeled


@kernel()
def unfold_leaves(order, parent, folded, labels):
    """Label peeled nodes, last peeled first, each by its cheapest label that its parent has not."""
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        first, second = two_smallest(folded[v])
        u = parent[v]
        chosen = second if u >= 0 and labels[u] == first else first
        if chosen < 0 or np.isinf(folded[v, chosen]):
            return INFEASIBLE
        labels[v] = chosen
    return SOLVED


@kernel()
def solve_component(nodes, costs, indptr, indices, alive, degree, folded, parent, side, labels):
    """Label one component optimally if its structure allows it.

    `alive` marks the nodes of the component, `degree` counts their neighbours in it; both are
    used up. `folded`, `parent` are work space. Writes `labels` at `nodes`.
    """
    if costs.shape[1] == 2:
        status = two_colors(nodes, costs, indptr, indices, alive, side, labels)
        for v in nodes:
            alive[v] = False
        return status
    for v in nodes:
        for k in range(costs.shape[1]):
            folded[v, k] = costs[v, k]
    order = np.empty(len(nodes), np.int64)
    n_peeled = peel_leaves(nodes, folded, indptr, indices, alive, degree, parent, order)
    status = SOLVED
    if n_peeled < len(nodes):
        core = np.empty(len(nodes) - n_peeled, np.int64)
        n_core = 0
        for v in nodes:
            if alive[v]:
                core[n_core] = v
                n_core += 1
        status = eliminate(core, folded, indptr, indices, alive, degree, parent, labels)
        for v in core:
            alive[v] = False
    if status == SOLVED:
        status = unfold_leaves(order[:n_peeled], parent, folded, labels)
    return status
