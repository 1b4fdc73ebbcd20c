"""The pictures of docs/recipes: with ``python -m`` every page is run and its picture stored."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.docs.blocks import find_blocks, run_python

ROOT = Path(__file__).resolve().parents[2]
RECIPES = [
    page for page in sorted((ROOT / "docs" / "recipes").glob("*.md")) if page.stem != "index"
]

if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    for page in RECIPES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            names: dict[str, Any] = {"__name__": "__docs__"}
            for block in find_blocks(page.read_text(encoding="utf-8")):
                if block.is_python and block.not_run is None:
                    run_python(block, page, names)
            shutil.copy(f"{page.stem}.png", page.with_suffix(".png"))
            os.chdir(ROOT)
