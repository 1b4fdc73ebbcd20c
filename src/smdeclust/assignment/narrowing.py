"""Step 4, dense components: forbid labels that no optimal labeling can have.

Each pair hands costs from one end to the other so that the sum of the cheapest labels, a lower
bound, rises (block coordinate ascent on the dual of the pairwise linear relaxation). A label whose
cost there lifts the bound above what known labels cost is not in any optimal labeling.
"""

import numpy as np

from smdeclust.assignment.components import pair_at, read_edges
from smdeclust.kernels import kernel
from smdeclust.points.blocks import two_least

# Sweeps over the pairs, and after how many of them labels are looked for again.
SWEEPS, A_LOOK = 12, 4
# Pairs times labels above which nothing is tried: nothing interrupts the sweeps, and they gain
# little where everything hangs together; so few already where groups have many pairs each.
MANY_ENTRIES, MANY_IF_DENSE = 2**17, 2**11
# Sums may be rounded by this share of what the known labels cost above the cheapest ones.
ROUNDING = 1e-12
LARGEST = np.finfo(np.float64).max


@kernel()
def _cheapest_reply(own, v, nodes, costs, graph, active, local, place):
    """The best label of the v-th node given its labeled neighbors, or -1; `own` is work space."""
    indptr, indices, price, together = graph
    n_labels = costs.shape[1]
    for k in range(n_labels):
        own[k] = costs[v, k]
    for e in range(indptr[nodes[v]], indptr[nodes[v] + 1]):
        if not active[indices[e]]:
            continue
        taken = place[local[indices[e]]]
        if taken < 0:
            continue
        if len(price) == 0:
            own[taken] = np.inf
        elif not together[e]:
            own[taken] += price[e]
        else:
            for k in range(n_labels):
                if k != taken:
                    own[k] += price[e]
    best = -1
    for k in range(n_labels):
        if own[k] < np.inf and (best < 0 or own[k] < own[best]):
            best = k
    return best


@kernel()
def _known_cost(guide, regrets, nodes, graph, active, local, place):
    """Label one node after the other, guided by `guide`, and improve each twice; writes `place`.

    Returns what that costs, infinite where some node finds no label.
    """
    indptr, indices, price, together = graph
    n = len(nodes)
    own = np.empty(regrets.shape[1])
    for v in range(n):
        place[v] = -1
    for turn in range(3):
        for v in range(n):
            costs = guide if turn == 0 else regrets
            place[v] = _cheapest_reply(own, v, nodes, costs, graph, active, local, place)
            if place[v] < 0:
                return np.inf
    total = 0.0
    for v in range(n):
        total += regrets[v, place[v]]
        if len(price) > 0:
            for e in range(indptr[nodes[v]], indptr[nodes[v] + 1]):
                u = indices[e]
                if active[u] and local[u] < v and (place[local[u]] == place[v]) != together[e]:
                    total += price[e]
    return total


@kernel()
def _hand_over(dual, message, v, u, price, together, most):
    """Share what a pair forces on its ends between them; changes `dual` and the pair's `message`.

    Each end gives back what it had, learns what the other must pay at least for each of its labels,
    and they keep a half each. What is left to the pair then costs nothing at its cheapest, or more:
    no more than `most` is handed over, for larger numbers would round the others.
    """
    n_labels = dual.shape[1]
    for side in range(2):
        node = v if side == 0 else u
        for k in range(n_labels):
            dual[node, k] -= message[side, k]
    for side in range(2):
        node, other = (v, u) if side == 0 else (u, v)
        first, second = two_least(dual[other])
        least = dual[other, first]
        rest = dual[other, second] if second >= 0 else np.inf
        for k in range(n_labels):
            forced = least
            if together:
                forced = min(dual[other, k], least + price)
            elif k == first:
                forced = min(rest, least + price)
            if forced == np.inf:
                dual[node, k] = np.inf
            forced = min(forced, most)
            message[side, k] = 0.5 * (forced - dual[node, k]) if dual[node, k] < np.inf else 0.0
    for side in range(2):
        node = v if side == 0 else u
        for k in range(n_labels):
            dual[node, k] += message[side, k]


@kernel()
def narrow(nodes, costs, graph, active, local):
    """Set `costs` of labels that no optimal labeling has to infinity; False if none were found.

    `nodes` are all active ones that hang together, each with two or more finite labels; `local` is
    work space.
    """
    n, n_labels = len(nodes), costs.shape[1]
    most_edges = MANY_ENTRIES // n_labels
    n_edges, ends, entry = read_edges(nodes, graph, active, local, most_edges, 0)
    if n_edges < 0 or (2 * n_edges > 3 * n and n_edges * n_labels > MANY_IF_DENSE):
        return False
    regrets, dual = np.empty((n, n_labels)), np.empty((n, n_labels))
    for i in range(n):
        least = np.inf
        for k in range(n_labels):
            least = min(least, costs[nodes[i], k])
        for k in range(n_labels):
            regrets[i, k] = costs[nodes[i], k] - least
    place = np.empty(n, np.int64)
    known = _known_cost(regrets, regrets, nodes, graph, active, local, place)
    for i in range(n):
        for k in range(n_labels):
            dual[i, k] = regrets[i, k]
            # Costs far above what is known would only round the others.
            if known < np.inf and dual[i, k] > known * (1.0 + ROUNDING):
                dual[i, k] = np.inf
    messages = np.zeros((n_edges, 2, n_labels))
    most = min(2.0 * known, LARGEST)
    for sweep in range(1, SWEEPS + 1):
        for j in range(n_edges):
            e = j if sweep % 2 else n_edges - 1 - j
            pair = pair_at(graph, entry[e])
            _hand_over(dual, messages[e], ends[e, 0], ends[e, 1], *pair, most)
        if sweep % A_LOOK == 0:
            known = min(known, _known_cost(dual, regrets, nodes, graph, active, local, place))
    if known == np.inf:
        return False
    bound = 0.0
    for i in range(n):
        least = np.inf
        for k in range(n_labels):
            least = min(least, dual[i, k])
        bound += least
        for k in range(n_labels):
            dual[i, k] -= least
    room = max(known * (1.0 + ROUNDING) - bound, ROUNDING * known)
    found = False
    for i in range(n):
        for k in range(n_labels):
            if dual[i, k] > room and costs[nodes[i], k] < np.inf:
                costs[nodes[i], k] = np.inf
                found = True
    return found
