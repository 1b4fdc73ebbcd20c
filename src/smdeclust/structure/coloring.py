"""Colorings of the cannot-link graph: peeling, cliques, DSATUR with backtracking, tabu search;
and Kempe chains.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from smdeclust.kernels import kernel
from smdeclust.structure.graph import PairGraph
from smdeclust.structure.tabu import tabu_repair

# What the exhaustive search can end with.
NONE, SOME, OPEN = 0, 1, 2


@kernel()
def peel(indptr, indices, k, alive, order, colors):
    """Remove nodes with fewer than k neighbors, again and again: they can be colored last.

    Writes which nodes are left (`alive`) and the `order` of removal; returns how many were removed.
    If none are left, they are colored. O(edges).
    """
    n = len(indptr) - 1
    degree = np.empty(n, np.int64)
    n_gone = 0
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
        alive[v] = degree[v] >= k
        if not alive[v]:
            order[n_gone] = v
            n_gone += 1
    i = 0
    while i < n_gone:
        v = order[i]
        i += 1
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if alive[u]:
                degree[u] -= 1
                if degree[u] < k:
                    alive[u] = False
                    order[n_gone] = u
                    n_gone += 1
    if n_gone == n:
        color_the_rest(indptr, indices, order, n_gone, k, colors)
    return n_gone


@kernel()
def color_the_rest(indptr, indices, order, n_gone, n_colors, colors):
    """Color the peeled nodes, the last one first: each has a color left. Changes `colors`."""
    taken = np.full(n_colors, -1, np.int64)
    for i in range(n_gone - 1, -1, -1):
        v = order[i]
        for e in range(indptr[v], indptr[v + 1]):
            if colors[indices[e]] >= 0:
                taken[colors[indices[e]]] = v
        c = 0
        while taken[c] == v:
            c += 1
        colors[v] = c


@kernel()
def grow_clique(indptr, indices, starts, most, clique):
    """Grow cliques from some nodes, always by the candidate with most neighbors among the others.

    Writes the largest to `clique` and returns its size; stops at the first of more than `most`.
    Where there are many candidates, the one with most neighbors at all is taken.
    """
    n = len(indptr) - 1
    among = np.full(n, -1, np.int64)  # in which step a node was still a candidate
    candidates, grown = np.empty(n, np.int64), np.empty(n, np.int64)
    best, step = 0, 0
    for start in starts:
        size = 1
        grown[0] = start
        n_candidates = 0
        for e in range(indptr[start], indptr[start + 1]):
            candidates[n_candidates] = indices[e]
            among[indices[e]] = step
            n_candidates += 1
        while n_candidates:
            work = 0
            for i in range(n_candidates):
                work += indptr[candidates[i] + 1] - indptr[candidates[i]]
            chosen, most_joined = -1, -1
            for i in range(n_candidates):
                v = candidates[i]
                joined = indptr[v + 1] - indptr[v]
                if work < 100_000:
                    joined = 0
                    for e in range(indptr[v], indptr[v + 1]):
                        joined += among[indices[e]] == step
                if joined > most_joined or (joined == most_joined and v < chosen):
                    chosen, most_joined = v, joined
            grown[size] = chosen
            size += 1
            left = 0
            for e in range(indptr[chosen], indptr[chosen + 1]):
                if among[indices[e]] == step:
                    candidates[left] = indices[e]
                    left += 1
            n_candidates = left
            step += 1
            for i in range(n_candidates):
                among[candidates[i]] = step
        step += 1
        if size > best:
            best = size
            for i in range(size):
                clique[i] = grown[i]
        if best > most:
            break
    return best


@kernel()
def _comes_first(v, u, colors, saturation, indptr):
    """Whether v is more urgent than u: more colors around it, then more neighbors."""
    if v < 0 or colors[v] >= 0:
        return False
    if u < 0 or colors[u] >= 0:
        return True
    if saturation[v] != saturation[u]:
        return saturation[v] > saturation[u]
    return indptr[v + 1] - indptr[v] > indptr[u + 1] - indptr[u]


@kernel()
def _play(v, leaves, winner, colors, saturation, indptr):
    """Play the matches of node v again in the tournament for the most urgent node."""
    i = (leaves + v) // 2
    while i > 0:
        a, b = winner[2 * i], winner[2 * i + 1]
        winner[i] = a if _comes_first(a, b, colors, saturation, indptr) else b
        i //= 2


@kernel()
def _set_color(v, c, indptr, indices, blocked, saturation, colors, leaves, winner):
    """Give color c to node v, or take its color away (c < 0)."""
    change = 1 if c >= 0 else -1
    color = c if c >= 0 else colors[v]
    colors[v] = c
    _play(v, leaves, winner, colors, saturation, indptr)
    for e in range(indptr[v], indptr[v + 1]):
        u = indices[e]
        blocked[u, color] += change
        if blocked[u, color] == (1 if change > 0 else 0):
            saturation[u] += change
            if colors[u] < 0:
                _play(u, leaves, winner, colors, saturation, indptr)


@kernel()
def color_exhaustively(indptr, indices, n_colors, clique, limit, colors):
    """Backtracking coloring, most saturated node first (DSATUR).

    Colors beyond the first new one are symmetric and are not tried; the clique is colored once
    and for all. Writes `colors`. Returns SOME, NONE, or OPEN after `limit` placements; then some
    nodes have color -1.
    """
    n = len(indptr) - 1
    blocked = np.zeros((n, n_colors), np.int32)
    saturation = np.zeros(n, np.int64)
    leaves = 1
    while leaves < n:
        leaves *= 2
    winner = np.full(2 * leaves, -1, np.int64)
    for v in range(n):
        colors[v] = -1
        winner[leaves + v] = v
    for i in range(leaves - 1, 0, -1):
        a, b = winner[2 * i], winner[2 * i + 1]
        winner[i] = a if _comes_first(a, b, colors, saturation, indptr) else b
    for c in range(len(clique)):
        _set_color(clique[c], c, indptr, indices, blocked, saturation, colors, leaves, winner)
    # Each frame: the node, how many colors were in use before it, the next color to try.
    frames = np.empty((n + 1, 3), np.int64)
    depth, steps, n_used = 0, 0, len(clique)
    while depth < n - len(clique):
        frames[depth, 0], frames[depth, 1], frames[depth, 2] = winner[1], n_used, 0
        while True:
            v, used, c = frames[depth]
            top = min(used + 1, n_colors)
            while c < top and blocked[v, c] > 0:
                c += 1
            if c < top:
                frames[depth, 2] = c + 1
                _set_color(v, c, indptr, indices, blocked, saturation, colors, leaves, winner)
                n_used = max(used, c + 1)
                depth += 1
                break
            depth -= 1
            if depth < 0:
                return NONE
            _set_color(
                frames[depth, 0], -1, indptr, indices, blocked, saturation, colors, leaves, winner
            )
        steps += 1
        if steps > limit:
            return OPEN
    return SOME


# Nodes from which cliques are grown, and moves of the tabu search: a node at first, and in all.
MOST_STARTS = 50
MOVES_EACH, MOST_MOVES = 20, 300_000


class Verdict(Enum):
    """Whether a coloring with K colors exists."""

    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Coloring:
    """The result of `find_coloring`."""

    # FEASIBLE and INFEASIBLE are proven; UNKNOWN means that the budget ended the search
    verdict: Verdict
    # if infeasible, nodes which alone admit no coloring (a clique where one was found)
    witness: np.ndarray | None = None
    is_clique: bool = False  # whether `witness` is a set of mutually adjacent nodes
    colors: np.ndarray | None = None  # (n,) a coloring, if feasible


def find_coloring(
    indptr: np.ndarray,
    indices: np.ndarray,
    n_colors: int,
    budget: int = 20_000,
    deadline: float = np.inf,
) -> Coloring:
    """Decide whether `n_colors` colors suffice for a graph in which no edge joins equal colors.

    Nodes with fewer than K neighbors can always be colored last, so the search considers only the
    others. It looks for a clique of more than K nodes, then tries colors exhaustively (DSATUR) for
    at most `budget` placements beyond one for each node, and finally makes up to `MOST_MOVES` moves
    of a tabu search. It stops at `deadline` (of ``time.perf_counter()``).
    """
    indptr = np.ascontiguousarray(indptr, dtype=np.int64)
    indices = np.ascontiguousarray(indices, dtype=np.int64)
    n = len(indptr) - 1
    if not len(indices):  # (nothing to compile)
        return Coloring(Verdict.FEASIBLE, colors=np.zeros(n, dtype=np.int64))
    alive, order = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.int64)
    colors = np.full(n, -1, dtype=np.int64)
    n_gone = peel(indptr, indices, n_colors, alive, order, colors)
    if n_gone == n:
        return Coloring(Verdict.FEASIBLE, colors=colors)
    known, rest = True, np.flatnonzero(alive)
    core = PairGraph.hard(indptr, indices).induced(rest)
    for part in core.components:
        graph, nodes = core.component(part), rest[part]
        found = _color_component(graph.indptr, graph.indices, n_colors, budget, deadline)
        if found.verdict is Verdict.INFEASIBLE:
            assert found.witness is not None
            return Coloring(Verdict.INFEASIBLE, nodes[found.witness], found.is_clique)
        if found.colors is None:
            known = False
        else:
            colors[nodes] = found.colors
    if not known:
        return Coloring(Verdict.UNKNOWN)
    color_the_rest(indptr, indices, order, n_gone, n_colors, colors)
    return Coloring(Verdict.FEASIBLE, colors=colors)


def _color_component(
    indptr: np.ndarray, indices: np.ndarray, n_colors: int, budget: int, deadline: float
) -> Coloring:
    """The same for a connected graph whose nodes all have at least K neighbors."""
    n = len(indptr) - 1
    starts = np.argsort(-np.diff(indptr), kind="stable")[:MOST_STARTS]
    clique = np.empty(n, dtype=np.int64)
    clique = clique[: grow_clique(indptr, indices, starts, n_colors, clique)]
    if len(clique) > n_colors:
        return Coloring(Verdict.INFEASIBLE, clique, is_clique=True)
    colors = np.empty(n, dtype=np.int64)
    graph = (indptr, indices, np.empty(0), np.empty(0, dtype=np.bool_))
    # A short search from a straight run first: where there is room, it ends at once.
    for placements, moves in ((n, MOVES_EACH * n), (n + budget, MOST_MOVES)):
        outcome = color_exhaustively(indptr, indices, n_colors, clique, placements, colors)
        if outcome == NONE:
            return Coloring(Verdict.INFEASIBLE, np.arange(n))
        if outcome != SOME:
            colors[colors < 0] = 0
        if outcome == SOME or tabu_repair(
            np.zeros((n, n_colors)), graph, colors, min(moves, MOST_MOVES), deadline
        ):
            return Coloring(Verdict.FEASIBLE, colors=colors)
    return Coloring(Verdict.UNKNOWN)


# ---- Kempe chains: groups that change places as one, so that pairs still hold


@kernel()
def kempe_chain(g, target, labels, indptr, indices, mark, stamp, chain):
    """Write the Kempe chain of `g` towards cluster `target` to `chain`; returns its length.

    `mark` equals `stamp` exactly at the nodes of the chain afterwards. O(edges of the chain).
    """
    source = labels[g]
    chain[0] = g
    mark[g] = stamp
    n, i = 1, 0
    while i < n:
        v = chain[i]
        i += 1
        other = target if labels[v] == source else source
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if labels[u] == other and mark[u] != stamp:
                mark[u] = stamp
                chain[n] = u
                n += 1
    return n


@kernel()
def soft_gain(chain, soft, labels, a, b, mark, stamp):
    """How much less broken soft pairs cost if the chain is swapped; those inside it stay."""
    indptr, indices, price, together = soft
    gain = 0.0
    for g in chain:
        other = b if labels[g] == a else a
        for e in range(indptr[g], indptr[g + 1]):
            u = indices[e]
            if mark[u] == stamp:
                continue
            worth = price[e] if not together[e] else -price[e]
            if labels[u] == labels[g]:
                gain += worth
            elif labels[u] == other:
                gain -= worth
    return gain
