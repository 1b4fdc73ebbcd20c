"""Ids of the points: from what people call a point to its row."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError

# So many ids are searched for one that is spelled almost like an unknown one.
_MAX_SUGGESTED_FROM = 20_000


def as_ids(ids: Any) -> np.ndarray:
    """Return the ids of the points as a read-only object array; no two may be equal.

    Parameters
    ----------
    ids
        One id a point: a column or the index of a data frame, an array, any sequence.
    """
    if getattr(ids, "ndim", 1) != 1 or hasattr(ids, "columns"):
        raise InvalidInputError(
            "ids must be one column: give frame['name'] or frame.index, not a whole table."
        )
    values = as_list(ids)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    first: dict[Any, int] = {}
    for row, value in enumerate(values):
        if is_missing(value):
            raise InvalidInputError(f"ids: row {row} has no id ({value!r}). Give every row an id.")
        try:
            seen = first.setdefault(value, row)
        except TypeError:
            raise InvalidInputError(f"ids: {value!r} (row {row}) cannot be an id.") from None
        if seen != row:
            raise InvalidInputError(
                f"ids: rows {seen} and {row} have the same id {value!r}. Ids must be unique: "
                f"choose another column, or remove the repeated row."
            )
    array.flags.writeable = False
    return array


def rows_of_pairs(pairs: Any, row_of_id: dict[Any, int], name: str) -> np.ndarray:
    """Return the (m, 2) rows of pairs that are written as ids."""
    rows = np.empty((0, 2), dtype=np.int64)
    if pairs is None:
        return rows
    written = list(as_list(pairs))
    rows = np.empty((len(written), 2), dtype=np.int64)
    for where, pair in enumerate(written):
        if isinstance(pair, str) or not isinstance(pair, Iterable):
            raise InvalidInputError(f"{name}: entry {where} is {pair!r}, expected a pair of ids.")
        ends = list(pair)
        if len(ends) != 2:
            raise InvalidInputError(f"{name}: entry {where} is {pair!r}, expected a pair of ids.")
        for side, value in enumerate(ends):
            rows[where, side] = row_of(value, row_of_id, f"{name}: pair {where}")
    return rows


def row_of(value: Any, row_of_id: dict[Any, int], where: str) -> int:
    """Return the row of one id, or say what may have been meant."""
    try:
        row = row_of_id.get(value)
    except TypeError:
        row = None
    if row is not None:
        return row
    hint = ""
    if isinstance(value, str) and len(row_of_id) <= _MAX_SUGGESTED_FROM:
        known = [known for known in row_of_id if isinstance(known, str)]
        close = get_close_matches(value, known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
    example = repr(next(iter(row_of_id), None))
    raise InvalidInputError(
        f"{where} names {value!r}, which is no id of the data (ids look like {example}).{hint} "
        f"To give row positions instead, say by_row=True."
    )


def as_list(values: Any) -> list[Any]:
    """Return a column, an array, a table or any iterable as a list of plain values."""
    to_numpy = getattr(values, "to_numpy", None)
    if callable(to_numpy):
        values = to_numpy()
    if isinstance(values, np.ndarray):
        return values.tolist()
    try:
        return list(values)
    except TypeError:
        raise InvalidInputError(f"Expected a sequence, got {values!r}.") from None


def is_missing(value: Any) -> bool:
    """Whether this is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)
