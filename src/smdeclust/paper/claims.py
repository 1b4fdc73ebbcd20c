"""What the paper says of its experiments, held against our runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from smdeclust.paper.tables import Table

if TYPE_CHECKING:
    from pandas import DataFrame, Series


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or an aim of this package, and what our runs say about it."""

    experiment: str
    text: str
    holds: bool
    evidence: str
    less: str = ""  # where our figures fall short of the paper's although the statement holds
    topic: str = ""  # in a few words, for the summary
    aim: bool = False  # whether the statement is an aim of this package
    why_not: str = ""  # why our runs differ, if that is known

    @property
    def agrees(self) -> bool:
        """Whether our figures bear the statement out and are as good as the paper's."""
        return self.holds and not self.less

    @property
    def verdict(self) -> str:
        """The result in a few words."""
        if self.aim:
            return "reached" if self.holds else "not reached"
        return "agrees" if self.agrees else "agrees in part" if self.holds else "differs"


def _claim(name: str, holds: bool | np.bool_, /, *, less: Any = False, **figures: Any) -> Claim:
    """The statement of this name with our figures; `less`: whether they fall short."""
    words = statement(name)
    found, short = (words.pop(key, "").format(**figures) for key in ("here", "less"))
    return Claim(holds=bool(holds), evidence=found, less=short if less else "", **words)


def _of(n: int, total: int) -> str:
    """So many of a total, in words where it is all or none."""
    return f"all {total}" if n == total else f"{n} of {total}" if n else f"none of the {total}"


def check_claims(plans: Mapping[str, Plan], rows: Rows, tables: Mapping[str, Table]) -> list[Claim]:
    """All statements that the runs at hand can judge."""
    checks = {
        "exact": _exact, "soft": _soft, "synthetic": _synthetic, "variants": _variants,
        "large": _large, "violations": lambda plan, rows: _violations(plan, tables),
    }  # fmt: skip
    return [c for name, check in checks.items() if name in plans for c in check(plans[name], rows)]


def _exact(plan: Plan, rows: Rows) -> Iterator[Claim]:
    def against_known(method: str) -> "DataFrame":
        """The averages by data set/configuration, where the lowest objective is ``known``."""
        found = of_method(averages(plan, rows, method), method)
        found.index = found.index.map("/".join)
        return found.assign(known=found.index.map(best_known())).dropna(subset="known")

    ours = against_known("SMDEClust")
    if len(ours):
        limit, above = ours["known"] * (1.0 + TIE), if_feasible(ours, "worst") / ours["known"] - 1.0
        always, once = (if_feasible(ours, "worst") <= limit).sum(), (ours["best"] <= limit).sum()
        lower = ours.index[ours["best"] < ours["known"] * (1.0 - TIE)]
        others = ""
        if always < len(ours):
            others = f" The best run reaches it on {_of(once, len(ours))} configurations. The worst"
            others += f" run is {100.0 * above.fillna(np.inf).max():.2g}% above it."
        if len(lower):
            others += f" The best run is below it on {', '.join(lower)}."
        shown = _of(always, len(ours))
        yield _claim("default_reaches_best", once == len(ours), always=shown, others=others)
    theirs = against_known("SG-MDE")
    if len(theirs):
        n, total = (
            (if_feasible(theirs, "objective") <= theirs["known"] * (1 + TIE)).sum(),
            len(theirs),
        )
        excess = 100.0 * (theirs["objective"] / theirs["known"] - 1.0).max()
        names = dict.fromkeys(index.partition("/")[0] for index in theirs.index)
        rows_of_paper = [paper_tables()["exact"]["rows"][name]["objective"] for name in names]
        printed, largest = np.mean([r[0] for r in rows_of_paper]), max(r[3] for r in rows_of_paper)
        yield _claim(
            "sg_mde_reaches_best", n > total / 2, less=excess > largest, n=n, total=total,
            share=100.0 * n / total, printed=printed, excess=excess, largest=largest,
        )  # fmt: skip
    proofs = [rows.get(run.key) for run in plan.runs() if run.method.name == "exact"]
    done = [row for row in proofs if row is not None and row["status"] == "ok"]
    if done:
        proven = _of(sum(row["stop_reason"] == "optimal" for row in done), len(done))
        improved = sum(bool(row["details"].get("improved")) for row in done)
        gap, shown = max(row["details"]["gap"] for row in done), _of(improved, len(done))
        yield _claim("nothing_better", improved == 0, proven=proven, gap=gap, improved=shown)


def _soft(plan: Plan, rows: Rows) -> Iterator[Claim]:
    found = averages(plan, rows, "S-HG-MEANS", "SG-MDE")
    ours, soft = (of_method(found, method) for method in ("SG-MDE", "S-HG-MEANS"))
    feasible = soft["n_feasible"] == soft["n_done"]
    counts = {name: (int(each.sum()), len(each)) for name, each in by_dataset(feasible)}
    printed = {name: row["feasible"] for name, row in paper_tables()["soft"]["rows"].items()}
    easy = {name: counts[name] for name in ("iris", "seeds") if name in counts}
    hard = {name: counts[name] for name in ("glass", "accent", "ecoli") if name in counts}

    def shown(some: Mapping[str, tuple[int, int]]) -> str:
        return ", ".join(
            f"{name.capitalize()} {n} of {total} (paper: {printed[name]})"
            for name, (n, total) in some.items()
        )

    if easy:
        yield _claim("soft_feasible", all(n == m for n, m in easy.values()), shown=shown(easy))
    if hard:
        names = [name.capitalize() for name, (n, _) in hard.items() if n < printed[name]]
        fewer, few = " and ".join(names), all(n <= m / 2 for n, m in hard.values())
        yield _claim("soft_breaks", few, less=names, shown=shown(hard), fewer=fewer)
    ours, soft, n = ours[feasible], soft[feasible], int(feasible.sum())
    if n:
        good = (if_feasible(ours, "objective") <= soft["objective"] * (1 + TIE)).sum()
        yield _claim("soft_not_better", good == n, shown=_of(good, n))
        slower = (ours["seconds"] >= soft["seconds"]).sum()
        yield _claim("soft_slower", slower > n / 2, shown=_of(slower, n))


def _synthetic(plan: Plan, rows: Rows) -> Iterator[Claim]:
    found = averages(plan, rows)
    if found.empty:
        return

    def on_every_row(metric: str) -> tuple[bool, str]:
        """Whether SG-MDE is always best, and on how many rows; the others by name."""
        share = {name: shares(cases, metric)["SG-MDE"] for name, cases in by_dataset(found)}
        below = [f"{name} {value:.1f}" for name, value in share.items() if value < 100.0]
        others = ". On the others, it is true for this percentage of configurations: "
        others += ", ".join(below)
        n_all = _of(len(share) - len(below), len(share))
        return not below, f"{n_all} data sets{others if below else ''}"

    best, shown = on_every_row("objective")
    behind = ""
    if not best:
        values = if_feasible(found, "objective").unstack("method")
        most = 100.0 * max((values["SG-MDE"] / values.min(axis=1) - 1.0).max(), 0.0)
        behind = f" The objective of SG-MDE is at most {most:.2g}% above the best."
    yield _claim("synthetic_best", best, shown=shown, behind=behind)
    fewest, shown = on_every_row("local_iterations")
    yield _claim("synthetic_fewest", fewest, shown=shown)
    cop = of_method(found, "COP-KM")["n_infeasible"].groupby(level="dataset").any()
    fails = cop[cop.index.str.endswith("_k2")]
    if len(fails):
        yield _claim("cop_fails", fails.all(), shown=_of(fails.sum(), len(fails)))


def _variants(plan: Plan, rows: Rows) -> Iterator[Claim]:
    values = values_by_run(plan, rows)
    ended = values["objective"].notna().all(axis=1)
    if not ended.any():
        return
    share = best_share(values["objective"][ended])
    effort, time = (values[metric][ended].mean() for metric in ("local_searches", "seconds"))
    best = share[["SM-MDE", "SMG-MDE"]].min() >= share[["S-MDE", "SG-MDE"]].max()
    yield _claim("mutation_best", best, n=ended.sum(), shown=_shown(share, ".1f"))
    more = effort["SMG-MDE"] > effort["SG-MDE"] and effort["SM-MDE"] > effort["S-MDE"]
    yield _claim("mutation_costs", more, shown=_shown(effort, ".0f"))
    # a twentieth: without mutation, the two variants are the same search
    less = time["SG-MDE"] < 0.95 * time["S-MDE"] and time["SMG-MDE"] < 0.95 * time["SM-MDE"]
    yield _claim("greedy_saves", less, shown=_shown(time, ".3f"))


def _large(plan: Plan, rows: Rows) -> Iterator[Claim]:
    found, methods = averages(plan, rows), plan.methods()
    if found.empty or "SG-MDE" not in methods or len(methods) < 2:
        return
    n = found.groupby(level=["dataset", "configuration"]).ngroups
    for metric in ("objective", "local_iterations"):
        share = shares(found, metric)
        by_name = {name.capitalize(): shares(cases, metric) for name, cases in by_dataset(found)}
        names = [name for name, each in by_name.items() if each["SG-MDE"] < each.max()]
        most, behind = share["SG-MDE"] > share.drop("SG-MDE").max(), " and ".join(names)
        shown = _shown(share, ".1f")
        yield _claim(f"large_{metric}", most, less=names, n=n, shown=shown, behind=behind)


def _shown(values: "Series", form: str) -> str:
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


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
                f"shares_set{number}", largest <= tolerance, median=median, largest=largest,
                name=name, column=column, tolerance=tolerance,
            )  # fmt: skip
