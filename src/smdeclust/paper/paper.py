"""The paper's experiments as plans, at three scales.

``paper`` is all that the paper runs; ``small`` a selection for a quarter of an hour or so on a
laptop; ``smoke`` a minute's worth, offline, which shows that everything works. What a scale leaves
out is listed in the plan.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from smdeclust.datasets import list_datasets
from smdeclust.exceptions import DataNotFoundError, InvalidInputError
from smdeclust.paper.data import STAND_INS, forget_points, is_at_hand, paper_data
from smdeclust.paper.methods import (
    BLP_KM,
    COP_KM,
    DEFAULT,
    EXACT,
    K_MEANS,
    S_HG_MEANS,
    S_MDE,
    SG_MDE,
    SG_MDE_100,
    SM_MDE,
    SMG_MDE,
    resolve,
)
from smdeclust.paper.plan import Data, Method, Part, Plan, Skipped

logger = logging.getLogger(__name__)

SCALES = ("smoke", "small", "paper")
SET1 = tuple(info.name for info in list_datasets(1))
SET2 = tuple(info.name for info in list_datasets(2))
SET3 = tuple(info.name for info in list_datasets(3))
VARIANT_DATA = ("iris", "accent", "ECG5000")
SOFT_DATA = ("iris", "seeds", "glass", "accent", "ecoli")
_NOTHING: tuple[Skipped, ...] = ()
HEURISTICS = (SG_MDE_100, BLP_KM, COP_KM)


@dataclass(frozen=True)
class _Scale:
    """How much of the paper a scale takes."""

    name: str
    time_limit: float
    set1_seeds: int
    heuristic_seeds: int
    set1_numbers: str  # last characters of the names of configurations, "01234" for all

    def set1(self, names: Sequence[str]) -> tuple[Data, ...]:
        return tuple(
            paper_data(
                name,
                tuple(
                    configuration
                    for info in list_datasets(1)
                    if info.name == name
                    for configuration in info.configurations
                    if configuration[-1] in self.set1_numbers
                ),
            )
            for name in names
        )


_SCALES = {
    "smoke": _Scale("smoke", 60.0, 2, 1, "0"),
    "small": _Scale("small", 600.0, 2, 1, "012"),
    "paper": _Scale("paper", 7200.0, 5, 3, "01234"),
}


def _numbered(data: Sequence[Data], number: str) -> tuple[Data, ...]:
    """The configurations of one number."""
    return tuple(
        replace(d, configurations=tuple(c for c in d.configurations if c[-1] == number))
        for d in data
    )


def _first_seed_first(
    methods: tuple[Method, ...], data: tuple[Data, ...], scale: _Scale, first: int, others: int
) -> tuple[Part, ...]:
    """One seed of everything before the second of any: an interrupted run then has all rows."""
    seeds = _seeds(scale.set1_seeds)
    return (
        Part(methods, data, seeds[:1], scale.time_limit, first),
        Part(methods, data, seeds[1:], scale.time_limit, others),
    )


def _points(name: str) -> int:
    return next(info.n_points for info in list_datasets() if info.name == name)


def _seeds(n: int) -> tuple[int, ...]:
    return tuple(range(n))


def _smoke_data(names: Sequence[str]) -> tuple[tuple[Data, ...], tuple[Skipped, ...]]:
    """Two configurations of each data set at hand; a stand-in, or a remark, for the others."""
    found: list[Data] = []
    skipped: list[Skipped] = []
    for name in names:
        if is_at_hand(name):
            info = next(info for info in list_datasets() if info.name == name)
            mixed = [c for c in info.configurations if c.startswith(("ml_25", "ml_0"))]
            found.append(paper_data(name, tuple(mixed[:6:5]) or info.configurations[:2]))
        elif name in STAND_INS:
            stand_in = STAND_INS[name]
            found.append(Data(stand_in, ("50", "100"), "smdeclust.paper.data:stand_in"))
            skipped.append(
                Skipped(name, f"not in SMDECLUST_DATA; {stand_in} with made pairs stands in")
            )
        else:
            skipped.append(Skipped(name, "not in SMDECLUST_DATA, and this scale downloads nothing"))
    return tuple(found), tuple(skipped)


def _left_out(
    scale: _Scale, all_names: Sequence[str], taken: Sequence[str], full_seeds: int, seeds: int
) -> tuple[Skipped, ...]:
    """What a scale leaves out, in words."""
    skipped = [
        Skipped(name, f"not part of the scale {scale.name}")
        for name in all_names
        if name not in taken and STAND_INS.get(name) not in taken
    ]
    if seeds < full_seeds:
        skipped.append(
            Skipped(f"seeds {seeds} to {full_seeds - 1}", f"scale {scale.name} has fewer")
        )
    return tuple(skipped)


def _fewer_configurations(scale: _Scale) -> tuple[Skipped, ...]:
    if scale.name == "paper":
        return ()
    what = (
        "two of a data set's"
        if scale.name == "smoke"
        else f"those numbered {', '.join(scale.set1_numbers)}"
    )
    return (Skipped("constraint configurations", f"scale {scale.name} takes {what} only"),)


def variants(scale: _Scale) -> Plan:
    """The four variants on three data sets (the paper's first figure)."""
    data, skipped = scale.set1(VARIANT_DATA), _NOTHING
    if scale.name == "smoke":
        data, skipped = _smoke_data(("iris",))
    methods = (SG_MDE, S_MDE, SMG_MDE, SM_MDE)
    parts = _first_seed_first(methods, data, scale, 32, 46)
    skipped += _left_out(scale, VARIANT_DATA, [d.name for d in data], 5, scale.set1_seeds)
    skipped += _fewer_configurations(scale)
    return Plan("variants", "The variants of S-MDEClust", parts, skipped)


def synthetic(scale: _Scale) -> Plan:
    """SG-MDE against multi-start heuristics on the synthetic data sets (Table 2)."""
    limit = {"smoke": 500, "small": 2000, "paper": 20000}[scale.name]
    names = [name for name in SET3 if _points(name) <= limit]
    skipped = _NOTHING
    if scale.name == "smoke":
        names = ["n500_k2", "n500_k20"]
        data = tuple(paper_data(name, ("100", "500")) for name in names)
        skipped = _fewer_configurations(scale)
    else:
        data = tuple(paper_data(name) for name in names)
    few, many = _seeds(1), _seeds(scale.heuristic_seeds)
    medium = tuple(d for d in data if _points(d.name) <= 5000)
    large = tuple(d for d in data if _points(d.name) > 5000)
    # One seed of everything before the second of any: an interrupted run then has all rows.
    sizes = ((medium, few, 30), (medium, many[1:], 60), (large, few, 65), (large, many[1:], 90))
    parts = [
        Part(HEURISTICS, chosen, seeds, scale.time_limit, priority)
        for chosen, seeds, priority in sizes
        if chosen and seeds
    ]
    skipped += _left_out(scale, SET3, names, 3, scale.heuristic_seeds)
    return Plan(
        "synthetic", "Against heuristics on synthetic data (Table 2)", tuple(parts), skipped
    )


def large(scale: _Scale) -> Plan:
    """The same comparison on the large data sets (the paper's second figure)."""
    skipped = _NOTHING
    if scale.name == "smoke":
        data, skipped = _smoke_data(("banana",))
    else:
        data = tuple(
            paper_data(name) for name in (SET2 if scale.name == "paper" else ("banana", "letter"))
        )
    seeds = _seeds(scale.heuristic_seeds)
    parts = []
    for d in data:
        # cheap ones first, and one seed of everything before the second of any
        first = {"banana": 50, "letter": 52, "shuttle": 54, "mnist": 70, "cifar10": 92}[d.name]
        parts.append(Part(HEURISTICS, (d,), seeds[:1], scale.time_limit, priority=first))
        if len(seeds) > 1:
            parts.append(Part(HEURISTICS, (d,), seeds[1:], scale.time_limit, priority=first + 30))
    known = {item.what for item in skipped}
    skipped += tuple(
        item
        for item in _left_out(scale, SET2, [d.name for d in data], 3, scale.heuristic_seeds)
        if item.what not in known
    )
    return Plan("large", "Against heuristics on large data sets", tuple(parts), skipped)


def exact(scale: _Scale) -> Plan:
    """Our solver, the paper's SG-MDE and an exact method (Table 3)."""
    data, skipped = scale.set1(SET1), _NOTHING
    if scale.name == "smoke":
        data, skipped = _smoke_data(("iris", "wine"))
    seeds, limit = _seeds(scale.set1_seeds), scale.time_limit
    proofs = EXACT.but("exact", max_time=min(120.0, limit / 2))
    parts = (
        Part((DEFAULT, SG_MDE), data, seeds, limit, priority=10),
        # proofs take long: one configuration of each kind first
        Part((proofs,), _numbered(data, "0"), seeds[:1], limit, 40, reference=True),
        Part((proofs,), data, seeds[:1], limit, 72, reference=True),
    )
    skipped += _left_out(scale, SET1, [d.name for d in data], 5, scale.set1_seeds)
    skipped += _fewer_configurations(scale)
    return Plan("exact", "Against the exact method (Table 3)", parts, skipped)


def soft(scale: _Scale) -> Plan:
    """SG-MDE against S-HG-MEANS, which may break pairs (Table 4)."""
    data, skipped = scale.set1(SOFT_DATA), _NOTHING
    if scale.name == "smoke":
        data, skipped = _smoke_data(("iris",))
    methods = (DEFAULT, SG_MDE, S_HG_MEANS)
    parts = _first_seed_first(methods, data, scale, 20, 74)
    skipped += _left_out(scale, SOFT_DATA, [d.name for d in data], 5, scale.set1_seeds)
    skipped += _fewer_configurations(scale)
    return Plan("soft", "Against S-HG-MEANS (Table 4)", parts, skipped)


def violations(scale: _Scale) -> Plan:
    """The share of pairs that clustering without constraints breaks (Table 1)."""
    set1, set2 = scale.set1(SET1), tuple(paper_data(name) for name in SET2)
    set3 = tuple(paper_data(name) for name in SET3)
    skipped = _NOTHING
    if scale.name == "smoke":
        set1, skipped = _smoke_data(("iris", "wine"))
        set2, set3 = (), set3[:2]
    elif scale.name == "small":
        set2 = tuple(d for d in set2 if d.name in ("banana", "letter"))
    seeds = _seeds(3 if scale.name != "smoke" else 1)
    parts = [
        # the best of our solver without pairs is, as far as one can tell, the global minimum
        Part((DEFAULT,), set1, seeds[:1], scale.time_limit, 34, unconstrained=True),
        Part((K_MEANS,), set3, seeds, scale.time_limit, 36, unconstrained=True),
        Part((K_MEANS,), set2, seeds, scale.time_limit, 56, unconstrained=True),
    ]
    taken = [d.name for d in (*set1, *set2, *set3)]
    skipped += _left_out(scale, (*SET1, *SET2, *SET3), taken, 3, len(seeds))
    skipped += _fewer_configurations(scale)
    parts = [part for part in parts if part.data]
    return Plan("violations", "Pairs broken without constraints (Table 1)", tuple(parts), skipped)


EXPERIMENTS: dict[str, Callable[[_Scale], Plan]] = {
    "violations": violations,
    "variants": variants,
    "synthetic": synthetic,
    "large": large,
    "exact": exact,
    "soft": soft,
}


def paper_plan(experiment: str, scale: str = "paper") -> Plan:
    """The plan of one of the paper's experiments.

    Parameters
    ----------
    experiment
        One of ``violations``, ``variants``, ``synthetic``, ``large``, ``exact``, ``soft``.
    scale
        One of ``smoke``, ``small``, ``paper``.
    """
    if experiment not in EXPERIMENTS:
        raise InvalidInputError(
            f"There is no experiment {experiment!r}. There are: {', '.join(EXPERIMENTS)}."
        )
    if scale not in _SCALES:
        raise InvalidInputError(f"There is no scale {scale!r}. There are: {', '.join(SCALES)}.")
    plan = EXPERIMENTS[experiment](_SCALES[scale])
    return replace(plan, skipped=tuple(dict.fromkeys(plan.skipped)))


def without_missing_data(plans: Sequence[Plan]) -> list[Plan]:
    """Leave out data sets that cannot be had, and list them as skipped.

    What is neither local nor made here is downloaded here, once, before any run starts.
    """
    missing: dict[str, str] = {}
    for data in {d.name: d for plan in plans for part in plan.parts for d in part.data}.values():
        if data.loader.endswith(":paper_instance") and not is_at_hand(data.name):
            try:
                resolve(data.loader)(data.name, data.configurations[0])
            except DataNotFoundError as error:
                logger.warning("%s", error)
                missing[data.name] = "neither in the folder of SMDECLUST_DATA nor downloadable"
    forget_points()
    found = []
    for plan in plans:
        names = [d.name for part in plan.parts for d in part.data if d.name in missing]
        parts = tuple(
            replace(part, data=tuple(d for d in part.data if d.name not in missing))
            for part in plan.parts
        )
        skipped = tuple(Skipped(name, missing[name]) for name in dict.fromkeys(names))
        parts = tuple(part for part in parts if part.data)
        found.append(replace(plan, parts=parts, skipped=plan.skipped + skipped))
    return found
