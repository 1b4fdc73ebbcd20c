"""What no clustering can satisfy: pairs and sizes, each kind rejected with its explanation."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.structure.bounds import Bounds, SizeBounds
from smdeclust.structure.coloring import Verdict, find_coloring
from smdeclust.structure.graph import PairGraph
from smdeclust.structure.groups import must_link_path
from smdeclust.structure.label_program import least_violation
from smdeclust.structure.mending import mend

# Seconds that the search for a packing of groups may take, and those of a proof that there is none.
PACKING_SECONDS, MOST_SECONDS = 0.5, 1.0


def reject_self_cannot_links(apart: np.ndarray) -> None:
    """Raise an error if a cannot-link pairs a row with itself."""
    loops = np.flatnonzero(apart[:, 0] == apart[:, 1])
    if len(loops):
        where, row = int(loops[0]), int(apart[loops[0], 0])
        raise InfeasibleConstraintsError(
            f"cannot_link: pair {where} says that row {row} must be apart from itself.",
            reason="self_cannot_link",
            details={"pair": (row, row), "position": where},
        )


def reject_contradictions(
    edges: np.ndarray, together: np.ndarray, apart: np.ndarray, n_points: int
) -> None:
    inside = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(inside) == 0:
        return
    where = int(inside[0])
    i, j = (int(v) for v in apart[where])
    path = must_link_path(n_points, together, i, j)
    shown = path if len(path) <= 12 else [*path[:6], "...", *path[-5:]]
    raise InfeasibleConstraintsError(
        f"cannot_link: pair {where} keeps rows {i} and {j} apart, but must-links join them: "
        f"{' - '.join(map(str, shown))}. Remove that pair or one of these must-links.",
        reason="must_link_path",
        details={"pair": (i, j), "position": where, "path": path},
    )


def reject_too_few_groups(n_filling: int, n_groups: int, n_points: int, n_clusters: int) -> None:
    if n_filling >= n_clusters:
        return
    why = "" if n_filling == n_groups else " with positive weight"
    raise InfeasibleConstraintsError(
        f"n_clusters={n_clusters}, but the must-links leave only {n_filling} groups{why} of the "
        f"{n_points} points, and every cluster needs one. Use at most {n_filling} clusters.",
        reason="too_few_groups",
        details={"n_groups": n_filling, "n_clusters": n_clusters},
    )


def reject_uncolorable(
    indptr: np.ndarray,
    indices: np.ndarray,
    n_clusters: int,
    groups: np.ndarray,
    rows_of_points: np.ndarray,
) -> np.ndarray | None:
    """Raise an error if the cannot-links need more than K clusters, as far as that is known.

    `groups` are those of the rows `rows_of_points`. Returns colors that keep them, if found.
    """
    result = find_coloring(indptr, indices, n_clusters)
    if result.verdict is not Verdict.INFEASIBLE:
        return result.colors
    assert result.witness is not None
    first = [int(np.flatnonzero(groups == g)[0]) for g in result.witness.tolist()]
    rows = rows_of_points[first].tolist()
    shown = ", ".join(map(str, rows[:12])) + (", ..." if len(rows) > 12 else "")
    if result.is_clique:
        raise InfeasibleConstraintsError(
            f"{len(rows)} groups of points are all cannot-linked to each other, which needs at "
            f"least {len(rows)} clusters, not n_clusters={n_clusters}. One row of each: {shown}.",
            reason="clique",
            details={"rows": rows, "n_clusters": n_clusters},
        )
    raise InfeasibleConstraintsError(
        f"The cannot-links among {len(rows)} groups of points cannot be kept with "
        f"n_clusters={n_clusters}: every way to place them was tried. One row of each: {shown}.",
        reason="no_coloring",
        details={"rows": rows, "n_clusters": n_clusters},
    )


# Entries of an integer program that is asked for a packing: more would take longer than that.
MOST_ENTRIES = 50_000
SLACK = 1e-9


@dataclass(frozen=True)
class Pieces:
    """What must be packed: groups that are linked or of several points, and single points."""

    of_group: np.ndarray  # (m,) sizes of the groups
    ends: np.ndarray  # (e, 2) cannot-linked groups
    lone: np.ndarray  # sizes of the single points
    rows: list[list[int]]  # one row of each group, for messages
    # (m,) a cluster for each group that keeps the cannot-links, if one is known
    colors: np.ndarray | None


def reject_closed_clusters(bounds: SizeBounds, least: float) -> None:
    """Raise an error where a cluster may not even hold the lightest point: none may be empty."""
    closed = np.flatnonzero(bounds.high < least)
    if len(closed) == 0:
        return
    at, k = int(closed[0]), len(bounds.high)
    where = "" if bounds.alike else f" in entry {at}"
    fewer = f"n_clusters={k - len(closed)} or " if len(closed) < k else ""
    holds = f"no point at all (the lightest weighs {least:g})" if bounds.by_weight else "no point"
    _reject(
        f"size_max is {bounds.high[at]:g}{where}: such a cluster holds {holds}, and none of the "
        f"n_clusters={k} clusters may be empty. Use {fewer}larger bounds.",
        "size_max_empty", entries=closed.tolist(), nearest_size_max=least,
    )  # fmt: skip


def reject_impossible_sizes(bounds: SizeBounds, pieces: Pieces) -> np.ndarray | None:
    """Raise an error that explains why no clustering has such sizes, as far as that is known.

    Returns labels of all pieces that keep sizes and cannot-links, if some were found.
    """
    unit = "weight" if bounds.by_weight else "points"
    total = float(pieces.of_group.sum() + pieces.lone.sum())
    k = len(bounds.low)
    slack = SLACK * total * bounds.by_weight
    if bounds.low.sum() > total + slack:
        nearest = _below(total / k, bounds)
        _reject(
            f"size_min asks for at least {_list(bounds.low)} in {k} clusters, {bounds.low.sum():g} "
            f"in all, and there are only {total:g} ({unit}). A size_min of {nearest:g} for all "
            f"clusters would do.",
            "size_min_sum", total=total, asked=float(bounds.low.sum()), nearest_size_min=nearest,
        )  # fmt: skip
    if bounds.high.sum() < total - slack:
        nearest = _above(total / k, bounds)
        _reject(
            f"size_max allows at most {_list(bounds.high)} in {k} clusters, {bounds.high.sum():g} "
            f"in all, and there are {total:g} ({unit}). A size_max of {nearest:g} for all clusters "
            f"would do.",
            "size_max_sum", total=total, allowed=float(bounds.high.sum()), nearest_size_max=nearest,
        )  # fmt: skip
    largest = int(np.argmax(pieces.of_group)) if len(pieces.of_group) else -1
    if largest >= 0 and pieces.of_group[largest] > bounds.high.max() + slack:
        size, rows = float(pieces.of_group[largest]), pieces.rows[largest]
        _reject(
            f"Must-links join rows {_list(rows)} into one group of size {size:g} ({unit}), more "
            f"than the largest size_max of {bounds.high.max():g}. A size_max of {size:g} for one "
            f"cluster, or fewer must-links, would do.",
            "size_max_group", rows=rows, size=size, nearest_size_max=size,
        )  # fmt: skip
    packing = _pack(bounds, pieces, slack)
    if packing is None:
        _reject_unpackable(bounds, pieces, slack)
    return packing


def _reject_unpackable(bounds: SizeBounds, pieces: Pieces, slack: float) -> None:
    if (len(pieces.of_group) + len(pieces.ends)) * len(bounds.low) > MOST_ENTRIES:
        return
    # Single points count as a liquid: of weights this is only a bound.
    off, known = least_violation(
        Bounds.of(pieces.of_group, bounds.low, bounds.high), pieces.ends, [True],
        float(pieces.lone.sum()), MOST_SECONDS, whole=not bounds.by_weight,
    )  # fmt: skip
    if not known or off <= max(slack, 1e-6):
        return
    off = float(np.ceil(off - 1e-6)) if not bounds.by_weight else off
    order = np.argsort(-pieces.of_group, kind="stable")
    several = [pieces.rows[g] for g in order if pieces.of_group[g] > 0][:12]
    linked = f" and {len(pieces.ends)} cannot-links between groups" if len(pieces.ends) else ""
    low, high = bounds.low.min(), bounds.high.max()
    would = []
    if low > 0:
        would.append(f"size_min={max(0.0, low - off):g}")
    if np.isfinite(high):
        would.append(f"size_max={high + off:g}")
    shown = "; ".join(_list(rows) for rows in several[:3])
    _reject(
        f"The {len(pieces.of_group)} groups that must stay whole{linked} cannot be packed into "
        f"clusters of size {_list(bounds.low)} to {_list(bounds.high)}: some cluster is off by at "
        f"least {off:g}. Bounds that would do: {' with '.join(would)}. The largest groups are rows "
        f"{shown}.",
        "size_packing", groups=several, off_by=off,
        nearest_size_min=max(0.0, float(low) - off), nearest_size_max=float(high) + off,
    )  # fmt: skip


def _pack(bounds: SizeBounds, pieces: Pieces, slack: float) -> np.ndarray | None:
    """Labels of groups and single points: largest first into the emptiest room, then mended."""
    sizes, k = pieces.of_group, len(bounds.low)
    if bounds.by_weight:  # single weights need not fit either
        sizes = np.concatenate([sizes, pieces.lone])
    neighbors: dict[int, list[int]] = {}
    for u, v in pieces.ends.tolist():
        neighbors.setdefault(u, []).append(v)
        neighbors.setdefault(v, []).append(u)
    held = np.zeros(k)
    label = np.full(len(sizes), -1)
    high = np.minimum(bounds.high, 1e18)
    # Groups with many cannot-links have few choices: they come first among equals.
    degree = np.array([len(neighbors.get(g, [])) for g in range(len(label))], dtype=float)
    for g in np.lexsort((-degree, -sizes)):
        room = high - held
        # Where every cluster has room enough, the one that is asked for most.
        wish = np.maximum(bounds.low - held, 0) + 1e-6 * room
        wish[[label[u] for u in neighbors.get(int(g), []) if label[u] >= 0]] = -np.inf
        wish[room < sizes[g] - slack] = -np.inf
        best = int(np.argmax(wish))
        if wish[best] > -np.inf:
            label[g] = best
            held[best] += sizes[g]
    n_lone = len(pieces.lone) if not bounds.by_weight else 0
    missing = np.maximum(bounds.low - held, 0.0)
    room = np.minimum(high - held - missing, n_lone)
    if (label >= 0).all() and missing.sum() <= n_lone + slack and room.min() >= -slack:
        places = np.repeat(np.tile(np.arange(k), 2), np.append(missing, room).astype(np.int64))
        if len(places) >= n_lone:
            return np.concatenate([label, places[:n_lone]])
    sizes = np.concatenate([pieces.of_group, pieces.lone])
    start = np.arange(len(sizes)) % k
    start[: len(label)] = np.where(label >= 0, label, start[: len(label)])
    apart = np.full(len(pieces.ends), np.inf)
    graph = PairGraph.from_edges(pieces.ends, apart, apart < 0, len(pieces.of_group))
    graph = graph.with_coloring(k, pieces.colors)
    asked = Bounds.of(sizes, bounds.low, bounds.high)
    until = time.perf_counter() + PACKING_SECONDS
    return mend(np.zeros((len(sizes), k)), graph, asked, start, until)


def _reject(message: str, reason: str, **details: Any) -> NoReturn:
    raise InfeasibleConstraintsError(message, reason=reason, details=details)


def _below(value: float, bounds: SizeBounds) -> float:
    return value if bounds.by_weight else float(np.floor(value))


def _above(value: float, bounds: SizeBounds) -> float:
    return value if bounds.by_weight else float(np.ceil(value))


def _list(values: Any) -> str:
    """A few numbers: one where all are the same, the first ones where there are many."""
    some = [f"{value:g}" for value in np.asarray(values, dtype=float)]
    if len(set(some)) == 1:
        return some[0]
    return ", ".join(some[:8]) + (", ..." if len(some) > 8 else "")
