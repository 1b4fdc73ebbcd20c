"""Imports load no library before it is needed."""

from __future__ import annotations

import subprocess
import sys


def loaded(importing: str, heavy: list[str]) -> str:
    """Which of these libraries a new process has loaded after an import."""
    code = f"import sys\n{importing}\nprint([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_light_imports() -> None:
    """smdeclust.io and smdeclust.datasets import none of the libraries that few calls need."""
    heavy = ["pandas", "pyarrow", "matplotlib", "PIL", "pooch"]
    assert loaded("import smdeclust.io, smdeclust.datasets", heavy) == "[]"


def test_the_estimator_imports_no_compiler() -> None:
    """The main import leaves numba to the first fit, and everything else to what needs it."""
    heavy = ["numba", "llvmlite", "matplotlib", "dask", "torch", "sklearn.cluster",
             "smdeclust.views", "smdeclust.exact", "smdeclust.io", "smdeclust.tables"]  # fmt: skip
    assert loaded("from smdeclust import SMDEClust", heavy) == "[]"
    assert loaded("import smdeclust", ["numpy", "scipy", "sklearn"]) == "[]"
