"""The report: a summary, what was run, and for each experiment what agrees, tables and a figure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from smdeclust.io.write import write_bytes, write_text
from smdeclust.paper import results
from smdeclust.paper.claims import Claim, check_claims
from smdeclust.paper.plan import Plan
from smdeclust.paper.store import Store
from smdeclust.paper.tables import (
    Cell,
    Table,
    agreement_table,
    tables_of,
    to_csv,
    to_latex,
    to_markdown,
)

# metric -> what the axis says
AXES = {
    "objective": "objective",
    "seconds": "CPU time",
    "local_searches": "number of local searches",
    "local_iterations": "number of iterations",
}
_ORDER = ("violations", "variants", "synthetic", "large", "exact", "soft")  # as in the paper
_OPEN = 9  # columns of a table that is not folded


class Chapter(NamedTuple):
    """What the page shows of an experiment."""

    title: str
    methods: list[str]
    tables: list[Table]
    n_problems: int  # of its figure; 0: there is no figure


def report(store: Path | str, target: Path | str, remark: str = "") -> Path:
    """Write a page with the tables and figures of all runs in a store.

    Parameters
    ----------
    store
        The SQLite file with the runs.
    target
        The Markdown file to write. Tables and figures are written to a folder of the same name.
    remark
        A paragraph of your own about how the runs were made.

    Returns
    -------
    pathlib.Path
        The Markdown file.
    """
    target = Path(target)
    folder = target.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    with Store(store) as opened:
        stored, rows = opened.plans(), opened.rows()
    plans = {name: stored[name][1] for name in (*_ORDER, *stored) if name in stored}
    chapters = {}
    for name, plan in plans.items():
        tables = tables_of(plan, rows)
        agreement = agreement_table(plans, rows) if name == "exact" else None
        tables += [agreement] if agreement is not None else []
        n_problems = 0
        if not any(part.unconstrained for part in plan.parts):
            # as in the paper: single runs of the variants, averages over seeds elsewhere
            values = (results.values_by_run if name == "variants" else results.values_by_instance)(
                plan, rows
            )
            if write_profiles(values, folder / f"profile_{name}"):
                n_problems = len(values["objective"])
        chapters[name] = Chapter(plan.title, plan.methods(), tables, n_problems)
    by_name = {table.name: table for chapter in chapters.values() for table in chapter.tables}
    run = _what_was_run(plans, {name: stored[name][0] for name in plans}, rows, remark)
    claims = check_claims(plans, rows, by_name)
    return write_page(target, run, claims, chapters, _left_out(plans, rows))


def write_page(
    target: Path, run: str, claims: list[Claim], chapters: Mapping[str, Chapter], left_out: str
) -> Path:
    """Write the page and, to the folder beside it, its tables."""
    folder = target.with_suffix("")
    for table in (table for chapter in chapters.values() for table in chapter.tables):
        write_text(folder / f"{table.name}.csv", to_csv(table))
        write_text(folder / f"{table.name}.tex", to_latex(table))
    texts = results.published("texts")
    methods = dict.fromkeys(method for chapter in chapters.values() for method in chapter.methods)
    named = [(m, texts["methods"].get(m, "a method of your own")) for m in methods]
    legend = _table(("Name", "Method"), named)
    sections = ["\n\n".join(texts["top"]) + "\n", _summary(claims, chapters), run]
    sections.append("\n".join(texts["legend"]).format(methods=legend, folder=folder.name))
    for name, chapter in chapters.items():
        about = [claim for claim in claims if claim.experiment == name]
        sections += _chapter(name, chapter, about, folder.name)
    write_text(target, "\n".join([*sections, left_out]))
    return target


def _summary(claims: list[Claim], chapters: Mapping[str, Chapter]) -> str:
    of_paper = [c for name in chapters for c in claims if c.experiment == name and not c.aim]
    if not of_paper:
        return ""
    count = Counter(claim.verdict for claim in of_paper)
    body = []
    for claim in of_paper:
        title = chapters[claim.experiment].title
        anchor = re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))
        name = title.partition("(")[2].rstrip(")") or title
        body.append((f"[{name}](#{anchor})", claim.topic, claim.verdict))
    return (
        f"## Summary\n\nThe stored runs test {len(of_paper)} statements of the paper. Our "
        f"results agree with {count['agrees']} of them, agree in part with "
        f"{count['agrees in part']}, and differ from {count['differs']}. The section on each "
        f"experiment shows the figures and explains the differences if we know the reasons.\n\n"
        f"{_table(('Experiment', 'Statement', 'Our result'), body)}"
    )


def _table(heads: Iterable[str], lines: Iterable[Iterable[str | int]]) -> str:
    rows = tuple(dict(zip(heads, map(Cell, line), strict=True)) for line in lines)
    return to_markdown(Table("", "", rows))


def _chapter(name: str, chapter: Chapter, claims: list[Claim], folder: str) -> list[str]:
    said, aims = ("\n".join(_shown(c) for c in claims if c.aim is aim) for aim in (False, True))
    parts = [f"## {chapter.title}", results.published("texts")["experiments"].get(name, ""), said]
    if aims:
        parts += ["This package also has aims that are not in the paper:", aims]
    for table in chapter.tables:
        link = f"({folder}/{table.name}.csv)"
        if table.name.endswith("_methods") and len(chapter.tables) > 1:
            parts.append(f"A CSV file contains the [results of all methods]{link}.")
        elif len(table.rows[0]) <= _OPEN:
            parts += [f"### {table.title}", table.note, to_markdown(table).rstrip()]
        else:
            parts += [
                f'<details markdown="1"><summary>{table.title}</summary>',
                f"{table.note} The table is also available [as CSV]{link}.",
                to_markdown(table) + "\n</details>",
            ]
    if chapter.n_problems:
        of = f"{', '.join(chapter.methods[:-1])} and {chapter.methods[-1]}".removeprefix(" and ")
        parts += [
            f"![Four performance profiles of {of}]({folder}/profile_{name}.png)",
            f"*Figure: performance profiles of {of} on {chapter.n_problems} problems*",
        ]
    return [f"{part}\n" for part in parts if part]


def _shown(claim: Claim) -> str:
    """A statement, our result and, where that differs, the reason."""
    why = f" *Why:* {claim.why_not}" if claim.why_not and not claim.agrees else ""
    said, found = "Aim" if claim.aim else "Paper", f"{claim.evidence} {claim.less}".rstrip()
    return f"- **{claim.verdict.capitalize()}.** *{said}:* {claim.text} *Here:* {found}{why}"


def _what_was_run(
    plans: Mapping[str, Plan], scales: Mapping[str, str], rows: results.Rows, remark: str
) -> str:
    used = {run.key for plan in plans.values() for run in plan.runs() if run.key in rows}
    ended = [rows[key] for key in used]
    machines = Counter(
        f"{of.get('processor')} ({of.get('cores')} cores, {of.get('memory_gib')} GiB, "
        f"{of.get('system')}), with Python {of.get('python')}, "
        + ", ".join(f"{k} {v}" for k, v in of.get("versions", {}).items())
        for of in (row["machine"] for row in ended)
    )
    lines = ["## What was run\n"]
    lines += [f"- Machine and versions ({n} runs): {machine}" for machine, n in machines.items()]
    if ended:
        days = sorted({row["finished"][:10] for row in ended})
        total = in_words(sum(row["cpu_seconds"] or row["seconds"] or 0.0 for row in ended))
        lines.append(
            "- Date: " + " to ".join(dict.fromkeys(map(results.in_date, (days[0], days[-1]))))
        )
        lines.append(f"- Total CPU time: {total}, with one core for each run")
    counts = []
    for name, runs in ((name, plan.runs()) for name, plan in plans.items()):
        found = [rows[run.key] for run in runs if run.key in rows]
        good = sum(results.is_feasible(row) for row in found)
        done = sum(row["status"] in ("ok", "infeasible") for row in found)
        counts.append((name, scales[name], len(runs), len(found), good, done - good))
    heads = "Experiment", "Scale", "Planned", "Ended", "Feasible", "Infeasible"
    lines += ["", remark, ""] if remark else [""]
    lines.append(
        "The table counts the runs of each experiment. If several experiments "
        f"share a run, this run is made only once.\n\n{_table(heads, counts)}"
    )
    return "\n".join(lines)


def in_words(seconds: float) -> str:
    """A duration for people: ``"40 s"``, ``"12 min"``, ``"3 h 5 min"``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _left_out(plans: Mapping[str, Plan], rows: results.Rows) -> str:
    missing: list[tuple[str, str, str]] = []
    for name, plan in plans.items():
        reasons: dict[str, list[str]] = defaultdict(list)
        for item in plan.skipped:
            reasons[item.reason].append(item.what)
        missing += [(name, ", ".join(what), reason) for reason, what in reasons.items()]
        absent: dict[str, Counter[str]] = defaultdict(Counter)
        for run in plan.runs():
            row = rows.get(run.key)
            if row is None:
                absent[run.dataset][run.method.name] += 1
            elif row["status"] in ("failed", "crashed", "timeout"):
                missing.append((name, str(run), f"{row['status']} ({row['reason']})"))
        alike: dict[str, list[str]] = defaultdict(list)
        for dataset, counts in absent.items():
            alike[", ".join(f"{n} of {m}" for m, n in sorted(counts.items()))].append(dataset)
        missing += [
            (name, f"runs on {'each of ' * (len(datasets) > 1)}{', '.join(datasets)}: {shown}",
             "not run") for shown, datasets in alike.items()
        ]  # fmt: skip
    if not missing:
        return "## What was left out\n\nNothing was left out.\n"
    about = "## What was left out\n\nThe table lists the runs that were planned but not made.\n\n"
    return about + _table(("Experiment", "Left out", "Reason"), missing)


def write_profiles(values: Mapping[str, Any], target: Path) -> list[Path]:
    """Draw one panel per metric, as ``target`` with .png and .svg; returns the files, if any."""
    if values["objective"].empty:
        return []
    from matplotlib import pyplot as plt

    from smdeclust.plotting import performance_profile, plot_performance_profile
    from smdeclust.plotting.style import render

    def draw() -> Any:
        _, panels = plt.subplots(2, 2, figsize=(10.5, 7.1), layout="constrained")
        for axes, metric in zip(panels.flat, AXES, strict=True):
            tie = results.TIE if metric == "objective" else 0.0
            profile = performance_profile(values[metric].to_dict("list"), tie_tol=tie)
            plot_performance_profile(profile, metric=AXES[metric], ax=axes)
        return panels[0, 0]

    written = [target.with_name(f"{target.name}.{end}") for end in ("png", "svg")]
    for path in written:
        write_bytes(path, render(draw, format=path.suffix[1:]))
    return written
