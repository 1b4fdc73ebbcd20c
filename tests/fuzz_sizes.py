"""Random instances under cluster sizes: the exact assignment against an independent judge.

Run with ``python -m tests.fuzz_sizes --instances 20000``. Sizes x pairs x groups x weights x ties x
infeasible ones; small instances are judged by enumeration, larger ones by the plain MILP. Each is
followed by one of costs alone, with pairs that may be broken at a price.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from smdeclust.assignment import Status, assign, exact_assignment, milp_assignment
from smdeclust.constraints import PairGraph
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.problem import Problem
from smdeclust.structure.bounds import Bounds
from tests.fuzz import random_instance

MOST_ENUMERATED = 20_000


def random_sizes(rng: np.random.Generator, instance: dict) -> dict:
    """Bounds of a random shape around equal sizes, feasible or not."""
    n, k, weight = len(instance["X"]), instance["k"], instance["weight"]
    by_weight = weight is not None and bool(rng.random() < 0.5)
    mean = float(weight.sum() if by_weight else n) / k
    low = np.floor(np.maximum(0, mean - rng.integers(0, 3, k)))
    high = np.ceil(low + rng.integers(0, 4, k))
    if rng.random() < 0.7:
        low, high = (
            np.full(k, low[0]),
            np.full(k, max(high[0], np.ceil(mean) - (rng.random() < 0.1))),
        )
    sizes: dict = {"size_by": "weight" if by_weight else "points"}
    if rng.random() < 0.8:
        sizes["size_min"] = low if rng.random() < 0.5 else float(low.min())
    if rng.random() < 0.8 or "size_min" not in sizes:
        largest = float(max(high.max(), np.max(sizes.get("size_min", 0))))
        sizes["size_max"] = np.maximum(high, sizes.get("size_min", 0))
        if rng.random() < 0.5:
            sizes["size_max"] = largest
    return sizes


def enumerate_optimum(instance: dict, sizes: dict) -> float:
    """The least cost over all labels of the points, by trying each; infinite if there are none."""
    X, k, centers, weight = (instance[name] for name in ("X", "k", "centers", "weight"))
    n = len(X)
    labels = np.array(list(itertools.product(range(k), repeat=n)))
    costs = ((X[:, None, :] - centers[None]) ** 2).sum(axis=2)
    if weight is not None:
        costs = costs * weight[:, None]
    totals = costs[np.arange(n), labels].sum(axis=1)
    ok = np.ones(len(labels), dtype=bool)
    for i, j in instance["must"]:
        ok &= labels[:, i] == labels[:, j]
    for i, j in instance["cannot"]:
        ok &= labels[:, i] != labels[:, j]
    counted = weight if sizes["size_by"] == "weight" else np.ones(n)
    held = np.stack([(labels == j) @ counted for j in range(k)], axis=1)
    filled = np.stack([(labels == j).any(axis=1) for j in range(k)], axis=1).all(axis=1)
    low = np.broadcast_to(sizes.get("size_min", 0.0), k)
    high = np.broadcast_to(sizes.get("size_max", np.inf), k)
    fits = np.zeros(len(labels), dtype=bool)
    for order in set(itertools.permutations(zip(low.tolist(), high.tolist(), strict=True))):
        a, b = np.array(order).T
        fits |= ((held >= a - 1e-9) & (held <= b + 1e-9)).all(axis=1)
    return float(totals[ok & filled & fits].min(initial=np.inf))


def disagreement(rng: np.random.Generator) -> str | None:
    """Compare with the judge; return what is wrong, or ``None``."""
    instance = random_instance(rng)
    sizes = random_sizes(rng, instance)
    small = instance["k"] ** len(instance["X"]) <= MOST_ENUMERATED
    try:
        problem = Problem.build(
            instance["X"], instance["k"], instance["must"], instance["cannot"], instance["weight"],
            **sizes,
        )  # fmt: skip
    except InfeasibleConstraintsError as error:
        if small and np.isfinite(enumerate_optimum(instance, sizes)):
            return f"called infeasible ({error.reason}), but there is a clustering"
        return None
    found = exact_assignment(problem, instance["centers"])
    if small:
        optimum = enumerate_optimum(instance, sizes)
    else:
        optimum = milp_assignment(problem, instance["centers"]).cost
    if optimum == np.inf:
        right = found.status is Status.INFEASIBLE
        return None if right else f"status {found.status}, the judge found no labels"
    if found.status is not Status.OPTIMAL:
        return f"status {found.status}, judge says {optimum}"
    scale = max(abs(optimum), float(problem.weights.sum()) * float(np.ptp(instance["X"])) ** 2)
    own = ((instance["X"] - instance["centers"][found.labels]) ** 2).sum(axis=1)
    own = float(own.sum() if instance["weight"] is None else own @ instance["weight"])
    if abs(found.cost - own) > 1e-9 * max(scale, 1e-300):
        return f"cost {found.cost!r}, but the labels cost {own!r}"
    # The MILP has called labels optimal that these beat; they are feasible, which is checked below.
    beaten = not small and found.cost < optimum
    if not beaten and abs(found.cost - optimum) > 1e-9 * max(scale, 1e-300):
        return f"cost {found.cost!r}, judge says {optimum!r}"
    if problem.violations(found.labels) != (0, 0):
        return f"breaks {problem.violations(found.labels)} pairs"
    held = problem.held(problem.group_labels(found.labels))[0]
    if problem.bounds is None or not problem.bounds.hold(held):
        return f"sizes {held} are outside of {problem.bounds}"
    return None


def soft_disagreement(rng: np.random.Generator) -> str | None:
    """The same of costs alone, where some pairs may be broken at a price, judged by enumeration."""
    n, k = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    grid = rng.random() < 0.3
    costs = rng.integers(0, 3, (n, k)) * 1.0 if grid else rng.random((n, k)) * 3
    n_linked = int(rng.integers(0, n + 1))
    edges = np.array(list(itertools.combinations(range(n_linked), 2)), dtype=int).reshape(-1, 2)
    edges = edges[rng.random(len(edges)) < rng.choice([0.3, 0.6, 1.0])]
    price = rng.integers(1, 4, len(edges)) * 1.0 if grid else rng.random(len(edges)) * 2
    together = rng.random(len(edges)) < 0.4
    hard = ~together & (rng.random(len(edges)) < 0.4)  # hard must-links are contracted
    price[hard] = np.inf
    of_group = rng.integers(1, 4, n) * 1.0 if rng.random() < 0.5 else np.ones(n)
    mean = of_group.sum() / k
    low = np.floor(np.maximum(0, mean - rng.integers(0, 3, k)))
    high = np.maximum(low, np.ceil(mean + rng.integers(0, 3, k)))
    sizes = Bounds.of(of_group, low, high, np.zeros(k))
    graph = PairGraph.from_edges(edges, price, together, n_linked)
    labels, cost, bound = assign(costs, graph, sizes)
    every = np.array(list(itertools.product(range(k), repeat=n)))
    totals = costs[np.arange(n), every].sum(axis=1)
    for (i, j), worth, same in zip(edges, price, together, strict=True):
        broken = (every[:, i] == every[:, j]) != same
        totals[broken] += worth
    held = np.stack([(every == j) @ of_group for j in range(k)], axis=1)
    optimum = totals[((held >= low) & (held <= high)).all(axis=1)].min(initial=np.inf)
    if (labels is None) != np.isinf(optimum):
        return f"soft: labels {labels}, judge says {optimum!r}"
    if labels is None:
        return None
    if abs(cost - optimum) > 1e-9 or abs(bound - cost) > 1e-9:
        return f"soft: cost {cost!r}, bound {bound!r}, judge says {optimum!r}"
    return None if sizes.hold(labels) else f"soft: sizes {sizes.of(labels)}"


def examine(seeds: list[tuple[int, int]]) -> list[str]:
    """Judge the instances of these seeds; returns a line for each disagreement."""
    lines = []
    for seed in seeds:
        for judge in (disagreement, soft_disagreement):
            wrong = judge(np.random.default_rng(seed))
            if wrong:
                lines.append(f"seed {seed}: {wrong}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--max-time", type=float, default=np.inf, help="seconds, then it stops")
    arguments = parser.parse_args()
    started = time.perf_counter()
    indices = range(arguments.instances)
    batches = [
        [(arguments.seed, index) for index in indices[first : first + 50]]
        for first in range(0, arguments.instances, 50)
    ]
    wrong, done = 0, 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for batch, lines in zip(batches, pool.map(examine, batches), strict=True):
            wrong, done = wrong + len(lines), done + len(batch)
            for line in lines:
                print(line, flush=True)
            if time.perf_counter() - started > arguments.max_time:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    spent = time.perf_counter() - started
    print(f"{done} instances in {spent:.0f} s: {wrong} disagreements")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
