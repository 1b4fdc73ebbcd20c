"""Coupling: which rows share a group or have a cannot-link. All that points know of constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smdeclust.constraints.groups import contract


@dataclass(frozen=True)
class Coupling:
    """The rows of groups that are linked or of several points; every other row is free.

    Groups ``0 .. n_linked - 1`` have a cannot-link, groups ``n_linked .. n_compound - 1`` have none
    but several points. The other groups are single free rows, numbered on in the order of rows.

    Attributes
    ----------
    n_points
        N.
    rows, groups
        (m,) those rows, sorted, and the group of each.
    n_linked, n_compound
        Number of linked groups, and of groups that are linked or of several points.
    """

    n_points: int
    rows: np.ndarray
    groups: np.ndarray
    n_linked: int
    n_compound: int

    @classmethod
    def of_pairs(cls, n_points: int, together: np.ndarray, apart: np.ndarray) -> Coupling:
        """Contract the rows named in pairs; the cost does not depend on N."""
        named = np.unique(np.concatenate([together.ravel(), apart.ravel()])).astype(np.int64)
        if len(named) == 0:
            return cls(n_points, named, named, 0, 0)
        few = contract(len(named), np.searchsorted(named, together), np.searchsorted(named, apart))
        # Rows in pairs with themselves alone are free.
        kept = few.of_point < few.n_compound
        return cls(n_points, named[kept], few.of_point[kept], few.n_linked, few.n_compound)

    @property
    def n_groups(self) -> int:
        """G."""
        return self.n_compound + self.n_points - len(self.rows)

    def groups_of(self, pairs: np.ndarray) -> np.ndarray:
        """The groups of rows that are all coupled."""
        return self.groups[np.searchsorted(self.rows, pairs)]

    def free_rows(self) -> np.ndarray:
        """The rows that are groups of their own without a cannot-link."""
        free = np.ones(self.n_points, dtype=np.bool_)
        free[self.rows] = False
        return np.flatnonzero(free)

    def of_point(self) -> np.ndarray:
        """(N,) group of each row."""
        groups = np.empty(self.n_points, dtype=np.int64)
        groups[self.free_rows()] = np.arange(self.n_compound, self.n_groups)
        groups[self.rows] = self.groups
        return groups

    def weights(self, of_rows: np.ndarray | None) -> np.ndarray:
        """(n_compound,) weights of the coupled groups, from those of all rows (``None``: ones)."""
        share = None if of_rows is None else of_rows[self.rows]
        return np.bincount(self.groups, share, self.n_compound).astype(np.float64)
