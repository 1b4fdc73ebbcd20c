"""``read_constraints``: one function for every constraint format."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.collector import Reading
from smdeclust.io.constraints import Constraints, merge
from smdeclust.io.files import PathLike, as_paths, as_utf8, read_bytes, shown
from smdeclust.io.formats import (
    csv_pairs,
    graphs,
    json_pairs,
    links,
    matrix,
    per_point,
    signed,
    two_column,
)
from smdeclust.io.formats.detect import detect
from smdeclust.io.table import Table
from smdeclust.io.tokens import RowResolver, check_n_points, index_ids, parse_kind
from smdeclust.io.wording import argument

READERS: dict[str, Callable[[bytes, Reading], Constraints]] = {
    "json": json_pairs.read,
    "links": links.read,
    "csv": csv_pairs.read,
    "signed": signed.read,
    "graphs": graphs.read,
    "two-column": two_column.read,
    "matrix": matrix.read,
    "groups": per_point.read_groups,
    "labels": per_point.read_labels,
}
FORMATS = (*READERS, "ids")
# Formats that do not write which kind their pairs are, and those of them that come in two files.
_NEED_KIND = ("graphs", "two-column", "groups")
_TWO_FILES = ("graphs", "two-column")
_BASES = {"graphs": 1}
_NO_IDS = ("matrix", "groups", "labels")


def read_constraints(
    path_or_paths: PathLike | Sequence[PathLike],
    *,
    format: str | None = None,
    n_points: int | None = None,
    ids: Sequence[object] | None = None,
    kind: str | None = None,
    index_base: int | None = None,
    must_link_sign: int = 1,
    encoding: str | None = None,
) -> Constraints:
    """Read must-link and cannot-link pairs from one file or several.

    Parameters
    ----------
    path_or_paths
        One file, or several whose pairs are joined. Of the formats ``graphs`` and ``two-column``,
        two files are the must-links and the cannot-links, in this order.
    format
        One of ``json``, ``links``, ``csv``, ``signed``, ``graphs``, ``two-column``, ``matrix``,
        ``groups``, ``labels``; None detects it from the content of each file, and raises where
        the content fits more than one. ``ids`` is any of the pair forms, detected, with ids.
    n_points
        Number of rows of the data: rows beyond it are an error. None does not check.
    ids
        Id of each row of the data. Where given, files write ids and not row positions.
    kind
        ``"ml"`` or ``"cl"``: what the pairs of a single ``graphs`` or ``two-column`` file are, or
        what a ``groups`` file asks of the rows of a group.
    index_base
        0 or 1: number of the first row in the files. None is what the format says (1 for
        ``graphs``, else 0).
    must_link_sign
        1, or -1 for a matrix in which -1 means must-link.
    encoding
        Of text files; None is UTF-8, or UTF-16 where a file begins with its mark.

    Returns
    -------
    Constraints
        The pairs as row positions, and the file and line of each.

    Raises
    ------
    InvalidInputError
        If a file cannot be read as asked; the message names file, line, what was found, what was
        expected and what to do.
    """
    paths = as_paths(path_or_paths)
    _check_options(format, ids, index_base, must_link_sign)
    n_points = check_n_points(n_points)
    row_of_id = None
    if ids is not None:
        row_of_id = index_ids(ids)
        if n_points is not None and n_points != len(row_of_id):
            raise InvalidInputError(f"There are {len(row_of_id)} ids for {n_points} rows.")
        n_points = len(row_of_id)
    named = _parse_role(kind)
    contents = [as_utf8(read_bytes(path), path, encoding) for path in paths]
    formats = [
        format if format not in (None, "ids") else detect(content, path, n_points, ids is not None)
        for content, path in zip(contents, paths, strict=True)
    ]
    roles = _roles(formats, paths, named)
    parts = []
    for path, content, name, role in zip(paths, contents, formats, roles, strict=True):
        if format == "ids" and name in _NO_IDS:
            raise InvalidInputError(f"{path}: the content is a {name} file, expected pairs of ids.")
        base = _BASES.get(name, 0) if index_base is None else index_base
        rows = RowResolver(n_points, row_of_id, base)
        try:
            parts.append(READERS[name](content, Reading(path, rows, role, must_link_sign)))
        except MemoryError as error:
            raise InvalidInputError(f"{path}: its pairs do not fit into memory.") from error
    return merge(parts)


def pairs_from_groups(table: Table, kind: str, path: PathLike) -> Constraints:
    """Make pairs from the group column of a data table.

    Parameters
    ----------
    table
        As :func:`read_table` gives it, with a group column.
    kind
        ``"ml"``: rows of a group go together; ``"cl"``: they go apart.
    path
        The file of the table; ``where`` names it.
    """
    if table.groups is None:
        raise InvalidInputError(
            f"{os.fspath(path)}: no column of groups was read. Say which it is "
            f"({argument('group_column')})."
        )
    rows = RowResolver(len(table.groups))
    reading = Reading(path, rows, _parse_role(kind))
    return per_point.groups_of_column(table.groups, table.lines, reading)


def _check_options(
    format: str | None, ids: object, index_base: int | None, must_link_sign: int
) -> None:
    if format is not None and format not in FORMATS:
        raise InvalidInputError(
            f"{shown(format)} is no format of pairs ({argument('format')}), expected one of "
            f"{', '.join(FORMATS)}, or nothing to detect it."
        )
    if format == "ids" and ids is None:
        raise InvalidInputError(
            f"The format ids needs the ids of the data: say where they are ({argument('ids')})."
        )
    if index_base not in (None, 0, 1):
        raise InvalidInputError(
            f"The first row cannot have the number {shown(index_base)} ({argument('index_base')}), "
            "expected 0, 1 or nothing."
        )
    if must_link_sign not in (1, -1):
        raise InvalidInputError(
            f"The sign of must-links is {shown(must_link_sign)} ({argument('must_link_sign')}), "
            "expected 1 or -1."
        )


def _parse_role(kind: str | None) -> str | None:
    role = None if kind is None else parse_kind(str(kind))
    if kind is not None and role is None:
        raise InvalidInputError(f"{shown(kind)} is no kind of pair, expected {argument('kind')}.")
    return role


def _roles(formats: list[str], paths: list[PathLike], named: str | None) -> list[str | None]:
    """Return for each file what its pairs are, where its format does not write it."""
    open_files = [position for position, name in enumerate(formats) if name in _NEED_KIND]
    roles: list[str | None] = [None] * len(formats)
    if not open_files:
        return roles
    first = open_files[0]
    two = len(open_files) == 2 and all(formats[position] in _TWO_FILES for position in open_files)
    if named is None and two:
        for position, role in zip(open_files, ("must_link", "cannot_link"), strict=True):
            roles[position] = role
    elif named is not None:
        for position in open_files:
            roles[position] = named
    else:
        two_files = " or give two files, must-links first" if formats[first] in _TWO_FILES else ""
        raise InvalidInputError(
            f"{paths[first]}: the format {formats[first]} does not say whether its rows go "
            f"together or apart. Say {argument('kind')}{two_files}."
        )
    return roles
