"""The tutorials: every notebook runs, and shows what is stored in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.tutorials import NOTEBOOKS, ROOT, execute


def printed(notebook: Any) -> str:
    """What the cells of a notebook show, as plain text; not what libraries warn of."""
    shown = (out for cell in notebook.cells for out in cell.get("outputs", []))
    return "".join(
        out.get("text") or out.get("data", {}).get("text/plain", "")
        for out in shown
        if out.get("name") != "stderr"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_tutorial_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executed from top to bottom in an empty folder, it prints what is stored in it."""
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", "")  # both put back afterwards
    monkeypatch.setenv("MPLBACKEND", "")
    assert printed(execute(path, tmp_path)) == printed(nbformat.read(path, as_version=4))


def test_tutorials_are_listed() -> None:
    """The page of tutorials names every notebook."""
    page = (ROOT / "docs" / "tutorials" / "index.md").read_text()
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        assert f"({path.name})" in page
