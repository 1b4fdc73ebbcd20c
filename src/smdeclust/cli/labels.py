"""Labels as ``fit`` writes them, and weights in the same form, read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from smdeclust.cli.errors import CommandError
from smdeclust.io.cells import plain_cell
from smdeclust.io.files import PathLike, bad_line, decode, read_bytes, shown
from smdeclust.io.per_point import named_entries
from smdeclust.io.tokens import split_words


def read_labels(path: Path, table: Any, *, partial: bool = False) -> Any:
    """Return one cluster number a point, from a CSV of two columns: row or id, and label.

    Where `partial` is set, points of the data may be missing (-1) and others be there.
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
    head = split_words(text.partition("\n")[0])
    if len(head) < 2:
        raise bad_line(path, 1, "no two columns", f"a header such as id,{what}, and a line a point")
    by_row = table.ids is None or head[0].lower() == "row" != table.id_name
    names = map(str, range(len(table.X))) if by_row else table.ids
    rows = {name: row for row, name in enumerate(names)}

    def row_of(word: str, path: PathLike, line: int) -> int | None:
        row = rows.get(plain_cell(word), rows.get(word))
        if row is None and not partial:
            raise bad_line(path, line, f"the point {shown(word)}", "a point of the data")
        return row

    values: list[Any] = [None] * len(table.X)
    for row, (word, line) in named_entries(text, path, row_of).items():
        try:
            values[row] = parse(word)
        except ValueError:
            values[row] = -1
        if not 0 <= values[row] < below:
            raise bad_line(path, line, f"the {what} {shown(word)}", expected)
    missing = [row for row, value in enumerate(values) if value is None]
    if missing and (not partial or len(missing) == len(values)):
        name = table.ids[missing[0]] if table.ids is not None else missing[0]
        raise CommandError(
            f"{path}: there is no {what} for the point {shown(name)}"
            f"{f' and {len(missing) - 1} others' if len(missing) > 1 else ''}."
        )
    return values
