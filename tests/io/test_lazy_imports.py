"""Reading files and naming data sets loads no heavy library."""

from __future__ import annotations

import subprocess
import sys


def test_light_imports() -> None:
    """smdeclust.io and smdeclust.datasets import none of the libraries that few calls need."""
    heavy = ["pandas", "pyarrow", "matplotlib", "PIL", "pooch"]
    code = (
        "import sys, smdeclust.io, smdeclust.datasets;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
