"""What the paper says of its experiments, held against our runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from smdeclust.paper.plan import Plan
from smdeclust.paper.published import best_known, explanation, paper_tables
from smdeclust.paper.results import (
    TIE,
    Average,
    Rows,
    all_cases,
    averages,
    best_share,
    shares,
    values_by_run,
)
from smdeclust.paper.table import Table


@dataclass(frozen=True)
class Claim:
    """A statement, where it comes from, whether our runs bear it out, and our figures.

    `why_not` explains the difference where it does not hold.
    """

    text: str
    source: str
    holds: bool
    evidence: str
    why_not: str = ""


def check_claims(plans: Mapping[str, Plan], rows: Rows, tables: Mapping[str, Table]) -> list[Claim]:
    """All statements that the runs at hand can judge."""
    checks = {
        "exact": _exact,
        "soft": _soft,
        "synthetic": _synthetic,
        "variants": _variants,
        "large": _large,
    }
    found = [c for name, check in checks.items() if name in plans for c in check(plans[name], rows)]
    return [*found, *_violations(plans["violations"], tables)] if "violations" in plans else found


def _exact(plan: Plan, rows: Rows) -> Iterator[Claim]:
    def against_known(method: str) -> list[tuple[str, Average, float]]:
        """Each configuration whose lowest objective is known: name, average, that objective."""
        return [
            (f"{dataset}/{c}", by[method], best_known()[f"{dataset}/{c}"])
            for dataset, cases in averages(plan, rows, method).items()
            for c, by in cases.items()
            if f"{dataset}/{c}" in best_known()
        ]

    ours = against_known("SMDEClust")
    if ours:
        always = sum(a.if_feasible("worst") <= known * (1.0 + TIE) for _, a, known in ours)
        once = sum(a.best <= known * (1.0 + TIE) for _, a, known in ours)
        largest = max((a.worst / k - 1.0 if a.always_feasible else np.inf) for _, a, k in ours)
        lower = [name for name, a, known in ours if a.best < known * (1.0 - TIE)]
        yield Claim(
            "The default solver reaches the best known objective on every configuration.",
            "our aim for Table 3",
            once == len(ours),
            f"Of {len(ours)} configurations, every seed reaches it on {always} and the best seed "
            f"on {once}; the worst single run is {100.0 * max(largest, 0.0):.2g}% above"
            + (f"; below best known on {', '.join(lower)}" if lower else "")
            + ".",
            explanation("default_misses"),
        )
    theirs = against_known("SG-MDE")
    if theirs:
        reached = sum(a.if_feasible("objective") <= known * (1 + TIE) for _, a, known in theirs)
        excess = max((a.objective - known) / known for _, a, known in theirs)
        yield Claim(
            "SG-MDE reaches most of the time the quality of the exact method.",
            "paper, on Table 3",
            reached > len(theirs) / 2,
            f"At the best known objective on {reached} of {len(theirs)} configurations; largest "
            f"mean excess {100.0 * excess:.2g}% (the paper: 0.479%).",
        )
    proofs = [rows.get(run.key) for run in plan.runs() if run.method.name == "exact"]
    done = [row for row in proofs if row is not None and row["status"] == "ok"]
    if done:
        proven = sum(row["stop_reason"] == "optimal" for row in done)
        improved = sum(bool(row["details"].get("improved")) for row in done)
        gap = max(row["details"]["gap"] for row in done)
        yield Claim(
            "The clusterings are optimal: an exact method finds nothing better.",
            "our aim for Table 3",
            improved == 0,
            f"Of {len(done)} configurations tried, {proven} are proven optimal to a relative 1e-4 "
            f"within the time limit (largest gap left {gap:.1e}); the search for a proof met a "
            f"better clustering on {improved}.",
            explanation("proof_improved"),
        )


def _soft(plan: Plan, rows: Rows) -> Iterator[Claim]:
    found = averages(plan, rows, "S-HG-MEANS", "SG-MDE")
    if not found:
        return
    feasible = {
        name: [by for by in cases.values() if by["S-HG-MEANS"].always_feasible]
        for name, cases in found.items()
    }
    counts = {name: (len(feasible[name]), len(cases)) for name, cases in found.items()}
    printed = paper_tables()["soft"]["rows"]
    shown = "; ".join(
        f"{name} {n} of {total}"
        + (f" (paper {printed[name]['feasible']} of 30)" if name in printed else "")
        for name, (n, total) in counts.items()
    )
    easy = [counts[name] for name in ("iris", "seeds") if name in counts]
    if easy:
        yield Claim(
            "S-HG-MEANS satisfies all pairs on every configuration of Iris and Seeds.",
            "paper, Table 4",
            all(n == total for n, total in easy),
            f"Configurations on which every run is feasible: {shown}.",
            explanation("soft_breaks"),
        )
    if "glass" in counts:
        n, total = counts["glass"]
        yield Claim(
            "S-HG-MEANS rarely satisfies all pairs on Glass.",
            "paper, Table 4",
            n <= total / 3,
            f"{n} of {total} (paper 3 of 30).",
            explanation("soft_repairs_more"),
        )
    compared = [(by["SG-MDE"], by["S-HG-MEANS"]) for cases in feasible.values() for by in cases]
    if compared:
        good = sum(a.if_feasible("objective") <= b.objective * (1 + TIE) for a, b in compared)
        yield Claim(
            "Where S-HG-MEANS is feasible, SG-MDE's objective is at least as good.",
            "paper, Table 4",
            good == len(compared),
            f"{good} of {len(compared)} configurations.",
            explanation("soft_other_objective"),
        )
        quicker = sum(a.seconds < b.seconds for a, b in compared)
        yield Claim(
            "SG-MDE takes more time than S-HG-MEANS on most of these.",
            "paper, Table 4",
            quicker < len(compared) / 2,
            f"SG-MDE is quicker on {quicker} of {len(compared)} configurations.",
            explanation("sg_mde_quicker"),
        )


def _synthetic(plan: Plan, rows: Rows) -> Iterator[Claim]:
    found = {name: list(cases.values()) for name, cases in averages(plan, rows).items()}
    if not found:
        return

    def on_every_row(metric: str) -> tuple[bool, str]:
        """Whether SG-MDE is always best, and on how many rows; the others by name."""
        share = {name: shares(cases, metric)["SG-MDE"] for name, cases in found.items()}
        below = [f"{name} ({value:.1f}%)" for name, value in share.items() if value < 100.0]
        others = f"; the others: {', '.join(below)}" if below else ""
        return not below, f"{len(found) - len(below)} of {len(found)} rows at 100%{others}"

    best, shown = on_every_row("objective")
    excess = [
        by["SG-MDE"].if_feasible("objective")
        / np.fmin.reduce([a.if_feasible("objective") for a in by.values()])
        - 1.0
        for by in all_cases(averages(plan, rows))
    ]
    behind = 100.0 * np.fmax.reduce(excess, initial=0.0)
    yield Claim(
        "SG-MDE has the best objective on every configuration of every (N, K).",
        "paper, Table 2",
        best,
        shown + ("" if best else f". At most {behind:.2g}% above the best") + ".",
        explanation("synthetic_not_best"),
    )
    fewest, shown = on_every_row("local_iterations")
    yield Claim(
        "SG-MDE needs the fewest iterations of the local search.",
        "paper, Table 2",
        fewest,
        f"{shown}.",
        explanation("synthetic_iterations"),
    )
    fails = [
        any(by["COP-KM"].n_infeasible for by in cases)
        for name, cases in found.items()
        if name.endswith("_k2")
    ]
    if fails:
        yield Claim(
            "COP-KM fails often at K = 2, where many pairs leave no freedom.",
            "paper, Table 2",
            all(fails),
            f"It fails on some configuration of {sum(fails)} of {len(fails)} data sets with K = 2.",
        )


def _variants(plan: Plan, rows: Rows) -> Iterator[Claim]:
    values = values_by_run(plan, rows)
    ended = ~np.isnan(list(values["objective"].values())).any(axis=0)
    if not ended.any():
        return
    found = {
        metric: {name: np.array(column)[ended] for name, column in by.items()}
        for metric, by in values.items()
    }
    share = best_share(found["objective"])
    yield Claim(
        "The variants with mutation find the best objectives.",
        "paper, on its first figure",
        min(share["SM-MDE"], share["SMG-MDE"]) >= max(share["S-MDE"], share["SG-MDE"]),
        f"Best on {_shown(share, '.1f', '%')} of {ended.sum()} runs.",
        explanation("variants_close"),
    )
    effort, time = (
        {name: float(column.mean()) for name, column in found[metric].items()}
        for metric in ("local_searches", "seconds")
    )
    yield Claim(
        "Mutation costs more local searches.",
        "paper, on its first figure",
        effort["SMG-MDE"] > effort["SG-MDE"] and effort["SM-MDE"] > effort["S-MDE"],
        f"Local searches on average: {_shown(effort, '.0f')}.",
    )
    yield Claim(
        "Greedy assignment in place of the exact one saves time.",
        "paper, on its first figure",
        time["SG-MDE"] < time["S-MDE"] and time["SMG-MDE"] < time["SM-MDE"],
        f"Processor seconds on average: {_shown(time, '.3f')}.",
        explanation("greedy_saves_little"),
    )


def _large(plan: Plan, rows: Rows) -> Iterator[Claim]:
    found, methods = all_cases(averages(plan, rows)), plan.methods()
    if not found or "SG-MDE" not in methods or len(methods) < 2:
        return
    for what, metric, why in (
        ("objective", "objective", "large_not_best"),
        ("number of local search iterations", "local_iterations", "large_iterations"),
    ):
        share = shares(found, metric)
        yield Claim(
            f"SG-MDE has the best {what} on the large data sets.",
            "paper, on its second figure",
            share["SG-MDE"] > max(value for name, value in share.items() if name != "SG-MDE"),
            f"Best on {_shown(share, '.1f', '%')} of {len(found)} configurations.",
            explanation(why),
        )


def _shown(values: Mapping[str, float], form: str, unit: str = "") -> str:
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
            yield Claim(
                f"The shares of broken pairs of set {number} are those of the paper, up to "
                f"{tolerance:g} points.",
                "paper, Table 1",
                largest <= tolerance,
                f"Median difference {median:.1f} points, largest {largest:.1f} ({name}, {column}).",
                explanation("shares_large_sets" if number > 1 else "shares_first_set"),
            )
