"""``groups`` and ``labels``: one entry a point, from which the pairs follow.

``groups``: rows of the same number >= 0 must be apart (cannot-link) or together (must-link), -1 is
free. ``labels``: classes known for some points, empty or -1 where not; together within a class,
apart across classes. Both may name the point of each line, below a header as ``id,label`` or
``row,label``; points that are not listed are then free or unknown.

Together is transitive, so a chain through the rows of a group says it all, and between two classes
that hold together one cannot-link does. Apart is not transitive: all pairs of a group are listed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.constraints.per_point import Column
from smdeclust.exceptions import InvalidInputError
from smdeclust.io.arrays import NPY_MAGIC, parse_npy
from smdeclust.io.collector import Reading
from smdeclust.io.constraints import KINDS, Constraints
from smdeclust.io.files import bad_line, decode, lines_of, shown
from smdeclust.io.tokens import parse_whole, split_words

LABEL_NAMES = ("class", "label", "labels", "y", "group", "groups")
_MAX_PAIRS = 50_000_000
_NO_GROUP = ("", "-1", "nan", "na", "none", "null")


def read_groups(content: bytes, reading: Reading) -> Constraints:
    """Read one group number a point."""
    path = reading.path
    rows_of_group: dict[str, list[int]] = {}
    entries = _entries(content, reading)
    for row, (word, line) in entries.items():
        number = parse_whole(word)
        if number is None or number < -1:
            raise bad_line(
                path,
                line,
                shown(word),
                "a group: a whole number from 0, or -1 for a free point",
            )
        if number >= 0:
            rows_of_group.setdefault(str(number), []).append(row)
    return _pairs_of_groups(list(rows_of_group.values()), entries, reading)


def groups_of_column(
    groups: Sequence[str], lines: Sequence[int] | None, reading: Reading
) -> Constraints:
    """Pairs from a column of the data: equal values are a group; empty and -1 are none."""
    rows_of_group: dict[str, list[int]] = {}
    for row, name in enumerate(groups):
        if name.lower() not in _NO_GROUP:
            rows_of_group.setdefault(name, []).append(row)
    line_of = range(1, len(groups) + 1) if lines is None else lines
    entries = {row: (name, line_of[row]) for row, name in enumerate(groups)}
    return _pairs_of_groups(list(rows_of_group.values()), entries, reading)


def _pairs_of_groups(
    groups: list[list[int]], entries: dict[int, tuple[str, int]], reading: Reading
) -> Constraints:
    """All together (chains say it) or all apart (every pair is needed)."""
    path = reading.path
    if reading.kind == "must_link":
        column = _column(groups, reading, apart=False)
        return _build(_chains(groups), _none(), entries, reading, column)
    n_pairs = sum(len(group) * (len(group) - 1) // 2 for group in groups)
    if n_pairs > _MAX_PAIRS:
        raise InvalidInputError(
            f"{path}: the groups make {n_pairs} cannot-link pairs, more than {_MAX_PAIRS}. No "
            "clustering has that many clusters: check that the groups are to be kept apart."
        )
    apart = [_all_pairs(group) for group in groups if len(group) > 1]
    return _build(_none(), np.concatenate([_none(), *apart]), entries, reading)


def read_labels(content: bytes, reading: Reading) -> Constraints:
    """Read one class label a point, empty or -1 where it is unknown."""
    rows_of_class: dict[str, list[int]] = {}
    entries = _entries(content, reading)
    for row, (word, line) in entries.items():
        if word.lower() in ("nan", "na", "none", "null"):
            raise bad_line(
                reading.path,
                line,
                shown(word),
                "a class label",
                "Leave the line empty or write -1 where the class is unknown.",
            )
        number = parse_whole(word)
        name = word if number is None else str(number)
        if name not in ("", "-1"):
            rows_of_class.setdefault(name, []).append(row)
    classes = list(rows_of_class.values())
    if len(classes) * (len(classes) - 1) // 2 > _MAX_PAIRS:
        raise InvalidInputError(
            f"{reading.path}: {len(classes)} different classes make more than {_MAX_PAIRS} "
            "cannot-link pairs. Check that these are class labels and not ids."
        )
    across = [(a[0], b[0]) for a, b in combinations(classes, 2)]
    column = _column(classes, reading, apart=True)
    return _build(_chains(classes), np.array(across, dtype=np.int64), entries, reading, column)


def header_of(line: str) -> str | None:
    """Return the name of the label column where ``line`` is a header of one or two columns."""
    words = split_words(line)
    name = words[-1].strip('"').lower() if words else ""
    return name if name in LABEL_NAMES and len(words) <= 2 else None


def _entries(content: bytes, reading: Reading) -> dict[int, tuple[str, int]]:
    """Return the entry of each row and its line, rows in order."""
    path, n_points = reading.path, reading.rows.n_points
    if content.startswith(NPY_MAGIC):
        array = parse_npy(content, path)
        if array.ndim != 1 or array.dtype.kind not in "biufU":
            found = f"an array of shape {array.shape} and type {array.dtype}"
            raise bad_line(path, None, found, "one number a row")
        words = [str(value) for value in array.tolist()]
        first_line = 1
    else:
        # Blank lines count here: an empty label is an unknown one.
        words = [line.strip() for line in lines_of(decode(content, path))]
        header = words[0] if words and header_of(words[0]) is not None else ""
        if len(split_words(header)) == 2:
            return _named_entries(words, reading)
        first_line = 2 if header else 1
        words = [word.strip('"') for word in words[first_line - 1 :]]
    if n_points is not None and len(words) != n_points:
        raise bad_line(
            path,
            None,
            f"{len(words)} entries",
            f"{n_points}, one line a point of the data",
        )
    return {row: (word, first_line + row) for row, word in enumerate(words)}


def _named_entries(lines: list[str], reading: Reading) -> dict[int, tuple[str, int]]:
    entries: dict[int, tuple[str, int]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        words = split_words(line)
        if len(words) != 2:
            raise bad_line(reading.path, number, shown(line), "a point and its entry")
        row = reading.rows(words[0], reading.path, number)
        if row in entries:
            raise bad_line(
                reading.path,
                number,
                f"the point {shown(words[0])} again",
                f"every point once, and it stands in line {entries[row][1]} already",
            )
        entries[row] = (words[1], number)
    return dict(sorted(entries.items()))


def _none() -> NDArray[np.int64]:
    return np.empty((0, 2), dtype=np.int64)


def _chains(groups: list[list[int]]) -> NDArray[np.int64]:
    links = [pair for group in groups for pair in pairwise(group)]
    return np.array(links, dtype=np.int64).reshape(-1, 2)


def _all_pairs(group: list[int]) -> NDArray[np.int64]:
    first, second = np.triu_indices(len(group), k=1)
    rows = np.array(group, dtype=np.int64)
    return np.stack([rows[first], rows[second]], axis=1)


def _column(classes: list[list[int]], reading: Reading, *, apart: bool) -> tuple[Column, ...]:
    """The entries as they are, so that chains can be made again where rows are left out."""
    if reading.rows.n_points is None:
        return ()
    codes = np.full(reading.rows.n_points, -1, dtype=np.int64)
    for number, rows in enumerate(classes):
        codes[rows] = number
    return (Column(codes, apart),)


def _build(
    must: NDArray[np.int64],
    cannot: NDArray[np.int64],
    entries: dict[int, tuple[str, int]],
    reading: Reading,
    columns: tuple[Column, ...] = (),
) -> Constraints:
    origins = {kind: np.empty((0, 3), dtype=np.int64) for kind in KINDS}
    pairs: dict[str, Any] = {"must_link": must.reshape(-1, 2), "cannot_link": cannot.reshape(-1, 2)}
    rows = np.array(list(entries), dtype=np.int64)
    lines = np.array([line for _, line in entries.values()], dtype=np.int64)
    for kind, linked in pairs.items():
        where = lines[np.searchsorted(rows, linked)].reshape(-1, 2)
        origins[kind] = np.insert(where, 0, 0, axis=1)
    files = (os.fspath(reading.path),)
    return Constraints(**pairs, files=files, origins=origins, columns=columns)
