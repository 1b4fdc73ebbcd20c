"""The paper's experiments as data, at three scales.

``paper`` is all that the paper runs; ``small`` a selection for a quarter of an hour or so on a
laptop; ``smoke`` a minute's worth, offline, which shows that everything works. What a scale leaves
out is listed in the plan.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from smdeclust.datasets import list_datasets
from smdeclust.datasets.catalog import find_dataset
from smdeclust.exceptions import DataNotFoundError, InvalidInputError
from smdeclust.paper.data import STAND_INS, is_at_hand, load_points
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
TIME_LIMITS = {"smoke": 60.0, "small": 600.0, "paper": 7200.0}  # seconds of one run
SET1, SET2, SET3 = (tuple(info.name for info in list_datasets(n)) for n in (1, 2, 3))
_SEEDS = {"all": slice(None), "first": slice(1), "others": slice(1, None)}


@dataclass(frozen=True)
class _Piece:
    """Methods on some data sets (None: all) with some of the seeds; see `Part` for the rest."""

    methods: tuple[Method, ...]
    priority: int
    seeds: str = "all"
    on: tuple[str, ...] | None = None
    unconstrained: bool = False
    reference: bool = False
    number: str = ""  # only the configurations of this number


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper: its data sets and number of seeds by scale, and what is run."""

    title: str
    smoke: tuple[str, ...]
    small: tuple[str, ...]
    paper: tuple[str, ...]
    seeds: tuple[int, int, int]
    pieces: tuple[_Piece, ...]


def _first_seed_first(
    methods: tuple[Method, ...], first: int, others: int, on: tuple[str, ...] | None = None
) -> tuple[_Piece, _Piece]:
    """One seed of everything before the second of any: an interrupted run then has all rows."""
    return _Piece(methods, first, "first", on), _Piece(methods, others, "others", on)


_HEURISTICS = (SG_MDE_100, BLP_KM, COP_KM)
_VARIANT_DATA = ("iris", "accent", "ECG5000")
_SOFT_DATA = ("iris", "seeds", "glass", "accent", "ecoli")
_QUICK = ("banana", "letter")
_UP_TO_2000, _UP_TO_5000 = (
    tuple(name for name in SET3 if find_dataset(name).n_points <= most) for most in (2000, 5000)
)
_LARGEST = tuple(name for name in SET3 if name not in _UP_TO_5000)

EXPERIMENTS = {
    "violations": Experiment(
        "Pairs that clustering without pairs breaks (Table 1)",
        ("iris", "wine", *SET3[:2]), (*SET1, *_QUICK, *SET3), (*SET1, *SET2, *SET3), (1, 3, 3),
        (
            # the best of our solver without pairs is, as far as one can tell, the global minimum
            _Piece((DEFAULT,), 34, "first", SET1, unconstrained=True),
            _Piece((K_MEANS,), 36, "all", SET3, unconstrained=True),
            _Piece((K_MEANS,), 56, "all", SET2, unconstrained=True),
        ),
    ),
    "variants": Experiment(
        "The four variants of S-MDEClust",
        ("iris",), _VARIANT_DATA, _VARIANT_DATA, (2, 2, 5),
        _first_seed_first((SG_MDE, S_MDE, SMG_MDE, SM_MDE), 32, 46),
    ),
    "synthetic": Experiment(
        "SG-MDE and two heuristics on synthetic data (Table 2)",
        SET3[:2], _UP_TO_2000, SET3, (1, 1, 3),
        (
            *_first_seed_first(_HEURISTICS, 30, 60, _UP_TO_5000),
            *_first_seed_first(_HEURISTICS, 65, 90, _LARGEST),
        ),
    ),
    "large": Experiment(
        "SG-MDE and two heuristics on large data",
        ("banana",), _QUICK, SET2, (1, 1, 3),
        tuple(
            piece  # cheap ones first
            for name, first in zip(SET2, (50, 52, 54, 92, 70), strict=True)
            for piece in _first_seed_first(_HEURISTICS, first, first + 30, (name,))
        ),
    ),
    "exact": Experiment(
        "SG-MDE and an exact method (Table 3)",
        ("iris", "wine"), SET1, SET1, (2, 2, 5),
        (
            _Piece((DEFAULT, SG_MDE), 10),
            # proofs take long: one configuration of each kind first
            _Piece((EXACT,), 40, "first", reference=True, number="0"),
            _Piece((EXACT,), 72, "first", reference=True),
        ),
    ),
    "soft": Experiment(
        "SG-MDE and S-HG-MEANS (Table 4)",
        ("iris",), _SOFT_DATA, _SOFT_DATA, (2, 2, 5),
        _first_seed_first((DEFAULT, SG_MDE, S_HG_MEANS), 20, 74),
    ),
}  # fmt: skip


def paper_plan(experiment: str, scale: str = "paper") -> Plan:
    """Return the plan of one of the paper's experiments.

    Parameters
    ----------
    experiment
        ``"exact"``, ``"soft"``, ``"synthetic"``, ``"large"``, ``"variants"`` or ``"violations"``.
    scale
        ``"smoke"``, ``"small"`` or ``"paper"``.
    """
    if experiment not in EXPERIMENTS:
        raise InvalidInputError(
            f"There is no experiment {experiment!r}. Choose one of {', '.join(EXPERIMENTS)}."
        )
    if scale not in SCALES:
        raise InvalidInputError(f"There is no scale {scale!r}. Choose one of {', '.join(SCALES)}.")
    of, limit = EXPERIMENTS[experiment], TIME_LIMITS[scale]
    seeds = tuple(range(of.seeds[SCALES.index(scale)]))
    found = {name: _data(name, scale) for name in getattr(of, scale)}
    data = {name: item for name, item in found.items() if isinstance(item, Data)}
    parts = []
    for piece in of.pieces:
        on = data if piece.on is None else [name for name in data if name in piece.on]
        methods = tuple(
            m.but(m.name, max_time=min(120.0, limit / 2)) if "max_time" in m.settings else m
            for m in piece.methods
        )
        taken = tuple(_thinned(data[name], piece, scale) for name in on)
        flags = piece.unconstrained, piece.reference
        parts.append(
            Part(methods, taken, seeds[_SEEDS[piece.seeds]], limit, piece.priority, *flags)
        )
    used = tuple(part for part in parts if part.data and part.seeds)
    skipped = {name: item.reason for name, item in found.items() if isinstance(item, Skipped)}
    for name, d in data.items():
        if d.name != name:
            skipped[name] = f"not in SMDECLUST_DATA, so {d.name} with generated pairs is used"
    skipped |= {name: f"not part of the scale {scale}" for name in of.paper if name not in found}
    if len(seeds) < of.seeds[-1]:
        skipped[f"seeds {len(seeds)} to {of.seeds[-1] - 1}"] = f"scale {scale} has fewer"
    if any(_is_thinned(d) for part in used for d in part.data if not part.reference):
        what = "two of a data set's" if scale == "smoke" else "those numbered 0, 1, 2"
        skipped["constraint configurations"] = f"scale {scale} takes {what} only"
    return Plan(experiment, of.title, used, tuple(Skipped(*item) for item in skipped.items()))


def _data(name: str, scale: str) -> Data | Skipped:
    """A data set as a scale has it: all configurations or some, or a stand-in, or nothing."""
    info = find_dataset(name)
    chosen = info.configurations
    if scale == "smoke" and info.set != 3:
        if name in STAND_INS and not is_at_hand(name):
            return Data(STAND_INS[name], ("50", "100"), "smdeclust.paper.data:stand_in")
        if not is_at_hand(name):
            return Skipped(name, "not in SMDECLUST_DATA, and this scale downloads nothing")
        mixed = [c for c in chosen if c.startswith(("ml_25", "ml_0"))]
        chosen = tuple(mixed[:6:5]) or chosen[:2]
    elif scale == "small" and info.set == 1:
        chosen = tuple(c for c in chosen if c[-1] in "012")
    return Data(name, chosen)


def _thinned(data: Data, piece: _Piece, scale: str) -> Data:
    """A data set with the configurations that a piece runs."""
    if data.name in SET3 and scale == "smoke" and not piece.unconstrained:
        return replace(data, configurations=("100", "500"))
    chosen = tuple(c for c in data.configurations if c.endswith(piece.number))
    return replace(data, configurations=chosen)


def _is_thinned(data: Data) -> bool:
    is_own = data.name in STAND_INS.values()
    return is_own or len(data.configurations) < len(find_dataset(data.name).configurations)


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
                missing[data.name] = (
                    "The data are not in SMDECLUST_DATA and could not be downloaded."
                )
    load_points.cache_clear()  # gives back the memory of the last one
    found = []
    for plan in plans:
        names = dict.fromkeys(d.name for part in plan.parts for d in part.data)
        skipped = tuple(Skipped(name, missing[name]) for name in names if name in missing)
        parts = (
            replace(part, data=tuple(d for d in part.data if d.name not in missing))
            for part in plan.parts
        )
        used = tuple(part for part in parts if part.data)
        found.append(replace(plan, parts=used, skipped=plan.skipped + skipped))
    return found
