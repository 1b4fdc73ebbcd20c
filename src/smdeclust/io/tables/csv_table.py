"""CSV with a header; separated by commas, semicolons or tabs, as the header shows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import PathLike, bad_line, decode, lines_of, shown
from smdeclust.io.tables.bad_cells import BadCell, bad_cells
from smdeclust.io.tables.table import (
    Choice,
    Columns,
    Table,
    as_labels,
    assign_columns,
    check_ids,
    check_points,
    non_finite,
)
from smdeclust.io.tokens import parse_number
from smdeclust.io.wording import argument

_QUOTED = re.compile(r'"[^"]*"')
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
_LISTED = 5

Records = list[tuple[int, list[str]]]


def read(content: bytes, path: PathLike, choice: Choice, header: bool) -> Table:
    """Read a CSV table; without a header the columns are called x0, x1, ...

    Where cells are separated by semicolons or tabs, numbers may have a decimal comma.
    """
    text = decode(content, path).rstrip("\n ")
    if not text:
        raise bad_line(path, 1, "an empty file", "a header and one line a point")
    first = text.partition("\n")[0]
    delimiter = _delimiter(first, header)
    records = list(_records(text, delimiter, path))
    cells = records[0][1]
    if not header:
        names = [f"x{position}" for position in range(len(cells))]
    elif all(parse_number(cell) is not None for cell in cells):
        raise bad_line(
            path,
            1,
            f"only numbers ({shown(first)})",
            "a header that names the columns",
            f"Add one, or say that there is none ({argument('no_header')}).",
        )
    else:
        names = cells
        records = records[1:]
    columns = assign_columns(names, path, choice)
    _check_widths(records, len(names), path)
    if not records:
        raise bad_line(path, 1, "a header and no line below it", "one line a point")
    return _table(records, columns, path, text, delimiter)


def _delimiter(first: str, header: bool) -> str:
    """Tabs before semicolons before commas; names in a header may hold some of the latter."""
    bare = _QUOTED.sub("", first)
    if "\t" in bare:
        return "\t"
    n_semicolons, n_commas = bare.count(";"), bare.count(",")
    return ";" if n_semicolons and (not header or n_semicolons >= n_commas) else ","


def _records(text: str, delimiter: str, path: PathLike) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells); the csv module, four times slower, only where there are quotes."""
    if '"' not in text:
        for number, line in enumerate(lines_of(text), start=1):
            yield number, [cell.strip() for cell in line.split(delimiter)]
        return
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            yield reader.line_num, [cell.strip() for cell in row] or [""]
    except csv.Error as error:
        raise InvalidInputError(
            f"{path}, line {reader.line_num}: not a CSV line ({error}). Correct its quotes."
        ) from error


def _check_widths(records: Records, width: int, path: PathLike) -> None:
    wrong = [(line, cells) for line, cells in records if len(cells) != width]
    if not wrong:
        return
    line, cells = wrong[0]
    found = "a blank line" if cells == [""] else f"{len(cells)} cells"
    expected = f"{width} cells, as in the first line"
    if len(wrong) > 1:
        listed = ", ".join(str(number) for number, _ in wrong[:_LISTED])
        more = ", ..." if len(wrong) > _LISTED else ""
        expected += f". In all {len(wrong):,} lines are wrong so (lines {listed}{more})"
    raise bad_line(path, line, found, expected)


def _table(records: Records, columns: Columns, path: PathLike, text: str, delimiter: str) -> Table:
    # float() also reads 1_000 and other digits than 0-9; exact says there are none
    exact = text.isascii() and "_" not in text
    with_comma = delimiter != "," and "," in text and _has_decimal_commas(records, columns)
    points = np.empty((len(records), len(columns.features)))
    bad: list[BadCell] = []
    for row, (line, cells) in enumerate(records):
        words = [cells[position] for position in columns.features]
        if exact and not with_comma:
            try:
                points[row] = list(map(float, words))
                continue
            except ValueError:
                pass
        for column, (position, word) in enumerate(zip(columns.features, words, strict=True)):
            number = _comma_number(word) if with_comma else parse_number(word)
            points[row, column] = 0.0 if number is None else number
            if number is None:
                found = shown(word) if word else ""
                bad.append(BadCell(row, line, columns.names[position], found))
    names = tuple(columns.names[position] for position in columns.features)
    lines = [line for line, _ in records]
    if bad:
        raise bad_cells(path, [*bad, *non_finite(points, names, lines)], len(records))
    ids, labels, groups = (
        None if position is None else [cells[position] for _, cells in records]
        for position in (columns.id, columns.label, columns.group)
    )
    return Table(
        X=check_points(points, path, names, lines) if names else points,
        feature_names=names,
        ids=None if ids is None else check_ids(ids, path, lines),
        labels=None if labels is None else as_labels(labels),
        groups=None if groups is None else tuple(groups),
        id_name=columns.name(columns.id),
        label_name=columns.name(columns.label),
        group_name=columns.name(columns.group),
        lines=lines,
    )


def _has_decimal_commas(records: Records, columns: Columns) -> bool:
    return any(
        _DECIMAL_COMMA.fullmatch(cells[position])
        for _, cells in records
        for position in columns.features
    )


def _comma_number(word: str) -> float | None:
    """A number of a file with decimal commas; 1.234 may be a thousand there, and is refused."""
    return None if "." in word else parse_number(word.replace(",", ".", 1))
