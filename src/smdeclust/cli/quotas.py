"""``--quota``: bounds on what every cluster holds of a column, as people write them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from smdeclust.cli.errors import CommandError
from smdeclust.cli.options import Inputs, Reading

Quotas = Annotated[
    list[str] | None,
    typer.Option(
        "--quota",
        metavar="COLUMN=LOW..HIGH",
        help="What every cluster holds of a column: gender=0.4..0.6 (shares of each value), "
        "gender:female=10..14 (a count of one value), amount=..500 (a sum), amount:mean=2..3; "
        "repeat for more.",
    ),
]
_FORM = "expected COLUMN=LOW..HIGH or COLUMN:VALUE=LOW..HIGH, as in gender=0.4..0.6"


def with_quotas(inputs: Inputs, written: list[str] | None, reading: Reading) -> Inputs:
    """The same inputs, with these quotas among what is known."""
    if not written:
        return inputs
    from smdeclust.io import read_frame

    file = read_frame(inputs.path, format=reading.data_format, encoding=reading.encoding)
    frame, known = file.frame, inputs.constraints
    if frame is None or len(frame) != len(inputs.X):
        raise CommandError(f"--quota: {inputs.path} is not read as a table with named columns.")
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
    if value is None:
        return known.quota(entries, low, high, name=name)
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


def quota_lines(quotas: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """For people: each quota, its bounds, and what the clusters hold."""
    lines = []
    for quota in quotas:
        what = quota["name"] if quota["value"] is None else f"{quota['name']} {quota['value']}"
        low = "" if quota["low"] is None else f"{quota['low']:g}"
        high = "" if quota["high"] is None else f"{quota['high']:g}"
        held = ", ".join(f"{value:.4g}" for value in quota["held"])
        lines.append((f"{quota['of']} of {what} ({low}..{high})", held))
    return lines
