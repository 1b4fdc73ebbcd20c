"""Kernels that come compiled, and how all kernels are compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smdeclust import prebuilt

MODULE = """
from smdeclust.kernels import kernel

@kernel()
def twice(x):
    return 2 * x

@kernel()
def four_times(x):
    return twice(twice(x))
"""
CALL = """
from some_kernels import four_times, twice
assert four_times(3) == 12
print(len(four_times.stats.cache_hits), len(twice.signatures))
"""


def run(folder: Path, code: str = CALL, **settings: str) -> str:
    """What a new process with nothing compiled prints."""
    (folder / "some_kernels.py").write_text(MODULE)
    paths = [str(folder), str(Path(prebuilt.__file__).parents[1])]
    cold = folder / f"cache {len(list(folder.glob('cache*')))}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NUMBA_CACHE_DIR": str(cold),
             **settings},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_built_kernels_are_taken_and_damaged_ones_compiled(tmp_path: Path) -> None:
    """What a build wrote is loaded by a process without a cache; nothing else changes."""
    processor = prebuilt._processor()
    if processor is None:
        pytest.skip("no kernels are built for this kind of processor")
    folder = tmp_path / "compiled"
    run(tmp_path, SMDECLUST_PREBUILD=str(folder), NUMBA_CPU_NAME=processor[0])
    (built,) = (folder / prebuilt.tag()).iterdir()  # an inner kernel is part of the outer one
    # A hit of the cache, and the inner kernel was never compiled for Python.
    assert run(tmp_path, SMDECLUST_PREBUILT=str(folder)) == "1 0"
    built.write_bytes(b"damaged")
    assert run(tmp_path, SMDECLUST_PREBUILT=str(folder)) == "0 0"


def test_other_machines_compile_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels for processors that can do more than this one are not taken."""
    (tmp_path / prebuilt.tag()).mkdir()
    monkeypatch.setenv("SMDECLUST_PREBUILT", str(tmp_path))
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    needed: set[str] = set()
    monkeypatch.setattr(prebuilt, "_processor", lambda: ("some", needed))
    prebuilt._folder.cache_clear()
    assert prebuilt._folder() == tmp_path / prebuilt.tag()
    needed.add("no machine has this")
    prebuilt._folder.cache_clear()
    assert prebuilt._folder() is None
    prebuilt._folder.cache_clear()


def test_no_folder_to_write_to(tmp_path: Path) -> None:
    """Where numba finds no folder for its cache, kernels are compiled without one."""
    without = """
from numba.core import caching
caching.FunctionCache._impl_class._locator_classes = []
"""
    assert run(tmp_path, without + CALL) == "0 0"
