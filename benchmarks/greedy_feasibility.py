"""How often is a greedy assignment feasible? Algorithm 2 against the one with repair.

    python -m benchmarks.greedy_feasibility [--starts 20]

From centers drawn at random among the points: the share of assignments without a broken
cannot-link, the mean cost where both are feasible (relative to Algorithm 2), and the mean time.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from smdeclust import Problem
from smdeclust.assignment import greedy_assignment
from smdeclust.assignment.greedy import greedy_repair_assignment
from smdeclust.datasets import list_datasets, load_constraints, load_set1, load_set3

STEPS = {"Algorithm 2": greedy_assignment, "with repair": greedy_repair_assignment}


def compare(problem: Problem, n_starts: int, seed: int) -> np.ndarray:
    """(n_starts, 2, 3): feasible, cost, seconds of both steps."""
    rng = np.random.default_rng(seed)
    assert problem.contracted is not None  # made on first use: not to be timed
    rows = []
    for _ in range(n_starts):
        chosen = rng.choice(problem.n_points, problem.n_clusters, replace=False)
        centers = np.asarray(problem.X[chosen], dtype=np.float64)
        for step in STEPS.values():
            start = time.perf_counter()
            found = step(problem, centers)
            seconds = time.perf_counter() - start
            rows.append((found.violations == 0, found.cost, seconds))
    return np.array(rows, dtype=np.float64).reshape(n_starts, 2, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--max-points", type=int, default=5000, help="of the third set")
    options = parser.parse_args()
    compare(Problem.build(np.arange(9.0)[:, None], 3, None, [(0, 1), (1, 2)]), 2, 0)  # compile

    print(f"| instances | feasible: {' | '.join(STEPS)} | cost ratio | ms | ms |")
    print("|---|---|---|---|---|---|")
    for info in [*list_datasets(1), *list_datasets(3)]:
        if info.name == "gene" or (info.set == 3 and info.n_points > options.max_points):
            continue
        if info.set == 1:
            data = load_set1(info.name)
        else:
            data = load_set3(info.n_points, info.n_clusters)
        found = []
        for configuration in info.configurations:
            pairs = load_constraints(data, configuration)
            if len(pairs.cannot_link) == 0:
                continue
            problem = Problem.build(data.X, data.n_clusters, pairs.must_link, pairs.cannot_link)
            found.append(compare(problem, options.starts, seed=0))
        table = np.concatenate(found)
        both = table[table[:, :, 0].all(axis=1)]
        ratio = (both[:, 1, 1] / both[:, 0, 1]).mean() if len(both) else np.nan
        feasible, milliseconds = table[:, :, 0].mean(axis=0), 1e3 * table[:, :, 2].mean(axis=0)
        print(
            f"| {info.name} | {feasible[0]:.3f} | {feasible[1]:.3f} | {ratio:.4f} | "
            f"{milliseconds[0]:.2f} | {milliseconds[1]:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
