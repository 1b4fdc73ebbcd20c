"""``groups`` and ``labels``: one entry per point, from which the pairs follow.

``groups``: rows of the same number >= 0 must be apart (cannot-link) or together (must-link), -1 is
free. ``labels``: classes known for some points, empty or -1 where not; together within a class,
apart across classes. Both may name the point of each line, below a header such as ``id,label``
or ``row,label``; points that are not listed are then free or unknown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from smdeclust.constraints import Constraints
from smdeclust.constraints.per_point import Column, all_pairs_within, members_of
from smdeclust.exceptions import InvalidInputError
from smdeclust.io.arrays import parse_npy
from smdeclust.io.files import NPY_MAGIC, PathLike, bad_line, decode, lines_of, shown
from smdeclust.io.pair_forms import Reading
from smdeclust.io.table_file import records
from smdeclust.io.tokens import parse_whole, split_words

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
            expected = "a group: a whole number from 0, or -1 for a free point"
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
    files = (os.fspath(reading.path),)
    return Constraints(at[must], at[cannot], files=files, origins=origins, columns=columns)
