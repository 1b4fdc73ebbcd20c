"""``Constraints.check``: can these pairs be satisfied, why not, and what is the least repair?"""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.structure.conflicts import Conflict, find_conflicts
from smdeclust.structure.repair import Repair
from smdeclust.structure.structure import Structure, as_n_clusters

if TYPE_CHECKING:
    from smdeclust.constraints.constraints import Constraints

# Why pairs contradict each other.
REASONS = {
    "self_cannot_link": "a point has a cannot-link to itself",
    "must_link_path": "must-links join two points that a cannot-link separates",
    "too_few_groups": "the must-links leave fewer groups than clusters",
    "clique": "more groups than clusters all have cannot-links to each other",
    "no_coloring": "the cannot-links need more clusters (every way to place the points was tried)",
}
_SHOWN = 12


@dataclass(frozen=True, repr=False)
class Check:
    """The result of :meth:`Constraints.check`, with an explanation that you can ``print``.

    It is true if the pairs can be satisfied.

    Attributes
    ----------
    feasible
        Whether K clusters can satisfy all pairs, or ``None`` if this is unknown.
    conflicts
        Contradictions that share no pair. Their pairs are positions in `judged`.
    complete
        Whether these are all such contradictions.
    repair
        The pairs to drop (positions in `judged`), or ``None`` if there is no contradiction.
    judged
        The pairs that were checked, all as hard ones.
    repaired
        The constraints without the pairs of the repair.
    n_clusters
        The number of clusters, K.
    quotas
        Why the quotas cannot be met although the pairs can be satisfied, or an empty text.
    """

    feasible: bool | None
    conflicts: tuple[Conflict, ...]
    complete: bool
    repair: Repair | None
    judged: "Constraints"
    repaired: "Constraints"
    n_clusters: int
    quotas: str = ""

    def __bool__(self) -> bool:
        return self.feasible is True

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        within = f"{self.n_clusters} cluster{'' if self.n_clusters == 1 else 's'}"
        if self.quotas:
            return [f"No, the quotas cannot be satisfied with {within}: {self.quotas}"]
        if self.feasible:
            more = " and the quotas" if self.judged.quotas else ""
            pairs = f"all {self.judged.n_pairs} pairs{more}"
            return [f"Yes, {pairs} can be satisfied with {within}."]
        if self.feasible is None:
            return [
                f"Not known: the search found no contradiction among {self.judged.n_pairs} pairs, "
                f"but also no clustering with {within} that satisfies all of them."
            ]
        n = len(self.conflicts)
        more = "" if self.complete else " (there may be more: time ran out)"
        lines = [
            f"No, these pairs cannot all be satisfied with {within}: {n} independent "
            f"contradiction{'' if n == 1 else 's'}{more}."
        ]
        for number, conflict in enumerate(self.conflicts[:_SHOWN], start=1):
            lines.append(f"  {number}. {REASONS[conflict.reason]}:")
            lines.append(f"     {self._pairs(conflict)}")
        if n > _SHOWN:
            lines.append(f"  ... and {n - _SHOWN} more.")
        repair = self.repair
        assert repair is not None
        these = "this pair" if repair.n_pairs == 1 else f"these {repair.n_pairs} pairs"
        lines.append(f"To resolve this, drop {these}: {self._pairs(repair)}.")
        if repair.proven:
            lines.append("No smaller or cheaper repair exists (proven).")
        else:
            lines.append(
                f"There may be a cheaper repair: this one costs {repair.cost:g}, and none costs "
                f"less than {repair.bound:g}."
            )
        return lines

    def _pairs(self, what: Conflict | Repair) -> str:
        words = self.judged.in_words(what.must_link, what.cannot_link)[:_SHOWN]
        hidden = what.n_pairs - len(words)
        return "; ".join(words) + (f"; and {hidden} more" if hidden > 0 else "")


def judge(constraints: "Constraints", n_clusters: Any, *, soft: bool, max_time: float) -> Check:
    """Judge hard pairs, or all of them."""
    known = constraints.hardened()
    judged = known.all_as_hard() if soft else known.hard_only()
    pairs, n_points = (judged.must_link, judged.cannot_link), known.n_points
    k = as_n_clusters(n_clusters, sys.maxsize if n_points is None else n_points)
    if n_points is None:  # at least the rows that are named, and enough others to fill clusters
        n_points = int(np.concatenate(pairs).max(initial=-1)) + 1 + k
    costs = _costs(known) if soft else {}
    found = find_conflicts(n_points, k, *pairs, max_time=max_time, **costs)
    feasible, quotas = found.feasible, ""
    if feasible and constraints.quotas:
        try:
            Structure.build(n_points, k, *pairs, quotas=constraints.quotas)
        except InfeasibleConstraintsError as error:
            feasible, quotas = False, str(error)
    repair = found.repair
    repaired = constraints if repair is None else _without(known, repair)
    return Check(feasible, found.conflicts, found.complete, repair, judged, repaired, k, quotas)


def _costs(known: "Constraints") -> dict[str, np.ndarray]:
    """What dropping each pair costs, hard ones first: a hard pair more than all soft ones."""
    soft = {}
    for kind in ("must_link", "cannot_link"):
        confidence = getattr(known, f"soft_{kind}_confidence")
        price = getattr(known, f"soft_{kind}_price")
        odds = np.log(confidence / (1 - confidence))
        soft[kind] = np.maximum(np.where(np.isnan(price), odds, price), 1e-3)
    hard = 1.0 + sum(float(cost.sum()) for cost in soft.values())
    return {
        f"{kind}_cost": np.concatenate([np.full(len(getattr(known, kind)), hard), cost])
        for kind, cost in soft.items()
    }


def _without(known: "Constraints", repair: Repair) -> "Constraints":
    """The constraints without the pairs of a repair, of which the hard ones come first."""
    masks = {}
    for kind, gone in (("must_link", repair.must_link), ("cannot_link", repair.cannot_link)):
        n_hard, n_soft = len(getattr(known, kind)), len(getattr(known, f"soft_{kind}"))
        kept = np.ones(n_hard + n_soft, dtype=bool)
        kept[gone] = False
        masks[kind], masks[f"soft_{kind}"] = kept[:n_hard], kept[n_hard:]
    return known.keep(masks)
