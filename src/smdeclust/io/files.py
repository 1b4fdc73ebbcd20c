"""Bytes, lines, words and cells of a file, with a sentence for every failure.

The same sentence helps in Python and on the command line: it asks `argument` how to write what it
advises. Cells that a spreadsheet would run are marked as text, reversibly.
"""

import codecs
import csv
import io
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from smdeclust.constraints.rows import suggestion
from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import MissingExtraError, optional

PathLike = str | os.PathLike[str]

_SHOWN = 60
NPY_MAGIC = b"\x93NUMPY"
# All four bytes (the second is an archive without files): a CSV may well begin with PK.
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_BINARY = (NPY_MAGIC, *ZIP_MAGIC, b"PAR1")


def shown(value: object) -> str:
    """Return ``value`` as it is shown in a message: quoted, escaped and cut short."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def some_of(items: Any, most: int = 5) -> str:
    """List the first items, and dots for the others."""
    return ", ".join(map(str, items[:most])) + (", ..." if len(items) > most else "")


def printable(text: str, also: str = "\n") -> str:
    """Escape what would move the cursor or ring the bell: names in files may hold anything."""
    return "".join(
        c if c.isprintable() or c in also else c.encode("unicode_escape").decode() for c in text
    )


def bad_line(
    path: PathLike, line: int | None, found: str, expected: str, todo: str = ""
) -> InvalidInputError:
    """Build the error of one place in a file: what was found, what was expected, what to do."""
    where = os.fspath(path) if line is None else f"{os.fspath(path)}, line {line}"
    return InvalidInputError(f"{where}: found {found}, expected {expected}. {todo}".strip())


def check_path(path: PathLike) -> Path:
    """Return ``path`` as a Path of a readable file, or say what it is instead."""
    try:
        checked = Path(path)
        is_folder, is_there = checked.is_dir(), checked.exists()
    except (OSError, TypeError, ValueError) as error:  # too long, NUL bytes, not a path
        raise InvalidInputError(f"{shown(path)} cannot be used as a path: {error}.") from error
    if is_folder:
        raise InvalidInputError(f"{checked}: this is a folder, expected a file. Name a file in it.")
    if not is_there:
        raise InvalidInputError(f"{checked}: there is no such file. Check the path.")
    return checked


def read_bytes(path: PathLike) -> bytes:
    """Return the whole content of a file."""
    checked = check_path(path)
    try:
        return checked.read_bytes()
    except MemoryError as error:
        raise InvalidInputError(f"{checked}: the file does not fit into memory.") from error
    except OSError as error:
        raise InvalidInputError(
            f"{checked}: cannot be read ({error.strerror or error})."
        ) from error


@contextmanager
def readable(path: PathLike, damaged: str, advice: str = "") -> Iterator[None]:
    """Damaged files make the libraries that read them raise almost anything: a sentence instead."""
    try:
        yield
    except (InvalidInputError, MissingExtraError):
        raise
    except MemoryError as error:
        raise InvalidInputError(f"{path}: the data do not fit into memory.") from error
    except Exception as error:
        raise InvalidInputError(f"{path}: {damaged} ({shown(error)}).{advice}") from error


def as_utf8(content: bytes, path: PathLike, encoding: str | None) -> bytes:
    """Return text as UTF-8: of the encoding named, or of UTF-16 where its mark comes first."""
    if content.startswith(_BINARY) and b"\0" in content:
        return content  # arrays and Parquet are no text
    if encoding is None:
        if not content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return content
        encoding = "utf-16"
    try:
        return codecs.lookup(encoding).decode(content, "strict")[0].encode()
    except LookupError as error:
        raise InvalidInputError(
            f"There is no encoding {shown(encoding)} ({argument('encoding')}). Common ones are "
            "utf-8, utf-16, cp1252 and latin-1."
        ) from error
    except (ValueError, TypeError, AttributeError) as error:  # UnicodeError, or no text encoding
        raise InvalidInputError(
            f"{os.fspath(path)}: not text in the encoding {encoding} ({argument('encoding')}): "
            f"{error}."
        ) from error


def decode(content: bytes, path: PathLike) -> str:
    """Return UTF-8 text with its line ends made ``\\n``; a byte order mark is dropped."""
    nul = content.find(b"\0")
    if nul >= 0:
        line = content.count(b"\n", 0, nul) + 1
        named = f"name its encoding, such as utf-16-le ({argument('encoding')})"
        advice = f"The file is binary or UTF-16. Save it as UTF-8 text, or {named}."
        raise bad_line(path, line, "a NUL byte", "text", advice)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, found = content.count(b"\n", 0, error.start) + 1, content[error.start]
        named = f"name its encoding, such as cp1252 ({argument('encoding')})"
        advice = f"Save the file as UTF-8, or {named}."
        raise bad_line(path, line, f"the byte 0x{found:02x}", "UTF-8 text", advice) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def lines_of(text: str) -> list[str]:
    """Split at line ends only (``str.splitlines`` also splits at form feeds and others)."""
    return text.removesuffix("\n").split("\n") if text else []


def as_paths(path_or_paths: PathLike | Sequence[PathLike]) -> list[PathLike]:
    """Return one path or several as a list."""
    if isinstance(path_or_paths, str | os.PathLike):
        return [path_or_paths]
    try:
        paths = list(path_or_paths)
    except TypeError as error:
        raise InvalidInputError(
            f"{shown(path_or_paths)} is not a path, expected a path or a list of paths."
        ) from error
    if not paths:
        raise InvalidInputError("No file was given: name at least one.")
    return paths


# What Western languages write beyond ASCII, in the encoding that most of their files have.
_WESTERN = set(
    "äöüÄÖÜßàâçéèêëîïôùûœÀÂÇÉÈÊËÎÏÔÙÛŒñÑáíóúÁÍÓÚåÅæÆøØìòõãÕÃðÐþÞýÝ€°²³µ§½¼–—’‘“”„«»…·¿¡ºª\xa0"
)


def decode_any(content: bytes, path: PathLike, encoding: str | None) -> tuple[str, str]:
    """Return text and its encoding: as named, by its mark, UTF-8, or recognized.

    Western text is taken for cp1252, what else it may be is for charset-normalizer to say.
    """
    if encoding is not None or content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = decode(as_utf8(content, path, encoding), path)
        return text, encoding or "utf-16"
    try:
        if b"\0" not in content:
            marked = content.startswith(codecs.BOM_UTF8)
            return decode(content, path), "utf-8-sig" if marked else "utf-8"
    except InvalidInputError as error:
        cut = isinstance(error.__cause__, UnicodeDecodeError)
        if cut and error.__cause__.start > len(content) - 4:  # type: ignore[union-attr]
            return content.decode("utf-8", "ignore"), "utf-8"  # a sample ends within a character
    zeros = content.count(b"\0")
    if zeros > 0.3 * len(content):  # every other byte of Western text in UTF-16
        best = "utf-16-le" if content[1::2].count(b"\0") > zeros / 2 else "utf-16-be"
        return decode(as_utf8(content, path, best), path), best
    if zeros:
        return decode(content, path), "utf-8"  # raises, and says where
    western = content.decode("cp1252", "replace")
    letters = [c for c in western if c.isalpha()]
    beyond = [c for c in western if not c.isascii()]
    if set(beyond) <= _WESTERN and len(beyond) < 0.25 * len(letters):
        found = "cp1252"
    else:
        with optional(f"{path}: text that is not UTF-8"):
            import charset_normalizer
        match = charset_normalizer.from_bytes(content[:200_000]).best()
        found = "utf-8" if match is None else match.encoding
    return decode(as_utf8(content, path, found), path), found


# ---- words of a line: numbers, kinds of pairs, rows

# Row positions are int64; 18 digits always fit, and more digits are never a row of a data set.
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
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
    if not _PLAIN_NUMBER.fullmatch(word):
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
            for form in ("NFC", "NFD"):  # an umlaut is one character or two
                row = self.row_of_id.get(unicodedata.normalize(form, word)) if row is None else row
            if row is not None:
                return row
            todo = (
                f"Correct the id, or read the file as row positions ({argument('pairs_by_row')})."
                f"{suggestion(word, self.row_of_id)}"
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


def n_d_k(line: str) -> list[int] | None:
    """Return n, d and where given k, if ``line`` is such a header."""
    words = line.split()
    numbers = [parse_whole(word) for word in words if word.isdecimal()]
    found = [number for number in numbers if number is not None]
    return found if len(words) in (2, 3) and len(found) == len(words) else None


# ---- cells

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
_NUMBER = re.compile(r"[+-]?[\d\s.,'’%€$£¥]*(?:[eE][+-]?\d+)?")  # or that of a phone


def safe_cell(text: str) -> str:
    """Return text that a spreadsheet does not run as a formula.

    Possible formulas get an apostrophe at the start, and an existing apostrophe there is doubled.
    Control characters other than line breaks and tabs are removed. Numbers stay unchanged.
    """
    text = "".join(c for c in text if (c >= " " and c != "\x7f") or c in "\t\r\n")
    return f"'{text}" if text.startswith(_STARTS) and not _NUMBER.fullmatch(text) else text


def plain_cell(text: str) -> str:
    """Return the text that was passed to :func:`safe_cell`."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_STARTS) else text


def as_csv(rows: Iterable[Sequence[Any]], delimiter: str = ",") -> bytes:
    """Rows as CSV; text that a spreadsheet would run as a formula is made safe (`safe_cell`)."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerows([safe_cell(c) if isinstance(c, str) else c for c in row] for row in rows)
    return buffer.getvalue().encode()


# ---- what an argument is called: by its Python name, or as an option of the command line

# What is advised -> how it is written in Python, and on the command line.
_BOTH = {
    "answers": ("save_to=...", "--answers FILE"),
    "another_sheet": ("pass sheet=...", "pass --sheet NAME"),
    "class_column": ("class_column=...", "--class-column COLUMN"),
    "encoding": ("encoding=...", "--encoding NAME"),
    "features": ("features=[...]", "--features A,B,..."),
    "format": ("format=...", "--format NAME"),
    "group_column": ("group_column=...", "--group-column COLUMN"),
    "ids": ("ids=...", "--id COLUMN, --pairs-by-id"),
    "id_column": ("id_column=...", "--id COLUMN"),
    "index_base": ("index_base=...", "--index-base 0|1"),
    "index_base=1": ("index_base=1", "--index-base 1"),
    "kind": ("kind='ml' or kind='cl'", "--kind ml or --kind cl"),
    "label": ("label=...", "--label COLUMN"),
    "must_link_sign": ("must_link_sign=...", "--must-link-sign 1|-1"),
    "n_points": ("n_points=... or ids=...", "--data FILE"),
    "pairs_by_row": ("ids=None", "--pairs-by-row"),
    "sheet": ("sheet=...", "--sheet NAME"),
    "table_format": ("format=...", "--data-format NAME"),
}
PYTHON: Mapping[str, str] = {name: words[0] for name, words in _BOTH.items()}
COMMAND_LINE: Mapping[str, str] = {name: words[1] for name, words in _BOTH.items()}
# What a page can advise: what it has a place for, or how to change the file.
PAGE = {
    **COMMAND_LINE,
    "another_sheet": "choose it below",
    "encoding": "save it as UTF-8",
    "format": "or write a CSV headed i,j,type",
    "ids": "give their column the role id",
    "index_base": "here from 0",
    "index_base=1": "positions that count from 0",
    "kind": "a third column, type, with ml or cl",
    "pairs_by_row": "leave out the column of ids",
    "sheet": "choose it under Columns",
    "table_format": "save it as CSV",
}
_words: ContextVar[Mapping[str, str]] = ContextVar("words", default=PYTHON)


def argument(name: str) -> str:
    """How to write an argument, for whoever reads the message."""
    return _words.get()[name]


@contextmanager
def use_words(words: Mapping[str, str]) -> Iterator[None]:
    """Within the block, messages call arguments by these words."""
    token = _words.set(words)
    try:
        yield
    finally:
        _words.reset(token)
