"""Is there any feasible clustering? Decided once, when a problem is built, and explained if not.

With at least K groups, a clustering exists exactly when the cannot-link graph has a K-colouring:
groups of a crowded colour can always move to an unused one.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from enum import Enum

import numpy as np


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
    """

    verdict: Verdict
    witness: np.ndarray | None = None
    is_clique: bool = False


def find_coloring(
    indptr: np.ndarray, indices: np.ndarray, n_colors: int, budget: int = 20_000
) -> Coloring:
    """Decide whether the graph has a proper colouring with `n_colors` colours.

    Nodes with fewer than K neighbours can always be coloured last, so only the K-core matters.
    There, a clique of more than K nodes is looked for, then colours are tried exhaustively, most
    saturated node first (DSATUR), for at most `budget` placements beyond a straight run.
    """
    neighbors = _k_core(indptr, indices, n_colors)
    unknown = False
    for component in _components(neighbors):
        clique = _greedy_clique(component, neighbors, n_colors)
        if len(clique) > n_colors:
            return Coloring(Verdict.INFEASIBLE, np.array(clique), is_clique=True)
        verdict = _dsatur(component, neighbors, n_colors, clique, budget)
        if verdict is Verdict.INFEASIBLE:
            return Coloring(Verdict.INFEASIBLE, np.array(sorted(component)))
        unknown |= verdict is Verdict.UNKNOWN
    return Coloring(Verdict.UNKNOWN if unknown else Verdict.FEASIBLE)


def _k_core(indptr: np.ndarray, indices: np.ndarray, k: int) -> dict[int, set[int]]:
    """Return the adjacency of what is left after removing nodes of degree < k again and again."""
    degree = np.diff(indptr)
    alive = degree >= k
    queue = np.flatnonzero(~alive).tolist()
    degree = degree.tolist()
    while queue:
        node = queue.pop()
        for other in indices[indptr[node] : indptr[node + 1]].tolist():
            if alive[other]:
                degree[other] -= 1
                if degree[other] < k:
                    alive[other] = False
                    queue.append(other)
    return {
        node: {o for o in indices[indptr[node] : indptr[node + 1]].tolist() if alive[o]}
        for node in np.flatnonzero(alive).tolist()
    }


def _components(neighbors: dict[int, set[int]]) -> list[list[int]]:
    seen: set[int] = set()
    components = []
    for root in neighbors:
        if root in seen:
            continue
        seen.add(root)
        component, stack = [], [root]
        while stack:
            node = stack.pop()
            component.append(node)
            fresh = neighbors[node] - seen
            seen |= fresh
            stack.extend(fresh)
        components.append(component)
    return components


def _greedy_clique(
    component: list[int], neighbors: dict[int, set[int]], n_colors: int, n_starts: int = 50
) -> list[int]:
    """Grow cliques from the nodes of highest degree; stop at the first of more than K nodes."""
    best: list[int] = []
    for start in sorted(component, key=lambda v: (-len(neighbors[v]), v))[:n_starts]:
        clique, candidates = [start], set(neighbors[start])
        while candidates:
            node = max(candidates, key=lambda v: (len(neighbors[v] & candidates), -v))
            clique.append(node)
            candidates &= neighbors[node]
        if len(clique) > len(best):
            best = clique
        if len(best) > n_colors:
            break
    return best


def _dsatur(
    component: list[int],
    neighbors: dict[int, set[int]],
    n_colors: int,
    clique: list[int],
    budget: int,
) -> Verdict:
    """Backtracking colouring, most saturated node first; colours beyond the first new one are
    symmetric and are not tried. The clique is coloured once and for all."""
    blocked = {v: [0] * n_colors for v in component}
    saturation = dict.fromkeys(component, 0)
    color: dict[int, int] = {}

    def place(node: int, c: int) -> None:
        color[node] = c
        for other in neighbors[node]:
            blocked[other][c] += 1
            if blocked[other][c] == 1:
                saturation[other] += 1
                if other not in color:
                    heapq.heappush(heap, (-saturation[other], -len(neighbors[other]), other))

    def lift(node: int) -> None:
        c = color.pop(node)
        heapq.heappush(heap, (-saturation[node], -len(neighbors[node]), node))
        for other in neighbors[node]:
            blocked[other][c] -= 1
            if blocked[other][c] == 0:
                saturation[other] -= 1
                if other not in color:
                    heapq.heappush(heap, (-saturation[other], -len(neighbors[other]), other))

    def most_saturated() -> int:
        while True:
            negative, _, node = heapq.heappop(heap)
            if node not in color and -negative == saturation[node]:
                return node

    heap = [(0, -len(neighbors[v]), v) for v in component]
    heapq.heapify(heap)
    for c, node in enumerate(clique):
        place(node, c)

    # Each frame: the node, how many colours were in use before it, the next colour to try.
    frames: list[list[int]] = []
    steps, limit = 0, len(component) + budget
    n_used = len(clique)
    while len(color) < len(component):
        node = most_saturated()
        frames.append([node, n_used, 0])
        while True:
            node, used, c = frames[-1]
            top = min(used + 1, n_colors)
            while c < top and blocked[node][c]:
                c += 1
            if c < top:
                frames[-1][2] = c + 1
                place(node, c)
                n_used = max(used, c + 1)
                break
            frames.pop()
            heapq.heappush(heap, (-saturation[node], -len(neighbors[node]), node))
            if not frames:
                return Verdict.INFEASIBLE
            lift(frames[-1][0])
        steps += 1
        if steps > limit:
            return Verdict.UNKNOWN
    return Verdict.FEASIBLE
