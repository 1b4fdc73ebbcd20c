"""What the paper printed; from rows to averages over seeds, and the paper's measures of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from smdeclust.extras import optional
from smdeclust.paper.plan import Plan

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Row = Mapping[str, Any]
Rows = Mapping[str, Row]
METRICS = ("objective", "seconds", "local_searches", "local_iterations")
# Objectives that differ by less than this share of them are equal: rounding, not quality.
TIE = 1e-6
_CASE = ["dataset", "configuration"]


@cache
def published(name: str) -> dict[str, Any]:
    """What a JSON file of this folder contains."""
    return json.loads(files("smdeclust.paper").joinpath(f"{name}.json").read_text("utf-8"))


def paper_tables() -> dict[str, Any]:
    """What the paper's tables print; ``columns`` of each names the figures of its ``rows``."""
    return published("paper_tables")


def best_known() -> dict[str, float]:
    """The lowest objective known for ``dataset/configuration`` of the first set.

    Long runs found them; a semidefinite bound shows most to be optimal to a relative 1e-4.
    """
    return published("best_known")["objectives"]


def statement(name: str) -> dict[str, Any]:
    """A statement of the paper or an aim of this package: its ``experiment``, ``topic`` and
    ``text``, and ``why_not``, why our runs differ (with its date if that was measured)."""
    entry = dict(published("claims")[name])
    when = entry.pop("measured", "")
    if when:
        entry["why_not"] += f" (These figures were measured on {in_date(when)}.)"
    return entry


def in_date(iso: str) -> str:
    """A date for people: ``"November 15, 2026"``."""
    day = date.fromisoformat(iso)
    return f"{day:%B} {day.day}, {day.year}"


def is_feasible(row: Row) -> bool:
    """Whether a run's labels break no pair."""
    return row["status"] == "ok" and not (row["broken_must_links"] or row["broken_cannot_links"])


def compared(plan: Plan, rows: Rows) -> DataFrame:
    """Return the runs to compare, by data set, configuration, method and seed.

    A run is feasible if its labels break no pair. CPU seconds and counts cover all runs that ended
    by themselves; objectives and agreement with classes cover only the feasible ones.
    """
    with optional("The comparison of runs"):
        import pandas as pd

    runs = [run for run in plan.compared_runs() if not run.count]
    names = [(run.dataset, run.configuration, run.method.name, run.seed) for run in runs]
    index = pd.MultiIndex.from_tuples(names, names=[*_CASE, "method", "seed"])
    found = [rows.get(run.key) for run in runs]
    columns = ["status", "cpu_seconds", "adjusted_rand", *METRICS]
    table = pd.DataFrame([row or {} for row in found], index, columns)
    table["done"] = [row is not None for row in found]
    table["feasible"] = [row is not None and is_feasible(row) for row in found]
    ended = table.pop("status").isin(["ok", "infeasible"])
    table["infeasible"] = ended & ~table["feasible"]
    table["seconds"] = table.pop("cpu_seconds")
    for name in ("adjusted_rand", *METRICS):
        shown = table["feasible"] if name in ("adjusted_rand", "objective") else ended
        table[name] = table[name].astype(float).where(shown)
    return table


def averages(plan: Plan, rows: Rows, *methods: str) -> DataFrame:
    """Return averages over seeds by data set, configuration and method, for the instances on which
    each of these methods (default: all) has ended a run; NaN if there is nothing to average."""
    by = compared(plan, rows).groupby(level=[*_CASE, "method"], sort=False)
    found = by[["adjusted_rand", *METRICS]].mean()
    found["best"], found["worst"] = by["objective"].min(), by["objective"].max()
    for name in ("done", "feasible", "infeasible"):
        found[f"n_{name}"] = by[name].sum()
    n_done = found["n_done"].unstack("method")
    asked = n_done.reindex(columns=list(methods)).gt(0) if methods else n_done.ne(0)
    complete = asked.all(axis=1).reindex(found.reset_index("method").index)
    return found[complete.to_numpy(dtype=bool) & (found["n_done"] > 0)]


def by_dataset(found: DataFrame | Series) -> Any:
    """Names of the data sets and the averages of each, in their order."""
    return found.groupby(level="dataset", sort=False)


def of_method(found: DataFrame, method: str) -> DataFrame:
    """The averages of one method, by data set and configuration."""
    return found[found.index.get_level_values("method") == method].droplevel("method")


def if_feasible(found: DataFrame, metric: str) -> Series:
    """A mean, NaN unless every run was feasible: giving up at once is not being quick."""
    return found[metric].where(found["n_feasible"] == found["n_done"])


def values_by_run(plan: Plan, rows: Rows) -> dict[str, DataFrame]:
    """For each metric, one row per instance and seed, if all methods have ended there."""
    table, methods = compared(plan, rows), plan.methods()
    done = table["done"].unstack("method", sort=False).reindex(columns=methods)
    ended = done.eq(True).all(axis=1)
    return {
        metric: table[metric].where(table["feasible"]).unstack("method", sort=False)[ended][methods]
        for metric in METRICS
    }


def values_by_instance(plan: Plan, rows: Rows) -> dict[str, DataFrame]:
    """For each metric, one row per instance: averages over seeds, if all methods have ended."""
    found, methods = averages(plan, rows), plan.methods()
    return {
        metric: if_feasible(found, metric).unstack("method", sort=False).reindex(columns=methods)
        for metric in METRICS
    }


def relative_difference(value: ArrayLike, reference: ArrayLike) -> np.ndarray:
    """Delta = 100 (m - m_R) / m_R, in percent; negative where `value` is better (lower).

    Where both are 0 it is 0; where the reference alone is 0 there is no such number (NaN).
    """
    m, ref = np.asarray(value, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        delta = 100.0 * (m - ref) / ref
    return np.where(ref == 0.0, np.where(m == 0.0, 0.0, np.nan), delta)


class Spread(NamedTuple):
    """A method against a reference over configurations: %S, and the relative differences."""

    share: float
    least: float
    median: float
    largest: float


def spread(
    values: ArrayLike, references: ArrayLike, *, tol: float = 0.0, of: int | None = None
) -> Spread:
    """Compare a method with a reference, one value a configuration; NaN where there is none.

    Relative differences up to `tol` count as equal. The share is of `of`, or of all values.
    """
    delta = relative_difference(values, references)
    if len(delta) == 0:
        return Spread(*[float("nan")] * 4)
    # what is equal up to rounding is printed as equal
    delta = np.where(np.abs(delta) <= 100.0 * tol, 0.0, delta)
    share = 100.0 * float(np.sum(delta <= 0.0)) / (of or len(delta))
    return Spread(share, float(delta.min()), float(np.median(delta)), float(delta.max()))


def best_share(values: DataFrame | Mapping[str, ArrayLike], *, tol: float = TIE) -> Series:
    """%S of each method: the share of problems, in percent, on which it has the lowest value.

    There is one value per problem, NaN where a method has none. Ties (up to `tol`) count for all.
    """
    import pandas as pd

    table = pd.DataFrame(values)
    best = table.min(axis=1)
    return 100.0 * table.le(best + tol * best.abs(), axis=0).mean()


def shares(cases: DataFrame, metric: str) -> Series:
    """%S of each method by the means of those that were always feasible."""
    return best_share(if_feasible(cases, metric).unstack("method", sort=False))


def violated_share(broken: int, n_pairs: int) -> float:
    """Broken pairs in percent; NaN where there are no pairs."""
    return 100.0 * broken / n_pairs if n_pairs else float("nan")
