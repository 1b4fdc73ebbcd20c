"""A smallest set of pairs that cannot hold together: remove any one of them and the rest can.

Contradictions by a must-link path and by a clique are read off directly; any other is narrowed down
by deletion: leave something out, and keep it out if what remains is still proven infeasible.
Infeasibility is monotone (fewer pairs, fewer troubles), so what was needed once stays needed.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from smdeclust.structure.coloring import Verdict, find_coloring
from smdeclust.structure.graph import cannot_link_graph
from smdeclust.structure.groups import contract

Edge = tuple[int, int]
_MAX_PATHS = 2000


@dataclass(frozen=True)
class Conflict:
    """Pairs that no clustering into K clusters can keep together.

    Attributes
    ----------
    reason
        ``"self_cannot_link"``, ``"must_link_path"``, ``"too_few_groups"``, ``"clique"`` or
        ``"no_coloring"``, as in ``InfeasibleConstraintsError``.
    must_link, cannot_link
        Positions of the pairs in the arrays given, sorted.
    n_clusters
        K.
    minimal
        Whether every one of the pairs is proven to be needed: without it, the others can hold.
        False only where time or the budget of a coloring ended the search.
    """

    reason: str
    must_link: np.ndarray
    cannot_link: np.ndarray
    n_clusters: int
    minimal: bool = True

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.must_link) + len(self.cannot_link)


def find_conflict(
    n_points: int,
    n_clusters: int,
    must_link: np.ndarray,
    cannot_link: np.ndarray,
    *,
    max_time: float = 30.0,
    budget: int = 20_000,
) -> Conflict | None:
    """Return pairs that cannot hold together, none of them superfluous, or None.

    Parameters
    ----------
    n_points
        N.
    n_clusters
        K.
    must_link, cannot_link
        (m, 2) valid pairs of row positions.
    max_time
        Seconds after which the narrowing ends with what it has.
    budget
        Placements that one search for a coloring may try.

    Returns
    -------
    Conflict or None
        None where the pairs can hold together, or where a coloring was neither found nor
        excluded within the budget.
    """
    loops = np.flatnonzero(cannot_link[:, 0] == cannot_link[:, 1])
    if len(loops):
        return Conflict("self_cannot_link", _none(), loops[:1], n_clusters)
    if n_clusters == 1 and len(cannot_link):  # nothing can be kept apart
        return Conflict("clique", _none(), np.zeros(1, dtype=np.int64), n_clusters)
    grouping = contract(n_points, must_link, cannot_link)
    edges = grouping.of_point[cannot_link]
    inside = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(inside):
        path = _shortest_path(n_points, n_clusters, must_link, cannot_link, inside)
        if n_points - len(path.must_link) >= n_clusters:
            return path
        # Else these must-links alone are too many for K clusters, without the cannot-link.
    if grouping.n_groups < n_clusters:
        tree = _spanning_forest(must_link, range(len(must_link)))
        # One merge too many for K groups: any so many merges are, and each of them is needed.
        return Conflict(
            "too_few_groups",
            np.sort(tree[: max(n_points - n_clusters + 1, 0)]),
            _none(),
            n_clusters,
        )
    coloring = find_coloring(*cannot_link_graph(edges, grouping.n_linked), n_clusters, budget)
    if coloring.verdict is not Verdict.INFEASIBLE:
        return None
    assert coloring.witness is not None
    witness = coloring.witness.tolist()
    search = _Narrowing(n_clusters, time.monotonic() + max_time, budget)
    if coloring.is_clique:
        clique = set(witness[: n_clusters + 1])
        kept = {e for e in _edge_set(edges) if e[0] in clique and e[1] in clique}
    else:
        kept = search.narrow_graph(_edge_set(edges), set(witness))
    return _as_pairs(
        "clique" if coloring.is_clique else "no_coloring",
        must_link,
        cannot_link,
        grouping.of_point,
        kept,
        search,
    )


def _shortest_path(
    n_points: int,
    n_clusters: int,
    must_link: np.ndarray,
    cannot_link: np.ndarray,
    inside: np.ndarray,
) -> Conflict:
    """The contradicted cannot-link with the fewest must-links between its ends."""
    ones = np.ones(len(must_link))
    graph = coo_array(
        (ones, (must_link[:, 0], must_link[:, 1])), shape=(n_points, n_points)
    ).tocsr()
    position: dict[Edge, int] = {}
    for index, (i, j) in enumerate(must_link.tolist()):
        position.setdefault((min(i, j), max(i, j)), index)
    best: list[int] | None = None
    best_pair = int(inside[0])
    # A cannot-link that is written as a must-link as well needs no search.
    for candidate in inside.tolist():
        i, j = sorted(cannot_link[candidate].tolist())
        if (i, j) in position:
            return Conflict(
                "must_link_path", np.array([position[i, j]]), np.array([candidate]), n_clusters
            )
    for candidate in inside[:_MAX_PATHS].tolist():
        i, j = cannot_link[candidate].tolist()
        _, predecessor = breadth_first_order(graph, i, directed=False)
        path = [j]
        while path[-1] != i and (best is None or len(path) <= len(best)):
            path.append(int(predecessor[path[-1]]))
        if path[-1] == i and (best is None or len(path) < len(best)):
            best, best_pair = path, candidate
        if len(inside) * n_points > 5e7:  # a path is enough, the shortest of all is a luxury
            break
    assert best is not None
    links = [position[min(a, b), max(a, b)] for a, b in pairwise(best)]
    return Conflict("must_link_path", np.sort(links), np.array([best_pair]), n_clusters)


class _Narrowing:
    """Deletion on the graph of groups, within a time limit."""

    def __init__(self, n_clusters: int, deadline: float, budget: int) -> None:
        self.n_clusters = n_clusters
        self.deadline = deadline
        self.budget = budget
        self.minimal = True

    def infeasible(self, edges: Iterable[Edge]) -> bool:
        """Whether this graph is proven to have no K-coloring."""
        array = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
        if len(array) == 0:
            return False
        nodes, ends = np.unique(array, return_inverse=True)
        graph = cannot_link_graph(ends.reshape(-1, 2), len(nodes))
        verdict = find_coloring(*graph, self.n_clusters, self.budget).verdict
        if verdict is Verdict.UNKNOWN:
            self.minimal = False
        return verdict is Verdict.INFEASIBLE

    def narrow_graph(self, edges: set[Edge], nodes: set[int]) -> set[Edge]:
        """Leave out nodes, then edges, as long as no coloring exists."""
        kept = {e for e in edges if e[0] in nodes and e[1] in nodes}
        order = sorted(nodes, key=lambda v: sum(v in e for e in kept))
        chosen = self.needed(order, lambda some: self.infeasible(_induced(kept, set(some))))
        kept = _induced(kept, set(chosen))
        return set(self.needed(sorted(kept), self.infeasible))

    def needed(self, items: list[Any], still: Callable[[list[Any]], bool]) -> list[Any]:
        """Deletion in blocks that halve: items without which `still` would not hold."""
        items = list(items)
        size = max(len(items) // 2, 1)
        while items:
            start = 0
            while start < len(items):
                if time.monotonic() > self.deadline:
                    self.minimal = False
                    return items
                rest = items[:start] + items[start + size :]
                if still(rest):
                    items = rest
                else:
                    start += size
            if size == 1:
                break
            size = (size + 1) // 2 if size > 2 else 1
        return items


def _as_pairs(
    reason: str,
    must_link: np.ndarray,
    cannot_link: np.ndarray,
    group_of_point: np.ndarray,
    kept: set[Edge],
    search: _Narrowing,
) -> Conflict:
    """From edges between groups to pairs: one cannot-link an edge, and the must-links between
    the ends of these within each group."""
    chosen = _choose_cannot_links(cannot_link, group_of_point, kept)
    ends = defaultdict(set)
    for index in chosen:
        for row in cannot_link[index].tolist():
            ends[int(group_of_point[row])].add(row)
    of_link = group_of_point[must_link[:, 0]]
    trees: list[int] = []
    for group, rows in ends.items():
        if len(rows) > 1:
            members = np.flatnonzero(of_link == group).tolist()
            trees += _steiner_tree(must_link, members, rows)

    def still(links: list[int]) -> bool:
        rows = np.unique(cannot_link[chosen])
        size = int(rows.max(initial=0)) + 1
        pairs = must_link[links]
        size = max(size, int(pairs.max(initial=0)) + 1)
        grouping = contract(size, pairs, cannot_link[chosen])
        return search.infeasible(
            map(tuple, np.sort(grouping.of_point[cannot_link[chosen]]).tolist())
        )

    if reason != "clique":  # splitting a node of a clique always frees a color
        trees = search.needed(sorted(trees), still)
    return Conflict(
        reason,
        np.array(sorted(trees), dtype=np.int64),
        np.array(sorted(chosen), dtype=np.int64),
        search.n_clusters,
        search.minimal,
    )


def _choose_cannot_links(
    cannot_link: np.ndarray, group_of_point: np.ndarray, kept: set[Edge]
) -> list[int]:
    """One pair for each edge; rows that are used already are preferred, to need few must-links."""
    options: dict[Edge, list[int]] = defaultdict(list)
    for index, (a, b) in enumerate(np.sort(group_of_point[cannot_link], axis=1).tolist()):
        if (a, b) in kept:
            options[a, b].append(index)
    used: set[int] = set()
    chosen = []
    for edge in sorted(options, key=lambda e: (len(options[e]), e)):
        best = min(
            options[edge], key=lambda p: (sum(r not in used for r in cannot_link[p].tolist()), p)
        )
        chosen.append(best)
        used.update(cannot_link[best].tolist())
    return chosen


def _steiner_tree(must_link: np.ndarray, links: list[int], ends: set[int]) -> list[int]:
    """A tree of must-links that joins the rows `ends`; all its leaves are among them."""
    neighbors: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for link in links:
        i, j = must_link[link].tolist()
        neighbors[i].append((j, link))
        neighbors[j].append((i, link))
    root = min(ends)
    came: dict[int, tuple[int, int] | None] = {root: None}
    queue = [root]
    for row in queue:  # grows while it is read: breadth first
        for other, link in neighbors[row]:
            if other not in came:
                came[other] = (row, link)
                queue.append(other)
    tree: set[int] = set()
    for row in ends:
        step = came[row]
        while step is not None and step[1] not in tree:
            tree.add(step[1])
            step = came[step[0]]
    return sorted(tree)


def _spanning_forest(must_link: np.ndarray, links: Iterable[int]) -> np.ndarray:
    """Positions of must-links that each join two groups which those before leave apart."""
    parent: dict[int, int] = {}

    def find(row: int) -> int:
        root = row
        while parent.setdefault(root, root) != root:
            root = parent[root]
        while parent[row] != root:
            parent[row], row = root, parent[row]
        return root

    tree = []
    for link in links:
        a, b = find(int(must_link[link, 0])), find(int(must_link[link, 1]))
        if a != b:
            parent[a] = b
            tree.append(link)
    return np.array(tree, dtype=np.int64)


def _induced(edges: set[Edge], nodes: set[int]) -> set[Edge]:
    return {e for e in edges if e[0] in nodes and e[1] in nodes}


def _edge_set(edges: np.ndarray) -> set[Edge]:
    return {(a, b) for a, b in np.sort(edges, axis=1).tolist()}


def _none() -> np.ndarray:
    return np.empty(0, dtype=np.int64)
