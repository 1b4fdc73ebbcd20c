"""The paper's measures, on plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

# Objectives that differ by less than this share of them are equal: rounding, not quality.
TIE = 1e-6


def relative_difference(value: ArrayLike, reference: ArrayLike) -> np.ndarray:
    """Delta = 100 (m - m_R) / m_R, in percent; negative where `value` is better (lower).

    Where both are 0 it is 0; where the reference alone is 0 there is no such number (NaN).
    """
    m, ref = np.asarray(value, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        delta = 100.0 * (m - ref) / ref
    return np.where(ref == 0.0, np.where(m == 0.0, 0.0, np.nan), delta)


@dataclass(frozen=True)
class Spread:
    """A method against a reference over the configurations of a data set, in percent.

    Attributes
    ----------
    share
        %S: configurations where the method is at least as good.
    least, median, largest
        Of the relative differences.
    n
        Configurations compared.
    """

    share: float
    least: float
    median: float
    largest: float
    n: int


def spread(
    values: Sequence[float], references: Sequence[float], *, tol: float = 0.0, of: int | None = None
) -> Spread | None:
    """Compare a method with a reference, one value a configuration; None where there is none.

    Parameters
    ----------
    values, references
        The metric; lower is better.
    tol
        A relative difference up to this counts as equal.
    of
        What the share is a share of, if not the number of values.
    """
    if len(values) == 0:
        return None
    delta = relative_difference(values, references)
    # what is equal up to rounding is printed as equal
    delta = np.where(np.abs(delta) <= 100.0 * tol, 0.0, delta)
    share = 100.0 * float(np.sum(delta <= 0.0)) / (of or len(values))
    least, median, largest = float(delta.min()), float(np.median(delta)), float(delta.max())
    return Spread(share, least, median, largest, len(values))


def best_share(values: Mapping[str, Sequence[float]], *, tol: float = TIE) -> dict[str, float]:
    """%S of each method: the share of problems, in percent, on which it has the lowest value.

    Parameters
    ----------
    values
        For each method one value a problem, NaN where it has none. Ties count for all.
    tol
        A relative difference up to this counts as equal.
    """
    table = np.array([values[name] for name in values], dtype=np.float64)
    table = np.where(np.isnan(table), np.inf, table)
    if table.size == 0:
        return dict.fromkeys(values, float("nan"))
    best = table.min(axis=0)
    wins = np.isfinite(table) & (table <= best + tol * np.abs(best))
    return {name: float(100.0 * row.mean()) for name, row in zip(values, wins, strict=True)}


def violated_share(broken: int, n_pairs: int) -> float:
    """Broken pairs in percent; NaN where there are no pairs."""
    return 100.0 * broken / n_pairs if n_pairs else float("nan")
