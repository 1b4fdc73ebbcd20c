"""Why quotas cannot hold: which of them, with which pairs, and which bounds would work."""

import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from smdeclust.exceptions import InfeasibleConstraintsError, Names
from smdeclust.structure.label_program import LabelProgram
from smdeclust.structure.pairs import in_words
from smdeclust.structure.quotas import RATIOS, Quota
from smdeclust.structure.repair import needed

# Labels of groups and pairs up to which a MILP says whether quotas can be kept; the seconds that
# one such answer and the whole explanation may take.
MOST_EXPLAINED = 50_000
MOST_SECONDS, MOST_SECONDS_IN_ALL = 1.0, 4.0
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
    case = _Case(known, min(deadline, time.perf_counter() + MOST_SECONDS_IN_ALL))
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
        seconds = min(MOST_SECONDS, self.until - time.perf_counter())
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
