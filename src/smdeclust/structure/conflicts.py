"""All contradictions at once: as many as share no pair, and the cheapest repair."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from smdeclust.structure.conflict import Conflict, find_conflict
from smdeclust.structure.groups import contract
from smdeclust.structure.repair import NumberedPairs, Repair, find_repair

# So many contradicted cannot-links are looked at in one round.
_MAX_PATHS = 500


@dataclass(frozen=True)
class Findings:
    """Everything that is wrong with some pairs.

    Attributes
    ----------
    feasible
        Whether the pairs can hold together; None where that was neither found nor excluded.
    conflicts
        Contradictions of which no two share a pair; each pair of one is needed for it.
    complete
        Whether nothing is wrong beside them; False where time ended the search.
    repair
        The pairs to drop; None where no contradiction was found.
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
    """Return every independent contradiction and the cheapest repair.

    Parameters
    ----------
    n_points, n_clusters
        N and K.
    must_link, cannot_link
        (m, 2) valid pairs of row positions.
    must_link_cost, cannot_link_cost
        What dropping each pair costs, positive; ``None``: 1 each.
    max_time
        Seconds, a third of them for the list of contradictions. When they are over, what was found
        so far is returned, and says that it is not proven.
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
            found.reason,
            *pairs.positions(found.pairs, all_copies=False),
            n_clusters,
            found.minimal,
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
        return [_too_many_merges(pairs, n_clusters, must)]
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
    neighbors: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, (a, b) in zip(must.tolist(), pairs.ends[must].tolist(), strict=True):
        neighbors[a].append((b, number))
        neighbors[b].append((a, number))
    most = pairs.n_points - n_clusters
    for number, (a, b) in zip(inside.tolist(), pairs.ends[inside].tolist(), strict=True):
        path = _shortest(neighbors, a, b)
        if len(path) <= most:
            yield _Found("must_link_path", frozenset([number, *path]))
        else:  # these must-links alone leave too few groups
            yield _Found("too_few_groups", frozenset(path[: most + 1]))


def _shortest(neighbors: dict[int, list[tuple[int, int]]], start: int, end: int) -> list[int]:
    """Numbers of the must-links on a shortest path."""
    came: dict[int, tuple[int, int]] = {start: (start, -1)}
    queue = [start]
    for row in queue:  # grows while it is read: breadth first
        if row == end:
            break
        for other, number in neighbors[row]:
            if other not in came:
                came[other] = (row, number)
                queue.append(other)
    path = []
    while end != start:
        end, number = came[end]
        path.append(number)
    return path


def _too_many_merges(pairs: NumberedPairs, n_clusters: int, must: np.ndarray) -> _Found:
    few = find_conflict(pairs.n_points, n_clusters, pairs.ends[must], pairs.ends[:0])
    assert few is not None
    return _Found(few.reason, frozenset(must[few.must_link].tolist()))


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
    """What in one component needs more than K clusters, if that is found."""
    must, cannot = pairs.split(part)
    rows, ends = np.unique(pairs.ends[part], return_inverse=True)
    if len(cannot) <= n_clusters or len(rows) <= n_clusters:
        return []
    ends = ends.reshape(-1, 2)
    # Free points beside it: a part need not fill all clusters by itself.
    found = find_conflict(
        len(rows) + n_clusters,
        n_clusters,
        ends[part < pairs.n_must],
        ends[part >= pairs.n_must],
        max_time=float(np.clip(deadline - time.monotonic(), 0.0, 30.0)),
    )
    if found is None:
        return []
    numbers = [*must[found.must_link].tolist(), *cannot[found.cannot_link].tolist()]
    return [_Found(found.reason, frozenset(numbers), found.minimal)]
