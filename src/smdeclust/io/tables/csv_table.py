"""CSV with a header; separated by commas, semicolons or tabs, as the header shows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import PathLike, bad_line, decode, lines_of, shown
from smdeclust.io.tables.table import (
    Columns,
    Table,
    as_labels,
    assign_columns,
    check_ids,
    check_points,
)
from smdeclust.io.tokens import parse_number


def read(
    content: bytes,
    path: PathLike,
    label: str | bool | None,
    id_column: str | bool | None,
    features: Sequence[str] | None,
    header: bool,
) -> Table:
    """Read a CSV table; without a header the columns are called x0, x1, ..."""
    text = decode(content, path).rstrip("\n ")
    if not text:
        raise bad_line(path, 1, "an empty file", "a header and one line a point")
    first = text.partition("\n")[0]
    delimiter = next((mark for mark in (",", ";", "\t") if mark in first), ",")
    records = _records(text, delimiter, path)
    _, cells = next(records)
    if not header:
        names = [f"x{position}" for position in range(len(cells))]
        records = _records(text, delimiter, path)
    elif all(parse_number(cell) is not None for cell in cells):
        raise bad_line(
            path,
            1,
            f"only numbers ({shown(first)})",
            "a header that names the columns",
            "Add one, or say that there is none (header=False).",
        )
    else:
        names = cells
    columns = assign_columns(names, path, label, id_column, features)
    return _table(records, columns, path, exact=text.isascii() and "_" not in text)


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


def _table(
    records: Iterator[tuple[int, list[str]]], columns: Columns, path: PathLike, exact: bool
) -> Table:
    points: list[list[float]] = []
    lines: list[int] = []
    ids: list[str] = []
    labels: list[str] = []
    width = len(columns.names)
    for line, cells in records:
        if len(cells) != width:
            found = "a blank line" if cells == [""] else f"{len(cells)} cells"
            raise bad_line(path, line, found, f"{width} cells, as in the first line")
        words = [cells[position] for position in columns.features]
        try:
            # float() also reads 1_000 and other digits than 0-9; exact says there are none
            values = list(map(float, words)) if exact else None
        except ValueError:
            values = None
        if values is None:
            values = _numbers(words, columns, path, line)
        points.append(values)
        lines.append(line)
        if columns.id is not None:
            ids.append(cells[columns.id])
        if columns.label is not None:
            labels.append(cells[columns.label])
    if not points:
        raise bad_line(path, 1, "a header and no line below it", "one line a point")
    names = tuple(columns.names[position] for position in columns.features)
    return Table(
        X=check_points(np.array(points, dtype=np.float64), path, names, lines),
        feature_names=names,
        ids=None if columns.id is None else check_ids(ids, path, lines),
        labels=None if columns.label is None else as_labels(labels),
        id_name=None if columns.id is None else columns.names[columns.id],
        label_name=None if columns.label is None else columns.names[columns.label],
    )


def _numbers(words: list[str], columns: Columns, path: PathLike, line: int) -> list[float]:
    values = []
    for position, word in zip(columns.features, words, strict=True):
        number = parse_number(word)
        if number is None:
            name = shown(columns.names[position])
            raise bad_line(
                path,
                line,
                f"{shown(word) if word else 'nothing'} in column {name}",
                "a finite number",
                "If the column is no feature, say what it is (label, id_column) or choose the "
                "features; rows with missing values must be filled in or removed.",
            )
        values.append(number)
    return values
