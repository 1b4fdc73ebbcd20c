"""Random instances of every shape: exact_assignment against an independent judge.

Run with ``make fuzz N=100000`` or ``python -m tests.fuzz --instances 100000``. Small instances are
judged by enumeration, larger ones by the plain MILP.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from smdeclust.assignment import Status, exact_assignment, milp_assignment
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.problem import Problem

MOST_ENUMERATED = 20_000


def random_instance(rng: np.random.Generator) -> dict:
    """Points, pairs, weights and centers of a random shape, feasible or not."""
    n = int(rng.integers(2, 13 if rng.random() < 0.7 else 31))
    d = int(rng.integers(1, 4))
    k = int(rng.integers(1, min(n, 7) + 1))
    style = rng.choice(["normal", "grid", "duplicates", "near-tie", "line"])
    if style == "grid":
        X = rng.integers(0, 3, (n, d)).astype(float)
    elif style == "duplicates":
        X = rng.normal(size=(3, d))[rng.integers(0, 3, n)]
    elif style == "near-tie":
        X = rng.integers(0, 3, (n, d)) + 1e-9 * rng.normal(size=(n, d))
    elif style == "line":
        X = np.arange(n)[:, None] * np.ones((1, d))
    else:
        X = rng.normal(size=(n, d))
    X = X * rng.choice([1.0, 1e-4, 1e4]) + rng.choice([0.0, 0.0, 100.0])
    # Centers: points (maybe twice the same), a far corner (forces empty clusters), or anything.
    centers = X[rng.integers(0, n, k)].astype(float)
    if rng.random() < 0.4:
        far = rng.random(k) < 0.5
        centers[far] = X.mean(axis=0) + (np.ptp(X) + 1.0) * rng.normal(size=(far.sum(), d)) * 3
    if rng.random() < 0.3:
        centers = centers + np.std(X) * rng.normal(size=centers.shape)
    n_ml = int(rng.integers(0, n)) if rng.random() < 0.5 else 0
    density = rng.choice([0.0, 0.5, 1.0, 2.0, 4.0])
    n_cl = int(rng.integers(0, int(density * n) + 1))
    classes = rng.integers(0, k, n)
    must = rng.integers(0, n, (n_ml, 2))
    cannot = rng.integers(0, n, (n_cl, 2))
    if rng.random() < 0.9:  # consistent with hidden classes, so feasible if they fill K groups
        must = must[classes[must[:, 0]] == classes[must[:, 1]]]
        cannot = cannot[classes[cannot[:, 0]] != classes[cannot[:, 1]]]
    weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.2 else None
    return {"X": X, "k": k, "must": must, "cannot": cannot, "weight": weight, "centers": centers}


def enumerate_optimum(problem: Problem, centers: np.ndarray) -> float:
    """The least cost over all labellings of the groups, by trying each."""
    k = problem.n_clusters
    # Point by point, and not from group means: those would round on data far from the origin.
    distances = ((problem.X[:, None, :] - centers[None]) ** 2).sum(axis=2)
    if problem.sample_weight is not None:
        distances = distances * problem.sample_weight[:, None]
    costs = np.zeros((problem.n_groups, k))
    np.add.at(costs, problem.group_of_point, distances)
    all_labels = np.array(list(itertools.product(range(k), repeat=problem.n_groups)))
    totals = costs[np.arange(problem.n_groups), all_labels].sum(axis=1)
    ok = np.ones(len(all_labels), dtype=bool)
    for cluster in range(k):
        ok &= (all_labels == cluster).any(axis=1)
    for v in range(problem.n_linked):
        for u in problem.cl_indices[problem.cl_indptr[v] : problem.cl_indptr[v + 1]]:
            ok &= all_labels[:, v] != all_labels[:, u]
    return float(totals[ok].min(initial=np.inf))


def disagreement(instance: dict) -> str | None:
    """Compare with the judge; return what is wrong, or ``None``."""
    centers = instance["centers"]
    try:
        problem = Problem.build(
            instance["X"], instance["k"], instance["must"], instance["cannot"], instance["weight"]
        )
    except InfeasibleConstraintsError:
        problem = None
    if problem is None:
        return _check_infeasible(instance)
    found = exact_assignment(problem, centers)
    if instance["k"] ** problem.n_groups <= MOST_ENUMERATED:
        optimum = enumerate_optimum(problem, centers)
    else:
        optimum = milp_assignment(problem, centers).cost
    if found.status is not Status.OPTIMAL:
        return f"status {found.status}, judge says {optimum}"
    scale = max(abs(optimum), float(problem.weights.sum()) * float(np.ptp(instance["X"])) ** 2)
    if abs(found.cost - optimum) > 1e-9 * max(scale, 1e-300):
        return f"cost {found.cost!r}, judge says {optimum!r}"
    if problem.violations(found.labels) != (0, 0):
        return f"breaks {problem.violations(found.labels)} pairs"
    if len(np.unique(found.labels)) != problem.n_clusters:
        return "leaves a cluster empty"
    return None


def _check_infeasible(instance: dict) -> str | None:
    """The library says infeasible: does a colouring of the points exist after all?"""
    n, k = len(instance["X"]), instance["k"]
    bare = Problem.build(instance["X"], k)
    as_given = Problem(
        **{**bare.__dict__, "must_link": instance["must"], "cannot_link": instance["cannot"]}
    )
    loops = instance["cannot"][:, 0] == instance["cannot"][:, 1]
    if loops.any():
        return None
    keep = instance["must"][:, 0] != instance["must"][:, 1]
    as_given = Problem(**{**as_given.__dict__, "must_link": instance["must"][keep]})
    judge = milp_assignment(as_given, instance["centers"])
    if judge.status is not Status.INFEASIBLE:
        return f"called infeasible, but the judge found cost {judge.cost} (n={n}, k={k})"
    return None


def examine(seeds: list[tuple[int, int]]) -> list[str]:
    """Judge the instances of these seeds; returns a line for each disagreement."""
    lines = []
    for seed in seeds:
        wrong = disagreement(random_instance(np.random.default_rng(seed)))
        if wrong:
            lines.append(f"seed {seed}: {wrong}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    started = time.perf_counter()
    indices = range(arguments.instances)
    batches = [
        [(arguments.seed, index) for index in indices[first : first + 250]]
        for first in range(0, arguments.instances, 250)
    ]
    done = wrong = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for batch, lines in zip(batches, pool.map(examine, batches), strict=True):
            done += len(batch)
            wrong += len(lines)
            for line in lines:
                print(line, flush=True)
            if done % 5000 == 0:
                print(f"{done} instances, {wrong} disagreements", flush=True)
    spent = time.perf_counter() - started
    print(f"{arguments.instances} instances in {spent:.0f} s: {wrong} disagreements")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
