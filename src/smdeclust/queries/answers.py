"""Answers: same, different or don't know, kept in a file as they come."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smdeclust.exceptions import InvalidInputError

SAME, DIFFERENT, UNKNOWN = "same", "different", "unknown"
_WORDS = {
    True: SAME, "same": SAME, "s": SAME, "y": SAME, "yes": SAME,
    False: DIFFERENT, "different": DIFFERENT, "d": DIFFERENT, "n": DIFFERENT, "no": DIFFERENT,
    None: UNKNOWN, "unknown": UNKNOWN, "?": UNKNOWN, "don't know": UNKNOWN,
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What somebody said about a pair.

    Attributes
    ----------
    pair
        Two rows.
    verdict
        ``"same"``, ``"different"`` or ``"unknown"``.
    confidence
        How sure, from 0.5 to 1; 1 is a hard pair, less a soft one.
    """

    pair: tuple[int, int]
    verdict: str
    confidence: float = 1.0


def as_answer(pair: tuple[int, int], given: Any) -> Answer:
    """Read what an oracle returned: a verdict, or (verdict, confidence)."""
    word, confidence = given if isinstance(given, tuple) else (given, 1.0)
    key = word.strip().lower() if isinstance(word, str) else word
    key = bool(key) if key is not None and not isinstance(key, str) else key
    if key not in _WORDS:
        raise InvalidInputError(
            f"The oracle answered {given!r} about rows {pair}; expected same (True), different "
            f"(False) or unknown (None), alone or as (answer, confidence)."
        )
    sure = float(confidence)
    if not 0.5 <= sure <= 1:
        raise InvalidInputError(f"The oracle's confidence must be from 0.5 to 1, got {sure}.")
    return Answer(pair, _WORDS[key], sure)


class AnswerFile:
    """A pairs file (``i,j,type,confidence``) that grows by a line an answer, on the disk at once.

    Parameters
    ----------
    path
        The file; made with a header where it is not there.
    ids
        Id of each row, written in place of rows, or ``None``.
    """

    def __init__(self, path: str | os.PathLike[str], ids: Sequence[Any] | None = None) -> None:
        self.path, self.ids = Path(path), ids

    def append(self, answer: Answer) -> None:
        """Write one answer; "don't know" leaves no line."""
        if answer.verdict == UNKNOWN:
            return
        new = not self.path.exists() or self.path.stat().st_size == 0
        names = [row if self.ids is None else self.ids[row] for row in answer.pair]
        kind = "ml" if answer.verdict == SAME else "cl"
        sure = "" if answer.confidence >= 1 else f"{answer.confidence:g}"
        with self.path.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            if new:
                writer.writerow(["i", "j", "type", "confidence"])
            writer.writerow([*names, kind, sure])
            stream.flush()
            os.fsync(stream.fileno())

    def drop_last(self) -> None:
        """Take the last answer back."""
        lines = self.path.read_text("utf-8").splitlines(keepends=True)
        if len(lines) > 1:
            self.path.write_text("".join(lines[:-1]), "utf-8")
