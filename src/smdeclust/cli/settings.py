"""Options that set up the method: distance, sizes, penalty, where to start, and quotas."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from smdeclust.cli import methods
from smdeclust.cli.errors import CommandError
from smdeclust.cli.fitted import read_labels
from smdeclust.cli.opening import Inputs
from smdeclust.cli.options import option
from smdeclust.tables.values import Columns, as_numbers, values_of


@dataclass(frozen=True)
class Settings:
    """How the method is set up: one field per option.

    Setting up the method:
      --metric NAME: Distance: euclidean (the default), learned from the pairs, diagonal (one weight
        per column) or auto.
      --size-min N: Smallest number of points in a cluster; N,N,... for one bound per cluster.
      --size-max N: Largest number of points in a cluster; N,N,... for one bound per cluster.
      --penalty COST: Set the price of a broken soft pair to COST times its confidence (default:
        computed from the data).
      --init DIR: Start from an earlier result (folder or labels.csv); clusters keep their numbers.
    """

    metric: str | None = None
    size_min: str | None = None
    size_max: str | None = None
    penalty: Annotated[float | None, {"min": 0}] = None
    init: Path | None = None

    def arguments(self, method: str, inputs: Inputs) -> dict[str, Any]:
        """The options given, as arguments of the method's estimator; the others are left out."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        for name in given:
            if not methods.has_option(method, name):
                others = [other for other in methods.METHODS if methods.has_option(other, name)]
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


def _sizes(written: str, name: str) -> int | list[int]:
    try:
        numbers = [int(word) for word in written.split(",")]
    except ValueError:
        raise CommandError(
            f"--{name.replace('_', '-')} is {written!r}, expected a whole number, or one for each "
            "cluster, separated by commas."
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


# ---- quotas: bounds on what every cluster holds of a column, as people write them

Quotas = Annotated[
    list[str] | None,
    option(
        "--quota COLUMN=LOW..HIGH",
        "What every cluster must contain: gender=0.4..0.6 (shares of each value), "
        "gender:female=10..14 (a count of one value), amount=..500 (a sum), amount:mean=2..3, "
        "level:share=0.2..0.4 (shares of each value, if these are numbers), gender:female=3,4,5.. "
        "(one bound for each cluster, in any order); repeat for more.",
    ),
]
_FORM = "expected COLUMN=LOW..HIGH (gender=0.4..0.6), or one bound per cluster (gender:f=3,4..5,6)"


def with_quotas(inputs: Inputs, written: list[str] | None) -> Inputs:
    """The same inputs, with these quotas among what is known."""
    if not written:
        return inputs
    frame, known = inputs.file.frame, inputs.constraints
    for each in written:
        name, value, low, high = _parse(each)
        if name not in frame.columns:
            raise CommandError(
                f"--quota {each}: there is no column {name!r}; there are "
                f"{', '.join(map(str, frame.columns))}."
            )
        numbers = _as_numbers(inputs, name)
        if numbers is not None and value in (None, "sum", "mean"):
            known = known.quota(numbers, low, high, of=value, name=name)
        else:
            known = _added(known, frame[name], name, value, low, high)
    return replace(inputs, constraints=known)


def _added(known: Any, column: Any, name: str, value: str | None, low: Any, high: Any) -> Any:
    entries = [str(e) if there else None for e, there in zip(column, column.notna(), strict=True)]
    if value is None or (value in ("share", "count") and value not in entries):
        yes_or_no = {e.lower() for e in entries if e} <= {"true", "false"}
        column = [e and e.lower() == "true" for e in entries] if yes_or_no else entries
        return known.quota(column, low, high, of=value, name=name)
    bounds = [None if bound is None else {value: bound} for bound in (low, high)]
    return known.quota(entries, *bounds, name=name)


def _as_numbers(inputs: Inputs, name: str) -> Any:
    """The numbers of a column as the table reads it; None where it holds something else."""
    frame = inputs.file.frame
    column = frame[name].astype(float) if frame[name].dtype == bool else frame[name]
    read = values_of(column, Columns(frame, inputs.file.decimal).decimal)
    if read.kind == "words" and inputs.features and inputs.features.roles_.get(name) == "number":
        read = as_numbers(read.column, read.decimal)
    return read.column if read.kind == "numbers" else None


def _parse(written: str) -> tuple[str, str | None, float | None, float | None]:
    left, _, right = written.rpartition("=")
    name, _, value = left.partition(":")
    ends = right.split("..") if ".." in right else [right, right]
    try:
        low, high = (_end(end) for end in ends if left and right)
    except ValueError:
        raise CommandError(f"--quota {written}: {_FORM}.") from None
    return name.strip(), value.strip() or None, low, high


def _end(written: str) -> Any:
    """One number, one for each cluster, or ``None``."""
    ends = [float(each) if each.strip() else None for each in written.split(",")]
    return ends[0] if len(ends) == 1 else ends
