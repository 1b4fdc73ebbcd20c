"""The report: what was run, what agrees with the paper and what does not, tables and figures."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smdeclust.io.write import write_bytes, write_text
from smdeclust.paper.claims import Claim, check_claims
from smdeclust.paper.plan import Plan
from smdeclust.paper.results import TIE, Rows, is_feasible, values_by_instance, values_by_run
from smdeclust.paper.store import Store
from smdeclust.paper.table import MISSING, Cell, Table, to_csv, to_latex, to_markdown
from smdeclust.paper.tables import agreement_table, tables_of

# metric -> what the axis says
AXES = {
    "objective": "MSSC objective",
    "seconds": "time",
    "local_searches": "local searches",
    "local_iterations": "local search iterations",
}
_ORDER = ("exact", "soft", "synthetic", "large", "variants", "violations")


def report(store: Path | str, target: Path | str, remark: str = "") -> Path:
    """Write the tables and figures of all runs in a store.

    Parameters
    ----------
    store
        The SQLite file.
    target
        The Markdown file to write; tables and figures go to the folder of the same name.
    remark
        Your own paragraph on how the runs were made.
    """
    target = Path(target)
    with Store(store) as opened:
        stored, rows = opened.plans(), opened.rows()
    names = dict.fromkeys(name for name in (*_ORDER, *stored) if name in stored)
    plans = {name: stored[name][1] for name in names}
    scales = {name: stored[name][0] for name in names}
    folder = target.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    by_plan = {name: tables_of(plan, rows) for name, plan in plans.items()}
    agreement = agreement_table(plans, rows)
    if agreement is not None:
        by_plan["exact"].append(agreement)
    tables = {table.name: table for found in by_plan.values() for table in found}
    for table in tables.values():
        write_text(folder / f"{table.name}.csv", to_csv(table))
        write_text(folder / f"{table.name}.tex", to_latex(table))
    sections = [
        "# The paper's experiments, repeated\n",
        "`smdeclust paper` generates this page from its stored runs. Values in parentheses are the "
        f"paper's. Tables as CSV and LaTeX, and figures as SVG, are in the folder `{folder.name}/`."
        "\n",
        _what_was_run(plans, scales, rows) + (f"\n{remark}\n" if remark else ""),
        _claims_section(check_claims(plans, rows, tables)),
    ]
    for name, plan in plans.items():
        sections.append(f"## {plan.title}\n")
        for table in by_plan[name]:
            notes = f"\n{' '.join(table.notes)}\n" if table.notes else ""
            shown = f"### {table.title}\n\n{to_markdown(table)}{notes}"
            if table.name.endswith("_methods") and len(by_plan[name]) > 1:
                file = f"{table.name}.csv"
                shown = f"Results of all methods: [{file}]({folder.name}/{file})\n"
            sections.append(shown)
        sections += [
            f"![{plan.title}]({folder.name}/{path.name})\n"
            for path in _figures(plan, rows, folder)
            if path.suffix == ".png"
        ]
    sections.append(_left_out(plans, rows))
    write_text(target, "\n".join(sections))
    return target


def _figures(plan: Plan, rows: Rows, folder: Path) -> list[Path]:
    if any(part.unconstrained for part in plan.parts):
        return []
    # as in the paper: single runs of the variants, averages over seeds elsewhere
    values = (values_by_run if plan.name == "variants" else values_by_instance)(plan, rows)
    return write_profiles(values, folder / f"profile_{plan.name}", plan.title)


def _what_was_run(plans: dict[str, Plan], scales: dict[str, str], rows: Rows) -> str:
    used = {run.key for plan in plans.values() for run in plan.runs() if run.key in rows}
    ended = [rows[key] for key in used]
    machines = Counter(
        f"{of.get('processor')}, {of.get('cores')} cores, {of.get('memory_gib')} GiB, "
        f"{of.get('system')}, Python {of.get('python')}, "
        + ", ".join(f"{k} {v}" for k, v in of.get("versions", {}).items())
        for of in (row["machine"] for row in ended)
    )
    lines = ["## What was run\n"]
    lines += [f"- {machine}: {count} runs, one core each." for machine, count in machines.items()]
    if ended:
        days = sorted({row["finished"][:10] for row in ended})
        total = in_words(sum(row["cpu_seconds"] or row["seconds"] or 0.0 for row in ended))
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        lines.append(f"- Date: {when}. Total computing time: {total}.")
    counts = []
    for name, runs in ((name, plan.runs()) for name, plan in plans.items()):
        found = [rows[run.key] for run in runs if run.key in rows]
        other = Counter(row["status"] for row in found if row["status"] not in ("ok", "infeasible"))
        good = sum(is_feasible(row) for row in found)
        counts.append(
            {
                "Experiment": Cell(name),
                "scale": Cell(scales[name]),
                "runs planned": Cell(len(runs)),
                "ended": Cell(len(found)),
                "feasible": Cell(good),
                "infeasible": Cell(len(found) - good - sum(other.values())),
                "other": Cell(", ".join(f"{n} {status}" for status, n in other.items()) or MISSING),
            }
        )
    lines += ["", to_markdown(Table("runs", "", tuple(counts)))]
    lines.append(
        "The objective (O.F.), broken pairs and agreement with classes are computed from the "
        "labels, the same way for every method. Times are CPU seconds of `fit` on one thread, "
        "after the data are loaded and the kernels are compiled. A run that several experiments "
        "share is executed only once.\n\nIn the tables, L.S. stands for local search. Δ is the "
        "difference from the reference, in percent of the reference. %S is the percentage of "
        "configurations on which a method is at least as good as all others.\n"
    )
    return "\n".join(lines)


def in_words(seconds: float) -> str:
    """A duration for people: ``"40 s"``, ``"12 min"``, ``"3 h 5 min"``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _claims_section(claims: list[Claim]) -> str:
    if not claims:
        return ""
    lines = ["## What agrees with the paper, and what does not\n"]
    for claim in claims:
        verdict = "**Agrees.**" if claim.holds else "**Does not agree.**"
        why = f" *Why:* {claim.why_not}" if not claim.holds and claim.why_not else ""
        text = claim.text.removesuffix(".")
        lines.append(f"- {verdict} {text} ({claim.source}). {claim.evidence}{why}")
    lines.append(
        "- **Not comparable.** The paper's times are from an Intel Xeon E5-2430 v2 with Gurobi 11. "
        "In Table 3, the paper counts the seconds until PC-SOS-SDP found its best solution, and we "
        "count the seconds of our own exact method, including its proof. In Table 4, we time our "
        "own compiled implementations of both methods.\n"
    )
    return "\n".join(lines)


def _left_out(plans: dict[str, Plan], rows: Rows) -> str:
    lines = ["## What was left out\n"]
    for name, plan in plans.items():
        reasons: dict[str, list[str]] = defaultdict(list)
        for item in plan.skipped:
            reasons[item.reason].append(item.what)
        lines += [f"- {name}, {', '.join(what)}: {reason}" for reason, what in reasons.items()]
        missing: dict[str, Counter[str]] = defaultdict(Counter)
        for run in plan.runs():
            if run.key not in rows:
                missing[run.dataset][run.method.name] += 1
        alike: dict[str, list[str]] = defaultdict(list)
        for dataset, counts in missing.items():
            alike[", ".join(f"{n} of {m}" for m, n in sorted(counts.items()))].append(dataset)
        lines += [
            f"- {name}, missing runs on {', '.join(datasets)}: {shown}"
            + (" on each" if len(datasets) > 1 else "")
            for shown, datasets in alike.items()
        ]
        lines += [
            f"- {name}, {run}: {rows[run.key]['status']} ({rows[run.key]['reason']})"
            for run in plan.runs()
            if run.key in rows and rows[run.key]["status"] in ("failed", "crashed", "timeout")
        ]
    if len(lines) == 1:
        lines.append("Nothing.")
    return "\n".join(lines) + "\n"


def write_profiles(values: Mapping[str, Any], target: Path, title: str) -> list[Path]:
    """Draw one panel per metric, as ``target`` with .png and .svg; returns the files, if any."""
    if values["objective"].empty:
        return []
    from matplotlib import pyplot as plt

    from smdeclust.plotting import performance_profile, plot_performance_profile
    from smdeclust.plotting.style import render

    def draw() -> Any:
        figure, panels = plt.subplots(2, 2, figsize=(10.5, 7.1), layout="constrained")
        for axes, metric in zip(panels.flat, AXES, strict=True):
            tie = TIE if metric == "objective" else 0.0
            profile = performance_profile(values[metric].to_dict("list"), tie_tol=tie)
            plot_performance_profile(profile, metric=AXES[metric], ax=axes)
        figure.suptitle(f"{title} ({len(values['objective'])} problems)", fontsize="medium")
        return panels[0, 0]

    written = [target.with_name(f"{target.name}.{end}") for end in ("png", "svg")]
    for path in written:
        write_bytes(path, render(draw, format=path.suffix[1:]))
    return written
