"""Without pairs: the default against HG-means at equal processor time.

    python -m benchmarks.mssc                        # all data sets in SMDECLUST_DATA/mssc
    python -m benchmarks.mssc liver/10 pima --seeds 5
    python -m benchmarks.mssc --set3                 # the third set with pairs: the default alone
    python -m benchmarks.mssc --large                # large K and N: time against N K d
    python -m benchmarks.mssc --large 100000 500 10 0    # one of them: N, K, d, cannot-links

A gap is what an objective is above the lowest known: that of ``best_known.json`` beside the data,
or of this run where it finds a lower one (said in a line of its own). A run is at the best known
within a relative 1e-8. HG-means is ours (`HGMeans`); it gets the processor time that the default
took on the same cell and seed, starting over with another seed where it ends earlier.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from smdeclust import HGMeans, SMDEClust
from smdeclust.datasets import load_constraints, load_set3

AT_BEST = 1e-8
SIZES = (2, 5, 10, 20, 50, 100)
SET3 = (("n500_k20", "100"), ("n500_k20", "500"), ("n1000_k20", "100"), ("n1000_k100", "200"))


LARGE = (
    (10_000, 50, 5, 0),
    (10_000, 100, 5, 1000),
    (10_000, 500, 10, 0),
    (20_000, 100, 10, 0),
    (100_000, 50, 10, 0),
    (100_000, 50, 10, 10_000),
    (100_000, 50, 50, 0),
    (100_000, 500, 10, 0),
)


class TimeIsUp(Exception):
    """Raised by a callback: the processor time is spent."""


@dataclass(frozen=True)
class Cell:
    """One problem."""

    name: str
    X: np.ndarray
    n_clusters: int
    pairs: dict[str, np.ndarray]


def mssc_cells(wanted: list[str]) -> Iterator[Cell]:
    """The data sets of the literature, for every K that has a known value."""
    folder = Path(os.environ["SMDECLUST_DATA"]) / "mssc"
    known = json.loads((folder / "best_known.json").read_text())
    for file in sorted(folder.glob("*.txt")):
        X = np.loadtxt(file, skiprows=1)
        for k in SIZES:
            name = f"{file.stem}/{k}"
            if name in known and (not wanted or file.stem in wanted or name in wanted):
                yield Cell(name, X, k, {})


def set3_cells(wanted: list[str]) -> Iterator[Cell]:
    """Some of the third set, with pairs."""
    for dataset, configuration in SET3:
        n, k = (int(part[1:]) for part in dataset.split("_"))
        data = load_set3(n, k)
        pairs = load_constraints(data, configuration)
        given = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
        name = f"{dataset}/{configuration}"
        if not wanted or name in wanted:
            yield Cell(name, data.X, k, given)


def run_default(cell: Cell, seed: int) -> tuple[float, float, str]:
    """Objective, processor seconds and why it stopped."""
    begun = time.process_time()
    model = SMDEClust(cell.n_clusters, random_state=seed).fit(cell.X, **cell.pairs)
    return model.inertia_, time.process_time() - begun, str(model.stop_reason_)


def run_hg_means(cell: Cell, seed: int, seconds: float) -> float:
    """The best objective that HG-means finds in so many processor seconds, in several runs."""
    begun, best = time.process_time(), np.inf

    def look(state):
        nonlocal best
        best = min(best, state.best.objective)
        if time.process_time() - begun >= seconds:
            raise TimeIsUp

    try:
        while True:
            HGMeans(cell.n_clusters, random_state=seed, callback=look).fit(cell.X)
            seed += 1000
    except TimeIsUp:
        return best


def measure(cells: Iterator[Cell], seeds: int, known: dict[str, float], rival: bool) -> None:
    """Print a line a cell."""
    print(
        "| cell | CPU s | default: at best | mean gap % | worst % | agreed, not at best |", end=""
    )
    print(" HG-means: at best | mean gap % | worst % |" if rival else "")
    print("|---|---|---|---|---|---|" + ("---|---|---|" if rival else ""))
    for cell in cells:
        ours = [run_default(cell, seed) for seed in range(seeds)]
        theirs = [run_hg_means(cell, s, run[1]) for s, run in enumerate(ours)] if rival else []
        values = np.array([run[0] for run in ours])
        least = min([known.get(cell.name, np.inf), *values, *theirs])
        agreed = sum(reason == "agreement" and f > least * (1 + AT_BEST) for f, _, reason in ours)
        line = f"| {cell.name} | {np.mean([run[1] for run in ours]):.2f} | {gaps(values, least)} |"
        line += f" {agreed} |" + (f" {gaps(np.array(theirs), least)} |" if rival else "")
        print(line, flush=True)
        if least < known.get(cell.name, least) * (1 - 1e-9):
            print(f"{cell.name}: {least:.12g} is better than {known[cell.name]:.12g}")


def gaps(values: np.ndarray, least: float) -> str:
    """Share at the best, mean and worst gap in percent."""
    gap = 100 * (values / least - 1)
    return f"{np.mean(gap <= 100 * AT_BEST):.2f} | {gap.mean():.4f} | {gap.max():.4f}"


def measure_large(wanted: list[str]) -> None:
    """One run a size, made blobs that overlap: processor time over N K d; KMeans beside it."""
    sizes = [tuple(map(int, wanted))] if wanted else LARGE
    print("| N | K | d | pairs | CPU s | ns / (N K d) | searches | stopped by | KMeans above, % |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n, k, d, m in sizes:
        rng = np.random.default_rng(0)
        y = rng.integers(0, k, n)
        X = 2 * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d))
        ends = rng.integers(0, n, (m, 2))
        cannot = ends[y[ends[:, 0]] != y[ends[:, 1]]]
        begun = time.process_time()
        model = SMDEClust(k, random_state=0).fit(X, cannot_link=cannot)
        spent = time.process_time() - begun
        rival = "-" if m else f"{100 * (k_means(X, k, spent) / model.inertia_ - 1):.2f}"
        print(
            f"| {n} | {k} | {d} | {len(cannot)} | {spent:.1f} | {1e9 * spent / (n * k * d):.0f} |"
            f" {model.n_local_searches_} | {model.stop_reason_} | {rival} |",
            flush=True,
        )


def k_means(X: np.ndarray, n_clusters: int, seconds: float) -> float:
    """The best objective of scikit-learn's KMeans in so many processor seconds."""
    begun, best, seed = time.process_time(), np.inf, 0
    while time.process_time() - begun < seconds:
        best = min(best, KMeans(n_clusters, n_init=1, random_state=seed).fit(X).inertia_)
        seed += 1
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="*", help="data sets, data set/K; --large: N K d pairs")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--set3", action="store_true", help="the third set, with pairs")
    parser.add_argument("--large", action="store_true", help="large K and N")
    given = parser.parse_args()
    warm = np.random.default_rng(0).normal(size=(60, 2))
    SMDEClust(4, random_state=0).fit(warm)  # compiled before the clock
    SMDEClust(10, random_state=0).fit(warm, cannot_link=[(0, 1)])
    HGMeans(4, max_no_improvement=5, random_state=0).fit(warm)
    if given.large:
        measure_large(given.cells)
    elif given.set3:
        measure(set3_cells(given.cells), given.seeds, {}, rival=False)
    else:
        folder = Path(os.environ["SMDECLUST_DATA"]) / "mssc"
        known = json.loads((folder / "best_known.json").read_text())
        measure(mssc_cells(given.cells), given.seeds, known, rival=True)


if __name__ == "__main__":
    main()
