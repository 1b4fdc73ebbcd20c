"""From plan to report at the smallest scale, without the paper's data and offline."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from smdeclust.paper import EXPERIMENTS, Store, report, run_paper, run_plans
from tests.paper import toy


def test_smoke_scale_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All experiments run, nothing fails, and the report holds tables, figures and omissions."""
    monkeypatch.delenv("SMDECLUST_DATA", raising=False)
    result = run_paper(scale="smoke", out=tmp_path, jobs=2, progress=False)
    assert result.progress.left == 0
    with Store(result.store) as store:
        rows = store.rows().values()
        assert set(store.plans()) == set(EXPERIMENTS)
    assert {row["status"] for row in rows} <= {"ok", "infeasible"}
    assert {row["method"] for row in rows if row["status"] == "infeasible"} <= {"COP-KM"}
    ours = [row for row in rows if "MDE" in row["method"] and row["configuration"] != "none"]
    assert all(row["broken_must_links"] == row["broken_cannot_links"] == 0 for row in ours)
    text = result.report.read_text(encoding="utf-8")
    for heading in (
        "Summary",
        "What was run",
        "How to read",
        "Table 2",
        "Table 3",
        "Table 4",
        "left out",
    ):
        assert heading in text
    assert "sklearn-iris with generated pairs is used" in text
    assert "banana" in text
    linked = re.findall(r"\]\(([^)]+\.png)\)", text)
    assert linked
    assert all((tmp_path / name).stat().st_size > 0 for name in linked)
    again = run_paper(scale="smoke", out=tmp_path, jobs=2, progress=False)
    assert (again.progress.before, again.progress.now) == (result.progress.now, 0)
    assert again.report.read_text(encoding="utf-8") == text


def test_a_plan_of_ones_own_is_reported(tmp_path: Path) -> None:
    """Methods and data from any module go through the same run, table and figure."""
    own = toy.plan(toy.method("mine"), toy.method("other", behaviour="break"), seeds=2)
    result = run_plans([own], out=tmp_path, jobs=1, progress=False)
    text = result.report.read_text(encoding="utf-8")
    assert "| line | mine | **100.00** |" in text
    assert (tmp_path / "reproduction" / "profile_toys.svg").is_file()
    copy = report(result.store, tmp_path / "elsewhere.md")
    assert "| line | mine |" in copy.read_text(encoding="utf-8")


def test_the_room_loads_no_plotting_and_no_tables() -> None:
    """Importing it leaves matplotlib and pandas alone, so that workers start quickly."""
    code = (
        "import sys, smdeclust.paper; "
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'pandas', 'typer')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
