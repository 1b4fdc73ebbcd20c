"""``read_constraints``: one function for every constraint format."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from smdeclust.constraints import KINDS, Constraints
from smdeclust.constraints.store import SOFT
from smdeclust.exceptions import InvalidInputError
from smdeclust.io import files, pair_forms, per_point
from smdeclust.io.arrays import parse_npy
from smdeclust.io.pair_forms import Entry, Reading
from smdeclust.io.table import Table
from smdeclust.structure.pairs import check_number

# Formats that write pairs one by one, and those from which pairs follow.
_ENTRIES: dict[str, Callable[[bytes, Reading], list[Entry]]] = {
    "json": pair_forms.read_json,
    "csv": pair_forms.read_csv,
    **{form: partial(pair_forms.read_lines, form=form) for form in pair_forms.LINE_FORMS},
}
_WHOLE: dict[str, Callable[[bytes, Reading], Constraints]] = {
    "matrix": per_point.read_matrix,
    "groups": per_point.read_groups,
    "labels": per_point.read_labels,
}
_NAMES = (
    "json", "links", "csv", "signed", "graphs", "two-column", "matrix", "groups", "labels",
)  # fmt: skip
FORMATS = (*_NAMES, "ids")
# Formats that do not write which kind their pairs are, and those of them that come in two files.
_NEED_KIND = ("graphs", "two-column", "groups")
_TWO_FILES = ("graphs", "two-column")
_BASES = {"graphs": 1}


def read_constraints(
    path_or_paths: files.PathLike | Sequence[files.PathLike],
    *,
    format: str | None = None,
    n_points: int | None = None,
    ids: Sequence[object] | None = None,
    kind: str | None = None,
    index_base: int | None = None,
    must_link_sign: int = 1,
    encoding: str | None = None,
) -> Constraints:
    """Read pairs, and the quotas of a ``json`` file, from one or more files.

    Parameters
    ----------
    path_or_paths
        A file, or a list of files whose pairs are combined. In the formats ``graphs`` and
        ``two-column``, two files contain the must-links and the cannot-links, in this order.
    format
        ``json``, ``links``, ``csv``, ``signed``, ``graphs``, ``two-column``, ``matrix``,
        ``groups``, ``labels`` or ``ids`` (any format, with ids). By default, it is detected from
        the content of each file.
    n_points
        The number of rows of the data. Larger row positions are an error.
    ids
        The id of each row of the data. The files then contain ids instead of row positions.
    kind
        ``"ml"`` or ``"cl"``: the kind of pairs in a single ``graphs`` or ``two-column`` file, or
        between the rows of a group in a ``groups`` file.
    index_base
        The number of the first row in the files, 0 or 1. By default, 1 for ``graphs`` and 0 for
        other formats.
    must_link_sign
        1, or -1 for a matrix in which -1 means must-link.
    encoding
        The encoding of text files. By default, UTF-8, or UTF-16 with a byte order mark.

    Returns
    -------
    Constraints
        The pairs as row positions, with the file and line of each.
    """
    paths = files.as_paths(path_or_paths)
    _check_options(format, ids, index_base, must_link_sign)
    check_number("n_points", n_points, low=0, whole=True, optional=True)
    row_of_id = None
    if ids is not None:
        row_of_id = files.index_ids(ids)
        if n_points is not None and n_points != len(row_of_id):
            raise InvalidInputError(f"There are {len(row_of_id)} ids for {n_points} rows.")
        n_points = len(row_of_id)
    named = _parse_role(kind)
    contents = [files.as_utf8(files.read_bytes(path), path, encoding) for path in paths]
    formats = [
        format if format not in (None, "ids") else _detect(content, path, n_points, ids is not None)
        for content, path in zip(contents, paths, strict=True)
    ]
    roles = _roles(formats, paths, named)
    parts = []
    for path, content, name, role in zip(paths, contents, formats, roles, strict=True):
        if format == "ids" and name in _WHOLE:
            raise InvalidInputError(f"{path}: the content is a {name} file, expected pairs of ids.")
        base = _BASES.get(name, 0) if index_base is None else index_base
        rows = files.RowResolver(n_points, row_of_id, base)
        try:
            parts.append(_read(name, content, Reading(path, rows, role, must_link_sign)))
        except MemoryError as error:
            raise InvalidInputError(f"{path}: its pairs do not fit into memory.") from error
    return _merge(parts)


def pairs_from_groups(table: Table, kind: str, path: files.PathLike) -> Constraints:
    """Make pairs from the group column of a table.

    Parameters
    ----------
    table
        The result of :func:`read_table` with a group column.
    kind
        ``"ml"`` if the rows of a group belong together, ``"cl"`` if no two of them do, or
        ``"class"`` if the groups are classes (rows of different groups then do not belong
        together).
    path
        The file of the table, for messages.
    """
    if table.groups is None:
        raise InvalidInputError(
            f"{os.fspath(path)}: no column of groups was read. Name it "
            f"({files.argument('group_column')})."
        )
    words = ["" if name.lower() in per_point.NO_CLASS else name for name in table.groups]
    n_points, apart = len(words), kind == "class"
    reading = Reading(path, files.RowResolver(n_points), None if apart else _parse_role(kind))
    lines = range(1, n_points + 1) if table.lines is None else table.lines
    return per_point.pairs_of(range(n_points), words, lines, reading, apart=apart)


def _check_options(
    format: str | None, ids: object, index_base: int | None, must_link_sign: int
) -> None:
    if format is not None and format not in FORMATS:
        raise InvalidInputError(
            f"{files.shown(format)} is not a format of pairs ({files.argument('format')}), "
            f"expected one of {', '.join(FORMATS)}, or nothing to detect it."
        )
    if format == "ids" and ids is None:
        raise InvalidInputError(
            f"The format ids needs the ids of the data: pass them ({files.argument('ids')})."
        )
    if index_base not in (None, 0, 1):
        raise InvalidInputError(
            f"The first row cannot have the number {files.shown(index_base)} "
            f"({files.argument('index_base')}), expected 0, 1 or nothing."
        )
    if must_link_sign not in (1, -1):
        raise InvalidInputError(
            f"The sign of must-links is {files.shown(must_link_sign)} "
            f"({files.argument('must_link_sign')}), expected 1 or -1."
        )


def _parse_role(kind: str | None) -> str | None:
    role = None if kind is None else files.parse_kind(str(kind))
    if kind is not None and role is None:
        raise InvalidInputError(
            f"{files.shown(kind)} is not a kind of pair, expected {files.argument('kind')}."
        )
    return role


def _roles(formats: list[str], paths: list[files.PathLike], named: str | None) -> list[str | None]:
    """Return for each file what its pairs are, where its format does not write it."""
    open_files = [position for position, name in enumerate(formats) if name in _NEED_KIND]
    kinds = [named] * len(open_files)
    if open_files and named is None:
        first, in_two = open_files[0], [formats[p] in _TWO_FILES for p in open_files]
        if in_two != [True, True]:
            two_files = " or give two files, must-links first" if in_two[0] else ""
            raise InvalidInputError(
                f"{paths[first]}: the format {formats[first]} does not say whether its rows belong "
                f"together. Pass {files.argument('kind')}{two_files}."
            )
        kinds = ["must_link", "cannot_link"]
    roles = dict(zip(open_files, kinds, strict=True))
    return [roles.get(position) for position in range(len(formats))]


def _read(name: str, content: bytes, reading: Reading) -> Constraints:
    """Read one file of a format, each pair with the line where it stands."""
    if name in _WHOLE:
        return _WHOLE[name](content, reading)
    entries = _ENTRIES[name](content, reading)
    words = [word for _, i, j, *_ in entries for word in (i, j)]
    twice = [line for _, _, _, line, *_ in entries for _ in range(2)]
    pairs = np.array(reading.rows.all(words, reading.path, twice), dtype=np.int64).reshape(-1, 2)
    lines = np.array(twice[::2], dtype=np.int64)
    sure = np.array([entry[4] for entry in entries], dtype=float)  # NaN: a hard pair
    kinds = np.array([kind.removeprefix("soft_") for kind, *_ in entries], dtype=object)
    kinds[~np.isnan(sure)] = "soft_" + kinds[~np.isnan(sure)]
    of_kind = {kind: kinds == kind for kind in KINDS if kind in kinds}
    arrays: dict[str, Any] = {kind: pairs[some] for kind, some in of_kind.items()}
    arrays |= {f"{kind}_confidence": sure[some] for kind, some in of_kind.items() if kind in SOFT}
    return Constraints(
        **arrays,
        quotas=pair_forms.read_quotas(content, reading) if name == "json" else (),
        files=(os.fspath(reading.path),),
        origins={kind: np.outer(lines[some], [0, 1, 1]) for kind, some in of_kind.items()},
    )


def _merge(parts: list[Constraints]) -> Constraints:
    """Join the pairs of several files in order, repeated ones too."""
    if len(parts) == 1:
        return parts[0]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in (*KINDS, *(f"{kind}_confidence" for kind in SOFT))
    }
    return Constraints(
        **arrays,
        files=tuple(part.files[0] for part in parts),
        origins={
            kind: np.concatenate([part._origin(kind) + [at, 0, 0] for at, part in enumerate(parts)])
            for kind in KINDS
        },
        columns=tuple(column for part in parts for column in part.columns),
        quotas=tuple(quota for part in parts for quota in part.quotas),
    )


# ---- which format a file is in, from its content alone
#
# Each format is recognized by the shape of its first lines, so that a mistake further down is
# reported at its line and not as an unknown format. Where two formats fit, both are named.

_LOOKED_AT = 1000


def _detect(content: bytes, path: files.PathLike, n_points: int | None, by_id: bool) -> str:
    """Return the name of the format, or raise an error that names the candidates."""
    found = _candidates(content, path, n_points, by_id)
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInputError(
            f"{path}: the content fits the formats {' and '.join(found)}. Name the format "
            f"({files.argument('format')})."
        )
    first = next((line for _, line in files.data_lines(content, path)), "")
    raise InvalidInputError(
        f"{path}, line 1: found {files.shown(first)}, expected pairs: a CSV with the header "
        "i,j,type and a line such as 4,7,ml (must-link) or 4,8,cl (cannot-link) per pair, with "
        f"ids or row numbers. Other formats: {', '.join(_NAMES)} ({files.argument('format')})."
    )


def _candidates(
    content: bytes, path: files.PathLike, n_points: int | None, by_id: bool
) -> list[str]:
    """Return the names of all formats that the content may be in."""
    if content.startswith(files.NPY_MAGIC):
        return ["matrix"] if parse_npy(content, path).ndim == 2 else ["groups", "labels"]
    if content.startswith(files.ZIP_MAGIC):
        return ["matrix"]
    lines = files.data_lines(content, path)
    if not lines:
        raise InvalidInputError(
            f"{path}: the file is empty, expected pairs. If it should contain no pairs, name "
            f"a format such as links ({files.argument('format')})."
        )
    first = lines[0][1]
    if first[0] in "{[":
        return ["json"]
    # Ids may be called anything, also ML: then a row of three words still reads as links.
    if files.split_words(first)[0].upper() in pair_forms.KEYWORDS:
        return ["links"]
    if pair_forms.header_of("\n".join(line for _, line in lines)) is not None:
        return ["csv"]
    if per_point.header_of(first) is not None:
        return ["labels"]
    table = [files.split_words(line) for _, line in lines[:_LOOKED_AT]]
    return _by_columns(table, len(lines), n_points, by_id)


def _by_columns(
    table: list[list[str]], n_lines: int, n_points: int | None, by_id: bool
) -> list[str]:
    width, found = len(table[0]), []
    # Where no ids are given, the first line must start with two row positions.
    named = by_id or all(files.parse_whole(word) is not None for word in table[0][:2])
    if width == 1:
        numeric = all(files.parse_whole(row[0]) is not None for row in table if len(row) == 1)
        found = ["groups", "labels"] if numeric else ["labels"]
    elif width == 2 and named:
        found = ["two-column"]
    elif width == 3 and named:
        weights = {files.parse_number(row[2]) for row in table if len(row) == 3}
        if -1 in weights:
            found = ["signed"]
        elif weights & {1.0} == weights:
            found = ["signed", "graphs"]
        elif None not in weights:
            found = ["graphs"]
    if width == n_lines and width > 1:
        whole = all(files.parse_whole(word) in (-1, 0, 1) for row in table for word in row)
        if whole and (n_points in (None, n_lines) or not found):
            found = [*found, "matrix"]
        elif not found and all(files.parse_number(word) is not None for word in table[0]):
            found = ["matrix"]  # its wrong entry is then named
    return found
