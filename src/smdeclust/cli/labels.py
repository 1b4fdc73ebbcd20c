"""Labels as ``fit`` writes them, and weights in the same form, read back."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from smdeclust.cli.errors import CommandError
from smdeclust.io.cells import plain_cell
from smdeclust.io.files import bad_line, decode, read_bytes, shown


def read_labels(path: Path, table: Any, *, partial: bool = False) -> Any:
    """Return one cluster number a point, from a CSV of two columns: row or id, and label.

    Where `partial` is set, points of the data may be missing (-1) and others be there.

    Raises
    ------
    SMDEClustError, CommandError
        A line, a point or a label is wrong, missing or there twice.
    """
    import numpy as np

    found = _read_column(path, table, "label", partial=partial)
    return np.array([-1 if label is None else label for label in found], np.int64)


def read_weights(path: Path, table: Any) -> Any:
    """Return one weight a point, from a CSV of two columns: row or id, and weight."""
    import numpy as np

    return np.array(_read_column(path, table, "weight"), np.float64)


# What is read -> its type, what it must be below, and words for that.
_KINDS: dict[str, tuple[Callable[[str], float], float, str]] = {
    "label": (int, 2**31, "a whole number from 0"),
    "weight": (float, float("inf"), "a number from 0"),
}


def _read_column(path: Path, table: Any, what: str, *, partial: bool = False) -> list[Any]:
    """The second column, one value a point (None where `partial` and missing), in order."""
    parse, below, expected = _KINDS[what]
    text = decode(read_bytes(path), path)
    try:
        lines = list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as error:
        raise CommandError(f"{path}: this is not a CSV file ({error}).") from error
    if not lines or len(lines[0]) < 2:
        raise bad_line(path, 1, "no two columns", f"a header such as id,{what}, and a line a point")
    row_of = (
        {str(row): row for row in range(len(table.X))}
        if table.ids is None or lines[0][0].strip().lower() == "row" != table.id_name
        else {name: row for row, name in enumerate(table.ids)}
    )
    values: list[Any] = [None] * len(table.X)
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cells):
            continue
        if len(cells) < 2:
            raise bad_line(path, number, f"{len(cells)} cell", f"a point and its {what}")
        point = cells[0].strip()
        row = row_of.get(point, row_of.get(plain_cell(point)))
        if row is None and partial:
            continue
        if row is None:
            raise bad_line(path, number, f"the point {shown(cells[0])}", "a point of the data")
        try:
            value = parse(cells[1])
        except ValueError:
            value = -1
        if not 0 <= value < below:
            raise bad_line(path, number, f"the {what} {shown(cells[1])}", expected)
        if values[row] is not None:
            raise bad_line(path, number, f"the point {shown(cells[0])} again", "every point once")
        values[row] = value
    missing = [row for row, value in enumerate(values) if value is None]
    if missing and (not partial or len(missing) == len(values)):
        name = table.ids[missing[0]] if table.ids is not None else missing[0]
        raise CommandError(
            f"{path}: there is no {what} for the point {shown(name)}"
            f"{f' and {len(missing) - 1} others' if len(missing) > 1 else ''}."
        )
    return values
