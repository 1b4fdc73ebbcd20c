"""Labels as ``fit`` writes them, read back."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from smdeclust.cli.errors import CommandError
from smdeclust.io.files import bad_line, decode, read_bytes, shown


def read_labels(path: Path, table: Any) -> Any:
    """Return one cluster number a point, from a CSV of two columns: row or id, and label.

    Raises
    ------
    SMDEClustError, CommandError
        A line, a point or a label is wrong, missing or there twice.
    """
    import numpy as np

    text = decode(read_bytes(path), path)
    try:
        lines = list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as error:
        raise CommandError(f"{path}: this is no CSV ({error}).") from error
    if not lines or len(lines[0]) < 2:
        raise bad_line(path, 1, "no two columns", "a header such as id,label, and a line a point")
    row_of = (
        {str(row): row for row in range(len(table.X))}
        if lines[0][0].strip().lower() == "row" or table.ids is None
        else {name: row for row, name in enumerate(table.ids)}
    )
    labels = np.full(len(table.X), -1, dtype=np.int64)
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cells):
            continue
        if len(cells) < 2:
            raise bad_line(path, number, f"{len(cells)} cell", "a point and its label")
        row = row_of.get(cells[0].strip())
        if row is None:
            raise bad_line(path, number, f"the point {shown(cells[0])}", "a point of the data")
        try:
            label = int(cells[1])
        except ValueError:
            label = -1
        if not 0 <= label < 2**31:
            raise bad_line(path, number, f"the label {shown(cells[1])}", "a whole number from 0")
        if labels[row] >= 0:
            raise bad_line(path, number, f"the point {shown(cells[0])} again", "every point once")
        labels[row] = label
    missing = np.flatnonzero(labels < 0)
    if len(missing):
        name = table.ids[missing[0]] if table.ids is not None else missing[0]
        raise CommandError(
            f"{path}: there is no label for the point {shown(name)}"
            f"{f' and {len(missing) - 1} others' if len(missing) > 1 else ''}."
        )
    return labels
