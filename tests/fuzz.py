"""Random instances of every shape: the exact assignment against an independent judge.

Run with ``make fuzz N=100000`` or ``python -m tests.fuzz --kind scales --instances 100000``. The
kinds:

plain
    Points, pairs and centers of every shape. Small ones are judged by enumeration, larger ones by
    the plain MILP.
scales
    Outliers, far blobs, places 1e8 apart, weights from 1e-8 to 1e8: enumeration in extended
    precision.
soft
    Tables of costs with hard and soft pairs of both kinds: enumeration, or one MILP.
dense
    Graphs near the colouring threshold: branch and cut against a depth first search, which looks
    for cheaper labels. It needs a thousandth of the time of the plain MILP.
limits
    The same, larger, with a time limit: labels are feasible, and the limit is kept to a second of
    processor time.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from numba import njit

from smdeclust import SMDEClust
from smdeclust.assignment import Status, assign, exact_assignment, milp_assignment
from smdeclust.assignment.cores import solve_core
from smdeclust.constraints import PairGraph
from smdeclust.exceptions import InfeasibleConstraintsError, NoFeasibleSolutionError
from smdeclust.problem import Problem
from smdeclust.structure.bounds import Bounds
from tests.soft_programme import solve_programme

MOST_ENUMERATED = 20_000
MOST_NODES = 3_000_000


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


@njit(cache=True)
def search_labels(costs: np.ndarray, apart: np.ndarray, most: float, most_nodes: int) -> tuple:
    """The least cost below `most` of labels that keep `apart` (n, n) and leave no cluster empty, by
    depth first search; infinite if there are none. And whether `most_nodes` nodes were enough.

    Next comes a point with the fewest labels left (of these, one with the most unlabelled
    neighbors). What is left costs at least the cheapest labels left.
    """
    n, k = costs.shape
    blocked = np.zeros((n, k), dtype=np.int64)  # by how many labelled neighbors
    labels, order, cursor = np.full(n, -1), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    spent, n_used = np.zeros(n + 1), np.zeros(k, dtype=np.int64)
    ranked = np.empty((n, k), dtype=np.int64)
    for i in range(n):
        ranked[i] = np.argsort(costs[i])
    best, nodes, depth, fresh = most, 0, 0, True
    while depth >= 0:
        if fresh:  # bound, and choose the next point
            nodes += 1
            if nodes > most_nodes:
                return best, False
            bound, chosen, fewest, degree = spent[depth], -1, k + 1, -1
            for i in range(n):
                if labels[i] >= 0:
                    continue
                least, left = np.inf, 0
                for c in range(k):
                    if blocked[i, c] == 0:
                        left += 1
                        least = min(least, costs[i, c])
                bound += least
                open_neighbors = 0
                for j in range(n):
                    open_neighbors += apart[i, j] and labels[j] < 0
                if left < fewest or (left == fewest and open_neighbors > degree):
                    chosen, fewest, degree = i, left, open_neighbors
            empty = 0
            for c in range(k):
                empty += n_used[c] == 0
            if bound >= best or empty > n - depth:
                depth, fresh = depth - 1, False
                continue
            if depth == n:
                best, depth, fresh = bound, depth - 1, False
                continue
            order[depth], cursor[depth] = chosen, 0
        i = order[depth]
        if labels[i] >= 0:  # take the last label back
            for j in range(n):
                blocked[j, labels[i]] -= apart[i, j]
            n_used[labels[i]] -= 1
            labels[i] = -1
        fresh = False
        while cursor[depth] < k and not fresh:
            c = ranked[i, cursor[depth]]
            cursor[depth] += 1
            if blocked[i, c] == 0:
                labels[i], fresh = c, True
                n_used[c] += 1
                for j in range(n):
                    blocked[j, c] += apart[i, j]
                spent[depth + 1] = spent[depth] + costs[i, c]
        depth += 1 if fresh else -1
    return (best if best < most else np.inf), True


def cheaper_than(problem: Problem, centers: np.ndarray, cost: float) -> float:
    """What the cheapest labels cost that are cheaper than `cost`; `cost` if there are none."""
    assert not len(problem.must_link)
    assert problem.sample_weight is None
    costs = ((problem.X[:, None, :] - centers[None]) ** 2).sum(axis=2)
    apart = np.zeros((problem.n_points, problem.n_points), dtype=bool)
    first, second = problem.cannot_link.T
    apart[first, second] = apart[second, first] = True
    best, finished = search_labels(costs, apart, np.nextafter(cost, -np.inf), MOST_NODES)
    if not finished:
        best = milp_assignment(problem, centers).cost
    return min(best, cost)


def disagreement(instance: dict, searched: bool = False) -> str | None:
    """Compare with the judge (with depth first search, if `searched`); what is wrong, or none."""
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
    if searched:
        optimum = cheaper_than(problem, centers, found.cost)
    elif instance["k"] ** problem.n_groups <= MOST_ENUMERATED:
        optimum = enumerate_optimum(problem, centers)
    else:
        optimum = milp_assignment(problem, centers).cost
    if found.status is not Status.OPTIMAL:
        return f"status {found.status}, judge says {optimum}"
    scale = max(abs(optimum), float(problem.weights.sum()) * float(np.ptp(instance["X"])) ** 2)
    if abs(found.cost - optimum) > 1e-9 * max(scale, 1e-300):
        return f"cost {found.cost!r}, judge says {optimum!r}"
    real = float(
        (problem.point_weights * ((problem.X - centers[found.labels]) ** 2).sum(axis=1)).sum()
    )
    if abs(found.cost - real) > 1e-9 * max(scale, 1e-300):
        return f"cost {found.cost!r}, but these labels cost {real!r}"
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


def random_scales(rng: np.random.Generator) -> dict:
    """Few points of very different scales, with weights, centers and maybe pairs."""
    n = int(rng.integers(2, 8))
    k = int(rng.integers(2, n + 1))
    while k**n > MOST_ENUMERATED:
        k -= 1
    d = int(rng.integers(1, 3))
    scale = 10.0 ** rng.integers(0, 9)
    style = rng.choice(["corners", "outlier", "blobs", "mixed"])
    X = rng.integers(0, 6, (n, d)).astype(float)
    if style == "corners":
        X = rng.integers(0, 2, (n, d)) * scale + rng.integers(0, 2, (n, d))
    elif style == "outlier":
        X[-1] = scale
    elif style == "blobs":
        X = X + scale * rng.integers(0, 2, (n, 1))
    else:
        X = X * 10.0 ** rng.integers(-4, 5, (n, 1))
    centers = X[rng.integers(0, n, k)] + rng.choice([0.0, 1.0, 0.3]) * rng.normal(size=(k, d))
    if rng.random() < 0.3:
        far = rng.random(k) < 0.4
        centers[far] += scale * rng.normal(size=(int(far.sum()), d))
    weight = 10.0 ** rng.integers(-8, 9, n) if rng.random() < 0.6 else None
    classes = rng.permutation(np.arange(n) % k)
    cannot = rng.integers(0, n, (int(rng.integers(0, 2 * n)), 2))
    cannot = cannot[classes[cannot[:, 0]] != classes[cannot[:, 1]]]
    must = np.empty((0, 2), dtype=np.int64)
    return {"X": X, "k": k, "must": must, "cannot": cannot, "weight": weight, "centers": centers}


def disagreement_of_scales(instance: dict) -> str | None:
    """Judge labels by what they cost in extended precision; rounding of the data is allowed for.

    Coordinates are taken relative to the mean, so distances carry an error of some 1e-16 of the
    extent of the data, and costs accordingly.
    """
    X, centers, cannot = instance["X"], instance["centers"], instance["cannot"]
    problem = Problem.build(X, instance["k"], None, cannot, instance["weight"])
    found = exact_assignment(problem, centers, max_time=600)
    if found.status is not Status.OPTIMAL:
        return f"status {found.status}"
    weight = np.ones(len(X)) if instance["weight"] is None else instance["weight"]
    gaps = X[:, None, :].astype(np.longdouble) - centers[None]
    squares = (gaps * gaps).sum(axis=2)
    costs = squares * weight[:, None]
    extent = float(max(np.abs(X - X.mean(axis=0)).max(), np.abs(centers - X.mean(axis=0)).max()))
    blur = 2e-15 * extent
    slack = weight[:, None] * blur * (2 * np.sqrt(squares) + blur)
    n, k = len(X), problem.n_clusters
    everything = np.array(list(itertools.product(range(k), repeat=n)))
    ok = np.ones(len(everything), dtype=bool)
    for cluster in range(k):
        ok &= (everything == cluster).any(axis=1)
    for i, j in cannot:
        ok &= everything[:, i] != everything[:, j]
    everything = everything[ok]
    totals = costs[np.arange(n), everything].sum(axis=1)
    best = everything[totals.argmin()]
    rows = np.arange(n)
    allowed = slack[rows, best].sum() + slack[rows, found.labels].sum() + 1e-14 * totals.min()
    if costs[rows, found.labels].sum() > totals.min() + allowed:
        return f"cost {costs[rows, found.labels].sum()!r}, judge says {totals.min()!r}"
    if problem.violations(found.labels) != (0, 0) or len(set(found.labels)) != k:
        return "infeasible"
    return None


def random_soft(rng: np.random.Generator) -> dict:
    """Costs of some nodes, hard and soft pairs between some of them."""
    n = int(rng.integers(2, 8 if rng.random() < 0.8 else 13))
    k = int(rng.integers(1, 6))
    n_linked = int(rng.integers(1, n + 1))
    chance = rng.choice([0.2, 0.5, 0.9])
    edges = [(i, j) for i in range(n_linked) for j in range(i) if rng.random() < chance]
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    m = len(edges)
    price = rng.integers(0, 4, m) * 1.0 if rng.random() < 0.3 else 2.0 * rng.random(m)
    price = np.where(rng.random(m) < rng.choice([0.0, 0.3, 0.7]), np.inf, price)
    together = np.isfinite(price) & (rng.random(m) < rng.choice([0.0, 0.4, 1.0]))
    costs = rng.integers(0, 4, (n, k)) * 1.0 if rng.random() < 0.4 else rng.random((n, k))
    if rng.random() < 0.2 and k**n <= MOST_ENUMERATED:
        costs = costs * 10.0 ** rng.integers(-6, 7, (n, 1))
        price = price * 10.0 ** rng.integers(-6, 7, m)
    filled = rng.integers(0, 2, k) if rng.random() < 0.4 else None
    return {
        "costs": costs, "edges": edges, "price": price, "together": together, "linked": n_linked,
        "filled": filled,
    }  # fmt: skip


def disagreement_of_soft(instance: dict) -> str | None:
    """Compare `assign`, and branch and cut alone, with the judge."""
    costs, edges, linked = instance["costs"], instance["edges"], instance["linked"]
    price, together = instance["price"], instance["together"]
    graph = PairGraph.from_edges(edges, price, together, linked)
    n, k = costs.shape
    filled = instance["filled"] if k**n <= MOST_ENUMERATED else None
    sizes = None if filled is None else Bounds.none_empty(np.ones(n), filled)
    if k**n <= MOST_ENUMERATED:
        every = np.array(list(itertools.product(range(k), repeat=n)))
        totals = costs[np.arange(n), every].sum(axis=1)
        for (i, j), p, same in zip(edges, price, together, strict=True):
            totals[(every[:, i] == every[:, j]) != same] += p
        for cluster in range(k):
            if filled is not None and filled[cluster] == 0:
                totals[~(every == cluster).any(axis=1)] = np.inf
        best = float(totals.min())
    else:
        found = solve_programme(costs, edges, together, price)
        best = np.inf
        if found is not None:
            best = float(costs[np.arange(n), found].sum()) + graph.penalty(found[:linked])
    labels, cost, bound = assign(costs, graph, sizes)
    if cost != bound and not cost == bound == np.inf:
        return f"cost {cost!r} not proven, bound {bound!r}"
    if labels is not None:
        real = float(costs[np.arange(n), labels].sum()) + graph.penalty(labels[:linked])
        if abs(real - cost) > 1e-12 * abs(real):
            return f"labels cost {real!r}, not {cost!r}"
    values = [(cost, "assign")]
    if filled is None:
        values.append((solve_core(costs, graph.with_free(n)).cost, "branch and cut"))
    for value, name in values:
        if value != best and not abs(value - best) <= 1e-11 * abs(best):
            return f"{name} says {value!r}, judge says {best!r}"
    return None


def random_dense(rng: np.random.Generator, largest: int = 40) -> dict:
    """Points whose cannot-links are nearly as many as the number of clusters allows."""
    k = int(rng.integers(3, 6))
    n = int(rng.integers(10, largest))
    degree = {3: 4.7, 4: 8.9, 5: 13.5}[k] * rng.uniform(0.6, 1.1)
    classes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    pairs = rng.integers(0, n, (int(4 * degree * n), 2))
    pairs = pairs[classes[pairs[:, 0]] != classes[pairs[:, 1]]][: int(degree * n / 2)]
    X = rng.normal(size=(n, 2)) if rng.random() < 0.6 else rng.integers(0, 4, (n, 2)) * 1.0
    must = np.empty((0, 2), dtype=np.int64)
    centers = X[rng.choice(n, k, replace=False)] + 0.1 * rng.normal(size=(k, 2))
    return {"X": X, "k": k, "must": must, "cannot": pairs, "weight": None, "centers": centers}


def disagreement_of_limits(instance: dict) -> str | None:
    """A limit of t seconds is kept to t + 1 seconds of processor time; labels are feasible, or the
    answer says that none were found."""
    limit = 0.3
    problem = Problem.build(instance["X"], instance["k"], None, instance["cannot"])
    exact_assignment(problem, instance["centers"], max_time=limit)  # compiles what it meets
    begun = time.process_time()
    found = exact_assignment(problem, instance["centers"], max_time=limit)
    spent = time.process_time() - begun
    if found.labels is not None and problem.violations(found.labels) != (0, 0):
        return "assignment: infeasible"
    if spent > limit + 1:
        return f"assignment: {spent:.1f} s"
    begun = time.process_time()
    model = SMDEClust(instance["k"], max_time=limit, random_state=0)
    try:
        model.fit(instance["X"], cannot_link=instance["cannot"])
    except NoFeasibleSolutionError:
        return None
    finally:
        spent = time.process_time() - begun
    if problem.violations(model.labels_) != (0, 0):
        return "fit: infeasible"
    return f"fit: {spent:.1f} s" if spent > limit + 1 else None


KINDS = {
    "plain": lambda rng: disagreement(random_instance(rng)),
    "scales": lambda rng: disagreement_of_scales(random_scales(rng)),
    "soft": lambda rng: disagreement_of_soft(random_soft(rng)),
    "dense": lambda rng: disagreement(random_dense(rng), searched=True),
    "limits": lambda rng: disagreement_of_limits(random_dense(rng, 300)),
}


def examine(kind: str, seeds: list[tuple[int, int]]) -> list[str]:
    """Judge the instances of these seeds; returns a line for each disagreement."""
    lines = []
    for seed in seeds:
        try:
            wrong = KINDS[kind](np.random.default_rng(seed))
        except Exception as error:  # a crash is a disagreement, too
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            lines.append(f"{kind}, seed {seed}: {wrong}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="plain")
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    kinds = list(KINDS) if arguments.kind == "all" else [arguments.kind]
    return max(_run(kind, arguments) for kind in kinds)


def _run(kind: str, arguments: argparse.Namespace) -> int:
    started = time.perf_counter()
    indices = range(arguments.instances)
    batches = [
        [(arguments.seed, index) for index in indices[first : first + 250]]
        for first in range(0, arguments.instances, 250)
    ]
    done = wrong = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for batch, lines in zip(batches, pool.map(partial(examine, kind), batches), strict=True):
            done += len(batch)
            wrong += len(lines)
            for line in lines:
                print(line, flush=True)
            if done % 5000 == 0:
                print(f"{kind}: {done} instances, {wrong} disagreements", flush=True)
    spent = time.perf_counter() - started
    print(f"{kind}: {arguments.instances} instances in {spent:.0f} s: {wrong} disagreements")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
