"""From rows to averages over seeds, and the paper's measures of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from smdeclust.paper.plan import Plan

Rows = Mapping[str, Mapping[str, Any]]
Case = tuple[str, str]  # data set, configuration
# Objectives that differ by less than this share of them are equal: rounding, not quality.
TIE = 1e-6


@dataclass(frozen=True)
class Average:
    """A method on one instance, over seeds.

    Attributes
    ----------
    n_planned, n_done, n_feasible
        Runs asked for, ended, and ended with labels that break no pair.
    n_infeasible
        Runs that ended without a feasible solution: the method gave up, or its labels break pairs.
    objective, best, worst
        Over the feasible runs; NaN where there is none.
    seconds
        Mean processor time over all runs that ended by themselves: a run has one thread, and this
        does not depend on what else the machine does.
    local_searches, local_iterations
        Means over the same runs.
    adjusted_rand
        Mean over the feasible runs with known classes.
    """

    n_planned: int
    n_done: int
    n_feasible: int
    n_infeasible: int
    objective: float
    best: float
    worst: float
    seconds: float
    local_searches: float
    local_iterations: float
    adjusted_rand: float

    @property
    def always_feasible(self) -> bool:
        """Whether every run so far broke no pair."""
        return self.n_done > 0 and self.n_feasible == self.n_done

    @property
    def mean_if_feasible(self) -> float:
        """The mean objective, NaN unless every run was feasible."""
        return self.objective if self.always_feasible else float("nan")

    @property
    def effort_if_feasible(self) -> float:
        """Mean iterations of the local search, NaN unless every run was feasible.

        A method that gives up at once has not been quick.
        """
        return self.local_iterations if self.always_feasible else float("nan")


def is_feasible(row: Mapping[str, Any]) -> bool:
    """Whether a run's labels break no pair."""
    return row["status"] == "ok" and not (row["broken_must_links"] or row["broken_cannot_links"])


def averages(plan: Plan, rows: Rows) -> dict[Case, dict[str, Average]]:
    """The averages of each method on each instance of a plan, in the order of the plan.

    Instances on which nothing has ended are absent.
    """
    planned: dict[Case, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for run in plan.compared_runs():
        if not run.count:
            planned[run.dataset, run.configuration][run.method.name].append(run.key)
    found: dict[Case, dict[str, Average]] = {}
    for case, methods in planned.items():
        of_case = {
            method: _average([rows[key] for key in keys if key in rows], len(keys))
            for method, keys in methods.items()
        }
        if any(average.n_done for average in of_case.values()):
            found[case] = of_case
    return found


def _average(rows: list[Mapping[str, Any]], n_planned: int) -> Average:
    feasible = [row for row in rows if is_feasible(row)]
    ended = [row for row in rows if row["status"] in ("ok", "infeasible")]
    objectives = [row["objective"] for row in feasible]
    return Average(
        n_planned=n_planned,
        n_done=len(rows),
        n_feasible=len(feasible),
        n_infeasible=len(ended) - len(feasible),
        objective=_mean(objectives),
        best=min(objectives, default=float("nan")),
        worst=max(objectives, default=float("nan")),
        seconds=_mean([row["cpu_seconds"] for row in ended]),
        local_searches=_mean([row["local_searches"] for row in ended]),
        local_iterations=_mean([row["local_iterations"] for row in ended]),
        adjusted_rand=_mean([row["adjusted_rand"] for row in feasible]),
    )


def _mean(values: list[Any]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def of_dataset(
    found: Mapping[Case, dict[str, Average]], dataset: str
) -> dict[str, dict[str, Average]]:
    """The averages on one data set, by configuration."""
    return {configuration: by for (name, configuration), by in found.items() if name == dataset}


def datasets_of(plan: Plan) -> list[str]:
    """Names of a plan's data sets, each once, in order."""
    return list(dict.fromkeys(d.name for part in plan.parts for d in part.data))


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
