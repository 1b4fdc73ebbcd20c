"""Text with an ``n d`` or ``n d k`` first line, as PC-SOS-SDP and hg-means have it."""

from __future__ import annotations

import numpy as np

from smdeclust.io.files import PathLike, bad_line, decode, lines_of, shown
from smdeclust.io.tables.table import Table, check_points
from smdeclust.io.tokens import parse_number, parse_whole


def header_of(line: str) -> list[int] | None:
    """Return n, d and where given k, if ``line`` is such a header."""
    words = line.split()
    numbers = [parse_whole(word) for word in words]
    if len(words) not in (2, 3) or not all(word.isdecimal() for word in words):
        return None
    return [number for number in numbers if number is not None] if None not in numbers else None


def read(content: bytes, path: PathLike) -> Table:
    """Read n points of d numbers; the header must agree with what follows."""
    text = decode(content, path).rstrip("\n ")
    lines = lines_of(text)
    header = header_of(lines[0]) if lines else None
    if header is None:
        raise bad_line(
            path, 1, shown(lines[0] if lines else ""), "a first line 'n d' or 'n d k'", "Add it."
        )
    n_points, n_features = header[:2]
    if len(lines) - 1 != n_points:
        raise bad_line(
            path,
            1,
            f"the header {shown(lines[0])} and {len(lines) - 1} lines below it",
            f"{n_points} lines, one a point",
        )
    # float() also reads 1_000 and other digits than 0-9
    exact = text.isascii() and "_" not in text
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        words = line.replace(",", " ").split()
        if len(words) != n_features:
            raise bad_line(
                path, number, f"{len(words)} numbers", f"{n_features}, as the header says"
            )
        try:
            row = np.array(list(map(float, words))) if exact else None
        except ValueError:
            row = None
        rows.append(_checked(words, path, number) if row is None else row)
    points = np.array(rows, dtype=np.float64).reshape(n_points, n_features)
    names = tuple(f"x{position}" for position in range(n_features))
    return Table(
        X=check_points(points, path, names, range(2, n_points + 2)),
        feature_names=names,
        n_clusters=header[2] if len(header) == 3 else None,
    )


def _checked(words: list[str], path: PathLike, line: int) -> np.ndarray:
    for word in words:
        if parse_number(word) is None:
            raise bad_line(path, line, shown(word), "a finite number")
    return np.array([float(word) for word in words])
