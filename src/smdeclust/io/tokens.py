"""From the words of a line to row positions, numbers and kinds of pairs."""

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import PathLike, argument, bad_line, decode, lines_of, plain_cell, shown

# Row positions are int64; 18 digits always fit, and more digits are never a row of a data set.
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_LARGEST_EXACT = 2.0**53


def split_words(line: str) -> list[str]:
    """Split at commas, else tabs, else semicolons, else white space (ids may hold the others)."""
    for separator in (",", "\t", ";"):
        if separator in line:
            try:
                words = next(csv.reader([line], delimiter=separator))
            except (csv.Error, StopIteration):
                words = line.split(separator)
            return [word.strip() for word in words]
    return line.split()


def data_lines(content: bytes, path: PathLike) -> list[tuple[int, str]]:
    """Return (line number, stripped line) of all lines but blank ones and ``#`` comments."""
    lines = enumerate(lines_of(decode(content, path)), start=1)
    stripped = ((number, line.strip()) for number, line in lines)
    return [(number, line) for number, line in stripped if line and not line.startswith("#")]


def parse_whole(word: str) -> int | None:
    """Return the whole number that ``word`` writes (``3`` or ``3.0``), or None."""
    if _WHOLE.fullmatch(word):
        return int(word)
    # numpy.savetxt writes 3 as 3.000000000000000000e+00
    number = parse_number(word)
    if number is not None and number.is_integer() and abs(number) <= _LARGEST_EXACT:
        return int(number)
    return None


def parse_number(word: str) -> float | None:
    """Return the finite number that ``word`` writes, or None."""
    if not _NUMBER.fullmatch(word):
        return None
    number = float(word)
    return number if math.isfinite(number) else None


def parse_numbers(words: Iterable[str]) -> list[float | None]:
    """Return the finite number that each word writes, or None."""
    return [parse_number(word) for word in words]


_MUST = {
    "ml", "must_link", "mustlink", "must", "together", "same", "1", "+1",
    "gleich", "zusammen", "ensemble", "juntos",
}  # fmt: skip
_CANNOT = {
    "cl", "cannot_link", "cannotlink", "cannot", "apart", "different", "-1",
    "verschieden", "getrennt", "séparés", "separados",
}  # fmt: skip


@lru_cache
def parse_kind(word: str) -> str | None:
    """Return ``must_link`` or ``cannot_link`` for any of the usual spellings, or None."""
    lowered = word.strip().lower()
    if not lowered.startswith("-"):
        lowered = lowered.replace("-", "_").replace(" ", "_")
    return "must_link" if lowered in _MUST else "cannot_link" if lowered in _CANNOT else None


@dataclass(frozen=True)
class RowResolver:
    """Turns what a file writes for a point into its row position."""

    n_points: int | None = None  # of the data; None: rows are not checked against it
    row_of_id: Mapping[str, int] | None = None  # where the file writes ids
    index_base: int = 0  # number of the first row in the file, 0 or 1

    def __call__(self, word: str, path: PathLike, line: int | None) -> int:
        """Return the row position that ``word`` stands for."""
        if self.row_of_id is not None:
            row = self.row_of_id.get(plain_cell(word), self.row_of_id.get(word))
            if row is not None:
                return row
            todo = (
                f"Correct the id, or read the file as row positions ({argument('pairs_by_row')})."
            )
            wrong = f"the id {shown(word)}", "an id of the data's id column", todo
        else:
            # Nearly every word is a plain row in range.
            plain = word.isdecimal() and word.isascii() and len(word) <= 18
            number = int(word) if plain else parse_whole(word)
            if number is not None:
                row = number - self.index_base
                if row >= 0 and (self.n_points is None or row < self.n_points):
                    return row
            wrong = self._no_row(word, number)
        raise bad_line(path, line, *wrong)

    def all(self, words: Iterable[str], path: PathLike, lines: Iterable[int]) -> list[int]:
        """Return the row positions that words of these lines stand for."""
        return [self(word, path, line) for word, line in zip(words, lines, strict=True)]

    def _no_row(self, word: str, number: int | None) -> tuple[str, str, str]:
        """What was found, what was expected, and what to do."""
        base = self.index_base
        if number is None:
            expected = f"a row position (a whole number of at least {base})"
            ids = f"If the file names points by their ids, pass the ids ({argument('ids')})."
            return shown(word), expected, ids
        if number < base:
            advice = f"Check whether rows are counted from 0 or from 1 ({argument('index_base')})."
            return f"row {number}", f"row positions from {base}", advice
        assert self.n_points is not None
        last = self.n_points - 1 + base
        counted = "" if base else f" If the file counts from 1, pass {argument('index_base=1')}."
        return (
            f"row {number}",
            f"rows {base} to {last} (the data has {self.n_points} rows)",
            f"Check that the pairs belong to this data.{counted}",
        )


def index_ids(ids: Sequence[object]) -> dict[str, int]:
    """Return the row of each id; ids are compared as text, and no two may be equal."""
    row_of_id: dict[str, int] = {}
    for row, value in enumerate(ids):
        name = str(value).strip()
        if not name:
            raise InvalidInputError(f"The id of row {row} is empty. Give every row an id.")
        first = row_of_id.setdefault(name, row)
        if first != row:
            raise InvalidInputError(
                f"Rows {first} and {row} have the same id {shown(name)}. Ids must be unique: "
                "choose another id column, or remove the repeated row."
            )
    return row_of_id
