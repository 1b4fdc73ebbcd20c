"""One more line of a pairs CSV in the file's own shape: its columns, delimiter and words."""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import PathLike, as_utf8, decode, read_bytes
from smdeclust.io.pair_forms import header_of
from smdeclust.io.tokens import parse_kind
from smdeclust.io.wording import argument

# The other word of a pair of words, where it is not must in place of cannot.
_OTHERS = {"cl": "ml", "apart": "together", "different": "same", "-1": "1", "+1": "-1"}
_OTHERS |= {other: word for word, other in _OTHERS.items() if word != "+1"}


@dataclass(frozen=True)
class PairsShape:
    """How a CSV of pairs is written: the words are those for must_link and cannot_link."""

    names: Sequence[str] = ("i", "j", "type", "confidence")
    delimiter: str = ","
    line_end: str = "\n"
    words: Mapping[str, str] = field(default_factory=lambda: words_of([]))
    ended: bool = True  # whether the last line is

    def line(self, cells: Sequence[object]) -> str:
        """Cells as a line, with its end."""
        text = io.StringIO()
        csv.writer(text, delimiter=self.delimiter, lineterminator=self.line_end).writerow(cells)
        return text.getvalue()


def shape_of(path: PathLike, encoding: str | None = None) -> PairsShape | None:
    """Return the shape of a pairs CSV; None where there is no file yet, or an empty one."""
    if not Path(path).exists() or Path(path).stat().st_size == 0:
        return None
    content = as_utf8(read_bytes(path), path, encoding)
    text = "" if b"\0" in content else decode(content, path)
    header = header_of(text.partition("\n")[0])
    if header is None:
        raise InvalidInputError(
            f"{os.fspath(path)}: answers can be added only to a CSV of pairs, headed i,j,type or "
            f"i,j,type,confidence. Make one with smdeclust convert, or name another file "
            f"({argument('answers')})."
        )
    names, delimiter = header
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    place = names.index("type")
    try:
        written = [row[place].strip() for row in rows if len(row) > place][1:]
    except csv.Error as error:
        raise InvalidInputError(
            f"{os.fspath(path)}, line {rows.line_num}: not a CSV line ({error}). Correct it."
        ) from error
    line_end = "\r\n" if b"\r\n" in content else "\n"
    return PairsShape(names, delimiter, line_end, words_of(written), ended=text.endswith("\n"))


def words_of(written: Sequence[str]) -> dict[str, str]:
    """The words for both kinds of pairs: those written last, and what goes with them."""
    found = {kind: word for word in written if (kind := parse_kind(word)) is not None}
    known = found or {"must_link": "ml"}
    word = next(iter(known.values()))
    return {kind: known.get(kind) or _other(word) for kind in ("must_link", "cannot_link")}


def _other(word: str) -> str:
    lowered = word.lower()
    swap = ("cannot", "must") if "cannot" in lowered else ("must", "cannot")
    other = _OTHERS.get(lowered) or lowered.replace(*swap)
    if word.isupper():
        return other.upper()
    return other.capitalize() if word[:1].isupper() else other


def append_pair(
    path: PathLike,
    pair: Sequence[object],
    kind: str,
    confidence: float | None = None,
    encoding: str | None = None,
) -> tuple[int, int]:
    """Add a pair of ids or rows to a CSV, on the disk at once; a new file gets a header.

    `kind` is ``must_link`` or ``cannot_link``, `confidence` that of a soft pair. Returns the sizes
    of the file before and after, in bytes.
    """
    shape = shape_of(path, encoding)
    if shape is None:
        shape = PairsShape()
        _write(path, shape.line(shape.names), encoding)
    sure = "" if confidence is None else f"{confidence:g}"
    if sure and "confidence" not in shape.names:
        raise InvalidInputError(
            f"{os.fspath(path)}: the file has no column confidence, which a pair with the "
            f"confidence {sure} needs. Add the column to the file, or name another file "
            f"({argument('answers')})."
        )
    cells = {"i": pair[0], "j": pair[1], "type": shape.words[kind], "confidence": sure}
    line = shape.line([cells.get(name, "") for name in shape.names])
    before = Path(path).stat().st_size
    _write(path, line if shape.ended else shape.line_end + line, encoding)
    return before, Path(path).stat().st_size


def _write(path: PathLike, text: str, encoding: str | None) -> None:
    mark = Path(path).read_bytes()[:2] if Path(path).exists() else b""
    # Appended text has no mark of its own, so the order of bytes is that of the file's mark.
    if encoding is None or codecs.lookup(encoding).name == "utf-16":
        marks = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
        encoding = marks.get(mark, encoding or "utf-8")
    with Path(path).open("a", newline="", encoding=encoding) as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
