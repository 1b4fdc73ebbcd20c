"""Pairs as sets: which are among others, and whether two sets are of the same points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from smdeclust.exceptions import InvalidInputError

if TYPE_CHECKING:
    from smdeclust.constraints.knowledge import Constraints


def as_n_points(n_points: Any, ids: np.ndarray | None) -> int | None:
    if n_points is not None:
        whole = isinstance(n_points, int | np.integer) and not isinstance(n_points, bool)
        if not whole or n_points < 0:
            raise InvalidInputError(
                f"n_points is {n_points!r}, expected a whole number from 0 or None."
            )
        if ids is not None and len(ids) != n_points:
            raise InvalidInputError(f"There are {len(ids)} ids for {n_points} points.")
        return int(n_points)
    return None if ids is None else len(ids)


def same_points(one: Constraints, two: Constraints) -> tuple[np.ndarray | None, int | None]:
    """The ids and the number of points of both, or an error where they differ."""
    sizes = {c.n_points for c in (one, two) if c.n_points is not None}
    if len(sizes) > 1:
        raise InvalidInputError(
            f"These constraints are of {one.n_points} points and those of {two.n_points}: only "
            f"constraints of the same points can be joined or compared."
        )
    if one.ids is not None and two.ids is not None and one.ids is not two.ids:
        differ = np.flatnonzero([a != b for a, b in zip(one.ids, two.ids, strict=True)])
        if len(differ):
            row = int(differ[0])
            raise InvalidInputError(
                f"Row {row} is {one.ids[row]!r} here and {two.ids[row]!r} there: only constraints "
                f"of the same points in the same order can be joined."
            )
    size = sizes.pop() if sizes else None
    return (one.ids if one.ids is not None else two.ids), size


def among(pairs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of these pairs are among the others, either way round."""
    return rows_among(np.sort(pairs, axis=1), np.sort(others, axis=1))


def rows_among(entries: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which rows of one table are rows of the other."""
    if len(entries) == 0 or len(others) == 0:
        return np.zeros(len(entries), dtype=bool)
    both = np.concatenate([others, entries])
    _, number = np.unique(both, axis=0, return_inverse=True)
    number = number.reshape(-1)
    return np.isin(number[len(others) :], number[: len(others)])
