"""Split the points into parts that look alike, so that the parts' optima add up to nearly f.

``f*(all) >= sum of f*(part)`` for every split that keeps must-link groups whole. For a clustering
with cluster means ``m_c`` and means ``m_cp`` of the points of c in part p, the sum over parts falls
short of its cost by ``sum w_cp |m_cp - m_c|^2``. So every part gets its share of every cluster,
drawn evenly over the cluster, and points change places until the means agree. Groups linked by
cannot-links stay in one part where there is room: a pair that is cut is a pair lost to the bound.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from smdeclust.exact.relaxation import FloatArray, IntArray
from smdeclust.exact.verify_tree import close
from smdeclust.kernels import kernel
from smdeclust.problem import Problem

# Exchanges tried for each group, to bring the means together.
_TRIALS = 60


def split(problem: Problem, labels: IntArray, n_parts: int, seed: int = 0) -> IntArray:
    """Part of every point, the clusters of these labels spread evenly."""
    group = close(problem.n_points, problem.must_link, problem.cannot_link, problem.n_clusters)
    assert group is not None
    n_groups = int(group.max()) + 1
    point_weights = problem.point_weights
    weights = np.bincount(group, point_weights, n_groups)
    sums = np.zeros((n_groups, problem.n_features))
    np.add.at(sums, group, point_weights[:, None] * (problem.X - problem.offset))
    cluster = np.empty(n_groups, np.int64)
    cluster[group] = labels
    size = np.bincount(group, minlength=n_groups)

    rng = np.random.default_rng(seed)
    part = np.full(n_groups, -1, np.int64)
    # Points of each cluster that a part still has room for.
    room = np.bincount(labels)[None, :] / n_parts * np.ones((n_parts, 1))
    chunks = _place_linked(part, room, group, problem.cannot_link, cluster, size)
    free = part < 0
    means = sums / np.maximum(weights, 1e-300)[:, None]
    for c in np.unique(cluster):
        _deal(part, room[:, c], np.flatnonzero(free & (cluster == c)), means, size, rng)
    part[free & (weights == 0.0)] = 0  # cost nothing anywhere
    if n_parts > 1:
        units = _units(chunks, free & (weights > 0.0), cluster, size)
        n_clusters = int(cluster.max()) + 1
        part_sums = np.zeros((n_clusters, n_parts, problem.n_features))
        np.add.at(part_sums, (cluster, part), sums)
        part_weights = np.zeros((n_clusters, n_parts))
        np.add.at(part_weights, (cluster, part), weights)
        part_size = np.bincount(part, size, n_parts)
        exchange(
            part, *units, cluster, sums, weights, part_sums, part_weights, part_size,
            _TRIALS * n_groups, rng.integers(2**31),
        )  # fmt: skip
    return part[group]


def _units(
    chunks: list[IntArray], free: NDArray[np.bool_], cluster: IntArray, size: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """What moves as one: linked groups, and single free groups, these cluster by cluster.

    Returns the groups of all units, where each unit starts, for every unit the first and last unit
    that it may well change places with, and the points in each.
    """
    single = np.flatnonzero(free)
    single = single[np.argsort(cluster[single], kind="stable")]
    groups = np.concatenate([*chunks, single]).astype(np.int64)
    sizes = [len(chunk) for chunk in chunks] + [1] * len(single)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = len(sizes)
    partners = np.column_stack([np.zeros(n, np.int64), np.full(n, n)])
    edges = np.searchsorted(cluster[single], cluster[single], "left")
    ends = np.searchsorted(cluster[single], cluster[single], "right")
    partners[len(chunks) :] = len(chunks) + np.column_stack([edges, ends])
    return groups, starts, partners, np.add.reduceat(size[groups], starts[:-1])


def _place_linked(
    part: IntArray, room: FloatArray, group: IntArray, cannot: IntArray, cluster: IntArray,
    size: IntArray,
) -> list[IntArray]:  # fmt: skip
    """Place groups with cannot-links, whole components where there is room; return the pieces."""
    ends = group[cannot]
    if len(ends) == 0:
        return []
    n_groups = len(part)
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), (n_groups, n_groups)).tocsr()
    graph = graph + graph.T
    linked = np.unique(ends)
    component = connected_components(graph, directed=False)[1]
    members = linked[np.argsort(component[linked], kind="stable")]
    pieces = np.split(members, np.flatnonzero(np.diff(component[members])) + 1)
    limit = 0.5 * float(room[0].sum())
    chunks: list[IntArray] = []
    for piece in pieces:
        if size[piece].sum() > limit:  # large components are cut into runs of neighbors
            piece = breadth_first_order(graph, piece[0], directed=False)[0].astype(np.int64)
        cuts = np.flatnonzero(np.diff(np.cumsum(size[piece]) // max(limit, 1.0))) + 1
        chunks += np.split(piece, cuts)
    chunks.sort(key=lambda chunk: -int(size[chunk].sum()))
    for chunk in chunks:
        need = np.bincount(cluster[chunk], size[chunk], room.shape[1])
        over = np.maximum(need - room, 0.0).sum(axis=1)
        best = np.lexsort((-room.sum(axis=1), over))[0]
        part[chunk] = best
        room[best] -= need
    return chunks


def _deal(
    part: IntArray, room: FloatArray, units: IntArray, means: FloatArray, size: IntArray,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Deal the free groups of one cluster: neighbors to different parts, large groups first."""
    large = units[size[units] > 1]
    for unit in large[np.argsort(-size[large], kind="stable")]:
        best = int(np.argmax(room))
        part[unit] = best
        room[best] -= size[unit]
    single = units[size[units] == 1]
    if len(single) == 0:
        return
    share = np.maximum(room, 1e-9)
    share /= share.sum()
    credit = rng.uniform(0.0, 1e-3, len(share))
    for unit in single[_along_a_tree(means[single], len(share))]:
        credit += share * (1.0 + 1e-3 * rng.standard_normal(len(share)))
        best = int(np.argmax(credit))
        part[unit] = best
        credit[best] -= 1.0


def _along_a_tree(points: FloatArray, leaf: int) -> IntArray:
    """Order in which neighbors follow each other: halves along the widest column, again."""
    out: list[IntArray] = []
    stack = [np.arange(len(points))]
    while stack:
        rows = stack.pop()
        if len(rows) <= max(leaf, 2):
            out.append(rows)
            continue
        here = points[rows]
        column = int(np.argmax(here.max(axis=0) - here.min(axis=0)))
        rows = rows[np.argsort(here[:, column], kind="stable")]
        stack += [rows[len(rows) // 2 :], rows[: len(rows) // 2]]
    return np.concatenate(out)


@kernel()
def _move(g, to, INOUT_part, cluster, sums, weights, INOUT_sums, INOUT_weights):  # type: ignore[no-untyped-def]
    """Move one group to a part; return by how much ``sum |s|^2 / w`` falls (-inf: a part is left
    without the cluster)."""
    c, home = cluster[g], INOUT_part[g]
    w, home_w, to_w = weights[g], INOUT_weights[c, home], INOUT_weights[c, to]
    before_home, before_to, after_home, after_to = 0.0, 0.0, 0.0, 0.0
    for a in range(sums.shape[1]):
        x, s, t = sums[g, a], INOUT_sums[c, home, a], INOUT_sums[c, to, a]
        before_home += s * s
        before_to += t * t
        after_home += (s - x) ** 2
        after_to += (t + x) ** 2
        INOUT_sums[c, home, a] = s - x
        INOUT_sums[c, to, a] = t + x
    INOUT_weights[c, home] = home_w - w
    INOUT_weights[c, to] = to_w + w
    INOUT_part[g] = to
    if w == 0.0:
        return 0.0
    if home_w - w <= 1e-9 * home_w:
        return -np.inf
    before = before_home / home_w + (before_to / to_w if to_w > 0.0 else 0.0)
    return before - after_home / (home_w - w) - after_to / (to_w + w)


@kernel()
def _move_unit(groups, to, part, cluster, sums, weights, part_sums, part_weights):  # type: ignore[no-untyped-def]
    """Move the groups of a unit to a part; return by how much ``sum |s|^2 / w`` falls."""
    gain = 0.0
    for g in groups:
        gain += _move(g, to, part, cluster, sums, weights, part_sums, part_weights)
    return gain


@kernel()
def exchange(  # type: ignore[no-untyped-def]
    INOUT_part, groups, starts, partners, unit_size, cluster, sums, weights, INOUT_sums,
    INOUT_weights, INOUT_size, trials, seed,
):  # fmt: skip
    """Swap units between parts while the means of the clusters in the parts come closer.

    With s and w the sums and weights of a cluster in its parts, ``sum |s|^2 / w`` is to fall. Parts
    stay about equally large.
    """
    n_units = len(unit_size)
    if n_units < 2:
        return
    mean_size = INOUT_size.sum() / len(INOUT_size)
    state = np.uint64(seed) + np.uint64(1)
    given = INOUT_part, cluster, sums, weights, INOUT_sums, INOUT_weights
    for _ in range(trials):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        u = np.int64((state >> np.uint64(33)) % np.uint64(n_units))
        low, high = partners[u]
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        v = low + np.int64((state >> np.uint64(33)) % np.uint64(high - low))
        one, other = groups[starts[u] : starts[u + 1]], groups[starts[v] : starts[v + 1]]
        p, q = INOUT_part[one[0]], INOUT_part[other[0]]
        if p == q:
            continue
        more = unit_size[v] - unit_size[u]  # groups that p gains
        largest = max(INOUT_size[p] + more, INOUT_size[q] - more)
        if largest > 1.1 * mean_size and largest > max(INOUT_size[p], INOUT_size[q]):
            continue
        if _move_unit(one, q, *given) + _move_unit(other, p, *given) > 0.0:
            INOUT_size[p] += more
            INOUT_size[q] -= more
        else:
            _move_unit(one, p, *given)
            _move_unit(other, q, *given)
