"""Step 3 of the exact assignment: only groups on broken pairs need optimizing.

Each round solves the problem restricted to the active groups and the pairs among them, all others
at their cheapest label. Other pairs are forgotten, and what a broken pair costs is not negative, so
that is a relaxation. It only grows, and the first answer that breaks no forgotten pair is optimal.
"""

from smdeclust.assignment.components import color_in_two, find_component, label_tree
from smdeclust.assignment.status import HARD, INFEASIBLE, SOLVED
from smdeclust.kernels import kernel
from smdeclust.points.lanes import LANES

# After this many rounds the active set takes in all groups connected to it: a set that grows by one
# node a round, along a path, would take time quadratic in the path.
MOST_ROUNDS = 20


@kernel()
def nearest_labels(costs, n_linked, active, labels, nearest):
    """Write the cheapest cost of each row to `nearest`, its label to `labels` unless active."""
    for g in range(len(costs)):
        best, least = 0, costs[g, 0]
        for k in range(1, costs.shape[1]):
            cost = costs[g, k]  # (Chosen without branches, which processors guess wrong too often.)
            best = k if cost < least else best
            least = cost if cost < least else least
        nearest[g] = least
        if g >= n_linked or not active[g]:
            labels[g] = best


@kernel()
def grow_active(labels, graph, active, fresh):
    """Add the ends of broken pairs to the active set; returns how many nodes are fresh now."""
    indptr, indices, price, together = graph
    soft = len(price) > 0
    n_fresh = 0
    for v in range(len(indptr) - 1):
        if active[v]:
            n_fresh += fresh[v]
            continue
        for e in range(indptr[v], indptr[v + 1]):
            if (labels[indices[e]] == labels[v]) != (soft and together[e]):
                active[v] = fresh[v] = True
                n_fresh += 1
                break
    return n_fresh


@kernel()
def close_active(graph, active, fresh, queue):
    """Add all that hangs together with the active set, in one walk; `queue` is work space."""
    indptr, indices = graph[0], graph[1]
    n = 0
    for v in range(len(indptr) - 1):
        if active[v]:
            queue[n] = v
            n += 1
    i = 0
    while i < n:
        v = queue[i]
        i += 1
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if not active[u]:
                active[u] = fresh[u] = True
                queue[n] = u
                n += 1
        if fresh[v]:
            continue
        # A solved component that has grown must be solved again.
        for e in range(indptr[v], indptr[v + 1]):
            if fresh[indices[e]]:
                fresh[v] = True
                break


@kernel()
def solve_active(costs, graph, active, fresh, seen, numbers, folded, labels):
    """Label every component that has a fresh node; the others are solved already.

    Writes `labels` and clears `fresh` in what was solved; `seen`, `numbers` and `folded` are work
    space. Returns SOLVED, or HARD with the fresh nodes of hard components left, or INFEASIBLE.
    """
    indptr, indices, price, _ = graph
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
        if costs.shape[1] == 2 and len(price) == 0:
            status = color_in_two(nodes, costs, side, labels) if proper else INFEASIBLE
        elif n_links < size:
            status = label_tree(nodes, costs, graph, parent, folded, labels)
        else:
            outcome = HARD
            continue
        if status == INFEASIBLE:
            return INFEASIBLE
        for v in nodes:
            fresh[v] = False
    return outcome


@kernel()
def separate(costs, table, weights, graph, flags, numbers, folded, labels):
    """The loop: label the linked groups, from cheapest labels to optimal ones.

    `flags` holds active, fresh and seen nodes: all False to begin with; `numbers` and `folded` are
    work space. Where there is a `table` of squared distances by lanes, rows of `costs` are filled
    from it and the `weights` as they become active; else `costs` are complete. Changes `labels`.
    Returns SOLVED, INFEASIBLE, or HARD: then components with cycles are left, and are the only
    fresh ones; when these have been labeled as well, the call can be repeated to continue.
    """
    active, fresh, seen = flags[0], flags[1], flags[2]
    n_linked, n_clusters = costs.shape
    height = n_clusters + n_clusters % 2
    rounds = 0
    while grow_active(labels, graph, active, fresh) > 0:
        rounds += 1
        if rounds == MOST_ROUNDS:
            close_active(graph, active, fresh, numbers[0])
        if len(table) > 0:
            for g in range(n_linked):
                if fresh[g]:
                    for k in range(n_clusters):
                        costs[g, k] = weights[g] * table[g // LANES * height + k, g % LANES]
        status = solve_active(costs, graph, active, fresh, seen, numbers, folded, labels)
        if status != SOLVED:
            return status
    return SOLVED


@kernel()
def broken_price(labels, graph):
    """What the pairs that these labels break cost together (hard ones must hold)."""
    indptr, indices, price, together = graph
    total = 0.0
    if len(price) > 0:
        for v in range(len(indptr) - 1):
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                if u < v and (labels[u] == labels[v]) != together[e]:
                    total += price[e]
    return total
