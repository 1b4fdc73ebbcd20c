"""Partial labels and groups, one entry per point: the pairs that they stand for."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from smdeclust.constraints.rows import as_list, is_nothing
from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.groups import contract

MAX_PAIRS = 50_000_000
_NONE = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Column:
    """One entry per point, from which pairs follow for any choice of rows.

    Together is transitive, so a chain through the rows of a class says it all, and one cannot-link
    between two classes does. A chain breaks where a row is left out: the column is kept so that
    the chain can be made again from the rows that stay.
    """

    codes: np.ndarray  # (N,) class of each point, from 0; -1 where it is unknown
    # whether different classes are apart (labels), or say nothing of each other (groups)
    apart: bool

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return must-links along each class, and a cannot-link between every two classes."""
        rows = np.flatnonzero(self.codes >= 0)
        rows = rows[np.argsort(self.codes[rows], kind="stable")]
        same = self.codes[rows[1:]] == self.codes[rows[:-1]]
        together = np.stack([rows[:-1][same], rows[1:][same]], axis=1)
        first = rows[np.concatenate([[True], ~same])] if len(rows) else rows
        if not self.apart or len(first) < 2:
            return together, _NONE
        if len(first) * (len(first) - 1) // 2 > MAX_PAIRS:
            raise InvalidInputError(
                f"{len(first)} different classes make more than {MAX_PAIRS} cannot-links. Check "
                f"that these are classes and not ids."
            )
        return together, np.array(list(combinations(np.sort(first).tolist(), 2)), dtype=np.int64)

    def take(self, rows: np.ndarray) -> "Column":
        """Return the column of some rows."""
        return Column(self.codes[rows], self.apart)


def class_codes(values: Any, name: str) -> np.ndarray:
    """Return the (N,) number of each entry's class, -1 for entries that say nothing.

    Unknown are -1, None, NaN, pandas' NA and text such as "", "-" or "n/a" (`rows.MISSING`); the
    classes are numbered as they first occur.
    """
    if getattr(values, "ndim", 1) != 1:
        raise InvalidInputError(f"{name} must have one entry per point, got shape {values.shape}.")
    number: dict[Any, int] = {}
    codes = []
    for row, value in enumerate(as_list(values)):
        try:
            codes.append(-1 if _says_nothing(value) else number.setdefault(value, len(number)))
        except (TypeError, ValueError):  # a list, an array: no name of a class
            raise InvalidInputError(
                f"{name} must have one entry per point, a number or name; entry {row} is {value!r}."
            ) from None
    return np.array(codes, dtype=np.int64)


def codes_of_groups(groups: list[np.ndarray], n_points: int) -> np.ndarray:
    """Return the (N,) group of each row, -1 for rows in none; groups that overlap become one."""
    chains = [np.stack([rows[:-1], rows[1:]], axis=1) for rows in groups if len(rows) > 1]
    grouping = contract(n_points, np.concatenate([_NONE, *chains]), _NONE)
    return np.where(grouping.size[grouping.of_point] > 1, grouping.of_point, -1)


def members_of(codes: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each group."""
    rows = np.flatnonzero(codes >= 0)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return np.split(rows, np.flatnonzero(np.diff(codes[rows])) + 1)


def all_pairs_within(groups: list[np.ndarray]) -> np.ndarray:
    """Return every pair of different rows of the same group."""
    groups = [np.unique(group) for group in groups]
    n_pairs = sum(len(group) * (len(group) - 1) // 2 for group in groups)
    if n_pairs > MAX_PAIRS:
        raise InvalidInputError(
            f"The groups make {n_pairs} cannot-links, more than {MAX_PAIRS}. Check that you "
            f"want to keep these groups apart."
        )
    found = [_NONE]
    for group in groups:
        first, second = np.triu_indices(len(group), k=1)
        found.append(np.stack([group[first], group[second]], axis=1))
    return np.concatenate(found)


def _says_nothing(value: Any) -> bool:
    unknown = value.strip() == "-1" if isinstance(value, str) else value == -1
    return is_nothing(value) or bool(unknown)
