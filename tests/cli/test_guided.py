"""--method guided: views in the result, on the screen and in the report."""

from __future__ import annotations

import json


def test_fit_guided(cli, flowers):
    """Pairs hold, the views are named, and new rows are not placed by centers."""
    out = flowers.parent / "result"
    pairs = flowers.parent / "pairs.csv"
    result = cli("fit", flowers, "-k", 3, "-c", pairs, "--method", "guided", "--out", out)
    assert result.code == 0, result.err
    assert "views" in result.out
    assert "Shares of held-out pairs" in result.out.replace("\n", " ")
    document = json.loads((out / "result.json").read_text())
    assert document["broken_must_links"] == document["broken_cannot_links"] == 0
    assert set(document["view_weights"]) >= {"given", "graph"}
    report = " ".join((out / "report.html").read_text().split())
    assert "how it was decided" in report
    assert "the shape of its cluster or a constraint keeps the point in its cluster" in report
    assert "only the constraints keep" not in report
    assert "pairs keep the point" not in report
    placed = cli("predict", flowers, "--result", out)
    assert placed.code != 0
    assert "--method guided" in placed.err.replace("\n", " ")
    assert "Name the folder" not in placed.err.replace("\n", " ")
    folder = cli("plot", out, "--picture", "diversity", "--out", flowers.parent / "run.svg")
    assert "this is a folder" in folder.err
    assert "not JSON" not in folder.err
    said = " ".join(cli("certify", flowers, "--result", out, "--max-time", 5).err.split())
    assert "the fit (guided) did not minimize this sum of squares" in said


def test_compare_guided(cli, flowers):
    """compare takes it as a method among others."""
    pairs = flowers.parent / "pairs.csv"
    result = cli("compare", flowers, "-k", 3, "-c", pairs, "-m", "smdeclust", "-m", "guided",
                 "--json")  # fmt: skip
    assert result.code == 0, result.err
    assert "guided" in result.out
