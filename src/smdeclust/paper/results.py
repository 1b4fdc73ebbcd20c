"""From rows to averages over seeds, and the paper's measures of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from smdeclust.paper.plan import Plan

Row = Mapping[str, Any]
Rows = Mapping[str, Row]
Values = dict[str, dict[str, list[float]]]  # metric -> method -> one value a problem
METRICS = ("objective", "seconds", "local_searches", "local_iterations")
# Objectives that differ by less than this share of them are equal: rounding, not quality.
TIE = 1e-6


@dataclass(frozen=True)
class Average:
    """A method on one instance, over seeds; NaN where there is nothing to average."""

    n_done: int
    n_feasible: int  # ended with labels that break no pair
    n_infeasible: int  # the method gave up, or its labels break pairs
    objective: float  # this and the next two: over the feasible runs
    best: float
    worst: float
    # Processor time, which does not depend on what else the machine does; like the two counts,
    # over all runs that ended by themselves.
    seconds: float
    local_searches: float
    local_iterations: float
    adjusted_rand: float  # over the feasible runs with known classes

    @property
    def always_feasible(self) -> bool:
        """Whether every run so far broke no pair."""
        return self.n_done > 0 and self.n_feasible == self.n_done

    def if_feasible(self, metric: str) -> float:
        """A mean, NaN unless every run was feasible: giving up at once is not being quick."""
        return getattr(self, metric) if self.always_feasible else float("nan")


# Data set -> configuration -> method -> average over seeds
Averages = dict[str, dict[str, dict[str, Average]]]


def is_feasible(row: Row) -> bool:
    """Whether a run's labels break no pair."""
    return row["status"] == "ok" and not (row["broken_must_links"] or row["broken_cannot_links"])


def averages(plan: Plan, rows: Rows, *methods: str) -> Averages:
    """The averages on instances where each of these methods (default: all) has ended a run."""
    planned: dict[tuple[str, str], dict[str, list[Row]]] = defaultdict(dict)
    for run in plan.compared_runs():
        if not run.count:
            ended = planned[run.dataset, run.configuration].setdefault(run.method.name, [])
            ended += [rows[run.key]] if run.key in rows else []
    found: Averages = {}
    for (dataset, configuration), by in planned.items():
        if all(by.get(method) for method in methods or by):
            of_case = {method: _average(ended) for method, ended in by.items()}
            found.setdefault(dataset, {})[configuration] = of_case
    return found


def all_cases(found: Averages) -> list[dict[str, Average]]:
    """The averages of every instance, whatever its data set."""
    return [by for cases in found.values() for by in cases.values()]


def _average(rows: list[Row]) -> Average:
    feasible = [row for row in rows if is_feasible(row)]
    ended = [row for row in rows if row["status"] in ("ok", "infeasible")]
    objectives = [row["objective"] for row in feasible]
    return Average(
        n_done=len(rows),
        n_feasible=len(feasible),
        n_infeasible=len(ended) - len(feasible),
        objective=mean(objectives),
        best=min(objectives, default=float("nan")),
        worst=max(objectives, default=float("nan")),
        seconds=mean(row["cpu_seconds"] for row in ended),
        local_searches=mean(row["local_searches"] for row in ended),
        local_iterations=mean(row["local_iterations"] for row in ended),
        adjusted_rand=mean(row["adjusted_rand"] for row in feasible),
    )


def mean(values: Iterable[float | None]) -> float:
    """The mean of the values there are; NaN where there is none."""
    known = [value for value in values if value is not None and not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def values_by_run(plan: Plan, rows: Rows) -> Values:
    """One problem an instance and seed, those that all methods have ended."""
    problems: dict[tuple[str, str, int], dict[str, Row]] = defaultdict(dict)
    for run in plan.compared_runs():
        if run.key in rows:
            problems[run.dataset, run.configuration, run.seed][run.method.name] = rows[run.key]
    methods = plan.methods()
    found: Values = {metric: {method: [] for method in methods} for metric in METRICS}
    for by in problems.values():
        for method in methods if len(by) == len(methods) else ():
            for metric in METRICS:
                column = "cpu_seconds" if metric == "seconds" else metric
                value = by[method][column] if is_feasible(by[method]) else None
                found[metric][method].append(float("nan") if value is None else value)
    return found


def values_by_instance(plan: Plan, rows: Rows) -> Values:
    """One problem an instance, averages over seeds, those that all methods have ended."""
    cases = all_cases(averages(plan, rows))
    return {
        metric: {
            method: [by[method].if_feasible(metric) for by in cases] for method in plan.methods()
        }
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
    values: Sequence[float], references: Sequence[float], *, tol: float = 0.0, of: int | None = None
) -> Spread:
    """Compare a method with a reference, one value a configuration; NaN where there is none.

    Relative differences up to `tol` count as equal; `of` is what the share is a share of, if not
    the number of values.
    """
    if len(values) == 0:
        return Spread(*[float("nan")] * 4)
    delta = relative_difference(values, references)
    # what is equal up to rounding is printed as equal
    delta = np.where(np.abs(delta) <= 100.0 * tol, 0.0, delta)
    share = 100.0 * float(np.sum(delta <= 0.0)) / (of or len(values))
    return Spread(share, float(delta.min()), float(np.median(delta)), float(delta.max()))


def best_share(values: Mapping[str, ArrayLike], *, tol: float = TIE) -> dict[str, float]:
    """%S of each method: the share of problems, in percent, on which it has the lowest value.

    There is one value a problem, NaN where a method has none. Ties (up to `tol`) count for all.
    """
    table = np.array([values[name] for name in values], dtype=np.float64)
    table = np.where(np.isnan(table), np.inf, table)
    if table.size == 0:
        return dict.fromkeys(values, float("nan"))
    best = table.min(axis=0)
    wins = np.isfinite(table) & (table <= best + tol * np.abs(best))
    return {name: float(100.0 * row.mean()) for name, row in zip(values, wins, strict=True)}


def shares(cases: Sequence[Mapping[str, Average]], metric: str) -> dict[str, float]:
    """%S of each method by the means of those that were always feasible."""
    return best_share({m: [by[m].if_feasible(metric) for by in cases] for m in cases[0]})


def violated_share(broken: int, n_pairs: int) -> float:
    """Broken pairs in percent; NaN where there are no pairs."""
    return 100.0 * broken / n_pairs if n_pairs else float("nan")
