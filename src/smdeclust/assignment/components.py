"""Step 4 of the exact assignment: one connected component of the active set, the easy way.

Trees are solved by a dynamic programme, K = 2 by comparing the two colourings. What has a cycle is
left to `elimination` or to `core`.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.status import INFEASIBLE, SOLVED
from smdeclust.kernels import kernel


@kernel()
def find_component(root, indptr, indices, active, seen, parent, side, out):
    """Write the active component of `root` to `out`, breadth first, with parents and sides.

    `parent` is the node from which each was reached (-1 at the root), `side` alternates along. The
    nodes are marked in `seen`. Returns their number, how many cannot-links there are among them,
    and whether these all join different sides. O(edges).
    """
    out[0] = root
    seen[root] = True
    parent[root] = -1
    side[root] = 0
    n = 1
    i = 0
    n_ends = 0
    proper = True
    while i < n:
        v = out[i]
        i += 1
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if not active[u]:
                continue
            n_ends += 1
            if not seen[u]:
                seen[u] = True
                parent[u] = v
                side[u] = 1 - side[v]
                out[n] = u
                n += 1
            elif side[u] == side[v]:
                proper = False
    return n, n_ends // 2, proper


@kernel()
def color_in_two(nodes, costs, side, labels):
    """K = 2: a component has two colourings; take the cheaper one. Writes `labels`."""
    straight = 0.0
    swapped = 0.0
    for v in nodes:
        straight += costs[v, side[v]]
        swapped += costs[v, 1 - side[v]]
    for v in nodes:
        labels[v] = side[v] if straight <= swapped else 1 - side[v]
    return SOLVED if straight < np.inf or swapped < np.inf else INFEASIBLE


@kernel()
def label_tree(nodes, costs, parent, folded, first, second, labels):
    """A tree, parents first: fold each node into its parent, then unfold. O(K) a node.

    A node tells its parent, for each label k of the parent, its own cost if it avoids k: its
    smallest cost, or its second smallest where k is its favourite. `folded`, `first` and `second`
    are work space. Writes `labels`.
    """
    n_clusters = costs.shape[1]
    for v in nodes:
        for k in range(n_clusters):
            folded[v, k] = costs[v, k]
    for i in range(len(nodes) - 1, -1, -1):
        v = nodes[i]
        best, runner_up = 0, -1
        for k in range(1, n_clusters):
            if folded[v, k] < folded[v, best]:
                best, runner_up = k, best
            elif runner_up < 0 or folded[v, k] < folded[v, runner_up]:
                runner_up = k
        first[v], second[v] = best, runner_up
        u = parent[v]
        if u >= 0:
            least = folded[v, best]
            for k in range(n_clusters):
                if k != best:
                    folded[u, k] += least
            folded[u, best] += folded[v, runner_up] if runner_up >= 0 else np.inf
    for v in nodes:
        u = parent[v]
        chosen = second[v] if u >= 0 and labels[u] == first[v] else first[v]
        if chosen < 0 or folded[v, chosen] == np.inf:
            return INFEASIBLE
        labels[v] = chosen
    return SOLVED
