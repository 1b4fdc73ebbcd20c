"""The engine's speed, memory and start: each part prints a small table of ratios.

    python -m benchmarks.engine gurobi   # one local-search iteration against the authors' way
    python -m benchmarks.engine whole    # whole runs of SG-MDE against the same with Gurobi
    python -m benchmarks.engine lloyd    # one constrained iteration against scikit-learn's Lloyd
    python -m benchmarks.engine memory   # peak memory of a local search beyond the data
    python -m benchmarks.engine cold     # import, and first fit with nothing compiled (processor s)

All sides of a comparison run in turn, in one process, on the same data, start and threads. Times
against Gurobi are processor seconds: other work on the machine does not count. The paper's data
must be in SMDECLUST_DATA.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from dataclasses import replace

import numpy as np

from smdeclust import SMDEClust
from smdeclust.datasets import load_constraints, load_set1, load_set2, load_set3
from smdeclust.local_search import Limits, Searches, local_search
from smdeclust.problem import Problem, Solution

SMALL = {  # data sets within the size limit of Gurobi's free licence, N K <= 2000
    "iris": ["ml_50_cl_0_0", "ml_25_cl_25_0", "ml_50_cl_50_1", "ml_0_cl_100_0"],
    "wine": ["ml_50_cl_0_0", "ml_25_cl_25_0", "ml_50_cl_50_1", "ml_0_cl_100_0"],
    "connectionist": ["ml_50_cl_0_0", "ml_25_cl_25_0", "ml_50_cl_50_1", "ml_0_cl_100_0"],
    "seeds": ["ml_50_cl_0_0", "ml_25_cl_25_0", "ml_50_cl_50_1", "ml_0_cl_100_0"],
    "glass": ["ml_50_cl_0_0", "ml_25_cl_25_0", "ml_50_cl_50_1", "ml_0_cl_100_0"],
    "accent": ["ml_100_cl_0_0", "ml_50_cl_50_0", "ml_75_cl_75_1", "ml_0_cl_150_0"],
}


def gurobi_assign(X, centers, must, cannot, env):
    """The assignment step as a model over points and clusters, built again at every call."""
    import gurobipy as gp

    n, k = len(X), len(centers)
    squared = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    cost = {(i, c): float(squared[i, c]) for i in range(n) for c in range(k)}
    with gp.Model(env=env) as model:
        x = model.addVars(cost.keys(), obj=cost, vtype=gp.GRB.BINARY)
        model.addConstrs(x.sum(i, "*") == 1 for i in range(n))
        model.addConstrs(x.sum("*", c) >= 1 for c in range(k))
        model.addConstrs(x[i, c] == x[j, c] for i, j in must for c in range(k))
        model.addConstrs(x[i, c] + x[j, c] <= 1 for i, j in cannot for c in range(k))
        model.optimize()
        values = model.getAttr("X", x)
    return np.array([max(range(k), key=lambda c, i=i: values[i, c]) for i in range(n)])


def gurobi_local_search(X, start, must, cannot, env):
    """Assign by Gurobi, move centers, until the objective does not fall.

    Returns the objective, how many iterations it took, and the labels.
    """
    centers, best, n_iterations = start.copy(), np.inf, 0
    while True:
        labels = gurobi_assign(X, centers, must, cannot, env)
        centers = np.array([X[labels == c].mean(axis=0) for c in range(len(centers))])
        f = float(((X - centers[labels]) ** 2).sum())
        n_iterations += 1
        if f >= best * (1 - 1e-12):
            return best, n_iterations, labels
        best = f


def best_of(function, repeats):
    """Least processor time of several calls, and the last result."""
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        result = function()
        times.append(time.process_time() - begun)
    return min(times), result


def compare_gurobi() -> None:
    import gurobipy as gp

    env = gp.Env(params={"OutputFlag": 0})
    print(f"{'instance':28s} {'Gurobi ms/it':>12s} {'ours us/it':>10s} {'ratio':>7s}  objective")
    ratios = []
    for name, configurations in SMALL.items():
        data = load_set1(name)
        for configuration in configurations:
            pairs = load_constraints(name, configuration)
            problem = Problem.build(data.X, data.n_clusters, pairs.must_link, pairs.cannot_link)
            rng = np.random.default_rng(0)
            start = data.X[rng.choice(len(data.X), data.n_clusters, replace=False)]
            inside = problem.enter(start)
            search = Searches(problem, deep=False, limits=Limits())  # once, as a run does
            search(inside)
            ours_time, ours = best_of(lambda f=search, s=inside: f(s), 50)
            must, cannot = pairs.must_link.tolist(), pairs.cannot_link.tolist()
            theirs_time, (objective, n_iterations, _) = best_of(
                lambda d=data, s=start, m=must, c=cannot: gurobi_local_search(d.X, s, m, c, env), 3
            )
            per_theirs, per_ours = theirs_time / n_iterations, ours_time / ours.n_iterations
            ratios.append(per_theirs / per_ours)
            same = "same" if abs(objective - ours.objective) <= 1e-9 * objective else "DIFFERENT"
            print(
                f"{name + '/' + configuration:28s} {1e3 * per_theirs:12.2f} "
                f"{1e6 * per_ours:10.2f} {ratios[-1]:7.0f}  {same}",
                flush=True,
            )
    print(f"median {statistics.median(ratios):.0f}, least {min(ratios):.0f}")


class WithGurobi(SMDEClust):
    """S-MDEClust whose local search asks Gurobi for its labels, as the authors' code does."""

    def _operators(self, problem, deadline):
        import gurobipy as gp

        X, env = np.asarray(problem.X), gp.Env(params={"OutputFlag": 0})
        must, cannot = np.asarray(problem.must_link), np.asarray(problem.cannot_link)

        def search(inside):
            start = problem.points.leave(inside)
            f, n, labels = gurobi_local_search(X, start, must.tolist(), cannot.tolist(), env)
            centers = np.array([X[labels == c].mean(axis=0) for c in range(len(start))])
            groups = problem.group_labels(labels)
            return Solution(groups, problem.enter(centers), f, n, proven=True)

        return replace(super()._operators(problem, deadline), local_search=search)


def compare_whole() -> None:
    print(
        f"{'instance':28s} {'Gurobi s':>9s} {'iterations':>10s} {'ours ms':>8s} "
        f"{'iterations':>10s} {'ratio':>7s}  objectives"
    )
    ratios = []
    for name, configurations in SMALL.items():
        data = load_set1(name)
        for configuration in configurations[::2]:
            pairs = load_constraints(name, configuration)
            links = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
            setting = {"n_clusters": data.n_clusters, "random_state": 0}
            mine = SMDEClust.from_paper("SG-MDE", **setting)
            mine.fit(data.X, **links)
            ours_time, ours = best_of(lambda m=mine, x=data.X, p=links: m.fit(x, **p), 5)
            other = WithGurobi.from_paper("SG-MDE", **setting)
            theirs_time, theirs = best_of(lambda m=other, x=data.X, p=links: m.fit(x, **p), 1)
            ratios.append(theirs_time / ours_time)
            print(
                f"{name + '/' + configuration:28s} {theirs_time:9.2f} "
                f"{theirs.n_local_iterations_:10d} {1e3 * ours_time:8.2f} "
                f"{ours.n_local_iterations_:10d} {ratios[-1]:7.0f}  "
                f"{theirs.inertia_:.8g} {ours.inertia_:.8g}",
                flush=True,
            )
    print(f"median {statistics.median(ratios):.0f}, least {min(ratios):.0f}")


def compare_lloyd() -> None:
    from sklearn.cluster import KMeans

    print(
        f"{'data':14s} {'N':>6s} {'d':>4s} {'K':>4s} {'sklearn ms/it':>13s} "
        f"{'ours ms/it':>10s} ratio"
    )
    cases = [("set3", (20000, k)) for k in (2, 20, 100)]
    cases += [("set2", name) for name in ("banana", "letter", "shuttle", "mnist")]
    for kind, key in cases:
        data = load_set3(*key) if kind == "set3" else load_set2(key)
        pairs = load_constraints(data.name, 1000)
        k = data.n_clusters
        problem = Problem.build(data.X, k, pairs.must_link, pairs.cannot_link)
        rng = np.random.default_rng(0)
        n_starts = 3 if data.X.size > 1e7 else 10
        starts = [data.X[rng.choice(len(data.X), k, replace=False)] for _ in range(n_starts)]
        local_search(problem, problem.enter(starts[0]), max_iter=2)
        spent, done = {"ours": 0.0, "theirs": 0.0}, {"ours": 0, "theirs": 0}
        for start in starts:  # in turn, so that a noisy moment meets both
            begun = time.perf_counter()
            found = local_search(problem, problem.enter(start), max_iter=25)
            done["ours"] += found.n_iterations
            spent["ours"] += time.perf_counter() - begun
            begun = time.perf_counter()
            model = KMeans(k, init=start, n_init=1, max_iter=25, tol=0, algorithm="lloyd")
            done["theirs"] += model.fit(data.X).n_iter_
            spent["theirs"] += time.perf_counter() - begun
        theirs, ours = (1e3 * spent[s] / done[s] for s in ("theirs", "ours"))
        n, d = data.X.shape
        print(
            f"{data.name:14s} {n:6d} {d:4d} {k:4d} {theirs:13.3f} {ours:10.3f} "
            f"{ours / theirs:5.2f}",
            flush=True,
        )


def measure_memory() -> None:
    print(
        f"{'N':>8s} {'d':>4s} {'K':>4s} {'data MB':>8s} {'peak beyond MB':>14s} "
        f"{'N x K MB':>9s} share of data"
    )
    for n, d, k in ((200_000, 50, 50), (1_000_000, 16, 26)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        classes = rng.integers(0, k, n)
        pairs = rng.integers(0, n, (2000, 2))
        same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
        for _ in range(2):  # the first run loads the compiler, which grows with nothing
            tracemalloc.start()
            problem = Problem.build(X, k, pairs[same], pairs[~same])
            local_search(problem, problem.enter(X[:k]), max_iter=10)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        print(
            f"{n:8d} {d:4d} {k:4d} {X.nbytes / 1e6:8.0f} {peak / 1e6:14.0f} "
            f"{8 * n * k / 1e6:9.0f} {peak / X.nbytes:.2f}",
            flush=True,
        )


FIRST_FIT = """
import time; begun = time.process_time()
from smdeclust import SMDEClust; imported = time.process_time() - begun
from sklearn.datasets import load_iris
X = load_iris().data; begun = time.process_time()
SMDEClust(3, random_state=0).fit(X, must_link=[(0, 1)], cannot_link=[(0, 60), (60, 120)])
print(f"{imported:.3f} {time.process_time() - begun:.2f}")
"""


def measure_cold_start() -> None:
    print(f"{'':28s} {'import s':>8s} {'first fit s':>11s}")
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        for name in ("nothing compiled", "compiled before"):
            command = [sys.executable, "-c", FIRST_FIT]
            result = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            imported, fitted = result.stdout.split()
            print(f"{name:28s} {imported:>8s} {fitted:>11s}", flush=True)


PARTS = {
    "gurobi": compare_gurobi,
    "whole": compare_whole,
    "lloyd": compare_lloyd,
    "memory": measure_memory,
    "cold": measure_cold_start,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS, nargs="+")
    for part in parser.parse_args().part:
        PARTS[part]()
