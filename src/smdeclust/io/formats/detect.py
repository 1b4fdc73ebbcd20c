"""Which constraint format a file is in, from its content alone.

Each format is recognized by the shape of its first lines, so that a mistake further down is
reported at its line and not as an unknown format. Where two formats fit, both are named: nothing is
guessed.
"""

from __future__ import annotations

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.arrays import NPY_MAGIC, ZIP_MAGIC, parse_npy
from smdeclust.io.files import PathLike, decode, lines_of, shown
from smdeclust.io.formats import csv_pairs, links, per_point
from smdeclust.io.tokens import data_lines, parse_number, parse_whole, split_words
from smdeclust.io.wording import argument

_LOOKED_AT = 1000


def detect(content: bytes, path: PathLike, n_points: int | None, given_ids: bool) -> str:
    """Return the name of the format, or raise an error that names the candidates."""
    found = candidates(content, path, n_points, given_ids)
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInputError(
            f"{path}: the content fits the formats {' and '.join(found)}. Say which one it is "
            f"({argument('format')})."
        )
    first = next((line for _, line in data_lines(lines_of(decode(content, path)))), "")
    raise InvalidInputError(
        f"{path}, line 1: found {shown(first)}, expected one of the formats json, links, csv, "
        "signed, graphs, two-column, matrix, groups, labels. Say which one it is "
        f"({argument('format')}), or write lines 'ML i j' / 'CL i j', or a CSV headed "
        f"{csv_pairs.SPELLINGS}."
    )


def candidates(
    content: bytes, path: PathLike, n_points: int | None = None, given_ids: bool = False
) -> list[str]:
    """Return the names of all formats that the content may be in."""
    if content.startswith(NPY_MAGIC):
        return ["matrix"] if parse_npy(content, path).ndim == 2 else ["groups", "labels"]
    if content.startswith(ZIP_MAGIC):
        return ["matrix"]
    lines = data_lines(lines_of(decode(content, path)))
    if not lines:
        raise InvalidInputError(
            f"{path}: the file is empty, expected pairs. Say a format such as links "
            f"({argument('format')}) if a file without any pair is meant."
        )
    first = lines[0][1]
    if first[0] in "{[":
        return ["json"]
    # Ids may be called anything, also ML: then a row of three words still reads as links.
    if split_words(first)[0].upper() in links.KEYWORDS:
        return ["links"]
    if csv_pairs.header_of(first) is not None:
        return ["csv"]
    if per_point.header_of(first) is not None:
        return ["labels"]
    table = [split_words(line) for _, line in lines[:_LOOKED_AT]]
    return _by_columns(table, len(lines), n_points, given_ids)


def _by_columns(
    table: list[list[str]], n_lines: int, n_points: int | None, given_ids: bool
) -> list[str]:
    width = len(table[0])
    found = []
    if width == 1:
        numeric = all(parse_whole(row[0]) is not None for row in table if len(row) == 1)
        found = ["groups", "labels"] if numeric else ["labels"]
    elif width == 2 and (given_ids or _rows_written(table)):
        found = ["two-column"]
    elif width == 3 and (given_ids or _rows_written(table)):
        weights = {parse_number(row[2]) for row in table if len(row) == 3}
        if -1 in weights:
            found = ["signed"]
        elif weights & {1.0} == weights:
            found = ["signed", "graphs"]
        elif None not in weights:
            found = ["graphs"]
    if width == n_lines and width > 1:
        whole = all(parse_whole(word) in (-1, 0, 1) for row in table for word in row)
        if whole and (n_points in (None, n_lines) or not found):
            found = [*found, "matrix"]
        elif not found and all(parse_number(word) is not None for word in table[0]):
            found = ["matrix"]  # its wrong entry is then named
    return found


def _rows_written(table: list[list[str]]) -> bool:
    """Whether the first line starts with two row positions (else these are ids or a header)."""
    return all(parse_whole(word) is not None for word in table[0][:2])
