"""``--quota``: bounds on what every cluster holds of a column, as people write them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from smdeclust.cli.errors import CommandError
from smdeclust.cli.opening import Inputs
from smdeclust.cli.spread import option

Quotas = Annotated[
    list[str] | None,
    option(
        "--quota COLUMN=LOW..HIGH",
        "What every cluster holds of a column: gender=0.4..0.6 (shares of each value), "
        "gender:female=10..14 (a count of one value), amount=..500 (a sum), amount:mean=2..3, "
        "level:share=0.2..0.4 (shares of each value, if these are numbers); repeat for more.",
    ),
]
_FORM = "expected COLUMN=LOW..HIGH or COLUMN:VALUE=LOW..HIGH, as in gender=0.4..0.6"


def with_quotas(inputs: Inputs, written: list[str] | None) -> Inputs:
    """The same inputs, with these quotas among what is known."""
    if not written:
        return inputs
    if inputs.file is None:
        import pandas as pd

        frame = pd.DataFrame(inputs.table.X, columns=list(inputs.table.feature_names))
    else:
        frame = inputs.file.frame
    known = inputs.constraints
    for each in written:
        name, value, low, high = _parse(each)
        if name not in frame.columns:
            raise CommandError(
                f"--quota {each}: there is no column {name!r}; there are "
                f"{', '.join(map(str, frame.columns))}."
            )
        known = _added(known, frame[name], name, value, low, high)
    return replace(inputs, constraints=known)


def _added(known: Any, column: Any, name: str, value: str | None, low: Any, high: Any) -> Any:
    numbers = _as_numbers(column)
    if numbers is not None and value in (None, "sum", "mean"):
        return known.quota(numbers, low, high, of=value, name=name)
    entries = column.astype(object).where(column.notna(), None).tolist()
    entries = [None if entry is None else str(entry) for entry in entries]
    if value is None or (value in ("share", "count") and value not in entries):
        return known.quota(entries, low, high, of=value, name=name)
    bounds = [None if bound is None else {value: bound} for bound in (low, high)]
    return known.quota(entries, *bounds, name=name)


def _as_numbers(column: Any) -> list[float] | None:
    try:
        return [float(value) for value in column.tolist()]
    except (TypeError, ValueError):
        return None


def _parse(written: str) -> tuple[str, str | None, float | None, float | None]:
    left, equals, right = written.rpartition("=")
    if not equals or not left or not right:
        raise CommandError(f"--quota {written}: {_FORM}.")
    name, _, value = left.partition(":")
    ends = right.split("..") if ".." in right else [right, right]
    try:
        low, high = (float(end) if end else None for end in ends)
    except ValueError:
        raise CommandError(f"--quota {written}: {_FORM}.") from None
    return name.strip(), value.strip() or None, low, high
