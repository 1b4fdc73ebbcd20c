"""All contradictions at once (no two share a pair), and the cheapest repair.

A contradiction is a smallest set of pairs that cannot hold together: remove any one of them and the
rest can. Those by a must-link path and by a clique are read off directly; any other is narrowed
down by deletion: leave something out, and keep it out if what remains is still proven infeasible.
Infeasibility is monotone (fewer pairs, fewer contradictions), so what was needed once stays needed.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from smdeclust.structure.coloring import Verdict, find_coloring
from smdeclust.structure.graph import cannot_link_graph
from smdeclust.structure.groups import came_from, contract, neighbors_of, path_between
from smdeclust.structure.repair import NumberedPairs, Repair, find_repair, needed

Edge = tuple[int, int]
# So many contradicted cannot-links are looked at in one round.
_MAX_PATHS = 500


@dataclass(frozen=True)
class Conflict:
    """Pairs that contradict each other in K clusters.

    Attributes
    ----------
    reason
        ``"self_cannot_link"``, ``"must_link_path"``, ``"too_few_groups"``, ``"clique"`` or
        ``"no_coloring"``, as in `InfeasibleConstraintsError`.
    must_link, cannot_link
        The sorted positions of the pairs in the given arrays.
    n_clusters
        The number of clusters, K.
    minimal
        Whether the contradiction is proven to need each of the pairs. False if time ran out.
    """

    reason: str
    must_link: np.ndarray
    cannot_link: np.ndarray
    n_clusters: int
    minimal: bool = True

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self.must_link) + len(self.cannot_link)


@dataclass(frozen=True)
class Findings:
    """The result of `find_conflicts`.

    Attributes
    ----------
    feasible
        Whether the pairs can be satisfied, or None if this is unknown.
    conflicts
        Contradictions that share no pair. Each needs all of its pairs.
    complete
        Whether these are all such contradictions. False if time ran out.
    repair
        The pairs to drop, or None if there is no contradiction.
    """

    feasible: bool | None
    conflicts: tuple[Conflict, ...] = ()
    complete: bool = True
    repair: Repair | None = None


def find_conflicts(
    n_points: int,
    n_clusters: int,
    must_link: np.ndarray,
    cannot_link: np.ndarray,
    *,
    must_link_cost: np.ndarray | None = None,
    cannot_link_cost: np.ndarray | None = None,
    max_time: float = 30.0,
) -> Findings:
    """Find contradictions among pairs, and the cheapest pairs to drop.

    Parameters
    ----------
    n_points, n_clusters
        The numbers of points and clusters.
    must_link, cannot_link
        (m, 2) row positions.
    must_link_cost, cannot_link_cost
        The positive cost of dropping each pair. By default, 1.
    max_time
        The time limit in seconds. If it is reached, the result says what is not proven.

    Returns
    -------
    Findings
        The contradictions and the repair.
    """
    start = time.monotonic()
    pairs = NumberedPairs.of(n_points, must_link, cannot_link, must_link_cost, cannot_link_cost)
    first = start + max_time / 3
    some = _search(pairs, n_clusters, pairs.without(set()), first)
    if not some:
        feasible = pairs.hold(pairs.without(set()), n_clusters)
        if feasible is not False:
            return Findings(feasible)
        # The time was over before the part that is wrong: look at all of them.
        some = _search(pairs, n_clusters, pairs.without(set()), np.inf)
    packed, complete = _pack(pairs, n_clusters, some, first)

    def contradictions(rest: np.ndarray) -> set[frozenset[int]]:
        return {found.pairs for found in _search(pairs, n_clusters, rest, start + max_time)}

    sets = {found.pairs for found in some + packed}
    repair = find_repair(pairs, n_clusters, sets, contradictions, start + max_time)
    conflicts = [
        Conflict(
            found.reason, *pairs.positions(found.pairs, all_copies=False), n_clusters, found.minimal
        )
        for found in packed
    ]
    return Findings(False, tuple(conflicts), complete, repair)


@dataclass(frozen=True)
class _Found:
    """A contradiction among numbered pairs."""

    reason: str
    pairs: frozenset[int]
    minimal: bool = True


def _pack(
    pairs: NumberedPairs, n_clusters: int, found: list[_Found], deadline: float
) -> tuple[list[_Found], bool]:
    """Contradictions that share no pair, small ones first, until none is left beside them."""
    packed: list[_Found] = []
    used: set[int] = set()
    while found:
        for conflict in sorted(found, key=lambda c: (len(c.pairs), sorted(c.pairs))):
            if not conflict.pairs & used:
                packed.append(conflict)
                used |= conflict.pairs
        if time.monotonic() > deadline:
            return packed, False
        found = _search(pairs, n_clusters, pairs.without(used), deadline)
    return packed, time.monotonic() <= deadline  # else parts were left out


def _search(
    pairs: NumberedPairs, n_clusters: int, some: np.ndarray, deadline: float
) -> list[_Found]:
    """Contradictions among some of the pairs, of the plainest kind that there is."""
    must, cannot = pairs.split(some)
    if n_clusters == 1:
        return [_Found("clique", frozenset([number])) for number in cannot.tolist()]
    apart = pairs.ends[cannot]
    loops = cannot[apart[:, 0] == apart[:, 1]]
    if len(loops):
        return [_Found("self_cannot_link", frozenset([number])) for number in loops.tolist()]
    paths = list(_paths(pairs, n_clusters, must, cannot))
    if paths:
        return paths
    if pairs.n_groups(some) < n_clusters:
        # One merge too many for K groups: any so many merges are, and each of them is needed.
        ends = pairs.ends[must].T.astype(np.int32)  # SciPy 1.15 knows no trees of int64
        graph = coo_array((must + 1, ends), shape=(pairs.n_rows, pairs.n_rows))
        tree = np.sort(minimum_spanning_tree(graph.tocsr()).data.astype(np.int64)) - 1
        merges = frozenset(tree[: pairs.n_points - n_clusters + 1].tolist())
        return [_Found("too_few_groups", merges)]
    found = []
    for part in _parts(pairs, some):
        found += _uncolorable(pairs, n_clusters, part, deadline)
        if time.monotonic() > deadline:
            break
    return found


def _paths(
    pairs: NumberedPairs, n_clusters: int, must: np.ndarray, cannot: np.ndarray
) -> Iterator[_Found]:
    """For each cannot-link whose ends must-links join: it and a shortest path of them."""
    if len(cannot) == 0:
        return
    group = contract(pairs.n_rows, pairs.ends[must], pairs.ends[:0]).of_point
    i, j = pairs.ends[cannot].T
    inside = cannot[group[i] == group[j]][:_MAX_PATHS]
    if len(inside) == 0:
        return
    neighbors = neighbors_of(pairs.ends[must], must)
    most = pairs.n_points - n_clusters
    for number, (a, b) in zip(inside.tolist(), pairs.ends[inside].tolist(), strict=True):
        path = path_between(neighbors, a, b)[1]
        if len(path) <= most:
            yield _Found("must_link_path", frozenset([number, *path]))
        else:  # these must-links alone leave too few groups
            yield _Found("too_few_groups", frozenset(path[: most + 1]))


def _parts(pairs: NumberedPairs, some: np.ndarray) -> Iterator[np.ndarray]:
    """These pairs by connected component of the rows."""
    if len(some) == 0:
        return
    i, j = pairs.ends[some].T
    graph = coo_array((np.ones(len(some)), (i, j)), shape=(pairs.n_rows, pairs.n_rows))
    _, component = connected_components(graph, directed=False)
    order = np.argsort(component[i], kind="stable")
    yield from np.split(some[order], np.flatnonzero(np.diff(component[i][order])) + 1)


def _uncolorable(
    pairs: NumberedPairs, n_clusters: int, part: np.ndarray, deadline: float
) -> list[_Found]:
    """What in one component, which no path contradicts, needs more than K clusters, if found."""
    must, cannot = pairs.split(part)
    if len(cannot) <= n_clusters:
        return []
    grouping = contract(pairs.n_rows, pairs.ends[must], pairs.ends[cannot])
    ends = np.sort(grouping.of_point[pairs.ends[cannot]], axis=1)
    coloring = find_coloring(*cannot_link_graph(ends, grouping.n_linked), n_clusters)
    if coloring.verdict is not Verdict.INFEASIBLE:
        return []
    assert coloring.witness is not None
    search = _Narrowing(n_clusters, min(deadline, time.monotonic() + 30.0))
    edges, nodes = {(a, b) for a, b in ends.tolist()}, coloring.witness.tolist()
    if coloring.is_clique:
        kept = _induced(edges, set(nodes[: n_clusters + 1]))
    else:
        kept = search.narrow_graph(edges, set(nodes))
    chosen = _choose_cannot_links(pairs, cannot, ends, kept)
    trees = _trees_between(pairs, must, chosen, grouping.of_point)
    if coloring.is_clique:  # splitting a node of a clique always frees a color
        return [_Found("clique", frozenset([*trees, *chosen]))]
    apart = pairs.ends[chosen]

    def still(links: list[int]) -> bool:
        group = contract(pairs.n_rows, pairs.ends[links], apart).of_point
        return search.infeasible(map(tuple, np.sort(group[apart]).tolist()))

    trees = needed(sorted(trees), still, search.deadline)
    return [_Found("no_coloring", frozenset([*trees, *chosen]), search.is_minimal)]


class _Narrowing:
    """Deletion on the graph of groups, within a time limit."""

    def __init__(self, n_clusters: int, deadline: float) -> None:
        self.n_clusters, self.deadline, self.sure = n_clusters, deadline, True

    @property
    def is_minimal(self) -> bool:
        """Whether all was tried in time, and every graph had an answer."""
        return self.sure and time.monotonic() <= self.deadline

    def infeasible(self, edges: Iterable[Edge]) -> bool:
        """Whether this graph is proven to have no K-coloring."""
        array = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
        if len(array) == 0:
            return False
        nodes, ends = np.unique(array, return_inverse=True)
        graph = cannot_link_graph(ends.reshape(-1, 2), len(nodes))
        verdict = find_coloring(*graph, self.n_clusters).verdict
        self.sure &= verdict is not Verdict.UNKNOWN
        return verdict is Verdict.INFEASIBLE

    def narrow_graph(self, edges: set[Edge], nodes: set[int]) -> set[Edge]:
        """Leave out nodes, then edges, as long as no coloring exists."""
        kept = _induced(edges, nodes)
        degree = Counter(v for edge in kept for v in edge)
        chosen = needed(
            sorted(nodes, key=lambda v: degree[v]),
            lambda some: self.infeasible(_induced(kept, set(some))),
            self.deadline,
        )
        kept = _induced(kept, set(chosen))
        return set(needed(sorted(kept), self.infeasible, self.deadline))


def _choose_cannot_links(
    pairs: NumberedPairs, cannot: np.ndarray, ends: np.ndarray, kept: set[Edge]
) -> list[int]:
    """One pair for each edge; rows that are used already are preferred, to need few must-links."""
    options: dict[Edge, list[int]] = defaultdict(list)
    for number, (a, b) in zip(cannot.tolist(), ends.tolist(), strict=True):
        if (a, b) in kept:
            options[a, b].append(number)
    used: set[int] = set()
    chosen = []
    for edge in sorted(options, key=lambda e: (len(options[e]), e)):
        best = min(options[edge], key=lambda p: (len(set(pairs.ends[p].tolist()) - used), p))
        chosen.append(best)
        used.update(pairs.ends[best].tolist())
    return chosen


def _trees_between(
    pairs: NumberedPairs, must: np.ndarray, chosen: list[int], group: np.ndarray
) -> list[int]:
    """Must-links that join, within each group, the rows of the chosen cannot-links."""
    ends = defaultdict(set)
    for row in np.unique(pairs.ends[chosen]).tolist():
        ends[int(group[row])].add(row)
    neighbors, tree = neighbors_of(pairs.ends[must], must), set()
    for rows in ends.values():
        root = min(rows)
        came = came_from(neighbors, root)
        for row in rows:
            while row != root and came[row][1] not in tree:
                row, number = came[row]
                tree.add(number)
    return sorted(tree)


def _induced(edges: set[Edge], nodes: set[int]) -> set[Edge]:
    return {e for e in edges if e[0] in nodes and e[1] in nodes}
