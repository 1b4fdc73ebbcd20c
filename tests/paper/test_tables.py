"""Tables and figures: layout, the paper's figures beside ours, and hand-made rows in them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from smdeclust.paper import Plan, paper_plan
from smdeclust.paper.report import write_profiles
from smdeclust.paper.results import best_known, paper_tables, values_by_instance, values_by_run
from smdeclust.paper.tables import (
    Cell,
    Table,
    comparison_table,
    exact_table,
    kind_of,
    soft_table,
    synthetic_table,
    to_csv,
    to_latex,
    to_markdown,
    violation_tables,
)

TABLE = Table(
    "t",
    "A title with 5%",
    (
        {
            "Name": Cell("a_b"),
            "O.F.: %S": Cell(100.0, 93.333, bold=True),
            "Time: s": Cell(0.5, digits=3),
        },
        {"Name": Cell("c"), "O.F.: %S": Cell(float("nan"), 1.0), "Time: s": Cell(None)},
    ),
    frozenset({0}),
)


def row(objective: float | None, **other: object) -> dict:
    """A row as the store gives it."""
    return {
        "status": "ok" if objective is not None else "infeasible",
        "objective": objective,
        "seconds": 1.0,
        "local_searches": 10,
        "local_iterations": 100,
        "broken_must_links": 0,
        "broken_cannot_links": 0,
        "adjusted_rand": None,
        "reason": "",
        "details": {},
        "cpu_seconds": other.get("seconds", 1.0),
        **other,
    }


def only(plan: Plan, *datasets: str) -> list:
    """The runs of a plan on some data sets."""
    return [run for run in plan.runs() if run.dataset in datasets]


def test_markdown_puts_the_papers_figure_in_parentheses() -> None:
    """Groups are in the header, winners are bold, missing figures are dashes."""
    assert to_markdown(TABLE).splitlines() == [
        "| Name | O.F.: %S | Time: s |",
        "|:--|--:|--:|",
        "| a_b | **100.00** (93.33) | 0.500 |",
        "| c | – (1.00) | – |",
    ]


def test_csv_has_a_column_for_the_paper() -> None:
    """Full precision, nothing where there is nothing."""
    assert list(csv.reader(io.StringIO(to_csv(TABLE)))) == [
        ["Name", "O.F. %S", "O.F. %S (paper)", "Time s"],
        ["a_b", "100.0", "93.333", "0.5"],
        ["c", "", "1.0", ""],
    ]


def test_latex_has_groups_lines_and_no_bare_specials() -> None:
    """Grouped header, a line below the rows that ask for it, percent and underscore escaped."""
    text = to_latex(TABLE)
    assert r"\begin{tabular}{|c||c||c|}" in text
    assert r"\multicolumn{1}{c|}{O.F.}" in text
    assert r"a\_b & \textbf{100.00} (93.33) & 0.500 \\" in text
    assert r"\caption{A title with 5\%.}" in text
    assert text.count(r"\hline") == 5


def test_negative_zero_is_zero() -> None:
    """A figure that rounds to zero has no sign."""
    assert Cell(-1e-9).ours() == "0.00"


def test_kinds_of_configurations() -> None:
    """The names of the first set's configurations tell the kind of their pairs."""
    assert [kind_of(c) for c in ("ml_50_cl_0_3", "ml_0_cl_50_3", "ml_25_cl_25_0", "100")] == [
        "must-links",
        "cannot-links",
        "both",
        None,
    ]


def test_the_papers_figures_are_complete() -> None:
    """Each table of the data file has a row for each data set and the columns it names."""
    tables = paper_tables()
    for name, n_rows in (("violations_set1", 10), ("violations_set2", 5), ("violations_set3", 18)):
        assert len(tables[name]["rows"]) == n_rows
        assert {len(row) for row in tables[name]["rows"].values()} == {len(tables[name]["columns"])}
    assert len(tables["synthetic"]["rows"]) == 18
    assert tables["synthetic"]["rows"]["n5000_k2"] == [100.0, 57.14, 0.0, 100.0, 57.14]
    assert tables["exact"]["rows"]["glass"]["objective"] == [23.33, 0.0, 0.014, 0.425]
    assert tables["soft"]["rows"]["accent"]["feasible"] == 10


def test_table_2_by_hand() -> None:
    """SG-MDE best on all, BLP-KM tied on one of seven, COP-KM without a solution on two."""
    plan = paper_plan("synthetic")
    rows = {}
    for run in only(plan, "n500_k20"):
        place = ("100", "200", "500", "1000", "2000", "5000", "10000").index(run.configuration)
        value: float | None = 10.0
        effort = {"SG-MDE": 50, "BLP-KM": 100, "COP-KM": 70}[run.method.name]
        if run.method.name == "BLP-KM" and place:
            value = 11.0
        if run.method.name == "COP-KM":
            value = None if place >= 5 else 12.0
            effort = 1 if place >= 5 else effort
        rows[run.key] = row(value, local_iterations=effort)
    table = synthetic_table(plan, rows)
    assert [(cell.ours(), cell.theirs()) for cell in table.rows[0].values()] == [
        ("500", ""),
        ("20", ""),
        ("100.00", "100.00"),
        ("14.29", "14.29"),
        ("0.00", "0.00"),
        ("100.00", "100.00"),
        ("28.57", "28.57"),
        ("7 × 3", ""),
    ]


def test_table_3_by_hand() -> None:
    """One configuration of thirty 1% above the best known: %S 96.67, largest difference 1; and
    one second against the four of a proof is a difference of -75%."""
    plan = paper_plan("exact")
    rows = {}
    for run in only(plan, "iris"):
        best = best_known()[f"iris/{run.configuration}"]
        rows[run.key] = row(best * (1.01 if run.configuration == "ml_0_cl_50_0" else 1.0))
        if run.method.name == "exact":
            rows[run.key] = row(best, seconds=4.0, stop_reason="optimal")
    first = exact_table(plan, rows, "SG-MDE").rows[0]
    assert [cell.ours() for cell in first.values()] == [
        "iris",
        "96.67",
        "0.000",
        "0.000",
        "1.000",
        "1.000",
        "96.67",
        "-75.00",
        "-75.00",
        "-75.00",
        "1.000",
        "4.0",
        "30 of 30",
        "30 × 5",
    ]
    assert first["Objective: %S"].paper == 100.0
    default = exact_table(plan, rows, "SMDEClust").rows[0]["Objective: %S"]
    assert (default.ours(), default.paper) == ("96.67", None)  # the paper has no such method


def test_table_4_counts_only_where_the_rival_is_feasible() -> None:
    """A rival that breaks a pair in one of its runs leaves the comparison."""
    plan = paper_plan("soft")
    rows = {}
    for run in only(plan, "glass"):
        rival = run.method.name == "S-HG-MEANS"
        broken = int(rival and run.configuration.endswith("_0") and run.seed == 2)
        rows[run.key] = row(
            20.0 if rival else 15.0,
            broken_cannot_links=broken,
            local_searches=100 if rival else 25,
            seconds=1.0 if rival else 2.0,
        )
    cells = [cell.ours() for cell in soft_table(plan, rows, "SG-MDE").rows[0].values()]
    assert cells[:4] == ["glass", "24", "30", "30"]
    assert cells[4:8] == ["100.00", "-25.000", "-25.000", "-25.000"]
    assert cells[8:12] == ["0.00", "100.000", "100.000", "100.000"]
    assert cells[12:] == ["100.00", "-75.000", "-75.000", "-75.000"]


def test_table_1_by_hand() -> None:
    """Shares are averaged over the configurations of a kind."""
    plan = paper_plan("violations")
    rows = {}
    for run in only(plan, "iris"):
        broken = {
            c: [5, 0, 50, 0] if kind_of(c) == "must-links" else [0, 1, 0, 50] for c in run.count
        }
        rows[run.key] = row(1.0, details={"broken": broken})
    (table,) = violation_tables(plan, rows)
    assert [(cell.ours(), cell.theirs()) for cell in list(table.rows[0].values())[1:]] == [
        ("10.0", "16.1"),
        ("2.0", "14.9"),
        ("2.0", "9.7"),
    ]


def test_nothing_is_compared_before_all_methods_have_run() -> None:
    """Half a comparison is no row."""
    plan = paper_plan("synthetic")
    rows = {run.key: row(1.0) for run in plan.runs() if run.method.name == "SG-MDE"}
    assert synthetic_table(plan, rows).rows == ()
    assert comparison_table(plan, rows).rows == ()
    assert len(values_by_instance(plan, rows)["objective"]["SG-MDE"]) == 0


def test_profiles_are_written_as_png_and_svg(tmp_path: Path) -> None:
    """Both files appear, twice the same; with nothing to show there is no file."""
    plan = paper_plan("variants", "small")
    rows = {
        run.key: row(1.0 + 0.1 * (run.method.name == "S-MDE"), seconds=1.0 + run.seed)
        for run in only(plan, "iris")
    }
    values = values_by_run(plan, rows)
    assert len(values["objective"]["SG-MDE"]) == 18 * 2
    first = [path.read_bytes() for path in write_profiles(values, tmp_path / "p")]
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["p.png", "p.svg"]
    again = write_profiles(values, tmp_path / "p")
    assert [path.read_bytes() for path in again] == first
    nothing = values_by_run(plan, {})
    assert write_profiles(nothing, tmp_path / "q") == []


@pytest.mark.parametrize("name", ["iris", "glass", "ECG5000"])
def test_best_known_objectives_cover_the_first_set(name: str) -> None:
    """All thirty configurations have one."""
    assert sum(key.startswith(f"{name}/") for key in best_known()) == 30
