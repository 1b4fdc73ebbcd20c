"""Collects the pairs of one file, each with the line where it stands."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smdeclust.io.constraints import KINDS, Constraints
from smdeclust.io.files import PathLike, bad_line, shown
from smdeclust.io.tokens import RowResolver, parse_number


@dataclass(frozen=True)
class Reading:
    """What a format reader needs beside the content of the file.

    Attributes
    ----------
    path
        The file, for messages and origins.
    rows
        From written rows or ids to row positions.
    kind
        ``must_link`` or ``cannot_link`` for formats that do not write the kind of a pair.
    must_link_sign
        The sign that means must-link in a matrix.
    """

    path: PathLike
    rows: RowResolver = field(default_factory=RowResolver)
    kind: str | None = None
    must_link_sign: int = 1


class PairCollector:
    """Grows four lists of pairs and their lines; ``build`` makes the arrays."""

    def __init__(self, path: PathLike) -> None:
        self.path = path
        self._pairs: dict[str, list[int]] = {kind: [] for kind in KINDS}
        self._lines: dict[str, list[int]] = {kind: [] for kind in KINDS}
        self._confidences: dict[str, list[float]] = {kind: [] for kind in KINDS[2:]}

    def add(self, kind: str, i: int, j: int, line: int, confidence: float | None = None) -> None:
        """Add a hard pair, or a soft one where a confidence is given."""
        if confidence is not None:
            kind = kind if kind.startswith("soft_") else f"soft_{kind}"
            self._confidences[kind].append(confidence)
        self._pairs[kind] += (i, j)
        self._lines[kind] += (line, line)

    def build(self) -> Constraints:
        """Return everything added so far."""
        arrays: dict[str, Any] = {
            kind: np.array(flat, dtype=np.int64).reshape(-1, 2)
            for kind, flat in self._pairs.items()
        }
        confidences: dict[str, Any] = {
            f"{kind}_confidence": np.array(values, dtype=np.float64)
            for kind, values in self._confidences.items()
        }
        origins = {
            kind: np.insert(np.array(flat, dtype=np.int64).reshape(-1, 2), 0, 0, axis=1)
            for kind, flat in self._lines.items()
        }
        files = (os.fspath(self.path),)
        return Constraints(**arrays, **confidences, files=files, origins=origins)


def parse_confidence(word: str, path: PathLike, line: int | None, place: str = "") -> float:
    """Return a confidence from 0.5 to 1; ``place`` says where it stands, for lists without lines.

    Below 0.5 the opposite is likelier.
    """
    number = parse_number(word)
    if number is None or not 0.5 <= number <= 1:
        raise bad_line(
            path,
            line,
            f"the confidence {shown(word)}{place}",
            "a number from 0.5 to 1",
            "Leave the confidence out for a hard pair; below 0.5, write the other kind of pair, "
            "and 1 minus this.",
        )
    return number
