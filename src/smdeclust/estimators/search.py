"""Search: how SMDEClust looks for a clustering, as one small object with presets."""

from __future__ import annotations

import dataclasses
from typing import Any

from smdeclust.estimators.parameters import (
    anything,
    check_number,
    check_parameters,
    choice,
    documented,
    flag,
    number,
    whole,
)
from smdeclust.exceptions import InvalidInputError
from smdeclust.memetic import Islands
from smdeclust.memetic.mutation import REASSIGN


def _check_factor(name: str, value: Any) -> None:
    interval = value if isinstance(value, tuple) else (value, value)
    if len(interval) != 2:
        raise InvalidInputError(f"{name} must be a number or an interval, got {value!r}.")
    for end in interval:
        check_number(name, end, low=1e-9, high=2)
    if interval[0] > interval[1]:
        raise InvalidInputError(f"{name} must be an interval (low, high), got {value!r}.")


def _check_searches(name: str, value: Any) -> None:
    if value != "auto":
        check_number(name, value, low=1, whole=True, optional=True)


@documented(frozen=True)
class Search:
    """How :class:`SMDEClust` searches: ``SMDEClust(K, search=Search(max_populations=20))``.

    ``Search.preset("quick")`` takes about as long as k-means with ten starts,
    ``Search.preset("standard")`` is ``Search()``, and ``Search.preset("paper")`` is the
    published method in its variant SG-MDE. ``replace`` changes some of the values.
    """

    assignment: str = choice(
        "greedy",
        REASSIGN,
        'Assignment step inside mutation: ``"greedy"``, ``"exact"`` or ``"greedy-repair"``\n'
        "(greedy, then repaired if possible). The local search is always exact; it starts\n"
        "from centers alone, so crossover needs no assignment.",
    )
    mutation: bool = flag(True, "Whether offspring mutate, with probability 1 / (generation + 1).")
    local_search: str = choice(
        "deep",
        ("deep", "lloyd"),
        '``"deep"`` jumps (empties one cluster, splits another) if that helps, and swaps Kempe\n'
        'chains when assigning and moving centers no longer helps; ``"lloyd"`` is the paper\'s\n'
        "local search, and the only one for Dask collections and devices. There are no swaps on\n"
        "large data (2^22 points x features, or 2^23 points x features x clusters); from 2^22\n"
        "points x features on, jumps are evaluated on a sample. With fewer than 10 clusters there\n"
        "are no jumps.",
    )
    population_size: int = whole(10, "Size of a population, P; at least 4.", low=4)
    max_populations: int = whole(
        10,
        "Maximum number of populations before their best solutions form a last one; on large data\n"
        "(10^6 points x features x clusters) five are enough if all end differently. 1: a single\n"
        "population, as in the paper; otherwise at least 4.",
        low=1,
    )
    n_agree: int = whole(
        5,
        "Stop when this many populations have ended with the best objective; two within 0.001%\n"
        "are enough if half of all first local searches ended within 0.1% of it.",
        low=1,
    )
    max_no_improvement: int = whole(
        500,
        "A population ends after this many offspring in a row that do not improve its best\n"
        "solution; if `relative`, also after a tenth as many that bring no new solution.",
        low=1,
    )
    tol: float = number(
        1e-6,
        "A population ends when the pairwise differences of its objectives sum to at most this.",
        low=0,
    )
    relative: bool = flag(
        True,
        "Whether `tol`, and the smallest gain that counts, are relative to the objective\n"
        "(otherwise absolute, as in the paper).",
    )
    scale_factor: float | tuple[float, float] = anything(
        (0.5, 0.8), "F, a number or an interval to draw it from at each crossover.", _check_factor
    )
    alpha: float = number(
        0.5, "How much mutation prefers points far from their center, 0 to 1.", low=0, high=1
    )
    max_local_searches: int | str | None = anything(
        "auto",
        "Approximate maximum number of local searches in the whole run. Starts and offspring are\n"
        "counted, and a population that has begun is completed first; further searches after\n"
        "jumps, the final search for jumps, and the search from an earlier solution are not\n"
        'counted. ``"auto"``: 10^10 / (points x features x clusters), at least 100 (50,000 / K\n'
        "with K > 500 clusters), so that the time of a run on large data is proportional to their\n"
        "size. ``None``: no limit.",
        _check_searches,
    )
    max_generations: int | None = whole(None, "Limit on the generations of each population.", low=0)
    max_local_iter: int | None = whole(None, "Limit on the iterations of one local search.", low=1)
    replacement: str = choice(
        "immediate",
        ("immediate", "generation"),
        '``"immediate"``: a better offspring replaces its target at once, as in the paper.\n'
        '``"generation"``: all offspring of a generation come from the same population, so that\n'
        "they can be refined together.",
    )

    def __post_init__(self) -> None:
        check_parameters(self)
        Islands(self.max_populations, self.n_agree)  # says which numbers go together

    @classmethod
    def preset(cls, name: Any) -> Search:
        """Return a preset by its name, or a `Search` as it is."""
        if isinstance(name, Search):
            return name
        if not isinstance(name, str) or name not in PRESETS:
            words = ", ".join(PRESETS)
            raise InvalidInputError(f"search must be one of {words}, or a Search; got {name!r}.")
        return PRESETS[name]

    def replace(self, **changes: Any) -> Search:
        """Return a copy with some values changed."""
        unknown = set(changes) - {field.name for field in dataclasses.fields(self)}
        if unknown:
            raise InvalidInputError(f"Search has no {', '.join(sorted(unknown))}.")
        return dataclasses.replace(self, **changes)

    def __repr__(self) -> str:
        """Only what differs from the standard, as scikit-learn writes estimators."""
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"Search({', '.join(changed)})"


PRESETS = {
    "quick": Search(
        population_size=5, max_populations=1, max_local_searches=10, max_no_improvement=5
    ),
    "standard": Search(),
    "paper": Search(
        local_search="lloyd",
        mutation=False,
        population_size=20,
        max_populations=1,
        max_local_searches=None,
        tol=1e-4,
        relative=False,
    ),
}
NAMES = tuple(field.name for field in dataclasses.fields(Search))
