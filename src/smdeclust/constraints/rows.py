"""Some rows of the data: which they are, and which pairs lie among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError


def as_rows(rows: Any, n_points: int | None) -> np.ndarray:
    """Return row positions from integers, a slice or a boolean mask; no row twice.

    Where `n_points` is None the size of the data is not known: rows count from 0, and a mask or a
    slice with an end is taken as it is.
    """
    if isinstance(rows, slice):
        if n_points is None:
            raise InvalidInputError(
                "These constraints do not know how many points there are: make them with n_points= "
                "or ids= to take a slice of them."
            )
        return np.arange(n_points)[rows]
    chosen = np.asarray(rows)
    if chosen.size == 0 and chosen.dtype != bool:
        chosen = chosen.astype(np.int64).reshape(-1)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iub":
        raise InvalidInputError(
            f"Rows are chosen by integers, a slice or a boolean mask, got {rows!r}."
        )
    if chosen.dtype == bool:
        if n_points is not None and len(chosen) != n_points:
            raise InvalidInputError(f"The mask has {len(chosen)} entries for {n_points} points.")
        return np.flatnonzero(chosen)
    chosen = chosen.astype(np.int64)
    if n_points is not None:
        chosen = np.where(chosen < 0, chosen + n_points, chosen)
    outside = (chosen < 0) | (chosen >= (np.inf if n_points is None else n_points))
    if outside.any():
        given = np.asarray(rows)[np.flatnonzero(outside)[0]]
        span = "from 0" if n_points is None else f"0 to {n_points - 1}"
        raise InvalidInputError(f"Row {given} is asked for, but rows are numbered {span}.")
    if len(np.unique(chosen)) != len(chosen):
        raise InvalidInputError(
            "A row is asked for twice. What pairs say of a point that is there twice is not "
            "defined: choose every row once (no bootstrap samples)."
        )
    return chosen


def restrict(pairs: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs with both ends among `rows`, renumbered, and which of them these are."""
    if len(pairs) == 0 or len(rows) == 0:
        return np.empty((0, 2), dtype=np.int64), np.zeros(len(pairs), dtype=bool)
    order = np.argsort(rows)
    place = np.searchsorted(rows[order], pairs)
    place = order[np.minimum(place, len(rows) - 1)]
    inside = (rows[place] == pairs).all(axis=1)
    return place[inside], inside
