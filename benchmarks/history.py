"""Benchmarks over time: each run kept as dated JSON with its commit and machine, and a picture.

python -m benchmarks.history record engine cold  # run a benchmark, keep what it printed
python -m benchmarks.history list
python -m benchmarks.history compare 0.2.0 0.3.0 # two releases (or dates), number by number
python -m benchmarks.history plot engine cold    # every number of that benchmark over time
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import smdeclust

FOLDER = Path(__file__).parent / "history"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")


def record(arguments: list[str]) -> Path:
    """Run ``python -m benchmarks.NAME ...`` and keep its table."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{arguments[0]}", *arguments[1:]],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    print(done.stdout, end="")
    moment = datetime.now(UTC)
    entry = {
        "benchmark": ".".join(arguments),
        "date": moment.isoformat(timespec="seconds"),
        "commit": _commit(),
        "version": smdeclust.__version__,
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
        },
        "lines": done.stdout.splitlines(),
    }
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{moment:%Y%m%dT%H%M%S}-{'.'.join(arguments)}.json".replace("/", "_")
    path.write_text(json.dumps(entry, indent=1))
    return path


def entries(benchmark: str | None = None) -> list[dict[str, Any]]:
    """What was kept, oldest first."""
    found = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
    return [entry for entry in found if benchmark in (None, entry["benchmark"])]


def numbers_of(entry: dict[str, Any]) -> dict[str, float]:
    """The numbers of a table by the words of their line and their place in it.

    Lines with the same words, or with none, are told apart by a count.
    """
    out: dict[str, float] = {}
    seen: Counter[str] = Counter()
    for line in entry["lines"]:
        words = " ".join(NUMBER.sub("", line).split()) or "(no words)"
        seen[words] += 1
        if seen[words] > 1:
            words = f"{words[:55]} #{seen[words]}"
        for place, match in enumerate(NUMBER.findall(line)):
            out[f"{words[:60]} [{place}]"] = float(match)
    return out


def compare(first: str, second: str) -> list[tuple[str, str, float, float]]:
    """Benchmark, words, and both numbers of all that two releases (or dates) have in common.

    The last run of each benchmark counts; its time is that of its own machine.
    """
    out = []
    before, after = (_last_of(name) for name in (first, second))
    for benchmark in before:
        old, new = numbers_of(before[benchmark]), numbers_of(after.get(benchmark, {"lines": []}))
        out += [(benchmark, words, old[words], new[words]) for words in old if words in new]
    return out


def _last_of(name: str) -> dict[str, dict[str, Any]]:
    """The last run of each benchmark under a version, or on a day."""
    kept = [e for e in entries() if e.get("version") == name or e["date"].startswith(name)]
    if not kept:
        known = sorted({entry.get("version", entry["date"][:10]) for entry in entries()})
        raise SystemExit(f"No result of {name} is stored. Choose one of {', '.join(known)}.")
    return {entry["benchmark"]: entry for entry in kept}


def plot(benchmark: str, out: Path) -> None:
    """Draw every number of a benchmark over time, each as a share of its first value."""
    from matplotlib import pyplot as plt

    kept = entries(benchmark)
    if not kept:
        raise SystemExit(f"No result of {benchmark} is stored: record it first.")
    series: dict[str, list[tuple[datetime, float]]] = {}
    for entry in kept:
        for name, value in numbers_of(entry).items():
            series.setdefault(name, []).append((datetime.fromisoformat(entry["date"]), value))
    figure, axes = plt.subplots(figsize=(8, 5))
    for name, points in series.items():
        first = points[0][1]
        if first:
            axes.plot([p[0] for p in points], [p[1] / first for p in points], "o-", label=name)
    axes.set_ylabel("share of the first value")
    axes.set_title(benchmark)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=6)
    figure.autofmt_xdate()
    figure.savefig(out, dpi=120)
    print(out)


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["record", "list", "compare", "plot"])
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.action == "record":
        print(record(given.rest))
    elif given.action == "list":
        for entry in entries():
            version = entry.get("version", "")
            print(entry["date"], entry["commit"][:10], version, entry["benchmark"])
    elif given.action == "compare":
        if len(given.rest) != 2:
            parser.error("compare takes two releases, as 0.2.0 0.3.0, or two dates")
        found = compare(*given.rest)
        if not found:
            print(f"No benchmark was recorded for both {' and '.join(given.rest)}.")
        for benchmark, words, old, new in found:
            if old != new:
                ratio = f"{new / old:8.2f}x" if old else ""
                print(f"{benchmark:20} {words:62} {old:12g} {new:12g} {ratio}")
        print(f"Equal numbers: {sum(old == new for *_, old, new in found)}.")
    else:
        name = ".".join(given.rest) or "engine.cold"
        plot(name, Path(f"history-{name}.png"))


if __name__ == "__main__":
    main()
