"""Performance profiles of Dolan and More (2002): the numbers; the drawing is next door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smdeclust.exceptions import InvalidInputError


@dataclass(frozen=True)
class PerformanceProfile:
    """For each method, the share of problems it solves within a factor of the best method.

    Attributes
    ----------
    methods
        Names, in the order given.
    ratios
        (P, S) metric of each method on each problem over the best one there; infinite where the
        method failed.
    """

    methods: tuple[str, ...]
    ratios: NDArray[np.float64]

    def at(self, tau: ArrayLike) -> NDArray[np.float64]:
        """rho_s(tau): the share of problems with ratio at most `tau`, one row a method."""
        tau = np.atleast_1d(np.asarray(tau, dtype=np.float64))
        ordered = np.sort(self.ratios, axis=0)
        # A failure stays one at any factor, infinity included.
        ended = np.isfinite(ordered).sum(axis=0)
        counts = [
            np.minimum(np.searchsorted(column, tau, side="right"), n)
            for column, n in zip(ordered.T, ended, strict=True)
        ]
        return np.array(counts) / len(self.ratios)

    def breakpoints(self) -> NDArray[np.float64]:
        """The factors at which some curve jumps, in increasing order, from 1 on."""
        finite = self.ratios[np.isfinite(self.ratios)]
        return np.union1d(1.0, finite)


def performance_profile(
    values: Mapping[str, ArrayLike], *, tie_tol: float = 0.0
) -> PerformanceProfile:
    """Compute the performance profile of several methods on the same problems.

    Parameters
    ----------
    values
        For each method, one value a problem, in the same order; smaller is better. NaN or
        infinity says that the method failed there. A problem that all failed counts for none.
    tie_tol
        Ratios up to ``1 + tie_tol`` count as 1. For objectives, where a relative 1e-6 is noise
        and not a victory.

    Returns
    -------
    PerformanceProfile

    Raises
    ------
    InvalidInputError
        Nothing given, unequal lengths, or a negative value (ratios would mean nothing).
    """
    if not values:
        raise InvalidInputError("a performance profile needs at least one method.")
    methods = tuple(values)
    columns = [np.asarray(values[m], dtype=np.float64) for m in methods]
    shapes = {m: c.shape for m, c in zip(methods, columns, strict=True)}
    if len(set(shapes.values())) != 1 or columns[0].ndim != 1 or columns[0].size == 0:
        raise InvalidInputError(
            "each method needs one value for each problem, the same problems for all; "
            f"the shapes are {shapes}."
        )
    table = np.column_stack(columns)
    table = np.where(np.isnan(table), np.inf, table)
    if (table < 0).any():
        problem, method = np.argwhere(table < 0)[0]
        raise InvalidInputError(
            f"values must not be negative; {methods[method]!r} has {table[problem, method]:g} on "
            f"problem {problem}. Shift or invert the metric first."
        )
    best = table.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = table / best
    ratios = np.where(table == best, 1.0, ratios)  # 0 / 0 is a tie
    ratios = np.where(np.isinf(table), np.inf, ratios)  # also where all failed
    ratios = np.where(ratios <= 1.0 + tie_tol, 1.0, ratios)
    return PerformanceProfile(methods, ratios)
