"""What no clustering can satisfy: pairs, sizes and quotas, each rejected with its explanation."""

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

if TYPE_CHECKING:
    from smdeclust.structure.structure import Structure
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from smdeclust.structure.label_program import LabelProgram
from smdeclust.structure.quotas import RATIOS, Quota
from smdeclust.structure.repair import needed

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


# ---- why quotas cannot hold: which of them, with which pairs, and which bounds would work


# Labels of groups and pairs up to which a MILP says whether quotas can be kept; the seconds that
# one such answer and the whole explanation may take.
MOST_EXPLAINED = 50_000
ANSWER_SECONDS, EXPLAINED_SECONDS = 1.0, 4.0
# Bounds on numbers that are tried, from the one given to none at all; pairs that are named.
STEPS, SHOWN = 256, 8
Bound = float | tuple[float, ...]


def reject_quotas_together(known: Any, deadline: float = np.inf) -> None:
    """Raise an error where the quotas of a structure cannot hold together with its sizes and pairs.

    It names a smallest set of quotas and pairs that cannot hold together (given the sizes), and
    for each of these quotas a bound that would work; as far as time allows.
    """
    n_pairs = len(known.must_link) + len(known.cannot_link)
    if (known.n_groups + n_pairs) * known.n_clusters > MOST_EXPLAINED:
        return
    case = _Case(known, min(deadline, time.perf_counter() + EXPLAINED_SECONDS))
    if not case.fails(known.quotas):
        return
    quotas = tuple(needed(known.quotas, lambda some: len(some) > 0 and case.fails(some)))
    pairs: tuple[int, ...] = ()
    if not case.fails(quotas, ()):
        pairs = tuple(needed(range(n_pairs), lambda some: case.fails(quotas, some)))
    sides = _sides(quotas)
    alone = [found for one in sides for found in case.nearest([one])]
    would = alone or case.nearest(sides) or case.nearest(_sides(known.quotas))
    names = " and ".join(dict.fromkeys(quota.name for quota in quotas))
    beside = " together with the sizes" if known.has_sizes else ""
    and_pairs = "" if not pairs else " and the pairs" if beside else " together with the pairs"
    words = [f"No clustering satisfies the quota on {names}{beside}{and_pairs}."]
    words += [f"{_need(quota, known.n_clusters)}." for quota in quotas]
    named, advice = [case.named(position) for position in pairs], ""

    def in_the_way(name: Names) -> str:
        shown = [f"{kind.replace('_', '-')} {name(i, j, joint=' - ')}" for kind, i, j in named]
        more = [f"and {len(named) - SHOWN} more"] if len(named) > SHOWN else []
        return f" These pairs prevent it: {'; '.join(shown[:SHOWN] + more)}." if named else ""

    if would:
        each = "; ".join(
            f"{side}={in_words(bound)} for {quota.what}"
            + (f" of {quota.name}" if quota.value is not None else "")
            for quota, side, bound in would
        )
        which = "This" if len(would) == 1 else "Each of these" if alone else "Together, these"
        advice = f" {which} would work: {each}."
    raise InfeasibleConstraintsError(
        lambda name: f"{' '.join(words)}{in_the_way(name)}{advice}",
        reason="quotas",
        details={
            "quotas": [(quota.name, quota.value) for quota in quotas],
            "pairs": named,
            "would_do": [(quota.name, quota.value, *bound) for quota, *bound in would],
        },
    )


@dataclass(frozen=True)
class _Case:
    """A structure, and until when to ask whether it can hold with fewer pairs or other quotas."""

    known: Any
    until: float

    def can_hold(self, quotas: Sequence[Quota], pairs: Sequence[int] | None) -> bool | None:
        """Whether some labels keep these; ``None`` where that is not known in time."""
        seconds = min(ANSWER_SECONDS, self.until - time.perf_counter())
        if seconds <= 0:
            return None
        known = replace(self.known, quotas=tuple(quotas), packing=None)
        if pairs is not None:
            chosen, n_must = np.array(pairs, dtype=np.int64), len(known.must_link)
            must, cannot = chosen[chosen < n_must], chosen[chosen >= n_must] - n_must
            known = known._again(known.must_link[must], known.cannot_link[cannot], None)
        ends = known.graph.hard_part.edges
        program = LabelProgram(np.ones((known.n_groups, known.n_clusters), dtype=bool))
        program.add_pairs(ends, np.full(len(ends), np.inf), np.zeros(len(ends), dtype=bool))
        program.add_bounds(known.group_bounds)
        status = program.solve(np.zeros(program.n_columns), max_time=seconds).status
        return {0: True, 2: False}.get(status)

    def fails(self, quotas: Sequence[Quota], pairs: Sequence[int] | None = None) -> bool:
        """Whether these are known not to hold together; ``None`` stands for all pairs."""
        return self.can_hold(quotas, pairs) is False

    def nearest(self, sides: list[tuple[Quota, str]]) -> list[tuple[Quota, str, Bound]]:
        """Bounds on these sides, moved in step, with which everything can hold; empty: none do."""
        looser = [_looser(quota, side) for quota, side in sides]
        n_steps = max(map(len, looser), default=0)
        if not n_steps or not self._loosened(sides, looser, 1.0):
            return []
        shares = [step / n_steps for step in range(1, n_steps + 1)]
        share = shares[bisect_left(shares[:-1], True, key=partial(self._loosened, sides, looser))]
        return [(*one, _at(bounds, share)) for one, bounds in zip(sides, looser, strict=True)]

    def _loosened(
        self, sides: list[tuple[Quota, str]], looser: list[list[Bound]], share: float
    ) -> bool:
        """Whether everything can hold where these bounds have moved by a share of their way."""
        quotas = {id(quota): quota for quota in self.known.quotas}
        for (quota, side), bounds in zip(sides, looser, strict=True):
            quotas[id(quota)] = replace(quotas[id(quota)], **{side: _at(bounds, share)})
        return self.can_hold(tuple(quotas.values()), None) is True

    def named(self, position: int) -> tuple[str, int, int]:
        """The kind and the rows of a pair."""
        n_must = len(self.known.must_link)
        kind, at = ("must_link", 0) if position < n_must else ("cannot_link", n_must)
        i, j = getattr(self.known, kind)[position - at].tolist()
        return kind, i, j


def _sides(quotas: Sequence[Quota]) -> list[tuple[Quota, str]]:
    """The bounds of these that can be loosened."""
    return [(quota, side) for quota in quotas for side in ("low", "high") if _looser(quota, side)]


def _at(bounds: list[Any], share: float) -> Any:
    return bounds[int(np.ceil(share * len(bounds) - 1e-9)) - 1]


def _looser(quota: Quota, side: str) -> list[Any]:
    """Other bounds on a side, from the one given to one that always holds."""
    bound, counts, is_low = getattr(quota, side), quota.counts, side == "low"
    if isinstance(bound, tuple):  # all in step
        each = [_looser(replace(quota, **{side: one}), side) or [one] for one in bound]
        n_steps = max(map(len, each)) if any(map(np.isfinite, bound)) else 0
        return [tuple(one[min(step, len(one) - 1)] for one in each) for step in range(n_steps)]
    if not np.isfinite(bound):
        return []
    step = -1 if is_low else 1
    if quota.of == "count":
        end = 0 if is_low else counts.sum()
        return np.arange(bound, end, step).tolist()[1:] + [float(end)]
    if quota.of == "share":  # in hundredths
        first = np.ceil(100 * bound) - 1 if is_low else np.floor(100 * bound) + 1
        return (np.arange(first, -1 if is_low else 101, step) / 100).tolist()
    if quota.of == "mean":
        end = counts.min() if is_low else counts.max()
    else:
        end = np.minimum(counts, 0).sum() if is_low else np.maximum(counts, 0).sum()
    rounded = [float(f"{value:.4g}") for value in np.linspace(bound, end, STEPS + 1)[1:]]
    return [value for value in rounded if (value < bound) == is_low and value != bound]


def _need(quota: Quota, k: int) -> str:
    """How much there is of a quota, and how much the clusters need or may hold."""
    sides = zip(("at least", "at most"), ("need", "have room for"), quota.ends(k), strict=True)
    ends = [(name, verb, bounds) for name, verb, bounds in sides if np.isfinite(bounds).any()]
    where, total = f"Quota on {quota.name}: ", quota.overall()
    if quota.of in RATIOS:
        least = " and ".join(f"{name} {in_words(bounds)}" for name, _, bounds in ends)
        return f"{where}{quota.what} is {total:.4g} over all points, and {least} in each cluster"
    of_what = f" of {quota.what}" if quota.value is not None else f" units in {quota.what}"
    needs = ""
    for name, verb, bounds in ends:
        needs += f"; {k} clusters with {name} {in_words(bounds)}"
        given = np.isfinite(bounds)
        if given.all() or (verb == "need" and quota.counts.min() >= 0):
            needs += f" {verb} {bounds[given].sum():g}"
    return f"{where}there are {total:g}{of_what}{needs}"
