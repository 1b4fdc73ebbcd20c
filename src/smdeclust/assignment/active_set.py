"""Step 3 of the exact assignment: only groups on broken cannot-links need optimising.

Each round solves the problem restricted to the active groups and their cannot-links among
themselves, all others at their nearest center. That is a relaxation which only grows, so the first
answer that breaks nothing is optimal.
"""

from __future__ import annotations

from smdeclust.assignment.components import color_in_two, find_component, label_tree
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
            if labels[u] == labels[v] and not active[v]:
                active[v] = fresh[v] = True
                n_new += 1
    return n_new


@kernel()
def solve_active(costs, indptr, indices, active, fresh, seen, numbers, folded, labels):
    """Label every component that has a fresh node; the others are solved already.

    Writes `labels` and clears `fresh` in what was solved; `seen`, `numbers` and `folded` are work
    space. Returns SOLVED, or HARD with the fresh nodes of hard components left, or INFEASIBLE.
    """
    members, parent, side = numbers[0], numbers[1], numbers[2]
    outcome = SOLVED
    for v in range(len(costs)):
        seen[v] = False
    for root in range(len(costs)):
        if not fresh[root] or seen[root]:
            continue
        size, n_links, proper = find_component(
            root, indptr, indices, active, seen, parent, side, members
        )
        nodes = members[:size]
        if costs.shape[1] == 2:
            status = color_in_two(nodes, costs, side, labels) if proper else INFEASIBLE
        elif n_links < size:
            status = label_tree(nodes, costs, parent, folded, labels)
        else:
            outcome = HARD
            continue
        if status == INFEASIBLE:
            return INFEASIBLE
        for v in nodes:
            fresh[v] = False
    return outcome
