"""``matrix``, ``groups`` and ``labels``: one line per point, from which the pairs follow.

``matrix``: n x n, dense (text, ``.npy``, ``.npz``) or sparse (``.npz`` of scipy), 1 for must-links
and -1 for cannot-links, or the other way round (`must_link_sign`). One triangle or both may be
filled; the diagonal says nothing, but a cannot-link of a row with itself is an error. ``groups``:
rows of the same number >= 0 must be apart (cannot-link) or together (must-link), -1 is free.
``labels``: classes known for some points, empty or -1 where not; together within a class, apart
across classes. These two may name the point of each line, below a header such as ``id,label`` or
``row,label``; points that are not listed are then free or unknown.
"""

import io
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from smdeclust.constraints import Constraints
from smdeclust.constraints.per_point import Column, all_pairs_within, members_of
from smdeclust.exceptions import InvalidInputError
from smdeclust.io.arrays import parse_npy, parse_npz
from smdeclust.io.files import (
    NPY_MAGIC,
    ZIP_MAGIC,
    PathLike,
    bad_line,
    data_lines,
    decode,
    lines_of,
    parse_whole,
    plain_cell,
    read_bytes,
    shown,
    split_words,
)
from smdeclust.io.pair_forms import Reading
from smdeclust.io.table_file import records

LABEL_NAMES = ("class", "label", "labels", "y", "group", "groups")
NO_CLASS = ("nan", "na", "none", "null")
_NONE = np.empty((0, 2), dtype=np.int64)
RowOf = Callable[[str, PathLike, int], int | None]


def read_groups(content: bytes, reading: Reading) -> Constraints:
    """Read one group number per point."""
    rows, words, lines = _entries(content, reading)
    numbers = [parse_whole(word) for word in words]
    for word, number, line in zip(words, numbers, lines, strict=True):
        if number is None or number < -1:
            expected = "a group: a whole number of at least 0, or -1 for no group"
            raise bad_line(reading.path, line, shown(word), expected)
    return pairs_of(rows, [str(number) for number in numbers], lines, reading)


def read_labels(content: bytes, reading: Reading) -> Constraints:
    """Read one class label per point, empty or -1 where it is unknown."""
    rows, words, lines = _entries(content, reading)
    for word, line in zip(words, lines, strict=True):
        if word.lower() in NO_CLASS:
            advice = "Leave the line empty or write -1 where the class is unknown."
            raise bad_line(reading.path, line, shown(word), "a class label", advice)
    numbers = [parse_whole(word) for word in words]
    names = [word if n is None else str(n) for word, n in zip(words, numbers, strict=True)]
    return pairs_of(rows, names, lines, reading, apart=True)


def header_of(line: str) -> str | None:
    """Return the name of the label column where ``line`` is a header of one or two columns."""
    words = split_words(line)
    name = words[-1].strip('"').lower() if words else ""
    return name if name in LABEL_NAMES and len(words) <= 2 else None


_Entries = tuple[Sequence[int], list[str], Sequence[int]]


def _entries(content: bytes, reading: Reading) -> _Entries:
    """Return rows in order, the entry of each, and its line."""
    path, n_points = reading.path, reading.rows.n_points
    first_line = 1
    if content.startswith(NPY_MAGIC):
        array = parse_npy(content, path)
        if array.ndim != 1 or array.dtype.kind not in "biufU":
            found = f"an array of shape {array.shape} and type {array.dtype}"
            raise bad_line(path, None, found, "one number per row")
        words = [str(value) for value in array.tolist()]
    else:
        # Blank lines count here: an empty label is an unknown one.
        text = decode(content, path)
        words = [line.strip() for line in lines_of(text)]
        header = words[0] if words and header_of(words[0]) is not None else ""
        if len(split_words(header)) == 2:
            named = named_entries(text, path, reading.rows)
            rows = sorted(named)
            return rows, [named[row][0] for row in rows], [named[row][1] for row in rows]
        first_line = 2 if header else 1
        words = [word.strip('"') for word in words[first_line - 1 :]]
    if n_points is not None and len(words) != n_points:
        expected = f"{n_points}, one line per point of the data"
        raise bad_line(path, None, f"{len(words)} entries", expected)
    return range(len(words)), words, range(first_line, first_line + len(words))


def named_entries(text: str, path: PathLike, row_of: RowOf) -> dict[int, tuple[str, int]]:
    """Each point below a header as ``id,label``: its entry and line; no `row_of`: left out."""
    separator = next((mark for mark in ",\t;" if mark in text.partition("\n")[0]), r"\s+")
    if not text.strip():
        return {}
    (_, header), *lines = records(text, separator, path)
    found: dict[int, tuple[str, int]] = {}
    for number, cells in lines:
        words = [cell.strip() for cell in cells]
        if not any(words):
            continue
        if len(words) != len(header):
            raise bad_line(path, number, shown(", ".join(words)), "a point and its entry")
        row = row_of(words[0], path, number)
        if row is None:
            continue
        if row in found:
            expected = f"every point once (it is already in line {found[row][1]})"
            raise bad_line(path, number, f"the point {shown(words[0])} again", expected)
        found[row] = words[1], number
    return found


def pairs_of(
    rows: Sequence[int],
    words: Sequence[str],
    lines: Sequence[int],
    reading: Reading,
    *,
    apart: bool = False,
) -> Constraints:
    """Pairs of classes (`apart`), or of groups that go together or apart as `reading` says."""
    number: dict[str, int] = {}
    codes = np.array(
        [-1 if w in ("", "-1") else number.setdefault(w, len(number)) for w in words], np.int64
    )
    columns: tuple[Column, ...] = ()
    try:
        if apart or reading.kind == "must_link":
            must, cannot = Column(codes, apart).pairs()
            if reading.rows.n_points is not None:
                # Kept as they are, so that chains can be made again where rows are left out.
                every = np.full(reading.rows.n_points, -1, dtype=np.int64)
                every[list(rows)] = codes
                columns = (Column(every, apart),)
        else:
            must, cannot = _NONE, all_pairs_within(members_of(codes))
    except InvalidInputError as error:  # too many of them
        raise InvalidInputError(f"{reading.path}: {error}") from error
    at, line_of = np.array(rows, dtype=np.int64), np.array(lines, dtype=np.int64)
    origins = {
        kind: np.insert(line_of[ends].reshape(-1, 2), 0, 0, axis=1)
        for kind, ends in (("must_link", must), ("cannot_link", cannot))
    }
    source = (os.fspath(reading.path),)
    return Constraints(at[must], at[cannot], files=source, origins=origins, columns=columns)


# ---- what stands beside a table


def labels_beside(path: PathLike, table: Any, *, partial: bool = False) -> Any:
    """One cluster per point of a `Table`, from a CSV of row or id and label; -1 if missing, where
    `partial`."""
    found = _read_column(path, table, "label", partial=partial)
    return np.array([-1 if label is None else label for label in found], np.int64)


def weights_beside(path: PathLike, table: Any) -> Any:
    """One weight per point, from a CSV of two columns: row or id, and weight."""
    return np.array(_read_column(path, table, "weight"), np.float64)


# What is read -> its type, what it must be below, and words for that.
_KINDS: dict[str, tuple[Callable[[str], float], float, str]] = {
    "label": (int, 2**31, "a whole number of at least 0"),
    "weight": (float, float("inf"), "a number of at least 0"),
}


def _read_column(path: PathLike, table: Any, what: str, *, partial: bool = False) -> list[Any]:
    """The second column, one value per point (None where `partial` and missing), in order."""
    parse, below, expected = _KINDS[what]
    text = decode(read_bytes(path), path)
    head = split_words(text.partition("\n")[0])
    if len(head) < 2:
        raise bad_line(
            path, 1, "fewer than two columns", f"a header such as id,{what}, then a line per point"
        )
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
        raise InvalidInputError(
            f"{path}: there is no {what} for the point {shown(name)}"
            f"{f' and {len(missing) - 1} others' if len(missing) > 1 else ''}."
        )
    return values


# ---- matrices


def read_matrix(content: bytes, reading: Reading) -> Constraints:
    """Read a matrix of any of the four forms."""
    path = reading.path
    if not content.startswith((NPY_MAGIC, *ZIP_MAGIC)):
        return _from_text(content, reading)
    arrays = parse_npz(content, path) if content.startswith(ZIP_MAGIC) else {}
    if set(arrays) >= {"format", "shape", "data"}:
        return _from_entries(_from_sparse(content, path), None, reading)
    if len(arrays) > 1:
        found = f"the arrays {', '.join(sorted(arrays))}"
        expected = "one dense array, or a sparse matrix as scipy.sparse.save_npz writes it"
        raise bad_line(path, None, found, expected)
    matrix = next(iter(arrays.values())) if arrays else parse_npy(content, path)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise bad_line(path, None, f"an array of shape {matrix.shape}", "n x n")
    return _from_entries(sparse.coo_array(_whole(matrix, path)), None, reading)


def _from_text(content: bytes, reading: Reading) -> Constraints:
    path = reading.path
    lines = data_lines(content, path)
    entries: list[tuple[int, int, int]] = []
    for row, (number, line) in enumerate(lines):
        words = split_words(line)
        if len(words) != len(lines):
            expected = f"{len(lines)}, as many as there are lines (the matrix is n x n)"
            raise bad_line(path, number, f"{len(words)} entries", expected)
        for column, word in enumerate(words):
            value = parse_whole(word)
            if value is None or abs(value) > 1:
                raise bad_line(path, number, f"the entry {shown(word)}", "1, -1 or 0")
            if value:
                entries.append((value, row, column))
    values, rows, columns = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    numbers = np.array([number for number, _ in lines], dtype=np.int64)
    size = (len(lines), len(lines))
    return _from_entries(sparse.coo_array((values, (rows, columns)), shape=size), numbers, reading)


def _from_sparse(content: bytes, path: PathLike) -> Any:
    """The matrix that scipy wrote; its arrays are checked already, here its indices are."""
    try:
        matrix: Any = sparse.load_npz(io.BytesIO(content))
        if matrix.format in ("csr", "csc"):
            matrix.check_format(full_check=True)
        matrix = matrix.tocoo()
    except (ValueError, TypeError, IndexError, KeyError, NotImplementedError) as error:
        found = f"indices outside the matrix, or arrays that do not fit ({error})"
        raise bad_line(path, None, found, "those that scipy.sparse.save_npz writes") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise bad_line(path, None, f"a sparse matrix of shape {matrix.shape}", "n x n")
    matrix.data = _whole(matrix.data, path)
    return matrix


def _whole(entries: np.ndarray, path: PathLike) -> np.ndarray:
    # bool and unsigned arrays can hold must-links only, which is legal
    if entries.dtype.kind not in "biuf":
        raise bad_line(path, None, f"entries of type {entries.dtype}", "1, -1 and 0")
    wrong = ~np.isin(entries, (-1, 0, 1))
    if np.any(wrong):
        raise bad_line(path, None, f"the entry {shown(entries[wrong].flat[0])}", "1, -1 or 0")
    return entries.astype(np.int64)


def _from_entries(matrix: Any, numbers: np.ndarray | None, reading: Reading) -> Constraints:
    """Pairs from a sparse matrix; `numbers` are the lines of its rows in a text file."""
    path, n_points, size = reading.path, reading.rows.n_points, matrix.shape[0]
    if n_points is not None and size != n_points:
        expected = f"{n_points} x {n_points}, one row per point of the data"
        raise bad_line(path, None, f"a matrix of {size} x {size}", expected)
    rows, columns, values = matrix.row, matrix.col, matrix.data * reading.must_link_sign
    own = (rows == columns) & (values < 0)
    if np.any(own):
        raise bad_line(path, None, f"row {rows[own][0]} cannot-linked to itself", "0 there")
    off = (rows != columns) & (values != 0)
    low, high = np.minimum(rows, columns)[off], np.maximum(rows, columns)[off]
    # Both triangles may be filled: one pair each, and they must agree.
    entries = np.unique(np.stack([low, high, values[off]], axis=1).astype(np.int64), axis=0)
    repeated = np.all(entries[1:, :2] == entries[:-1, :2], axis=1)
    if np.any(repeated):
        i, j, _ = entries[1:][repeated][0]
        raise InvalidInputError(
            f"{path}: the entries ({i}, {j}) and ({j}, {i}) contradict each other, one is 1 and "
            "the other -1. Make the matrix symmetric."
        )
    lines = entries[:, 0] + 1 if numbers is None else numbers[entries[:, 0]]
    origin = np.stack([np.zeros_like(lines), lines, lines], axis=1)
    must, cannot = entries[:, 2] > 0, entries[:, 2] < 0
    origins = {"must_link": origin[must], "cannot_link": origin[cannot]}
    source = (os.fspath(path),)
    return Constraints(entries[must, :2], entries[cannot, :2], files=source, origins=origins)
