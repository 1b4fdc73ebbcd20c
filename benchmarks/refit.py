"""One more pair: seconds of a warm fit against a full one, and what changes without need.

    python -m benchmarks.refit [--sizes 500 5000 50000] [--pairs 5] [--set1 [NAME ...]]

For each size, points are a mixture of Gaussians with pairs by their classes. A fit with
`warm_start=True` is followed by refits with one more true pair each: one that the solution keeps
already, and one that it breaks. The full fit has the same pairs. "never worse" compares objectives;
"needless" is the share of labels that the refit changed although the full fit, its numbers matched,
has them as they were before. With `--set1` broken pairs are added on the paper's first set instead.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from smdeclust import Constraints, Problem, SMDEClust
from smdeclust.datasets import list_datasets, load_constraints, load_set1, make_synthetic
from smdeclust.datasets.generate import make_constraints
from smdeclust.estimators.warm import Earlier
from smdeclust.exceptions import InfeasibleConstraintsError

HEAD = "            data    pair   full s   warm s  share   worse  needless"


def main() -> None:
    """Print one line per size and kind of pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 5000, 50_000])
    parser.add_argument("--pairs", type=int, default=5, help="refits of each kind")
    parser.add_argument(
        "--set1", nargs="*", metavar="NAME", help="the paper's first set (or some of it) instead"
    )
    arguments = parser.parse_args()
    SMDEClust(2, random_state=0).fit(np.random.default_rng(0).normal(size=(50, 2)))  # compile
    print(HEAD)
    if arguments.set1 is not None:
        for data in list_datasets(1):
            if arguments.set1 and data.name not in arguments.set1:
                continue
            loaded = load_set1(data.name)
            rows: list[tuple[float, ...]] = []
            for configuration in data.configurations:
                known = load_constraints(data.name, configuration)
                rows += refits(loaded.X, loaded.y, data.n_clusters, known, "broken", 2)
            show(data.name, "broken", rows)
        return
    for n in arguments.sizes:
        made = make_synthetic(n, 10, n_features=4, cluster_std=4.0, random_state=0)
        known = make_constraints(made.y, n // 20, random_state=0)
        for kind in ("kept", "broken"):
            show(f"N={n}", kind, refits(made.X, made.y, 10, known, kind, arguments.pairs))


def refits(
    X: Any, y: Any, k: int, known: Constraints, kind: str, n_pairs: int
) -> list[tuple[float, ...]]:
    """Add single pairs, and return seconds full and warm, excess and needless changes of each."""
    first = SMDEClust(k, warm_start=True, random_state=0).fit(X, constraints=known)
    rows = []
    for seed in range(n_pairs):
        more = add_pair(known, y, first.labels_, kind, seed)
        if more is None:
            continue
        try:
            Problem.build(X, k, more.must_link, more.cannot_link)
        except InfeasibleConstraintsError:
            continue
        start = time.perf_counter()
        full = SMDEClust(k, random_state=seed).fit(X, constraints=more)
        middle = time.perf_counter()
        warm = SMDEClust(k, warm_start=True, random_state=seed)
        state = {name: v for name, v in vars(first).items() if name not in warm.get_params()}
        vars(warm).update(state)
        began = time.perf_counter()
        warm.fit(X, constraints=more)
        end = time.perf_counter()
        number = Earlier(first.cluster_centers_, first.labels_).numbers(
            full.labels_, full.cluster_centers_
        )
        needless = (warm.labels_ != first.labels_) & (number[full.labels_] == first.labels_)
        excess = warm.inertia_ / full.inertia_ - 1
        rows.append((middle - start, end - began, excess, float(needless.mean())))
    return rows


def add_pair(
    known: Constraints, y: np.ndarray | None, labels: np.ndarray, kind: str, seed: int
) -> Constraints | None:
    """One more true pair that the labels keep, or break; any pair where classes are not known."""
    rng = np.random.default_rng(seed)
    for _ in range(10_000):
        i, j = rng.choice(len(labels), 2, replace=False).tolist()
        true = rng.random() < 0.5 if y is None else y[i] == y[j]
        if (true == (labels[i] == labels[j])) == (kind == "kept"):
            name = "must_link" if true else "cannot_link"
            return known.add(**{name: [(i, j)]}, by_row=True)
    return None


def show(data: str, kind: str, rows: list[tuple[float, ...]]) -> None:
    """Print one line."""
    if not rows:
        print(f"{data:>16} {kind:>7}   (no such pair)")
        return
    full, warm, excess, needless = np.array(rows).T
    worse = int((excess > 1e-9).sum())
    print(
        f"{data:>16} {kind:>7} {full.mean():8.3f} {warm.mean():8.3f} "
        f"{warm.sum() / full.sum():6.1%} {worse:>3}/{len(rows):<3} {needless.mean():9.2%}",
        flush=True,
    )


if __name__ == "__main__":
    main()
