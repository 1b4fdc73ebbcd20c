"""``.npy``, ``.npz`` and Parquet tables."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import optional
from smdeclust.io.arrays import parse_npy, parse_npz
from smdeclust.io.files import PathLike, bad_line, shown
from smdeclust.io.tables.bad_cells import BadCell, bad_cells
from smdeclust.io.tables.table import (
    CLASS_NAMES,
    Choice,
    Table,
    as_labels,
    assign_columns,
    check_ids,
    check_points,
)
from smdeclust.io.wording import argument

PARQUET_MAGIC = b"PAR1"
# An array y beside an array X is no coordinate.
_LABEL_ARRAYS = (*CLASS_NAMES, "y")


def read_npy(content: bytes, path: PathLike) -> Table:
    """Read one array of shape (n, d)."""
    points = parse_npy(content, path)
    names = _names(points)
    return Table(check_points(points, path, names, None), names)


def read_npz(content: bytes, path: PathLike, choice: Choice) -> Table:
    """Read the array ``X`` (or the only one), and labels and ids where there are such arrays."""
    arrays = parse_npz(content, path)
    rest = set(arrays) - {*_LABEL_ARRAYS, "id", "ids"}
    name = "X" if "X" in arrays else next(iter(rest)) if len(rest) == 1 else None
    if name is None:
        raise bad_line(path, None, f"the arrays {', '.join(sorted(arrays))}", "one named X")
    names = _names(arrays[name])
    X = check_points(arrays[name], path, names, None)
    label_name = _chosen(arrays, path, choice.label, _LABEL_ARRAYS)
    id_name = _chosen(arrays, path, choice.id_column, ("id", "ids"))
    group_name = _chosen(arrays, path, choice.group_column, ())
    labels = None if label_name is None else _one_per_row(arrays[label_name], len(X), path)
    ids = None if id_name is None else _one_per_row(arrays[id_name], len(X), path)
    groups = None if group_name is None else _one_per_row(arrays[group_name], len(X), path)
    return Table(
        X,
        names,
        ids=None if ids is None else check_ids(ids, path, None),
        labels=None if labels is None else as_labels(labels),
        groups=None if groups is None else tuple(groups),
        id_name=id_name,
        label_name=label_name,
        group_name=group_name,
    )


def _names(points: NDArray[Any]) -> tuple[str, ...]:
    # No names for an array that is not a table: its error comes from check_points.
    width = points.shape[1] if points.ndim == 2 and points.size else 0
    return tuple(f"x{position}" for position in range(width))


def _chosen(
    arrays: dict[str, NDArray[Any]], path: PathLike, name: str | bool | None, usual: Sequence[str]
) -> str | None:
    if name is False:
        return None
    if name is None:
        return next((candidate for candidate in usual if candidate in arrays), None)
    if name not in arrays:
        raise bad_line(path, None, f"no array {shown(name)}", f"one of {', '.join(arrays)}")
    return str(name)


def _one_per_row(values: NDArray[Any], n_points: int, path: PathLike) -> list[str]:
    if values.shape != (n_points,) or values.dtype.kind not in "biufU":
        raise bad_line(
            path,
            None,
            f"an array of shape {values.shape} and type {values.dtype}",
            f"one number or text for each of the {n_points} points",
        )
    try:
        return [str(value).strip() for value in values.tolist()]
    except (ValueError, UnicodeError) as error:  # text arrays may hold no valid characters
        raise InvalidInputError(f"{path}: labels or ids are not valid text ({error}).") from error


def read_parquet(content: bytes, path: PathLike, choice: Choice) -> Table:
    """Read a Parquet table (needs pyarrow)."""
    with optional(f"{path}: reading Parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    try:
        table = pq.read_table(io.BytesIO(content), memory_map=False)
        names = [str(name) for name in table.column_names]
    # Damaged files raise ArrowInvalid, OSError, ArrowNotImplementedError and others.
    except Exception as error:
        raise InvalidInputError(f"{path}: not a valid Parquet file ({shown(error)}).") from error
    if not names or table.num_rows == 0:
        raise bad_line(path, None, "an empty table", "at least one point and feature")
    columns = assign_columns(names, path, choice)
    points = np.empty((table.num_rows, len(columns.features)))
    wrong: list[str] = []
    missing: list[BadCell] = []
    for target, position in enumerate(columns.features):
        column, kind = table.column(position), table.column(position).type
        if not (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        ):
            wrong.append(f"the column {shown(names[position])} of type {kind}")
            continue
        rows = np.flatnonzero(column.is_null().to_numpy()).tolist() if column.null_count else []
        missing += [BadCell(row, None, names[position], "") for row in rows]
        points[:, target] = column.fill_null(0).to_numpy().astype(np.float64)
    if wrong:
        raise bad_line(
            path,
            None,
            ", ".join(wrong),
            "numbers",
            f"Say what it is ({argument('label')}, {argument('id_column')}), or choose the columns "
            f"to use ({argument('features')}).",
        )
    if missing:
        raise bad_cells(path, missing, table.num_rows)
    chosen = tuple(names[position] for position in columns.features)
    ids, labels, groups = (
        None if position is None else _texts(table.column(position))
        for position in (columns.id, columns.label, columns.group)
    )
    return Table(
        check_points(points, path, chosen, None) if chosen else points,
        chosen,
        ids=None if ids is None else check_ids(ids, path, None),
        labels=None if labels is None else as_labels(labels),
        groups=None if groups is None else tuple(groups),
        id_name=columns.name(columns.id),
        label_name=columns.name(columns.label),
        group_name=columns.name(columns.group),
    )


def _texts(column: Any) -> list[str]:
    return ["" if value is None else str(value).strip() for value in column.to_pylist()]
