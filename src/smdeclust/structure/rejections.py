"""What no clustering can satisfy: pairs and sizes, each kind rejected with its explanation."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from smdeclust.exceptions import InfeasibleConstraintsError, Names
from smdeclust.structure.bounds import Bounds, SizeBounds
from smdeclust.structure.coloring import Coloring
from smdeclust.structure.groups import Coupling, neighbors_of, path_between
from smdeclust.structure.label_program import least_violation
from smdeclust.structure.pairs import in_words
from smdeclust.structure.quotas import reject_impossible_quotas
from smdeclust.structure.tabu import mend
from smdeclust.structure.why_quotas import reject_quotas_together

if TYPE_CHECKING:
    from smdeclust.structure.structure import Structure

# Seconds that the search for a packing of groups may take, and those of a proof that there is none.
PACKING_SECONDS, MOST_SECONDS = 0.5, 1.0


def reject_self_cannot_links(apart: np.ndarray) -> None:
    """Raise an error if a cannot-link pairs a row with itself."""
    loops = np.flatnonzero(apart[:, 0] == apart[:, 1])
    if len(loops):
        where, row = int(loops[0]), int(apart[loops[0], 0])
        _reject(
            lambda name: (
                f"cannot_link: pair {where} separates {name(row, noun='row')} from itself. Remove "
                "that pair."
            ),
            "self_cannot_link", pair=(row, row), position=where,
        )  # fmt: skip


def reject_contradictions(edges: np.ndarray, together: np.ndarray, apart: np.ndarray) -> None:
    """Raise an error if a cannot-link is between rows of one group: `edges` are the groups."""
    inside = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(inside) == 0:
        return
    reject_self_cannot_links(apart)
    where = int(inside[0])
    i, j = (int(v) for v in apart[where])
    path, _ = path_between(neighbors_of(together), i, j)
    shown = path if len(path) <= 12 else [*path[:6], "...", *path[-5:]]
    _reject(
        lambda name: (
            f"cannot_link: pair {where} separates {name(i, j, noun='rows', joint=' and ')}, but "
            f"must-links join them: {name(*shown, joint=' - ', most=12)}. Remove that pair or one "
            "of these must-links."
        ),
        "must_link_path", pair=(i, j), position=where, path=path,
    )  # fmt: skip


def reject_too_few_groups(
    n_filling: int, n_groups: int, n_points: int, n_clusters: int
) -> NoReturn:
    """Say that `n_filling` groups cannot fill K clusters."""
    why = f"the must-links join the {n_points} points into {n_groups} group{'s' * (n_groups > 1)}"
    if n_filling < n_groups:
        why = f"only {n_filling} of the {n_groups} groups of points have a positive weight"
    _reject(
        f"n_clusters={n_clusters}, but {why}, and every cluster needs at least one. Use "
        f"n_clusters={n_filling} or fewer.",
        "too_few_groups", n_groups=n_filling, n_clusters=n_clusters,
    )  # fmt: skip


def reject_uncolorable(found: Coloring, n_clusters: int, coupling: Coupling) -> NoReturn:
    """Say which cannot-links need more than K clusters."""
    assert found.witness is not None
    rows = [coupling.rows_of(g)[0] for g in found.witness.tolist()]
    reason, why = "no_coloring", (
        f"The cannot-links among {len(rows)} groups of points cannot be satisfied with "
        f"n_clusters={n_clusters}: every way to place them was tried."
    )  # fmt: skip
    if found.is_clique:
        reason, why = "clique", (
            f"{len(rows)} groups of points are all cannot-linked to each other, which needs at "
            f"least {len(rows)} clusters, not n_clusters={n_clusters}."
        )  # fmt: skip
    _reject(
        lambda name: f"{why} One point of each: {name(*rows, most=12)}.",
        reason, rows=rows, n_clusters=n_clusters,
    )  # fmt: skip


# Entries of an integer program that is asked for a packing: more would take longer than that.
MOST_ENTRIES = 50_000
SLACK = 1e-9


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
        f"size_max is {bounds.high[at]:g}{where}, so a cluster has room for {holds}, but none of "
        f"the n_clusters={k} clusters may be empty. Use {fewer}larger bounds.",
        "size_max_empty", entries=closed.tolist(), nearest_size_max=least,
    )  # fmt: skip


def find_packing(known: "Structure", deadline: float = np.inf) -> np.ndarray | None:
    """Group labels that keep hard pairs, sizes and quotas, whatever they cost, if some are found;
    an error that explains why there are none, as far as that is known."""
    reject_impossible_sizes(known)
    reject_impossible_quotas(known.quotas, known.coupling, known.n_clusters)
    bounds, hard, start = known.group_bounds, known.graph.hard_part, _largest_first(known)
    assert bounds is not None
    bounds = replace(bounds, any_order=False)  # the order of the columns
    if bounds.hold(start) and not (start[hard.ends] == start[hard.indices]).any():
        return start
    costs = np.zeros((known.n_groups, known.n_clusters))
    until = time.perf_counter() + PACKING_SECONDS
    packing = mend(costs, hard, bounds, start, until)
    if packing is None and time.perf_counter() < deadline:
        _reject_unpackable(known, deadline)
        if known.quotas:
            reject_quotas_together(known, deadline)
    return packing


def reject_impossible_sizes(known: "Structure") -> None:
    """Raise an error that explains why no clustering has such sizes, for their sums or a group."""
    bounds, of_group = known.bounds, known.size_of_group[: known.coupling.n_compound]
    assert bounds is not None
    unit, total = (
        "units of weight" if bounds.by_weight else "points",
        float(known.size_of_group.sum()),
    )
    k = len(bounds.low)
    slack = SLACK * total * bounds.by_weight
    for side, given, sign, words, sums_up in (
        ("min", bounds.low, 1, "requires at least", "asked"),
        ("max", bounds.high, -1, "allows at most", "allowed"),
    ):
        if sign * (given.sum() - total) <= slack:
            continue
        nearest = total / k if bounds.by_weight else float(sign * np.floor(sign * total / k))
        advice = f"A size_{side} of {nearest:g} for all clusters would work."
        if bounds.by_weight:
            advice = f"That is {nearest:g} per cluster: allow some slack beyond that."
        _reject(
            f"size_{side} {words} {in_words(given)} in {k} clusters, {given.sum():g} in total, but "
            f"there are {'only ' * (sign > 0)}{total:g} {unit}. {advice}",
            f"size_{side}_sum",
            **{"total": total, sums_up: float(given.sum()), f"nearest_size_{side}": nearest},
        )
    largest = int(np.argmax(of_group)) if len(of_group) else -1
    if largest >= 0 and of_group[largest] > bounds.high.max() + slack:
        size, rows = float(of_group[largest]), known.coupling.rows_of(largest)
        _reject(
            lambda name: (
                f"Must-links join {name(*rows, noun='rows')} into one group of {size:g} {unit}, "
                f"more than the largest size_max of {bounds.high.max():g}. A size_max of {size:g} "
                "for one cluster, or fewer must-links, would work."
            ),
            "size_max_group", rows=rows, size=size, nearest_size_max=size,
        )  # fmt: skip


def _reject_unpackable(known: "Structure", deadline: float) -> None:
    bounds, n, ends = known.bounds, known.coupling.n_compound, known.graph.hard_part.edges
    assert bounds is not None
    seconds = min(MOST_SECONDS, deadline - time.perf_counter())
    if (n + len(ends)) * len(bounds.low) > MOST_ENTRIES:
        return
    of_group, lone = np.split(known.size_of_group, [n])
    # Single points count as a liquid: of weights this is only a bound.
    off, sure = least_violation(
        Bounds.of(of_group, bounds.low, bounds.high), ends, float(lone.sum()), seconds,
        whole=not bounds.by_weight,
    )  # fmt: skip
    if not sure or off <= max(SLACK * float(known.size_of_group.sum()) * bounds.by_weight, 1e-6):
        return
    off = float(np.ceil(off - 1e-6)) if not bounds.by_weight else off
    order = np.argsort(-of_group, kind="stable")[:12]
    several = [known.coupling.rows_of(g) for g in order if of_group[g] > 0]
    linked = f" and {len(ends)} cannot-links between groups" if len(ends) else ""
    low, high = bounds.low.min(), bounds.high.max()
    would = []
    if low > 0:
        would.append(f"size_min={max(0.0, low - off):g}")
    if np.isfinite(high):
        would.append(f"size_max={high + off:g}")
    said = (
        f"The {n} groups that must stay whole{linked} cannot be packed into clusters of size "
        f"{in_words(bounds.low)} to {in_words(bounds.high)}: some cluster is off by at least "
        f"{off:g}. Bounds that would work: {' with '.join(would)}. The largest groups are"
    )
    _reject(
        lambda name: f"{said} {'; '.join(name(*rows, noun='rows') for rows in several[:3])}.",
        "size_packing", groups=several, off_by=off,
        nearest_size_min=max(0.0, float(low) - off), nearest_size_max=float(high) + off,
    )  # fmt: skip


def _largest_first(known: "Structure") -> np.ndarray:
    """Group labels: the largest first into the emptiest room, as sizes ask; the rest in turn."""
    bounds, sizes, k = known.bounds, known.size_of_group, known.n_clusters
    assert bounds is not None
    hard = known.graph.hard_part
    # (Single points of one size are placed at once; single weights need not fit either.)
    n = known.n_groups if bounds.by_weight else known.coupling.n_compound
    slack = SLACK * float(sizes.sum()) * bounds.by_weight
    held, high = np.zeros(k), np.minimum(bounds.high, 1e18)
    label = np.full(known.n_groups, -1)
    # Groups with many cannot-links have few choices: they come first among equals.
    degree = np.zeros(n)
    degree[: hard.n_nodes] = np.diff(hard.indptr)
    for g in np.lexsort((-degree, -sizes[:n])):
        room = high - held
        # Where every cluster has room enough, the one that is asked for most.
        preference = np.maximum(bounds.low - held, 0) + 1e-6 * room
        if degree[g]:
            taken = label[hard.indices[hard.indptr[g] : hard.indptr[g + 1]]]
            preference[taken[taken >= 0]] = -np.inf
        preference[room < sizes[g] - slack] = -np.inf
        best = int(np.argmax(preference))
        if preference[best] > -np.inf:
            label[g] = best
            held[best] += sizes[g]
    missing = np.maximum(bounds.low - held, 0.0)
    room = np.clip(high - held - missing, 0.0, known.n_groups)
    places = np.repeat(np.tile(np.arange(k), 2), np.append(missing, room).astype(np.int64))
    places = places[: known.n_groups - n]
    label[n : n + len(places)] = places
    return np.where(label >= 0, label, np.arange(known.n_groups) % k)


def _reject(message: str | Callable[[Names], str], reason: str, **details: Any) -> NoReturn:
    raise InfeasibleConstraintsError(message, reason=reason, details=details)
