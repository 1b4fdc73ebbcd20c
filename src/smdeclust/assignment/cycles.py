"""Step 4, components with cycles: peel leaves, then eliminate; where tables would be large, narrow
down the labels first."""

import numpy as np

from smdeclust.assignment.components import find_component, fold_into, pair_at, reply
from smdeclust.assignment.elimination import eliminate
from smdeclust.assignment.narrowing import narrow
from smdeclust.assignment.status import HARD, INFEASIBLE, SOLVED
from smdeclust.kernels import kernel

# Numbers a node, and in all, that elimination may look at: before labels are narrowed down, and
# after.
FEW_EACH, FEW_IN_ALL = 64, 2**10
MOST_EACH, MOST_IN_ALL = 1000, 2**19


@kernel()
def peel_leaves(nodes, folded, graph, alive, degree, link, order):
    """Fold leaves into their neighbor, again and again, until no leaf is left.

    Changes `folded`, `alive`, `degree`; writes `order` and the entry of the neighbor that each was
    folded into, `link`; returns how many nodes were peeled. O(K) per node, and its row.
    """
    indptr, indices = graph[0], graph[1]
    stack = np.empty(len(nodes), np.int64)
    n_stack, n_peeled = 0, 0
    for v in nodes:
        if degree[v] == 1:
            stack[n_stack] = v
            n_stack += 1
    while n_stack:
        n_stack -= 1
        v = stack[n_stack]
        if degree[v] != 1:
            continue  # the last of a tree
        alive[v] = False
        order[n_peeled] = v
        n_peeled += 1
        for e in range(indptr[v], indptr[v + 1]):
            if alive[indices[e]]:
                link[v] = e
        u = indices[link[v]]
        fold_into(folded, v, u, *pair_at(graph, link[v]))
        degree[u] -= 1
        if degree[u] == 1:
            stack[n_stack] = u
            n_stack += 1
    return n_peeled


@kernel()
def settle(nodes, folded, graph, alive, degree, labels):
    """Label the nodes that have one label left and tell their neighbors, again and again.

    Changes `folded`, `alive`, `degree`, and writes `labels`. False if some node has none left.
    """
    indptr, indices = graph[0], graph[1]
    stack, n_stack = np.empty(len(nodes) + len(indices), np.int64), 0
    for v in nodes:
        if alive[v]:
            stack[n_stack] = v
            n_stack += 1
    while n_stack:
        n_stack -= 1
        v = stack[n_stack]
        if not alive[v]:
            continue
        n_left, label = 0, -1
        for k in range(folded.shape[1]):
            if folded[v, k] < np.inf:
                n_left, label = n_left + 1, k
        if n_left == 0:
            return False
        if n_left > 1:
            continue
        labels[v] = label
        alive[v] = False
        degree[v] = 0
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if not alive[u]:
                continue
            degree[u] -= 1
            cost, together = pair_at(graph, e)
            if together:
                for k in range(folded.shape[1]):
                    if k != label:
                        folded[u, k] += cost
            else:
                folded[u, label] += cost
                stack[n_stack] = u
                n_stack += 1
    return True


@kernel()
def _alive_among(nodes, alive):
    left = np.empty(len(nodes), np.int64)
    n = 0
    for v in nodes:
        if alive[v]:
            left[n] = v
            n += 1
    return left[:n]


@kernel()
def solve_cyclic(nodes, costs, graph, alive, folded, numbers, labels):
    """Label a component of the active set that is no tree, or report it as HARD.

    `alive` is False everywhere, before and after; rows 1 to 4 of `numbers` and `folded` are work
    space. Writes `labels` at `nodes`.
    """
    indptr, indices = graph[0], graph[1]
    degree, link, order, local = numbers[1], numbers[2], numbers[3], numbers[4]
    for v in nodes:
        alive[v] = True
        for k in range(costs.shape[1]):
            folded[v, k] = costs[v, k]
    for v in nodes:
        degree[v] = 0
        for e in range(indptr[v], indptr[v + 1]):
            degree[v] += alive[indices[e]]
    n_peeled = peel_leaves(nodes, folded, graph, alive, degree, link, order)
    core = _alive_among(nodes, alive)
    few, most = FEW_IN_ALL + FEW_EACH * len(core), MOST_IN_ALL + MOST_EACH * len(core)
    status = eliminate(core, folded, graph, alive, local, few, labels)
    if status == HARD:
        possible = settle(core, folded, graph, alive, degree, labels)
        core = _alive_among(nodes, alive)
        if possible and narrow(core, folded, graph, alive, local):
            possible = settle(core, folded, graph, alive, degree, labels)
            n_peeled += peel_leaves(
                _alive_among(core, alive), folded, graph, alive, degree, link, order[n_peeled:]
            )
            core = _alive_among(core, alive)
        status = INFEASIBLE
        if possible:
            status = eliminate(core, folded, graph, alive, local, most, labels)
    for v in nodes:
        alive[v] = False
    if status == SOLVED:
        for i in range(n_peeled - 1, -1, -1):
            v = order[i]
            taken = labels[indices[link[v]]]
            chosen = reply(folded, v, taken, *pair_at(graph, link[v]))
            if chosen < 0 or folded[v, chosen] == np.inf:
                return INFEASIBLE
            labels[v] = chosen
    return status


@kernel()
def solve_cycles(costs, graph, flags, numbers, folded, labels):
    """Label the fresh components, whatever cycles they have; HARD where some are too dense: these
    stay fresh. `flags` and `numbers` are those of the active set."""
    active, fresh, seen = flags[0], flags[1], flags[2]
    alive = np.zeros(len(costs), np.bool_)
    for v in range(len(costs)):
        seen[v] = False
    outcome = SOLVED
    for root in range(len(costs)):
        if not fresh[root] or seen[root]:
            continue
        size, _, _ = find_component(
            root, graph[0], graph[1], active, seen, numbers[1], numbers[2], numbers[0]
        )
        nodes = numbers[0, :size]
        status = solve_cyclic(nodes, costs, graph, alive, folded, numbers, labels)
        if status == INFEASIBLE:
            return INFEASIBLE
        if status == SOLVED:
            for v in nodes:
                fresh[v] = False
        else:
            outcome = status
    return outcome
