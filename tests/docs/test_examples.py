"""The gallery: every script runs alone, and every one is shown."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_example_runs(
    script: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The script ends well in an empty folder, without data, and writes what it says."""
    monkeypatch.delenv("SMDECLUST_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        plt.close("all")
    assert capsys.readouterr().out.strip()
    if "savefig" in script.read_text(encoding="utf-8"):
        picture = tmp_path / f"{script.stem}.png"
        assert picture.stat().st_size > 5000


def test_every_example_is_in_the_gallery() -> None:
    """The gallery page includes every script, what it prints, and its picture."""
    page = (ROOT / "docs" / "gallery" / "index.md").read_text(encoding="utf-8")
    for script in EXAMPLES:
        assert f"<!-- example: {script.stem} -->" in page
        assert (ROOT / "docs" / "gallery" / f"{script.stem}.txt").exists()
        if "savefig" in script.read_text(encoding="utf-8"):
            assert f"({script.stem}.png)" in page
            assert (ROOT / "docs" / "gallery" / f"{script.stem}.png").exists()
