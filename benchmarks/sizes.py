"""Cluster sizes: against k-means-constrained, and against our own iterations without bounds.

``python -m benchmarks.sizes`` prints all tables; with a name, one of them: ``iterations``
(one local search each from the same start), ``runs`` (whole default runs in the same time),
``plain`` (a bounded against an unbounded iteration), ``large`` (10^6 points) or ``proven`` (what
`certify` proves of the first set of the paper, in SMDECLUST_DATA). Times are processor seconds of
one thread: other work on the machine does not count. k-means-constrained runs in a
process of its own (its solver and ours cannot share one); ``pip install k-means-constrained``.
Its assignment minimises distances that are not squared, rounded to 1/1000, so both searches end at
different optima; objectives are sums of squares about the means for both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

SHAPES = [(2_000, 10), (2_000, 50), (5_000, 10), (5_000, 50), (20_000, 10), (20_000, 50)]
LARGE_SHAPES = [(100_000, 10), (100_000, 50)]
TIGHT = (0.02, 0.1)
D = 8
# Iterations of k-means-constrained that are worth waiting for, by points times clusters.
PATIENCE = {250_000: 300, 1_000_000: 5, 10_000_000: 2}


def made(n: int, k: int, d: int = D) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clusters of unequal sizes, and random points as starts."""
    rng = np.random.default_rng(n + k)
    share = rng.dirichlet(np.full(k, 2.0))
    classes = rng.choice(k, n, p=share)
    X = (rng.normal(size=(k, d)) * 1.5)[classes] + rng.normal(size=(n, d))
    return X, X[rng.choice(n, k, replace=False)]


def bounds(n: int, k: int, tight: float) -> dict[str, int]:
    """Sizes within this share of n / k."""
    low, high = int(np.floor(n / k * (1 - tight))), int(np.ceil(n / k * (1 + tight)))
    return {"size_min": low, "size_max": high}


def objective(X: np.ndarray, labels: np.ndarray) -> float:
    """The sum of squares about the means of the clusters."""
    return float(
        sum(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum() for j in set(labels))
    )


def theirs(n: int, k: int, tight: float, max_iter: int, n_init: int) -> dict[str, Any]:
    """k-means-constrained, in a process of its own."""
    given = json.dumps([n, k, tight, max_iter, n_init])
    command = [sys.executable, "-m", "benchmarks.sizes", "theirs", given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"k-means-constrained failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run_theirs(n: int, k: int, tight: float, max_iter: int, n_init: int) -> None:
    """What that process does."""
    from k_means_constrained import KMeansConstrained

    X, start = made(n, k)
    setting: dict[str, Any] = {"random_state": 0, **bounds(n, k, tight)}
    if n_init == 1:
        setting |= {"init": start, "n_init": 1, "max_iter": max_iter, "tol": 0.0}
    model = KMeansConstrained(n_clusters=k, **setting)
    wall, started = time.perf_counter(), time.process_time()
    model.fit(X)
    spent, wall = time.process_time() - started, time.perf_counter() - wall
    value = objective(X, np.asarray(model.labels_))
    print(
        json.dumps({"seconds": spent, "wall": wall, "n_iter": int(model.n_iter_), "value": value})
    )


def ours(n: int, k: int, tight: float | None, max_iter: int | None, d: int = D) -> dict[str, Any]:
    """One local search of ours, the fastest of three."""
    from smdeclust.local_search import local_search
    from smdeclust.problem import Problem

    X, start = made(n, k, d)
    sizes = {} if tight is None else bounds(n, k, tight)
    best: dict[str, Any] = {"seconds": np.inf}
    for _ in range(3):
        problem = Problem.build(X, k, **sizes)
        _ = problem.contracted.lanes  # as without bounds, made once for all searches of a run
        started = time.process_time()
        found = local_search(problem, problem.enter(start), max_iter=max_iter)
        spent = time.process_time() - started
        if spent < best["seconds"]:
            best = {"seconds": spent, "n_iter": found.n_iterations, "proven": found.proven}
            best["value"] = objective(X, problem.expand(found.labels))
    return best


def iterations(shapes: list[tuple[int, int]]) -> None:
    """One local search each, same start, same bounds."""
    print("\nOne local search from the same start (processor ms per iteration)")
    print(
        f"{'N':>8}{'K':>4}{'within':>8}{'theirs':>10}{'ours':>9}{'times':>7}  objectives differ by"
    )
    for n, k in shapes:
        for tight in TIGHT:
            most = next(m for size, m in PATIENCE.items() if n * k <= size)
            other = theirs(n, k, tight, most, 1)
            own = ours(n, k, tight, None if most == 300 else other["n_iter"] + 1)
            each = [run["seconds"] / run["n_iter"] * 1e3 for run in (other, own)]
            off = own["value"] / other["value"] - 1
            ended = "both ended" if most == 300 else f"after {other['n_iter']} iterations"
            print(
                f"{n:>8,}{k:>4}{tight:>8.0%}{each[0]:>10.1f}{each[1]:>9.2f}"
                f"{each[0] / each[1]:>7.0f}  {off:+.1e} ({ended})",
                flush=True,
            )


def runs() -> None:
    """Whole default runs in the same wall-clock time."""
    from smdeclust import SMDEClust

    print("\nWhole default runs in the same time (objective, lower is better)")
    print(f"{'N':>8}{'K':>4}{'within':>8}{'seconds':>9}{'theirs':>14}{'ours':>14}  ours is")
    for n, k in ((2_000, 10), (2_000, 50), (5_000, 10)):
        X, _ = made(n, k)
        for tight in TIGHT:
            other = theirs(n, k, tight, 300, 10)
            model = SMDEClust(k, **bounds(n, k, tight), max_time=other["wall"], random_state=0)
            value = float(model.fit(X).inertia_)
            print(
                f"{n:>8,}{k:>4}{tight:>8.0%}{other['wall']:>9.1f}{other['value']:>14.4f}"
                f"{value:>14.4f}  {value / other['value'] - 1:+.2%}",
                flush=True,
            )


def plain() -> None:
    """A bounded against an unbounded iteration of ours, same data and start."""
    print("\nOur own iterations (processor ms per iteration)")
    print(f"{'N':>8}{'K':>4}{'d':>4}{'within':>8}{'bounded':>9}{'free':>8}{'times':>7}  iterations")
    for n, k in ((20_000, 10), (20_000, 50), (100_000, 50)):
        for d in (2, 16):
            free = ours(n, k, None, 50, d)
            for tight in TIGHT:
                own = ours(n, k, tight, 50, d)
                each = [run["seconds"] / run["n_iter"] * 1e3 for run in (own, free)]
                print(
                    f"{n:>8,}{k:>4}{d:>4}{tight:>8.0%}{each[0]:>9.2f}{each[1]:>8.2f}"
                    f"{each[0] / each[1]:>7.1f}  {own['n_iter']} and {free['n_iter']}",
                    flush=True,
                )


def large() -> None:
    """A million points: one local search with and without bounds, time and memory."""
    import resource

    from smdeclust.local_search import local_search
    from smdeclust.problem import Problem

    n, k, d = 1_000_000, 20, 16
    X, start = made(n, k, d)
    print(f"\n{n:,} points, {d} features, K = {k}, 20 iterations (wall-clock seconds)")
    for name, sizes in (("free", {}), ("within 10%", bounds(n, k, 0.1))):
        problem = Problem.build(X, k, **sizes)
        local_search(problem, problem.enter(start), max_iter=1)  # compiles
        started = time.perf_counter()
        found = local_search(problem, problem.enter(start), max_iter=20)
        spent = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{name:>12}: {spent:.0f} s, {found.n_iterations} iterations, peak {peak:.2f} GiB")


def proven(only: str = "", seconds: float = 20.0, total: float = np.inf) -> None:
    """Share of the first set that is proven under sizes, small data first, and how long it takes.

    `only` is the last part of the names of configurations (``"0"``: one of each kind). No proof
    takes more than `seconds`; none begins after `total` seconds.
    """
    from smdeclust import SMDEClust
    from smdeclust.datasets import list_datasets, load_constraints, load_set1
    from smdeclust.exact import certify
    from smdeclust.exceptions import InfeasibleConstraintsError

    print(f"\nFirst set, sizes within 10% of N / K, {seconds:g} s at most (processor seconds)")
    found: list[tuple[bool, float]] = []
    begun, left_out, impossible = time.perf_counter(), 0, 0
    plan = [(info.n_points, info.name, c) for info in list_datasets(1) for c in info.configurations]
    for _, name, configuration in sorted(plan):
        if only and configuration.rsplit("_", 1)[1] != only:
            continue
        if time.perf_counter() - begun > total:
            left_out += 1
            continue
        data, pairs = load_set1(name), load_constraints(name, configuration)
        known = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
        k = data.n_clusters
        sizes = bounds(len(data.X), k, 0.1)
        try:
            model = SMDEClust(k, **sizes, random_state=0, max_time=10).fit(data.X, **known)
        except InfeasibleConstraintsError:
            impossible += 1
            continue
        started = time.process_time()
        proof = certify(data.X, model.labels_, tol=1e-4, max_time=seconds, **sizes, **known)
        spent = time.process_time() - started
        found.append((proof.gap <= 1e-4, spent))
        print(f"{name + '/' + configuration:>32}{proof.gap:>10.1e}{spent:>8.1f} s", flush=True)
    share, times = np.mean([ok for ok, _ in found]), [spent for _, spent in found]
    print(
        f"{len(found)} tried, {share:.0%} proven, median {np.median(times):.1f} s, worst "
        f"{max(times):.1f} s; {impossible} have pairs and sizes that exclude each other, "
        f"{left_out} left out for time"
    )


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    chosen = sys.argv[1] if len(sys.argv) > 1 else "all"
    if chosen == "theirs":
        run_theirs(*json.loads(sys.argv[2]))
        return
    if chosen in ("all", "iterations"):
        ours(2_000, 10, 0.1, 2)  # compiles
        iterations(SHAPES + (LARGE_SHAPES if chosen == "all" or "--large" in sys.argv else []))
    if chosen in ("all", "runs"):
        runs()
    if chosen in ("all", "plain"):
        plain()
    if chosen in ("all", "large"):
        large()
    if chosen in ("all", "proven"):
        proven(*sys.argv[2:3], *map(float, sys.argv[3:]))


if __name__ == "__main__":
    main()
