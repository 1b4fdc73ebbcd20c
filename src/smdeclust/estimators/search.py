"""Search: how SMDEClust looks for a clustering, as one small object with presets."""

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
from smdeclust.memetic.operators import REASSIGN


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
    """The settings of the search of :class:`SMDEClust`.

    Pass it as ``SMDEClust(K, search=Search(max_populations=20))``. ``Search()`` is the standard.
    """

    assignment: str = choice(
        "greedy",
        REASSIGN,
        'The assignment in the mutation: ``"greedy"``, ``"exact"``, or ``"greedy-repair"``, which\n'
        "repairs the greedy one if possible. The local search always uses the exact assignment.",
    )
    mutation: bool = flag(True, "Whether offspring mutate, with probability 1 / (generation + 1).")
    local_search: str = choice(
        "deep",
        ("deep", "lloyd"),
        '``"lloyd"`` is the local search of the paper. ``"deep"`` also swaps Kempe chains between\n'
        "clusters and, with 10 clusters or more, jumps (it empties a cluster and splits another).\n"
        "It swaps no chains if points x features is at least 2^22, or points x features x K is\n"
        "above 2^23. From 2^22 points x features on, it evaluates jumps on a sample. Dask\n"
        'collections and devices use ``"lloyd"``.',
    )
    population_size: int = whole(10, "The size of a population, P, at least 4.", low=4)
    max_populations: int = whole(
        10,
        "The maximum number of populations, which is 1 (as in the paper) or at least 4. The best\n"
        "solutions of all populations then form a last one. From 10^6 points x features x K on,\n"
        "this already happens if only one of five populations has the best objective.",
        low=1,
    )
    n_agree: int = whole(
        5,
        "Stop when this many populations have ended with the best objective. Two are enough if\n"
        "half of all first local searches ended within 0.1% of it.",
        low=1,
    )
    max_no_improvement: int = whole(
        500,
        "A population ends after this many offspring in a row that do not improve its best\n"
        "solution. If `relative`, it also ends after a tenth as many without a new solution.",
        low=1,
    )
    tol: float = number(
        1e-6,
        "A population ends when the pairwise differences of its objectives sum to at most `tol`.",
        low=0,
    )
    relative: bool = flag(
        True,
        "Whether `tol` and the smallest improvement are relative to the objective. In the paper,\n"
        "they are absolute.",
    )
    scale_factor: float | tuple[float, float] = anything(
        (0.5, 0.8),
        "The factor F of a crossover: a number, or an interval from which it is drawn.",
        _check_factor,
    )
    alpha: float = number(
        0.5, "How much the mutation prefers points far from their center, 0 to 1.", low=0, high=1
    )
    max_local_searches: int | str | None = anything(
        "auto",
        "The approximate maximum number of local searches, without those that follow a jump. The\n"
        'first solutions of a population are always completed. ``"auto"`` is\n'
        "10^10 / (points x features x K), but at least 100, or 50,000 / K with K > 500 clusters.\n"
        "``None`` means no limit.",
        _check_searches,
    )
    max_generations: int | None = whole(
        None, "The maximum number of generations of a population.", low=0
    )
    max_local_iter: int | None = whole(
        None, "The maximum number of iterations of a local search.", low=1
    )
    replacement: str = choice(
        "immediate",
        ("immediate", "generation"),
        'When better offspring enter the population: ``"immediate"``, as in the paper, or after\n'
        'each ``"generation"``, so that a device can process all offspring together.',
    )

    def __post_init__(self) -> None:
        check_parameters(self)
        Islands(self.max_populations, self.n_agree)  # says which numbers go together

    @classmethod
    def preset(cls, name: Any) -> "Search":
        """Return the preset ``"quick"``, ``"standard"`` or ``"paper"``, or a `Search` unchanged."""
        if isinstance(name, Search):
            return name
        if not isinstance(name, str) or name not in PRESETS:
            words = ", ".join(PRESETS)
            raise InvalidInputError(f"search must be one of {words}, or a Search; got {name!r}.")
        return PRESETS[name]

    def replace(self, **changes: Any) -> "Search":
        """Return a copy in which some values are changed."""
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
