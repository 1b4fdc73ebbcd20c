"""Options that set up the method: distance, sizes, penalty, where to start."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from smdeclust.cli import methods
from smdeclust.cli.errors import CommandError
from smdeclust.cli.fitted import read_labels
from smdeclust.cli.opening import Inputs


@dataclass(frozen=True)
class Settings:
    """How the method is set up: one field an option.

    Setting up the method:
      --metric NAME: Distance: euclidean (the default), learned from the pairs, diagonal (one weight
        a column) or auto.
      --size-min N: Fewest points of a cluster; N,N,... for K bounds.
      --size-max N: Most points of a cluster; N,N,... for each.
      --penalty COST: What breaking a soft pair costs, times its confidence (default: from the
        data).
      --init DIR: Start from an earlier result (folder or labels.csv); clusters keep their numbers.
    """

    metric: str | None = None
    size_min: str | None = None
    size_max: str | None = None
    penalty: Annotated[float | None, {"min": 0}] = None
    init: Path | None = None

    def arguments(self, method: str, inputs: Inputs) -> dict[str, Any]:
        """The options given, as arguments of the method's estimator; the others are left out."""
        given = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) is not None
        }
        for name in given:
            if not has_option(method, name):
                others = [other for other in methods.METHODS if has_option(other, name)]
                there = f"Methods that have it: {', '.join(others)}." if others else ""
                title = methods.METHODS[method].title
                raise CommandError(
                    f"--{name.replace('_', '-')}: {title} does not have it. {there}".rstrip()
                )
        for name in ("size_min", "size_max"):
            if name in given:
                given[name] = _sizes(given[name], name)
        if "init" in given:
            path = given["init"] / "labels.csv" if given["init"].is_dir() else given["init"]
            given["init"] = read_labels(path, inputs.table, partial=True)
        return given


def has_option(method: str, name: str) -> bool:
    """Whether a method has an option of `Settings`."""
    import smdeclust

    estimator = getattr(smdeclust, methods.METHODS[method].estimator)
    has = inspect.signature(estimator.__init__).parameters
    # Other methods have an `init` that is the name of a rule, and no start from earlier labels.
    return name in has and (name != "init" or "warm_start" in has)


def _sizes(written: str, name: str) -> int | list[int]:
    try:
        numbers = [int(word) for word in written.split(",")]
    except ValueError:
        raise CommandError(
            f"--{name.replace('_', '-')} is {written!r}, expected a whole number, or one for each "
            "cluster, separated by commas."
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers
