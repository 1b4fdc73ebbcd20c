"""What clusters are like, in the units and words of the table."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from smdeclust.tables.features import TableFeatures
from smdeclust.tables.values import Columns

if TYPE_CHECKING:
    from pandas import DataFrame

# A mean this many standard deviations away from that of all points stands out.
_STANDS_OUT = 0.5
_MOST_WORDS = 3


def set_apart(
    units: np.ndarray, names: Sequence[str], labels: np.ndarray, k: int, roles: Mapping[str, str]
) -> list[str]:
    """For each cluster, what differs most from all points: ``high income, channel: 70% retail``.

    `units` and `names` are as of `TableFeatures.in_units`: ``a=b`` is the value b of the category
    a, and its mean is a share. Of columns whose role is date one says early and late.
    """
    whole, spread = units.mean(axis=0), units.std(axis=0)
    said = []
    for cluster in range(k):
        members = labels == cluster
        if not members.any():
            said.append("")
            continue
        mean = units[members].mean(axis=0)
        away = (mean - whole) / np.where(spread > 0, spread, 1.0)
        words: dict[str, str] = {}
        for column in np.argsort(-np.abs(away), kind="stable"):
            if abs(away[column]) < _STANDS_OUT or len(words) == _MOST_WORDS:
                break
            name, _, level = names[column].partition("=")
            if "(season" not in name:
                more, share = away[column] > 0, f"{mean[column]:.0%}"
                often = "never" if mean[column] == 0 else share if more else f"only {share}"
                low, high = ("early", "late") if roles.get(name) == "date" else ("low", "high")
                plain = f"{high if more else low} {name}"
                words.setdefault(name, f"{name}: {often} {level}" if level else plain)
        said.append(", ".join(words.values()) or "near the average")
    return said


def typical_rows(
    frame: "DataFrame", features: TableFeatures, labels: np.ndarray, n_clusters: int
) -> tuple[list[str], list[list[Any]]]:
    """Names, and one row per cluster: medians of numbers and dates, else the mode, or None."""
    names = features.used_columns
    columns = Columns(frame)
    rows: list[list[Any]] = [[] for _ in range(n_clusters)]
    for name in names:
        values = columns[name]
        for cluster, row in enumerate(rows):
            there: Any = values.column[labels == cluster].dropna()
            if there.empty:
                row.append(None)
            elif values.kind == "moments":
                row.append(str(there.quantile(0.5, interpolation="nearest"))[:10])
            elif values.kind == "numbers" and features.roles_[name] == "date":
                row.append(float(there.quantile(0.5, interpolation="nearest")))
            elif values.kind == "numbers" and features.roles_[name] == "number":
                row.append(float(f"{there.median():.10g}"))
            else:
                row.append(there.mode().iloc[0])
    return names, rows
