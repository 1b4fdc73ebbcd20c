"""The notebooks of docs/tutorials: run them, and with ``python -m`` store what they print."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import smdeclust

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def execute(path: Path, folder: Path) -> Any:
    """The notebook, run from top to bottom in a folder."""
    import nbclient
    import nbformat

    source = str(Path(smdeclust.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # pictures in the page
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=300, record_timing=False, resources=where).execute()
    return notebook


if __name__ == "__main__":
    import nbformat

    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(execute(path, Path(folder)), path)
