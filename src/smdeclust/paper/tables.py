"""Tables whose cells hold our figure and the paper's, as Markdown, CSV and LaTeX; and the paper's
tables, from averages."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from smdeclust.datasets import list_datasets
from smdeclust.paper import results
from smdeclust.paper.plan import Plan

if TYPE_CHECKING:
    from pandas import DataFrame
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """One figure: ours (a number, text, or None), what the paper prints there, and its looks.

    The paper's is NaN where it prints this column but not for this row, and None where it has no
    such column. Bold is for winners, as in the paper.
    """

    value: float | str | None
    paper: float | None = None
    digits: int = 2
    bold: bool = False

    def ours(self) -> str:
        """Our figure as text."""
        return _text(self.value, self.digits)

    def theirs(self) -> str:
        """The paper's figure as text, empty where it prints none."""
        theirs = _text(self.paper, self.digits)
        return "" if theirs == MISSING else theirs


@dataclass(frozen=True)
class Table:
    """Rows of cells by the title of their column; ``"Time: %S"`` is the column %S of Time."""

    name: str  # of its files, without an end
    title: str
    rows: tuple[dict[str, Cell], ...]  # the same columns in each
    lines: frozenset[int] = frozenset()  # rows below which there is a line
    note: str = ""


def _text(value: float | str | None, digits: int) -> str:
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return MISSING
    if isinstance(value, int):
        return str(value)
    rounded = round(value, digits) + 0.0  # no negative zero
    return f"{rounded:.{digits}f}"


def to_markdown(table: Table) -> str:
    """GitHub-flavored Markdown; the paper's figure stands in parentheses after ours."""
    titles, first = list(table.rows[0]), table.rows[0].values()
    left = [i == 0 or (isinstance(cell.value, str) and cell.value[:1].isalpha())
            for i, cell in enumerate(first)]  # fmt: skip
    lines = [
        "| " + " | ".join(titles) + " |",
        "|" + "|".join(":--" if text else "--:" for text in left) + "|",
    ]
    lines += ["| " + " | ".join(_both(cell, "**", "**") for cell in row.values()) + " |"
              for row in table.rows]  # fmt: skip
    return "\n".join(lines) + "\n"


def to_csv(table: Table) -> str:
    """CSV in full precision; a column ``... (paper)`` follows each that the paper prints too."""
    import pandas as pd

    records: list[dict[str, float | str | None]] = []
    for row in table.rows:
        records.append({})
        for title, cell in row.items():
            flat = title.replace(": ", " ")
            records[-1][flat] = cell.value
            if cell.paper is not None:
                records[-1][f"{flat} (paper)"] = cell.paper
    return pd.DataFrame(records, dtype=object).to_csv(index=False, lineterminator="\n")


def to_latex(table: Table) -> str:
    """A ``table`` environment with the paper's rules; needs no package."""
    heads = [title.rpartition(": ") for title in table.rows[0]]
    groups = [(name, len(list(found))) for name, found in groupby(heads, key=lambda head: head[0])]
    layout = "|" + "||".join("c" * n for _, n in groups) + "|"
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{layout}}}", r"\hline"]
    if any(name for name, _ in groups):
        spans = [rf"\multicolumn{{{n}}}{{c|}}{{{_latex(name)}}}" for name, n in groups]
        lines.append(" & ".join(spans) + r" \\")
    lines.append(" & ".join(_latex(title) for _, _, title in heads) + r" \\")
    lines += [r"\hline", r"\hline"]
    for index, row in enumerate(table.rows):
        cells = (_both(cell, r"\textbf{", "}", _latex) for cell in row.values())
        lines.append(" & ".join(cells) + r" \\")
        if index in table.lines or index == len(table.rows) - 1:
            lines.append(r"\hline")
    caption = f"{table.title}. {table.note}".rstrip()
    lines += [r"\end{tabular}", rf"\caption{{{_latex(caption)}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _both(cell: Cell, before: str, after: str, escape: Callable[[str], str] = str) -> str:
    """Our figure, between `before` and `after` where it is bold, and the paper's."""
    ours = escape(cell.ours())
    ours = f"{before}{ours}{after}" if cell.bold else ours
    return f"{ours} ({escape(cell.theirs())})" if cell.theirs() else ours


_LATEX = {
    "\\": r"\textbackslash{}",
    **{mark: rf"\{mark}" for mark in "%_&#${}"},
    "Δ": r"$\Delta$",
    "–": "--",
    "°": r"$^\circ$",
    "≤": r"$\leq$",
    "`": "",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


# ---- the paper's tables


NAN = float("nan")
KINDS = ("must-links", "both", "cannot-links")


def tables_of(plan: Plan, rows: results.Rows) -> list[Table]:
    """The tables that a plan's runs fill."""
    methods = set(plan.methods())
    if any(part.unconstrained for part in plan.parts):
        return violation_tables(plan, rows)
    found: list[Table] = []
    if plan.name == "exact" and {"SMDEClust", "SG-MDE"} <= methods:
        found += [exact_table(plan, rows, "SG-MDE"), exact_table(plan, rows, "SMDEClust")]
    elif plan.name == "soft" and {"SMDEClust", "SG-MDE", "S-HG-MEANS"} <= methods:
        found += [soft_table(plan, rows, "SG-MDE"), soft_table(plan, rows, "SMDEClust")]
    elif plan.name == "synthetic" and {"SG-MDE", "BLP-KM", "COP-KM"} <= methods:
        found.append(synthetic_table(plan, rows))
    found.append(comparison_table(plan, rows))
    return [table for table in found if table.rows]


def kind_of(configuration: str) -> str | None:
    """Whether a configuration of the first set has must-links, cannot-links or both."""
    match = re.fullmatch(r"ml_(\d+)_cl_(\d+)_\d+", configuration)
    if match is None:
        return None
    must, cannot = int(match[1]), int(match[2])
    return "both" if must and cannot else "must-links" if must else "cannot-links"


def violation_tables(plan: Plan, rows: results.Rows) -> list[Table]:
    """Table 1: the share of pairs that clustering without constraints breaks."""
    import pandas as pd

    found = [
        (run.dataset, kind_of(c) or c, results.violated_share(must + cannot, n_must + n_cannot))
        for run in plan.runs()
        if run.key in rows and rows[run.key]["status"] == "ok"
        for c, (must, cannot, n_must, n_cannot) in rows[run.key]["details"]["broken"].items()
    ]
    by_kind = pd.DataFrame(found, columns=["name", "kind", "share"]).groupby(["name", "kind"])
    means = by_kind["share"].mean().unstack()
    set_of = {info.name: info.set for info in list_datasets()}
    tables = []
    for number in (1, 2, 3):
        printed = results.paper_tables()[f"violations_set{number}"]
        names = [n for n in dict.fromkeys(n for n, _, _ in found) if set_of.get(n, 1) == number]
        kinds = dict.fromkeys(kind for n, kind, share in found if n in names and share == share)
        heads: Sequence[str] = KINDS if number == 1 else printed["columns"]
        if number == 1 and not set(KINDS) & set(kinds):
            heads = list(kinds)
        ours = means.reindex(index=names, columns=list(heads))
        rows_of_table = []
        for name, shares_of_name in ours.iterrows():
            both = zip(heads, shares_of_name, _printed(printed, str(name), heads), strict=True)
            cells = {
                f"% broken: {head}{' pairs' * head.isdigit()}": Cell(x, paper, digits=1)
                for head, x, paper in both
            }
            rows_of_table.append({"Dataset": Cell(str(name))} | cells)
        tables.append(_table(f"table1_set{number}", rows_of_table))
    return [table for table in tables if table.rows]


def synthetic_table(plan: Plan, rows: results.Rows) -> Table:
    """Table 2: SG-MDE, BLP-KM and COP-KM on the synthetic data sets."""
    body: list[dict[str, Cell]] = []
    lines = []
    for name, cases in results.by_dataset(results.averages(plan, rows)):
        quality, effort = (results.shares(cases, m) for m in ("objective", "local_iterations"))
        paper = _printed(results.paper_tables()["synthetic"], name, range(5))
        n, k = name[1:].split("_k")
        if body and body[-1]["N"].value != n:
            lines.append(len(body) - 1)
        row, fewest = {"N": Cell(n), "K": Cell(k)}, effort["SG-MDE"]
        for m, theirs in zip(("SG-MDE", "BLP-KM", "COP-KM"), paper[:3], strict=True):
            row[f"%S objective: {m}"] = Cell(quality[m], theirs, bold=quality[m] == quality.max())
        row["%S iterations: SG-MDE"] = Cell(fewest, paper[3], bold=fewest == effort.max())
        row["% infeasible: COP-KM"] = Cell(_infeasible(cases, "COP-KM"), paper[4])
        body.append(row | {"Configurations × seeds": _extent(cases)})
    return _table("table2", body, lines)


def exact_table(plan: Plan, rows: results.Rows, method: str) -> Table:
    """Table 3: a method against the best known objectives and the time of an exact method."""
    proofs = {
        (run.dataset, run.configuration): rows[run.key]
        for run in plan.runs()
        if run.method.name == "exact" and run.key in rows and rows[run.key]["status"] == "ok"
    }
    body = []
    n_own = 0
    for name, cases in results.by_dataset(results.averages(plan, rows, method)):
        cases = cases.droplevel("dataset")
        ours = results.of_method(cases, method)
        known = ours.index.to_series().map(
            lambda c, name=name: results.best_known().get(f"{name}/{c}")
        )
        n_own += int(known.isna().sum())
        # else the best of all runs at hand has to do
        known = known.astype(float).fillna(cases["best"].groupby(level="configuration").min())
        objectives = results.if_feasible(ours, "objective")
        against = results.spread(objectives, known, tol=results.TIE)
        worst = (ours["worst"] / known - 1.0).max()
        proven = {c: proofs[name, c] for c in ours.index if (name, c) in proofs}
        # the paper's rule: times count where the objective is at least as good
        good = [c for c in proven if objectives[c] <= known[c] * (1 + results.TIE)]
        exact = ours.index.to_series().map({c: row["cpu_seconds"] for c, row in proven.items()})
        quick = results.spread(ours["seconds"][good], exact[good], of=len(proven))
        paper = _of_paper("exact", name, method)
        n_proven = sum(row["stop_reason"] == "optimal" for row in proven.values())
        row = {"Dataset": Cell(name)} | _spread_cells("Objective", against, paper.get("objective"))
        above = 100.0 * worst if worst > results.TIE else 0.0
        row["Objective: Δ worst run"] = Cell(above, digits=3, bold=worst <= results.TIE)
        row |= _spread_cells("Time", quick, paper.get("time"), digits=2)
        row["Time: median s"] = Cell(ours["seconds"].median(skipna=False), digits=3)
        row["Exact method: median s"] = Cell(exact.median(), digits=1)
        row["Exact method: proven"] = Cell(f"{n_proven} of {len(proven)}")
        body.append(row | {"Configurations × seeds": _extent(ours)})
    more = f" For {n_own} configurations, it is the best of the stored runs." if n_own else ""
    return _table(_name("table3", method), body, more=more)


def soft_table(plan: Plan, rows: results.Rows, method: str) -> Table:
    """Table 4: a method against S-HG-MEANS, where that one breaks no pair."""
    body = []
    for name, cases in results.by_dataset(results.averages(plan, rows, method, "S-HG-MEANS")):
        ours, soft = (results.of_method(cases, m) for m in (method, "S-HG-MEANS"))
        feasible = soft["n_feasible"] == soft["n_done"]
        paper = _of_paper("soft", name, method)
        row = {
            "Dataset": Cell(name),
            "Feasible: in every run": Cell(int(feasible.sum()), paper.get("feasible")),
            "Feasible: in some run": Cell(int((soft["n_feasible"] > 0).sum())),
            "Feasible: of": Cell(len(soft)),
        }
        for title, metric, values, tol in (
            ("Objective", "objective", results.if_feasible(ours, "objective"), results.TIE),
            ("Time", "seconds", ours["seconds"], 0.0),
            ("Local searches", "local_searches", ours["local_searches"], 0.0),
        ):
            against = results.spread(values[feasible], soft[metric][feasible], tol=tol)
            row |= _spread_cells(title, against, paper.get("time" if title == "Time" else metric))
        body.append(row)
    return _table(_name("table4", method), body)


def comparison_table(plan: Plan, rows: results.Rows) -> Table:
    """Any plan: mean objective, time and effort of each method on each data set."""
    body: list[dict[str, Cell]] = []
    lines = []
    for name, cases in results.by_dataset(results.averages(plan, rows)):
        quality = results.shares(cases, "objective")
        best = cases["objective"].groupby(level="configuration").transform("min")
        above = results.relative_difference(cases["objective"], best)
        means = cases.assign(above=above).groupby(level="method").mean()
        for method in plan.methods():
            own = means.loc[method]
            body.append(
                {
                    "Dataset": Cell(name),
                    "Method": Cell(method),
                    "Objective: %S": Cell(quality[method], bold=quality[method] == quality.max()),
                    "Objective: mean % above best": Cell(own["above"], digits=3),
                    "Time: mean s": Cell(own["seconds"], digits=3),
                    "Local searches": Cell(own["local_searches"], digits=1),
                    "Iterations": Cell(own["local_iterations"], digits=1),
                    "% infeasible": Cell(_infeasible(cases, method), digits=1),
                    "Runs": Cell(int(results.of_method(cases, method)["n_done"].sum())),
                }
            )
        lines.append(len(body) - 1)
    return _table(f"{plan.name}_methods", body, lines)


def agreement_table(plans: Mapping[str, Plan], rows: results.Rows) -> Table | None:
    """Adjusted Rand index with the classes, without pairs and with pairs of each kind."""
    free: dict[str, float] = {}
    if "violations" in plans:
        for run in plans["violations"].runs():
            row = rows.get(run.key)
            if row is not None and row["adjusted_rand"] is not None:
                free.setdefault(run.dataset, row["adjusted_rand"])
    if "exact" not in plans:
        return None
    found = results.of_method(results.averages(plans["exact"], rows, "SMDEClust"), "SMDEClust")
    values = found["adjusted_rand"].dropna().reset_index()
    values["kind"] = values["configuration"].map(lambda c: kind_of(c) or "both")
    by_kind: Any = values.groupby(["dataset", "kind"], sort=False)["adjusted_rand"].mean().unstack()
    body = [
        {"Dataset": Cell(name), "Without pairs": Cell(free.get(name), digits=3)}
        | {f"With: {k}": Cell(by_kind.loc[name].get(k), digits=3) for k in KINDS}
        for name in values["dataset"].unique()
    ]
    return _table("adjusted_rand", body) if body else None


def _table(
    name: str, body: list[dict[str, Cell]], lines: Sequence[int] = (), more: str = ""
) -> Table:
    """A table with its title and its note."""
    texts = results.published("texts")["tables"]
    title, note = texts["methods" if name.endswith("_methods") else name]
    return Table(name, title, tuple(body), frozenset(lines), note + more)


def _name(stem: str, method: str) -> str:
    """The file name of a table, with the method unless the paper has the table."""
    return stem if method == "SG-MDE" else f"{stem}_{method.lower().replace('-', '_')}"


def _of_paper(table: str, name: str, method: str) -> Mapping[str, Any]:
    """The paper's figures for a data set; it has them for SG-MDE."""
    return results.paper_tables()[table]["rows"].get(name, {}) if method == "SG-MDE" else {}


def _printed(table: Mapping[str, Any], name: str, columns: Sequence[Any]) -> list[float]:
    """What the paper prints of a data set."""
    return table["rows"].get(name, [NAN] * len(columns))


def _spread_cells(
    group: str, against: results.Spread, paper: Sequence[float] | None, *, digits: int = 3
) -> dict[str, Cell]:
    """Four cells: %S, and the least, median and largest difference."""
    share, *theirs = paper if paper is not None else (None,) * 4
    deltas = zip(("min", "median", "max"), against[1:], theirs, strict=True)
    return {f"{group}: %S": Cell(against.share, share, bold=against.share > 50.0)} | {
        f"{group}: Δ {what}": Cell(ours, p, digits, bold=ours <= 0.0) for what, ours, p in deltas
    }


def _extent(cases: "DataFrame") -> Cell:
    """How many configurations and seeds are behind a row."""
    seeds, n_cases = sorted(set(cases["n_done"])), cases.index.unique("configuration").size
    return Cell(f"{n_cases} × {'-'.join(map(str, seeds))}")


def _infeasible(cases: "DataFrame", method: str) -> float:
    """Runs of a method that ended without a feasible solution, in percent."""
    own = results.of_method(cases, method)
    return float(100.0 * own["n_infeasible"].sum() / own["n_done"].sum())
