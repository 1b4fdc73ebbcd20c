"""The studio as a person feels it: a change to the new picture, and frames while panning.

    python -m benchmarks.studio change [--sizes 500,20000,200000] [--changes 9]
    python -m benchmarks.studio frames [--sizes 100000,1000000]

``change`` says a pair, then sets K to 12 and back to 5, and waits for the first answer; ``memory``
is that of the server and its processes.

Needs Chromium. Without a graphics card the browser draws on the processor: frames are a floor.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs
from tests.studio.live import browser_page, settled, studio


def make_table(folder: Path, n_points: int) -> tuple[Path, np.ndarray]:
    """Overlapping blobs as .npy, and their classes."""
    X, y = make_blobs(n_points, 4, centers=5, cluster_std=3.0, random_state=0)
    path = folder / "points.npy"
    np.save(path, X)
    return path, y


@dataclass
class Felt:
    """Seconds, and megabytes."""

    pairs: list[float]
    n_clusters: list[float]
    first: float
    memory: float


def changes(n_points: int, n_changes: int) -> Felt:
    """Seconds from a change to the new picture, and to the first picture."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        path, y = make_table(Path(name), n_points)
        with studio(path, "-k", "5") as running:
            started = time.perf_counter()
            with browser_page(running.url) as page:
                page.wait_for_function("window.studio.picture.ready", timeout=300_000)
                first = time.perf_counter() - started
                page.wait_for_function("window.studio.state.solution?.final", timeout=600_000)
                settled(page)
                drawn = "Number(document.body.dataset.drawn || 0)"

                def change(action: str) -> float:
                    assert page.evaluate(
                        f"(window.before = {drawn}, window.began = performance.now(), "
                        f"window.studio.act({action}))"
                    )
                    page.wait_for_function(f"{drawn} > window.before", timeout=300_000, polling=5)
                    return float(page.evaluate("performance.now() - window.began")) / 1000

                said = []
                for _ in range(n_changes):
                    i, j = rng.choice(n_points, 2, replace=False).tolist()
                    same = "true" if y[i] == y[j] else "false"
                    said.append(change(f"{{do: 'pairs', pairs: [[{i}, {j}]], together: {same}}}"))
                numbers = [change(f"{{do: 'set', n_clusters: {k}}}") for k in (12, 5)]
                return Felt(said, numbers, first, memory(running.process.pid))


def memory(process: int) -> float:
    """Megabytes of a process and those that it started."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            parents[int(status.parent.name)] = int(fields[1])
    mine = {process}
    while fresh := {child for child, parent in parents.items() if parent in mine} - mine:
        mine |= fresh
    pages = 0
    for one in mine:
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{one}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


PAN = """new Promise((done) => {
  const picture = window.studio.picture, began = performance.now();
  let frames = 0, sum = 0;
  const step = () => {
    const now = performance.now();
    const spent = (now - began) / 1000;
    if (spent > SECONDS) { done([frames / spent, sum / frames]); return; }
    const width = picture.view.x[1] - picture.view.x[0];
    picture.view.x = picture.view.x.map((v) => v + 0.01 * width * (frames % 40 < 20 ? 1 : -1));
    picture.redraw();
    frames += 1; sum += Math.min(picture.n, picture.budget);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def frames(n_points: int, seconds: float = 5.0) -> tuple[float, float, float]:
    """Frames a second while panning, points drawn in a frame, and seconds to the first picture."""
    with tempfile.TemporaryDirectory() as name:
        path, _ = make_table(Path(name), n_points)
        with studio(path, "-k", "5") as running:
            started = time.perf_counter()
            with browser_page(running.url) as page:
                page.wait_for_function("window.studio.picture.ready", timeout=600_000)
                first = time.perf_counter() - started
                page.wait_for_function("window.studio.state.solution?.clusters", timeout=600_000)
                running.call("api/stop", {})
                settled(page)
                rate, drawn = page.evaluate(PAN.replace("SECONDS", str(seconds)))
                return rate, drawn, first


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["change", "frames"])
    parser.add_argument("--sizes")
    parser.add_argument("--changes", type=int, default=9)
    given = parser.parse_args()
    if given.what == "change":
        print("   points   a pair (median, worst)   K 5 to 12, 12 to 5   first picture   memory")
        for n in map(int, (given.sizes or "500,20000,200000").split(",")):
            felt = changes(n, given.changes)
            up, down = felt.n_clusters
            print(
                f"{n:9,} {statistics.median(felt.pairs):10.2f} s {max(felt.pairs):9.2f} s "
                f"{up:10.2f} s {down:6.2f} s {felt.first:12.1f} s {felt.memory:8.0f} MB",
                flush=True,
            )
    else:
        print("   points   frames a second while panning   points in a frame   first picture")
        for n in map(int, (given.sizes or "100000,1000000").split(",")):
            rate, drawn, first = frames(n)
            print(f"{n:9,} {rate:31.1f} {drawn:19,.0f} {first:13.1f} s", flush=True)


if __name__ == "__main__":
    main()
