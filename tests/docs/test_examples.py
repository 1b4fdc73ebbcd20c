"""The gallery: every script runs alone, and every one is shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_example_runs(script: Path, tmp_path: Path) -> None:
    """The script ends well in an empty folder, prints something, and writes what it says."""
    environment = {name: value for name, value in os.environ.items() if name != "SMDECLUST_DATA"}
    result = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
    if "savefig" in script.read_text(encoding="utf-8"):
        picture = tmp_path / f"{script.stem}.png"
        assert picture.stat().st_size > 5000


def test_every_example_is_in_the_gallery() -> None:
    """The gallery page includes every script and its picture."""
    page = (ROOT / "docs" / "gallery" / "index.md").read_text(encoding="utf-8")
    for script in EXAMPLES:
        assert f"examples/{script.name}" in page
        if "savefig" in script.read_text(encoding="utf-8"):
            assert f"({script.stem}.png)" in page
            assert (ROOT / "docs" / "gallery" / f"{script.stem}.png").exists()
