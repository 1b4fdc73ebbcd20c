"""Answers: same, different or don't know; and the CSV of pairs to which they are added."""

import codecs
import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import PathLike, argument, as_utf8, decode, parse_kind, read_bytes
from smdeclust.io.pair_forms import header_of

SAME, DIFFERENT, UNKNOWN = "same", "different", "unknown"
WORDS = {
    True: SAME, "same": SAME, "s": SAME, "y": SAME, "yes": SAME,
    False: DIFFERENT, "different": DIFFERENT, "d": DIFFERENT, "n": DIFFERENT, "no": DIFFERENT,
    None: UNKNOWN, "unknown": UNKNOWN, "?": UNKNOWN, "don't know": UNKNOWN,
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """An answer about a pair."""

    pair: tuple[int, int]  # two rows
    verdict: str  # ``"same"``, ``"different"`` or ``"unknown"``
    confidence: float = 1.0  # how sure, from 0.5 to 1; 1 is a hard pair, less a soft one


def as_answer(pair: tuple[int, int], given: Any) -> Answer:
    """Read what an oracle returned: a verdict, or (verdict, confidence)."""
    word, confidence = given if isinstance(given, tuple) else (given, 1.0)
    key = word.strip().lower() if isinstance(word, str) else word
    key = bool(key) if key is not None and not isinstance(key, str) else key
    if key not in WORDS:
        raise InvalidInputError(
            f"The oracle answered {given!r} about rows {pair}; expected same (True), different "
            f"(False) or unknown (None), alone or as (answer, confidence)."
        )
    sure = float(confidence)
    if not 0.5 <= sure <= 1:
        raise InvalidInputError(f"The oracle's confidence must be from 0.5 to 1, got {sure}.")
    return Answer(pair, WORDS[key], sure)


def as_label_answers(row: int, representatives: Sequence[int], given: Any) -> list[Answer]:
    """Read the answer to "to which of these does this one belong?" as answers about pairs.

    It is a position among the representatives, ``"none"`` of them, or ``None``; alone or with a
    confidence.
    """
    choice, confidence = given if isinstance(given, tuple) else (given, 1.0)
    if choice is None:
        return [Answer((row, other), UNKNOWN) for other in representatives]
    if isinstance(choice, str) and choice.strip().lower() == "none":
        return [as_answer((row, other), (False, confidence)) for other in representatives]
    whole = isinstance(choice, int | np.integer) and not isinstance(choice, bool)
    if not whole or not 0 <= choice < len(representatives):
        raise InvalidInputError(
            f"The oracle answered {given!r} about row {row}; expected a position from 0 to "
            f"{len(representatives) - 1}, 'none', or None."
        )
    return [as_answer((row, representatives[int(choice)]), (True, confidence))]


@dataclass
class Checks:
    """Answers to questions whose answer followed from others: how often is the oracle wrong?

    Two answers that imply a third agree with it unless one or all three are wrong: with an error
    rate e they disagree with probability (1 - (1 - 2 e)^3) / 2. Before there are checks, e is taken
    for 5%, which counts as much as ten checks.
    """

    n_checks: int = 0
    n_disagree: int = 0

    def add(self, *, agreed: bool) -> None:
        """Count one more check."""
        self.n_checks += 1
        self.n_disagree += not agreed

    @property
    def error_rate(self) -> float:
        """The estimate, at most 0.4."""
        share = (self.n_disagree + 10 * (1 - 0.9**3) / 2) / (self.n_checks + 10)
        return min(0.4, (1 - max(0.0, 1 - 2 * share) ** (1 / 3)) / 2)


# ---- the file of answers, with its own columns and words

# The other word of a pair of words, where it is not must in place of cannot.
_OTHERS = {
    "cl": "ml", "apart": "together", "different": "same", "-1": "1", "+1": "-1",
    "verschieden": "gleich", "getrennt": "zusammen", "séparés": "ensemble", "separados": "juntos",
}  # fmt: skip
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
    header = header_of(text)
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


class AnswerFile:
    """A pairs CSV that grows by a line an answer, in its own shape, on the disk at once.

    A file that is not there is made with the header ``i,j,type,confidence``. It holds ids, or rows
    from `index_base` on; an encoding of None is UTF-8, or UTF-16 where it begins with its mark.
    """

    def __init__(
        self, path: PathLike, ids: Any = None, index_base: int = 0, encoding: str | None = None
    ) -> None:
        self.path, self.ids = Path(path), ids
        self.index_base, self.encoding = index_base, encoding
        self._sizes: list[tuple[int, int]] = []  # of the file, before and after each answer

    def append(self, answer: Answer) -> None:
        """Write one answer; "don't know" leaves no line."""
        if answer.verdict == UNKNOWN:
            return
        shape = shape_of(self.path, self.encoding)
        if shape is None:
            shape = PairsShape()
            self._write(shape.line(shape.names))
        sure = "" if answer.confidence >= 1 else f"{answer.confidence:g}"
        if sure and "confidence" not in shape.names:
            raise InvalidInputError(
                f"{self.path}: the file has no column confidence, which a pair with the "
                f"confidence {sure} needs. Add the column to the file, or name another file "
                f"({argument('answers')})."
            )
        base, ids = self.index_base, self.ids
        i, j = (row + base if ids is None else ids[row] for row in answer.pair)
        kind = shape.words["must_link" if answer.verdict == SAME else "cannot_link"]
        cells = {"i": i, "j": j, "type": kind, "confidence": sure}
        line = shape.line([cells.get(name, "") for name in shape.names])
        before = self.path.stat().st_size
        self._write(line if shape.ended else shape.line_end + line)
        self._sizes.append((before, self.path.stat().st_size))

    def drop_last(self) -> None:
        """Take the last answer back."""
        before, after = self._sizes[-1]
        if self.path.stat().st_size != after:
            raise InvalidInputError(
                f"{self.path}: the file has changed since the last answer, so the answer cannot be "
                f"undone. Remove its line by hand."
            )
        os.truncate(self.path, before)
        self._sizes.pop()

    def _write(self, text: str) -> None:
        mark = self.path.read_bytes()[:2] if self.path.exists() else b""
        encoding = self.encoding
        # Appended text has no mark of its own, so the order of bytes is that of the file's mark.
        if encoding is None or codecs.lookup(encoding).name == "utf-16":
            marks = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
            encoding = marks.get(mark, encoding or "utf-8")
        with self.path.open("a", newline="", encoding=encoding) as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
