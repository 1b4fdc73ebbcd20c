"""What the paper says of its experiments, held against our runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from smdeclust.paper.plan import Plan
from smdeclust.paper.results import (
    TIE,
    Rows,
    averages,
    best_known,
    best_share,
    by_dataset,
    if_feasible,
    of_method,
    paper_tables,
    shares,
    statement,
    values_by_run,
)
from smdeclust.paper.table import Table

if TYPE_CHECKING:
    from pandas import DataFrame, Series


@dataclass(frozen=True)
class Claim:
    """A statement, where it comes from, whether our runs bear it out, our figures, and why not."""

    text: str
    source: str
    holds: bool
    evidence: str
    why_not: str = ""


def _claim(name: str, holds: bool | np.bool_, evidence: str) -> Claim:
    return Claim(holds=bool(holds), evidence=evidence, **statement(name))


def check_claims(plans: Mapping[str, Plan], rows: Rows, tables: Mapping[str, Table]) -> list[Claim]:
    """All statements that the runs at hand can judge."""
    checks = {
        "exact": _exact, "soft": _soft, "synthetic": _synthetic, "variants": _variants,
        "large": _large, "violations": lambda plan, rows: _violations(plan, tables),
    }  # fmt: skip
    return [c for name, check in checks.items() if name in plans for c in check(plans[name], rows)]


def _exact(plan: Plan, rows: Rows) -> Iterator[Claim]:
    def against_known(method: str) -> DataFrame:
        """The averages by data set/configuration, where the lowest objective is ``known``."""
        found = of_method(averages(plan, rows, method), method)
        found.index = found.index.map("/".join)
        return found.assign(known=found.index.map(best_known())).dropna(subset="known")

    ours = against_known("SMDEClust")
    if len(ours):
        limit, above = ours["known"] * (1.0 + TIE), if_feasible(ours, "worst") / ours["known"] - 1.0
        always, once = (if_feasible(ours, "worst") <= limit).sum(), (ours["best"] <= limit).sum()
        lower = ours.index[ours["best"] < ours["known"] * (1.0 - TIE)]
        yield _claim(
            "default_reaches_best",
            once == len(ours),
            f"Of {len(ours)} configurations, every seed reaches it on {always} and the best seed "
            f"on {once}. The worst single run is "
            f"{100.0 * max(above.fillna(np.inf).max(), 0.0):.2g}% above it"
            + (f". The best seed is below it on {', '.join(lower)}" if len(lower) else "")
            + ".",
        )
    theirs = against_known("SG-MDE")
    if len(theirs):
        reached = (if_feasible(theirs, "objective") <= theirs["known"] * (1 + TIE)).sum()
        excess = (theirs["objective"] / theirs["known"] - 1.0).max()
        yield _claim(
            "sg_mde_reaches_best",
            reached > len(theirs) / 2,
            f"It reaches the best known objective on {reached} of {len(theirs)} configurations. "
            f"Averaged over seeds, it is at most {100.0 * excess:.2g}% above (paper: 0.479%).",
        )
    proofs = [rows.get(run.key) for run in plan.runs() if run.method.name == "exact"]
    done = [row for row in proofs if row is not None and row["status"] == "ok"]
    if done:
        proven = sum(row["stop_reason"] == "optimal" for row in done)
        improved = sum(bool(row["details"].get("improved")) for row in done)
        gap = max(row["details"]["gap"] for row in done)
        yield _claim(
            "nothing_better",
            improved == 0,
            f"Of {len(done)} configurations tried, {proven} are proven optimal to a relative gap "
            f"of 1e-4 within the time limit. The largest remaining gap is {gap:.1e}. The search "
            f"for a proof found a better clustering for {improved} of them.",
        )


def _soft(plan: Plan, rows: Rows) -> Iterator[Claim]:
    found = averages(plan, rows, "S-HG-MEANS", "SG-MDE")
    ours, soft = (of_method(found, method) for method in ("SG-MDE", "S-HG-MEANS"))
    feasible = soft["n_feasible"] == soft["n_done"]
    counts = {name: (int(each.sum()), len(each)) for name, each in by_dataset(feasible)}
    printed = paper_tables()["soft"]["rows"]
    shown = "; ".join(
        f"{name} {n} of {total}"
        + (f" (paper {printed[name]['feasible']} of 30)" if name in printed else "")
        for name, (n, total) in counts.items()
    )
    easy = [counts[name] for name in ("iris", "seeds") if name in counts]
    if easy:
        evidence = f"Configurations on which every run is feasible: {shown}."
        yield _claim("soft_feasible", all(n == total for n, total in easy), evidence)
    if "glass" in counts:
        n, total = counts["glass"]
        evidence = f"It does so on {n} of {total} configurations (paper 3 of 30)."
        yield _claim("soft_breaks_glass", n <= total / 3, evidence)
    ours, soft, n = ours[feasible], soft[feasible], feasible.sum()
    if n:
        good = (if_feasible(ours, "objective") <= soft["objective"] * (1 + TIE)).sum()
        yield _claim("soft_not_better", good == n, f"This holds on {good} of {n} configurations.")
        quicker = (ours["seconds"] < soft["seconds"]).sum()
        evidence = f"SG-MDE is faster on {quicker} of {n} configurations."
        yield _claim("soft_quicker", quicker < n / 2, evidence)


def _synthetic(plan: Plan, rows: Rows) -> Iterator[Claim]:
    found = averages(plan, rows)
    if found.empty:
        return

    def on_every_row(metric: str) -> tuple[bool, str]:
        """Whether SG-MDE is always best, and on how many rows; the others by name."""
        share = {name: shares(cases, metric)["SG-MDE"] for name, cases in by_dataset(found)}
        below = [f"{name} ({value:.1f}%)" for name, value in share.items() if value < 100.0]
        others = f". The others are {', '.join(below)}" if below else ""
        return not below, f"{len(share) - len(below)} of {len(share)} rows are at 100%{others}"

    best, shown = on_every_row("objective")
    if not best:
        values = if_feasible(found, "objective").unstack("method")
        behind = 100.0 * max((values["SG-MDE"] / values.min(axis=1) - 1.0).max(), 0.0)
        shown += f". Its objective is at most {behind:.2g}% above the best"
    yield _claim("synthetic_best", best, f"{shown}.")
    fewest, shown = on_every_row("local_iterations")
    yield _claim("synthetic_fewest", fewest, f"{shown}.")
    cop = of_method(found, "COP-KM")["n_infeasible"].groupby(level="dataset").any()
    fails = cop[cop.index.str.endswith("_k2")]
    if len(fails):
        evidence = f"It fails at least once on {fails.sum()} of {len(fails)} data sets with K = 2."
        yield _claim("cop_fails", fails.all(), evidence)


def _variants(plan: Plan, rows: Rows) -> Iterator[Claim]:
    values = values_by_run(plan, rows)
    ended = values["objective"].notna().all(axis=1)
    if not ended.any():
        return
    share = best_share(values["objective"][ended])
    effort, time = (values[metric][ended].mean() for metric in ("local_searches", "seconds"))
    yield _claim(
        "mutation_best",
        share[["SM-MDE", "SMG-MDE"]].min() >= share[["S-MDE", "SG-MDE"]].max(),
        f"Share of {ended.sum()} runs with the best value: {_shown(share, '.1f', '%')}.",
    )
    yield _claim(
        "mutation_costs",
        effort["SMG-MDE"] > effort["SG-MDE"] and effort["SM-MDE"] > effort["S-MDE"],
        f"Local searches on average: {_shown(effort, '.0f')}.",
    )
    yield _claim(
        "greedy_saves",
        time["SG-MDE"] < time["S-MDE"] and time["SMG-MDE"] < time["SM-MDE"],
        f"CPU seconds on average: {_shown(time, '.3f')}.",
    )


def _large(plan: Plan, rows: Rows) -> Iterator[Claim]:
    found, methods = averages(plan, rows), plan.methods()
    if found.empty or "SG-MDE" not in methods or len(methods) < 2:
        return
    n_cases = found.groupby(level=["dataset", "configuration"]).ngroups
    for metric in ("objective", "local_iterations"):
        share = shares(found, metric)
        yield _claim(
            f"large_{metric}",
            share["SG-MDE"] > share.drop("SG-MDE").max(),
            f"Share of {n_cases} configurations with the best value: {_shown(share, '.1f', '%')}.",
        )


def _shown(values: Series, form: str, unit: str = "") -> str:
    return ", ".join(f"{name} {value:{form}}{unit}" for name, value in values.items())


def _violations(plan: Plan, tables: Mapping[str, Table]) -> Iterator[Claim]:
    n_configurations = max(len(d.configurations) for part in plan.parts for d in part.data)
    for number, tolerance in ((1, 3.0), (2, 10.0), (3, 10.0)):
        if number == 1 and n_configurations < 30:
            continue  # a mean over some of the configurations is another figure
        table = tables.get(f"table1_set{number}")
        gaps = [
            (abs(cell.value - cell.paper), str(row["Dataset"].value), title.rpartition(": ")[2])
            for row in (table.rows if table is not None else ())
            for title, cell in row.items()
            if isinstance(cell.value, float) and cell.paper is not None
            if cell.value == cell.value and cell.paper == cell.paper
        ]
        if gaps:
            largest, name, column = max(gaps)
            median = float(np.median([gap for gap, _, _ in gaps]))
            yield _claim(
                f"shares_set{number}",
                largest <= tolerance,
                f"The median difference is {median:.1f} points, and the largest is {largest:.1f} "
                f"points ({name}, {column}).",
            )
