"""Is there any feasible clustering? Decided once, when a problem is built, and explained if not.

With at least K groups, a clustering exists exactly when the cannot-link graph has a K-colouring:
groups of a crowded colour can always move to an unused one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from smdeclust.constraints.coloring import (
    MOVES_AT_ONCE,
    NONE,
    SOME,
    color_exhaustively,
    color_the_rest,
    count_conflicts,
    grow_clique,
    peel,
    tabu_moves,
)

# Nodes from which cliques are grown, and moves of the tabu search.
MOST_STARTS = 50
MOST_MOVES = 300_000


class Verdict(Enum):
    """What is known about the existence of a K-colouring."""

    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Coloring:
    """Outcome of the search for a colouring with K colours.

    Attributes
    ----------
    verdict
        FEASIBLE and INFEASIBLE are proven; UNKNOWN means that the budget ended the search.
    witness
        If infeasible, nodes which alone admit no colouring (a clique where one was found).
    is_clique
        Whether `witness` is a set of mutually adjacent nodes.
    colors
        (n,) a colouring, if feasible.
    """

    verdict: Verdict
    witness: np.ndarray | None = None
    is_clique: bool = False
    colors: np.ndarray | None = None


def find_coloring(
    indptr: np.ndarray,
    indices: np.ndarray,
    n_colors: int,
    budget: int = 20_000,
    deadline: float = np.inf,
) -> Coloring:
    """Decide whether the graph has a proper colouring with `n_colors` colours.

    Nodes with fewer than K neighbours can always be coloured last, so only the K-core matters.
    There, a clique of more than K nodes is looked for, then colours are tried exhaustively, most
    saturated node first (DSATUR), for at most `budget` placements beyond a straight run; then a
    tabu search makes at most `MOST_MOVES` moves, until `deadline` (of ``time.perf_counter()``).
    But for the DSATUR budget and the moves, time and memory are linear in the pairs.
    """
    indptr = np.ascontiguousarray(indptr, dtype=np.int64)
    indices = np.ascontiguousarray(indices, dtype=np.int64)
    n = len(indptr) - 1
    alive, order = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.int64)
    n_gone = peel(indptr, indices, n_colors, alive, order)
    colors = np.full(n, -1, dtype=np.int64)
    known = True
    for nodes, starts, neighbors in _components(indptr, indices, alive):
        found = _color_component(starts, neighbors, n_colors, budget, deadline)
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
    """The same for a connected graph whose nodes all have at least K neighbours."""
    n = len(indptr) - 1
    starts = np.argsort(-np.diff(indptr), kind="stable")[:MOST_STARTS]
    clique = np.empty(n, dtype=np.int64)
    clique = clique[: grow_clique(indptr, indices, starts, n_colors, clique)]
    if len(clique) > n_colors:
        return Coloring(Verdict.INFEASIBLE, clique, is_clique=True)
    colors = np.empty(n, dtype=np.int64)
    outcome = color_exhaustively(indptr, indices, n_colors, clique, n + budget, colors)
    if outcome == NONE:
        return Coloring(Verdict.INFEASIBLE, np.arange(n))
    if outcome != SOME and not _repair(indptr, indices, n_colors, colors, deadline):
        return Coloring(Verdict.UNKNOWN)
    return Coloring(Verdict.FEASIBLE, colors=colors)


def _repair(
    indptr: np.ndarray, indices: np.ndarray, n_colors: int, colors: np.ndarray, deadline: float
) -> bool:
    """Complete and mend `colors` by tabu search; returns whether no conflict is left."""
    n = len(colors)
    colors[colors < 0] = 0
    graph = (indptr, indices, np.empty(0), np.empty(0, dtype=np.bool_))
    conflicts = np.zeros((n, n_colors), dtype=np.int64)
    tabu_until, costs = np.zeros_like(conflicts), np.zeros((n, n_colors))
    crowd, place = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    size, best = count_conflicts(graph, colors, conflicts, crowd, place), 1 << 60
    for begin in range(0, MOST_MOVES, MOVES_AT_ONCE):
        if size == 0 or time.perf_counter() >= deadline:
            break
        size, best = tabu_moves(
            costs, graph, colors, conflicts, crowd, size, place, tabu_until, begin,
            begin + MOVES_AT_ONCE, best,
        )  # fmt: skip
    return bool(size == 0)


def _components(
    indptr: np.ndarray, indices: np.ndarray, alive: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The connected components of the nodes that are alive: nodes, and the graph among them."""
    nodes = np.flatnonzero(alive)
    if len(nodes) == 0:
        return []
    number = np.full(len(alive), -1)
    source = np.repeat(np.arange(len(alive)), np.diff(indptr))
    inside = alive[source] & alive[indices]
    number[nodes] = np.arange(len(nodes))
    source, target = number[source[inside]], number[indices[inside]]
    ones = np.ones(len(source), dtype=np.int8)
    graph = csr_array((ones, (source, target)), shape=(len(nodes), len(nodes)))
    count, part = connected_components(graph, directed=False)
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(count + 1))
    # Renumber component by component: every one is then a block of rows.
    graph = graph[order][:, order] if count > 1 else graph
    graph.sort_indices()
    found = []
    for first, last in pairwise(ends):
        low, high = graph.indptr[first], graph.indptr[last]
        found.append(
            (
                nodes[order[first:last]],
                (graph.indptr[first : last + 1] - low).astype(np.int64),
                (graph.indices[low:high] - first).astype(np.int64),
            )
        )
    return found
