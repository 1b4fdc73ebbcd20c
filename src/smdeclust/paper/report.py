"""The report: what was run, what agrees with the paper and what does not, tables and figures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from smdeclust.io.write import write_text
from smdeclust.paper import figures
from smdeclust.paper.claims import Claim, check_claims
from smdeclust.paper.plan import Plan
from smdeclust.paper.progress import in_words
from smdeclust.paper.results import Rows
from smdeclust.paper.store import Store
from smdeclust.paper.table import Table, to_csv, to_latex, to_markdown
from smdeclust.paper.tables import (
    agreement_table,
    comparison_table,
    exact_table,
    soft_table,
    synthetic_table,
    violation_tables,
)

_ORDER = ("exact", "soft", "synthetic", "large", "variants", "violations")


def write_report(store: Path, target: Path, remark: str = "") -> Path:
    """Write `target` (Markdown) and, in the folder of its name beside it, the tables as CSV and
    LaTeX and the figures as PNG and SVG."""
    with Store(store) as opened:
        stored, rows = opened.plans(), opened.rows()
    names = [name for name in (*_ORDER, *stored) if name in stored]
    plans = {name: stored[name][1] for name in dict.fromkeys(names)}
    scales = {name: stored[name][0] for name in plans}
    folder = target.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    by_plan = {name: _tables(plan, rows) for name, plan in plans.items()}
    agreement = agreement_table(plans, rows)
    if agreement is not None:
        by_plan["exact"].append(agreement)
    tables = {table.name: table for found in by_plan.values() for table in found}
    for table in tables.values():
        write_text(folder / f"{table.name}.csv", to_csv(table))
        write_text(folder / f"{table.name}.tex", to_latex(table))
    pictures = {name: _figures(plan, rows, folder) for name, plan in plans.items()}
    sections = [
        "# The paper's experiments, run again\n",
        "Generated from the rows of a run (`smdeclust paper`); do not edit. Figures in parentheses "
        "are the paper's. Tables as CSV and LaTeX, and figures as SVG, are in the folder "
        f"`{folder.name}/`.\n",
        _what_was_run(plans, scales, rows) + (f"\n{remark}\n" if remark else ""),
        _claims_section(check_claims(plans, rows, tables)),
    ]
    for name, plan in plans.items():
        sections.append(f"## {plan.title}\n")
        sections += [_table_section(table) for table in by_plan[name]]
        sections += [
            f"![{plan.title}]({folder.name}/{path.name})\n"
            for path in pictures[name]
            if path.suffix == ".png"
        ]
    sections.append(_left_out(plans, rows))
    write_text(target, "\n".join(sections))
    return target


def _tables(plan: Plan, rows: Rows) -> list[Table]:
    methods = set(plan.methods())
    if any(part.unconstrained for part in plan.parts):
        return violation_tables(plan, rows)
    found: list[Table] = []
    if plan.name == "exact" and {"SMDEClust", "SG-MDE"} <= methods:
        found += [exact_table(plan, rows, "SMDEClust"), exact_table(plan, rows, "SG-MDE")]
    elif plan.name == "soft" and {"SMDEClust", "SG-MDE", "S-HG-MEANS"} <= methods:
        found += [soft_table(plan, rows, "SG-MDE"), soft_table(plan, rows, "SMDEClust")]
    elif plan.name == "synthetic" and {"SG-MDE", "BLP-KM", "COP-KM"} <= methods:
        found.append(synthetic_table(plan, rows))
    found.append(comparison_table(plan, rows))
    return [table for table in found if table.rows]


def _figures(plan: Plan, rows: Rows, folder: Path) -> list[Path]:
    if any(part.unconstrained for part in plan.parts):
        return []
    # as in the paper: single runs of the variants, averages over seeds elsewhere
    by_run = plan.name == "variants"
    values = (figures.values_by_run if by_run else figures.values_by_instance)(plan, rows)
    metrics = tuple(figures.METRICS)
    return figures.write_profiles(values, metrics, folder / f"profile_{plan.name}", plan.title)


def _what_was_run(plans: dict[str, Plan], scales: dict[str, str], rows: Rows) -> str:
    used = {run.key for plan in plans.values() for run in plan.runs() if run.key in rows}
    ended = [rows[key] for key in used]
    machines = Counter(
        f"{row['machine'].get('processor')}, {row['machine'].get('cores')} cores, "
        f"{row['machine'].get('memory_gib')} GiB, {row['machine'].get('system')}, "
        f"Python {row['machine'].get('python')}, "
        + ", ".join(f"{k} {v}" for k, v in row["machine"].get("versions", {}).items())
        for row in ended
    )
    lines = ["## What was run\n"]
    lines += [f"- {machine}: {count} runs, one core each." for machine, count in machines.items()]
    if ended:
        days = sorted({row["finished"][:10] for row in ended})
        total = in_words(sum(row["cpu_seconds"] or row["seconds"] or 0.0 for row in ended))
        lines.append(f"- Between {days[0]} and {days[-1]}; {total} of computing in all.")
    lines.append("")
    lines.append("| Experiment | scale | runs planned | ended | feasible | unfeasible | other |")
    lines.append("|:--|:--|--:|--:|--:|--:|:--|")
    for name, plan in plans.items():
        runs = plan.runs()
        found = [rows[run.key] for run in runs if run.key in rows]
        other = Counter(row["status"] for row in found if row["status"] not in ("ok", "infeasible"))
        unfeasible = sum(
            row["status"] == "infeasible"
            or bool(row["broken_must_links"] or row["broken_cannot_links"])
            for row in found
        )
        good = len(found) - unfeasible - sum(other.values())
        rest = ", ".join(f"{count} {status}" for status, count in other.items()) or "–"
        lines.append(
            f"| {name} | {scales[name]} | {len(runs)} | {len(found)} | {good} | {unfeasible} | "
            f"{rest} |"
        )
    lines.append("")
    lines.append(
        "Objective, broken pairs and agreement with classes are computed from the labels, the same "
        "way for every method. Times are processor seconds of `fit` on one thread, after data are "
        "loaded and kernels compiled. Runs that several experiments need are made once.\n"
    )
    return "\n".join(lines)


def _claims_section(claims: list[Claim]) -> str:
    if not claims:
        return ""
    lines = ["## What agrees with the paper, and what does not\n"]
    for claim in claims:
        verdict = "**Agrees.**" if claim.holds else "**Does not agree.**"
        why = f" *Why:* {claim.why_not}" if not claim.holds and claim.why_not else ""
        lines.append(f"- {verdict} {claim.text} ({claim.source}) {claim.evidence}{why}")
    lines.append(
        "- **Not comparable.** Times: the paper ran on an Intel Xeon E5-2430 v2 with Gurobi 11. In "
        "Table 3 it counts the seconds until PC-SOS-SDP found its best solution; ours are those of "
        "our own exact method with its proof. In Table 4 both methods are ours, compiled.\n"
    )
    return "\n".join(lines)


def _table_section(table: Table) -> str:
    notes = " ".join(table.notes)
    return f"### {table.title}\n\n{to_markdown(table)}" + (f"\n{notes}\n" if notes else "")


def _left_out(plans: dict[str, Plan], rows: Rows) -> str:
    lines = ["## What was left out\n"]
    for name, plan in plans.items():
        reasons: dict[str, list[str]] = {}
        for item in plan.skipped:
            reasons.setdefault(item.reason, []).append(item.what)
        lines += [f"- {name}: {', '.join(what)}: {reason}" for reason, what in reasons.items()]
        missing: dict[str, Counter[str]] = {}
        for run in plan.runs():
            if run.key not in rows:
                missing.setdefault(run.dataset, Counter())[run.method.name] += 1
        alike: dict[str, list[str]] = {}
        for dataset, counts in missing.items():
            shown = ", ".join(f"{count} of {method}" for method, count in sorted(counts.items()))
            alike.setdefault(shown, []).append(dataset)
        lines += [
            f"- {name}: runs not made on {', '.join(datasets)}: {shown}"
            + (" on each" if len(datasets) > 1 else "")
            for shown, datasets in alike.items()
        ]
        lines += [
            f"- {name}: {run}: {rows[run.key]['status']} ({rows[run.key]['reason']})"
            for run in plan.runs()
            if run.key in rows and rows[run.key]["status"] in ("failed", "crashed", "timeout")
        ]
    if len(lines) == 1:
        lines.append("Nothing.")
    return "\n".join(lines) + "\n"
