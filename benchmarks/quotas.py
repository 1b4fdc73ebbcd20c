"""Quotas beside sizes: one exact assignment against the plain MILP, and iterations against plain.

    python -m benchmarks.quotas
    python -m benchmarks.quotas --sizes 2000 5000 --clusters 5 --milp-time 60

Sizes within 5% of n / k, and the shares of two categories within 5% of their shares in all points.
Times are CPU seconds of one thread. A MILP that is cut off at its limit counts with the time it
had (`>`). Iterations are those of one local search from random points.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from smdeclust.assignment import Budget, assign
from smdeclust.assignment.linear_prices import NO_PAIRS
from smdeclust.local_search import local_search
from smdeclust.problem import Problem
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.label_program import LabelProgram


def quotas(n: int, k: int, rng: np.random.Generator, slack: float) -> Bounds:
    """Sizes and the shares of two categories, within a slack."""
    rows = [(np.ones(n), np.floor((1 - slack) * n / k), np.ceil((1 + slack) * n / k))]
    for part in (0.4, 0.3):
        inside = (rng.random(n) < part) * 1.0
        share = inside.mean()
        rows.append((inside - (1 - slack) * share, 0.0, np.inf))
        rows.append((inside - (1 + slack) * share, -np.inf, 0.0))
    counts, low, high = zip(*rows, strict=True)
    wide = np.ones((1, k))
    return Bounds.of(
        np.stack(counts), np.array(low)[:, None] * wide, np.array(high)[:, None] * wide
    )


def plain_milp(costs: np.ndarray, bounds: Bounds, limit: float) -> tuple[float, bool]:
    """The same as one integer program: its cost, and whether it ended in time."""
    program = LabelProgram(np.ones(costs.shape, dtype=bool))
    program.add_bounds(bounds)
    regrets = (costs - costs.min(axis=1, keepdims=True)).ravel()
    result = program.solve(regrets, max_time=limit)
    cost = np.inf if result.x is None else float(costs.ravel() @ np.rint(result.x))
    return cost, result.status == 0


def main() -> None:
    """Print one line a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 5000, 20000])
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--slack", type=float, default=0.05)
    parser.add_argument("--milp-time", type=float, default=120.0)
    args = parser.parse_args()
    k = args.clusters
    print("     n    ours    MILP   ratio  equal   iteration  plain   ratio")
    for n in args.sizes:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 10))
        centers, bounds = X[:k], quotas(n, k, rng, args.slack)
        costs = ((X[:, None] - centers) ** 2).sum(axis=2)
        assign(costs[: 4 * k], NO_PAIRS, bounds.of_groups(slice(0, 4 * k)), None, Budget(0.0))
        start = time.process_time()
        _, cost, _ = assign(costs, NO_PAIRS, bounds)
        ours = time.process_time() - start
        start = time.process_time()
        expected, ended = plain_milp(costs, bounds, args.milp_time)
        theirs = time.process_time() - start
        equal = abs(cost - expected) <= 1e-6 * abs(cost) if ended else None
        plain, quota = Problem.build(X, k), Problem.build(X, k, size_min=1)
        vars(quota)["group_bounds"] = bounds  # as a structure with quotas has them
        took = []
        for problem in (quota, plain):
            local_search(problem, problem.enter(centers), max_iter=1)
            start = time.process_time()
            found = local_search(problem, problem.enter(centers), max_iter=20)
            took.append((time.process_time() - start) / found.n_iterations)
        more = "" if ended else ">"
        print(
            f"{n:6d} {ours:7.2f} {more}{theirs:7.2f} {theirs / ours:7.1f}  {equal!s:>5}   "
            f"{1e3 * took[0]:7.1f} ms {1e3 * took[1]:6.2f} ms {took[0] / took[1]:7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
