"""Quotas: what they cost, against the plain MILP, fair clustering and many starts.

``python -m benchmarks.quotas`` prints all tables; with a name, one of them:

- ``iterations``: an iteration of a local search under sizes and two quotas against a plain one;
- ``assignments``: one exact assignment against the plain MILP (HiGHS, gap 0), the same costs;
- ``fair``: objectives at equal bounds against Bera et al. 2019 (`benchmarks/fair_lp.py`), and how
  often each keeps them;
- ``starts``: the default run against the best of 100 local searches whose assignments are made by
  HiGHS, on ten instances.

Sizes are within 5% of n / k, and the shares of two categories within 5% of their shares in all
points. Times are processor seconds of one thread. The MILP is cut off after ``--milp-times`` times
our time, and then counts with that (``>``).
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from benchmarks.fair_lp import fair_kmeans
from smdeclust import Constraints, SMDEClust
from smdeclust.assignment import assign_groups, exact_assignment
from smdeclust.local_search import local_search
from smdeclust.problem import Problem
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.label_program import LabelProgram


def made(n: int, k: int, seed: int, slack: float = 0.05) -> tuple[np.ndarray, dict[str, Any]]:
    """Points, and sizes and the shares of two categories within a slack."""
    rng = np.random.default_rng(seed)
    X, known = rng.normal(size=(n, 10)), Constraints(n_points=n)
    for part in (0.4, 0.3):
        inside = rng.random(n) < part
        share = inside.mean()
        known = known.quota(inside, (1 - slack) * share, (1 + slack) * share)
    low, high = int(np.floor((1 - slack) * n / k)), int(np.ceil((1 + slack) * n / k))
    return X, {"quotas": known.quotas, "size_min": low, "size_max": high}


def took(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and what came out."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def took_at_most(work: Callable[[], Any], seconds: float) -> tuple[float, Any]:
    """The same in a process of its own, which is ended after so many processor seconds."""
    context = get_context("fork")
    end, other_end = context.Pipe(duplex=False)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(np.ceil(seconds)),) * 2)
        other_end.send(took(work))

    process = context.Process(target=limited)
    process.start()
    other_end.close()
    try:
        return end.recv()
    except EOFError:
        return float(np.ceil(seconds)), None
    finally:
        process.join()


def plain_milp(costs: np.ndarray, bounds: Bounds) -> np.ndarray:
    """Labels by one integer program of all of them."""
    program = LabelProgram(np.ones(costs.shape, dtype=bool))
    program.add_bounds(bounds)
    regrets = (costs - costs.min(axis=1, keepdims=True)).ravel()
    return program.labels(program.solve(regrets).x)


def cost_of(costs: np.ndarray, labels: np.ndarray) -> float:
    """What labels cost."""
    return float(costs[np.arange(len(costs)), labels].sum())


def iterations(args: Any) -> None:
    """Best of five, in turn, of 20 iterations from the same start."""
    k = args.clusters
    print("     n   quotas     plain    ratio   (an iteration)")
    for n in args.sizes:
        X, given = made(n, k, 0)
        problems = [Problem.build(X, k, **given), Problem.build(X, k)]
        times: list[list[float]] = [[], []]
        for repeat in range(6):
            for each, problem in zip(times, problems, strict=True):
                start = problem.enter(X[:k])
                seconds, found = took(lambda p=problem, s=start: local_search(p, s, max_iter=20))
                if repeat:
                    each.append(seconds / found.n_iterations)
        bounded, plain = (1e3 * min(each) for each in times)
        print(f"{n:6d} {bounded:6.1f} ms {plain:6.2f} ms {bounded / plain:7.1f}", flush=True)


def assignments(args: Any) -> None:
    """One assignment, several instances of each size."""
    k = args.clusters
    print("     n  seed    ours     MILP    ratio  equal cost")
    warm = made(40 * k, k, 0)
    assign_groups(Problem.build(warm[0], k, **warm[1]), warm[0])
    for n in args.sizes:
        for seed in args.seeds:
            X, given = made(n, k, seed)
            problem = Problem.build(X, k, **given)
            costs = problem.group_costs(((X[:, None] - X[:k]) ** 2).sum(axis=2))
            ours, (_, cost, bound) = took(lambda p=problem, c=costs: assign_groups(p, c.copy()))
            theirs, labels = took_at_most(
                lambda p=problem, c=costs: plain_milp(c, p.group_bounds), args.milp_times * ours
            )
            judged = "cut off"
            if labels is not None:
                judged = str(abs(cost - cost_of(costs, labels)) <= 1e-6 * cost)
            more = " " if labels is not None else ">"
            proven = "" if bound >= cost else "  (not proven)"
            print(
                f"{n:6d} {seed:4d} {ours:7.2f} {more}{theirs:8.2f} {more}{theirs / ours:7.1f}  "
                f"{judged}{proven}",
                flush=True,
            )


def protected(seed: int) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Data sets, and the third of a column that is left out of the features."""
    found = []
    for name, load in (("iris", load_iris), ("wine", load_wine), ("cancer", load_breast_cancer),
                       ("digits", load_digits)):  # fmt: skip
        X = load().data
        if name == "digits":
            X = X[seed::3]
        column = int(np.argmax(X.std(axis=0)))
        values = X[:, column] + 1e-9 * np.arange(len(X))
        kind = np.digitize(values, np.quantile(values, [1 / 3, 2 / 3]))
        rest = np.delete(X, column, axis=1)
        rest = (rest - rest.mean(axis=0)) / np.where(rest.std(axis=0) > 0, rest.std(axis=0), 1.0)
        found.append((name, rest, kind))
    return found


def fair(args: Any) -> None:
    """Shares of three values within a slack of the overall shares, no bounds on sizes.

    Theirs may break the bounds by some points. So they are compared twice: under the bounds as
    given, which ours keep, and under bounds as wide as theirs are. "mended" are their clusters
    where they keep the bounds: the points are assigned to the means once more, exactly.
    """
    print("                 ours / theirs at     ours /   kept:")
    print("set      k slack  given    theirs    mended   ours  theirs  (off, points)")
    for name, X, kind in protected(0):
        for k in args.fair_clusters if name in args.sets else ():
            for slack in args.slacks:
                share = np.bincount(kind) / len(kind)
                ends = [np.minimum(1.0, (1 + sign * slack) * share) for sign in (-1, 1)]
                known = _shares(kind, *ends)
                theirs = fair_kmeans(X, k, known.quotas, 0)
                members = [kind[theirs == c] for c in np.unique(theirs)]
                held = np.array([np.bincount(each, minlength=3) / len(each) for each in members])
                wide = _shares(
                    kind,
                    np.minimum(held.min(axis=0), ends[0]),
                    np.maximum(held.max(axis=0), ends[1]),
                )
                ours, wider = (
                    SMDEClust(k, search=args.search, random_state=0, max_time=args.fit_time)
                    .fit(X, constraints=each)
                    .labels_
                    for each in (known, wide)
                )
                means = np.tile(X.mean(axis=0), (k, 1))  # of clusters that theirs leaves empty
                for c in np.unique(theirs):
                    means[c] = X[theirs == c].mean(axis=0)
                problem = Problem.build(X, k, quotas=known.quotas)
                mended = exact_assignment(problem, means, max_time=args.fit_time).labels
                own, at_theirs, given, again = (
                    _squares(X, labels) for labels in (ours, wider, theirs, mended)
                )
                off = [_off(known.quotas, labels, k) for labels in (ours, theirs)]
                print(
                    f"{name:8s} {k} {slack:5.2f} {own / given:7.4f} {at_theirs / given:8.4f} "
                    f"{own / again:9.4f} {off[0] <= 1e-9!s:>6} {off[1] <= 1e-9!s:>7}  "
                    f"({off[1]:.2f})",
                    flush=True,
                )


def _shares(kind: np.ndarray, low: np.ndarray, high: np.ndarray) -> Constraints:
    """The share of each value in every cluster."""
    known = Constraints(n_points=len(kind))
    return known.quota(kind, dict(enumerate(low)), dict(enumerate(high)), of="share")


def _squares(X: np.ndarray, labels: np.ndarray) -> float:
    return float(sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum()
                     for c in np.unique(labels)))  # fmt: skip


def _off(quotas: tuple[Any, ...], labels: np.ndarray, k: int) -> float:
    """By how many points the worst cluster is outside of a bound."""
    worst = 0.0
    for counts, low, high in (each for quota in quotas for each in quota.sums(k)):
        held = np.bincount(labels, counts, k)
        worst = max(worst, float(np.maximum(low - held, held - high).max()))
    return worst


def starts(args: Any) -> None:
    """Ten instances of at most 300 points: the default run, and the best of 100 starts."""
    print("instance    n  k    ours / best of starts   seconds ours   theirs")
    for seed in args.instances:
        n, k = args.points + 20 * seed, 3 + seed % 2
        X, given = made(n, k, seed, 0.25)
        X = X[:, :2] + 3 * np.random.default_rng(seed).integers(0, k, n)[:, None]
        problem = Problem.build(X, k, **given)
        known = Constraints(n_points=n)._with(quotas=given.pop("quotas"))
        model = SMDEClust(k, random_state=0, **given)
        own, _ = took(lambda m=model, x=X, c=known: m.fit(x, constraints=c))
        seconds, best = took(lambda p=problem, s=seed: best_of(p, args.starts, s))
        print(
            f"{seed:8d} {n:4d} {k:2d} {model.inertia_ / best:24.8f} {own:14.1f} {seconds:8.1f}",
            flush=True,
        )


def best_of(problem: Problem, n_starts: int, seed: int) -> float:
    """The least sum of squares of so many searches: HiGHS assigns, means move."""
    rng, best = np.random.default_rng(seed), np.inf
    X = problem.X
    for _ in range(n_starts):
        centers, value = X[rng.choice(len(X), problem.n_clusters, replace=False)], np.inf
        while True:
            costs = problem.group_costs(((X[:, None] - centers) ** 2).sum(axis=2))
            labels = problem.expand(plain_milp(costs, problem.group_bounds))
            now = _squares(X, labels)
            if now >= value * (1 - 1e-9):
                break
            value = now
            centers = np.stack([X[labels == c].mean(axis=0) for c in range(problem.n_clusters)])
        best = min(best, value)
    return best


TABLES = {each.__name__: each for each in (iterations, assignments, fair, starts)}


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], default=[])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 5000, 20000])
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--milp-times", type=float, default=60.0)
    parser.add_argument("--sets", nargs="+", default=["iris", "wine", "cancer", "digits"])
    parser.add_argument("--fair-clusters", type=int, nargs="+", default=[3, 8])
    parser.add_argument("--slacks", type=float, nargs="+", default=[0.05, 0.2])
    parser.add_argument("--search", default="standard")
    parser.add_argument("--fit-time", type=float, default=100.0)
    parser.add_argument("--points", type=int, default=120)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--instances", type=int, nargs="+", default=list(range(10)))
    args = parser.parse_args()
    for name in args.tables or TABLES:
        TABLES[name](args)
        print()


if __name__ == "__main__":
    main()
