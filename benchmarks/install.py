"""What a newcomer waits for: install size, import, first fit, later fit, in clean environments.

    python -m benchmarks.install                # this package, with and without compiled kernels,
                                                # and k-means-constrained
    python -m benchmarks.install --keep FOLDER  # keep environments and wheels there, use them again
    python -m benchmarks.install --keep FOLDER --prepare  # only make them

Each package gets an environment of its own, made by venv and pip from what `pip install` takes
today. All cluster iris in three clusters of 45 to 55 points (the second row of ours: under pairs
instead). The first fit is the first of a process with nothing compiled, the later one the second in
the same process. Times are processor seconds: other work on the machine does not count. Needs the
package index, some minutes, and the Python package `wheel`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

ROOT = Path(__file__).resolve().parents[1]
BIN = "Scripts" if os.name == "nt" else "bin"

MEASURE = """
import time
begun = time.process_time()
{importing}
imported = time.process_time() - begun
import numpy as np
X = np.load("iris.npy")
times = []
for _ in range(2):
    begun = time.process_time()
    model = {model}
    times.append(time.process_time() - begun)
print(imported, *times, model.inertia_)
"""
OURS = "from smdeclust import SMDEClust"
PAIRS = "must_link=[(0, 1)], cannot_link=[(0, 60), (60, 120)]"
TASKS = {
    "ours": {
        "sizes": (OURS, "SMDEClust(3, size_min=45, size_max=55, random_state=0).fit(X)"),
        "pairs": (OURS, f"SMDEClust(3, random_state=0).fit(X, {PAIRS})"),
    },
    "theirs": {
        "sizes": (
            "from k_means_constrained import KMeansConstrained",
            "KMeansConstrained(3, size_min=45, size_max=55, random_state=0).fit(X)",
        )
    },
}


def run(*command: object) -> str:
    """Run a command; what it printed, or an error with it."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_environment(folder: Path, *packages: object) -> Path:
    """A new environment with these packages; returns its Python."""
    python = folder / BIN / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", folder)
        run(python, "-m", "pip", "install", "--quiet", *packages)
    return python


def with_kernels(wheel: Path, python: Path, folder: Path) -> Path:
    """The wheel with compiled kernels, built by a Python that has the command line installed."""
    kept = list((folder / "full").glob("*.whl"))
    if kept:
        return kept[0]
    run(python, "-m", "smdeclust.prebuilt", folder / "compiled")
    run(sys.executable, "-m", "wheel", "unpack", wheel, "-d", folder / "unpacked")
    (unpacked,) = (folder / "unpacked").iterdir()
    shutil.copytree(folder / "compiled", unpacked / "smdeclust" / "_compiled")
    (folder / "full").mkdir()
    run(sys.executable, "-m", "wheel", "pack", unpacked, "-d", folder / "full")
    return next((folder / "full").glob("*.whl"))


def measure(name: str, python: Path, tasks: dict[str, tuple[str, str]], folder: Path) -> None:
    """One row for each task: the medians of three processes, each with nothing compiled."""
    site = next(python.parents[1].rglob("site-packages"))
    size = sum(f.stat().st_size for f in site.rglob("*") if f.is_file() and not f.is_symlink())
    for task, (importing, model) in tasks.items():
        rows = []
        for attempt in range(3):
            cold = {"NUMBA_CACHE_DIR": str(folder / f"cold {name} {task} {attempt}")}
            shutil.rmtree(cold["NUMBA_CACHE_DIR"], ignore_errors=True)  # kept by an earlier run
            code = MEASURE.format(importing=importing, model=model)
            done = subprocess.run(
                [python, "-c", code], capture_output=True, text=True, check=True,
                env={**os.environ, **cold}, cwd=folder,
            )  # fmt: skip
            rows.append([float(word) for word in done.stdout.split()])
        imported, first, later, objective = np.median(rows, axis=0)
        print(
            f"{name:30s} {task:6s} {size / 1e6:7.0f} {imported:8.2f} {first:11.2f} {later:11.3f} "
            f"{objective:10.4f}",
            flush=True,
        )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, help="a folder for environments and wheels")
    parser.add_argument("--prepare", action="store_true", help="measure nothing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = (given.keep or Path(passing)).resolve()
        folder.mkdir(exist_ok=True)
        np.save(folder / "iris.npy", load_iris().data)
        if not (folder / "plain").exists():
            run(sys.executable, "-m", "pip", "wheel", "--no-deps", ROOT, "-w", folder / "plain")
        (wheel,) = (folder / "plain").glob("*.whl")
        builder = make_environment(folder / "builder", f"{wheel}[cli]")
        full = with_kernels(wheel, builder, folder)
        theirs = make_environment(folder / "theirs", "k-means-constrained")
        plain = make_environment(folder / "ours", wheel)
        ready = make_environment(folder / "ready", full)
        if given.prepare:
            return
        print(f"wheel {wheel.stat().st_size / 1e6:.1f} MB, with kernels for one system and Python "
              f"{full.stat().st_size / 1e6:.1f} MB")  # fmt: skip
        print(f"{'':30s} {'task':6s} {'MB':>7s} {'import s':>8s} {'first fit s':>11s} "
              f"{'later fit s':>11s} {'objective':>10s}")  # fmt: skip
        measure("k-means-constrained", theirs, TASKS["theirs"], folder)
        measure("smdeclust, kernels compiled", ready, TASKS["ours"], folder)
        measure("smdeclust, nothing compiled", plain, TASKS["ours"], folder)


if __name__ == "__main__":
    main()
