"""The studio as a person feels it: a change to the new picture, and frames while panning.

    python -m benchmarks.studio change [--sizes 500,20000,200000] [--changes 9]
    python -m benchmarks.studio frames [--sizes 100000,1000000]

Needs Chromium. Without a graphics card the browser draws on the processor: frames are a floor.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
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


def changes(n_points: int, n_changes: int) -> tuple[float, float, float]:
    """Seconds from saying a pair to the new picture: median, worst; and to the first picture."""
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
                seconds = []
                for _ in range(n_changes):
                    i, j = rng.choice(n_points, 2, replace=False).tolist()
                    same = "true" if y[i] == y[j] else "false"
                    drawn = "Number(document.body.dataset.drawn || 0)"
                    action = f"{{do: 'pairs', pairs: [[{i}, {j}]], together: {same}}}"
                    assert page.evaluate(
                        f"(window.before = {drawn}, window.began = performance.now(), "
                        f"window.studio.act({action}))"
                    )
                    page.wait_for_function(f"{drawn} > window.before", timeout=300_000, polling=5)
                    seconds.append(page.evaluate("performance.now() - window.began") / 1000)
                return statistics.median(seconds), max(seconds), first


def frames(n_points: int) -> tuple[float, float]:
    """Frames a second while panning, and seconds to the first picture."""
    with tempfile.TemporaryDirectory() as name:
        path, _ = make_table(Path(name), n_points)
        with studio(path, "-k", "5") as running:
            started = time.perf_counter()
            with browser_page(running.url) as page:
                page.wait_for_function("window.studio.picture.ready", timeout=600_000)
                first = time.perf_counter() - started
                box = page.locator("#picture .nsewdrag").first.bounding_box()
                x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
                page.evaluate(
                    "window.frames_ = 0; (function tick() { window.frames_ += 1; "
                    "requestAnimationFrame(tick); })()"
                )
                page.mouse.move(x, y)
                page.mouse.down()
                begin, count = time.perf_counter(), page.evaluate("window.frames_")
                for step in range(60):
                    page.mouse.move(x + 3 * step, y + step)
                seconds = time.perf_counter() - begin
                drawn = page.evaluate("window.frames_") - count
                page.mouse.up()
                return drawn / seconds, first


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["change", "frames"])
    parser.add_argument("--sizes")
    parser.add_argument("--changes", type=int, default=9)
    given = parser.parse_args()
    if given.what == "change":
        print("   points   change to picture (median)   worst   first picture")
        for n in map(int, (given.sizes or "500,20000,200000").split(",")):
            median, worst, first = changes(n, given.changes)
            print(f"{n:9,} {median:24.2f} s {worst:9.2f} s {first:12.1f} s", flush=True)
    else:
        print("   points   frames a second while panning   first picture")
        for n in map(int, (given.sizes or "100000,1000000").split(",")):
            rate, first = frames(n)
            print(f"{n:9,} {rate:31.1f} {first:13.1f} s", flush=True)


if __name__ == "__main__":
    main()
