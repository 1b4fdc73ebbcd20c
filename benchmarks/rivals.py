"""The rivals against public implementations, and S-HG-MEANS' feasibility beside the paper's.

    python -m benchmarks.rivals public      # COPKMeans, PCKMeans against PyPI's
    python -m benchmarks.rivals assignment  # BLPKMeans: our assignment step against the plain MILP
    python -m benchmarks.rivals soft        # SoftHGMeans: feasible configurations of 30
    python -m benchmarks.rivals scale       # every rival on 20000 points with 10000 pairs
    python -m benchmarks.rivals field       # every method on ten instances of the first set

`public` needs the package active-semi-supervised-clustering. Both sides of a comparison run in
turn, in one process, on the same data; ours makes three starts for each of theirs. A start of
theirs whose solution breaks a pair of a strict method counts as failed. The paper's data must be in
SMDECLUST_DATA.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from smdeclust import PCCC, BLPKMeans, COPKMeans, NoFeasibleSolutionError, PCKMeans, SoftHGMeans
from smdeclust.datasets import list_datasets, load_constraints, load_set1, load_set3

THEIR_STARTS = 10
OUR_STARTS = 30  # the best of few starts is a matter of luck; the clock counts all of them
SET1 = {
    "iris": ["ml_50_cl_50_1", "ml_0_cl_100_0"],
    "seeds": ["ml_50_cl_50_1", "ml_0_cl_100_0"],
    "glass": ["ml_50_cl_50_1", "ml_0_cl_100_0"],
    "accent": ["ml_75_cl_75_1", "ml_0_cl_150_0"],
    "ecoli": ["ml_75_cl_75_1", "ml_0_cl_150_0"],
}
SET3 = {(500, 20): ["200"], (1000, 20): ["500"]}
# configurations of 30 that the paper found feasible, its table of S-HG-MEANS
PAPER_FEASIBLE = {"iris": 30, "seeds": 30, "glass": 3, "accent": 10, "ecoli": 16}


def instances():
    """(name, X, K, must-links, cannot-links) of every comparison."""
    for name, configurations in SET1.items():
        data = load_set1(name)
        for configuration in configurations:
            pairs = load_constraints(data, configuration)
            label = f"{name} {configuration}"
            yield label, data.X, data.n_clusters, pairs.must_link, pairs.cannot_link
    for (n, k), configurations in SET3.items():
        data = load_set3(n, k)
        for configuration in configurations:
            pairs = load_constraints(data, configuration)
            label = f"n{n}_k{k} {configuration}"
            yield label, data.X, k, pairs.must_link, pairs.cannot_link


def judge(X, labels, must, cannot):
    """f and the number of broken pairs of any labels."""
    f = sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))
    must, cannot = np.reshape(must, (-1, 2)), np.reshape(cannot, (-1, 2))
    broken = np.count_nonzero(labels[must[:, 0]] != labels[must[:, 1]])
    broken += np.count_nonzero(labels[cannot[:, 0]] == labels[cannot[:, 1]])
    return float(f), int(broken)


def timed(function):
    """CPU seconds (both sides run on one thread; others may use the machine), and the result."""
    begun = time.process_time()
    result = function()
    return time.process_time() - begun, result


def public_starts(make, X, must, cannot, objective):
    """Best objective of several starts of a public class, failures and bad solutions counted."""
    ml, cl = [tuple(p) for p in np.asarray(must)], [tuple(p) for p in np.asarray(cannot)]
    best, n_failed = np.inf, 0
    for seed in range(THEIR_STARTS):
        np.random.seed(seed)  # noqa: NPY002 - it draws from the global state
        model = make()
        try:
            model.fit(X, ml=ml, cl=cl)
        except Exception:  # it raises several types of its own
            n_failed += 1
            continue
        value = objective(X, np.asarray(model.labels_), must, cannot)
        n_failed += value == np.inf
        best = min(best, value)
    return best, n_failed


def compare_public() -> None:
    """COPKMeans and PCKMeans against active-semi-supervised-clustering."""
    from active_semi_clustering.semi_supervised import pairwise_constraints as public

    w = 1.0

    def strict(X, labels, must, cannot):
        f, broken = judge(X, labels, must, cannot)
        return f if broken == 0 else np.inf

    def soft(X, labels, must, cannot):
        f, broken = judge(X, labels, must, cannot)
        return f + 2 * w * broken  # theirs halves the distances: its w is twice ours

    head = f"{'':34} {'ours s':>8} {'theirs s':>9} {'ratio':>7} {'ours':>11} {'theirs':>11}"
    print(f"{head}  failed starts: ours (of {OUR_STARTS}), theirs (of {THEIR_STARTS})")
    warm = np.random.default_rng(0).normal(size=(50, 2))
    for model in (COPKMeans(3), PCKMeans(3)):
        model.fit(warm, must_link=[(0, 1)], cannot_link=[(2, 3)])  # compiled before the clock
    ratios: dict[str, list[float]] = {"COP-KM": [], "PCK-Means": []}
    for name, X, k, must, cannot in instances():
        cop = COPKMeans(k, n_init=OUR_STARTS, random_state=0)
        ours_s, ours = timed(lambda: strict_fit(cop, X, must, cannot))  # noqa: B023
        theirs_s, (theirs, bad) = timed(
            lambda: public_starts(lambda: public.COPKMeans(k), X, must, cannot, strict)  # noqa: B023
        )
        ratios["COP-KM"].append(theirs_s / ours_s)
        line("COP-KM    " + name, ours_s, theirs_s, ours, theirs, cop.n_failed_starts_, bad)

        pck = PCKMeans(k, penalty=2 * w, n_init=OUR_STARTS, random_state=0)
        ours_s, _ = timed(lambda: pck.fit(X, must_link=must, cannot_link=cannot))  # noqa: B023
        theirs_s, (theirs, bad) = timed(
            lambda: public_starts(lambda: public.PCKMeans(k, w=w), X, must, cannot, soft)  # noqa: B023
        )
        ratios["PCK-Means"].append(theirs_s / ours_s)
        line("PCK-Means " + name, ours_s, theirs_s, pck.objective_, theirs, 0, bad)
    for method, values in ratios.items():
        print(f"{method}: {min(values):.0f} to {max(values):.0f} times faster")


def strict_fit(model, X, must, cannot) -> float:
    """Inertia, infinite where all starts failed."""
    try:
        return model.fit(X, must_link=must, cannot_link=cannot).inertia_
    except NoFeasibleSolutionError:
        return np.inf


def line(name, ours_s, theirs_s, ours, theirs, failed, bad) -> None:
    """One row of the table."""
    times = f"{ours_s:8.4f} {theirs_s:9.3f} {theirs_s / ours_s:7.0f}"
    print(f"{name:34} {times} {ours:11.5g} {theirs:11.5g}  {failed:3d} {bad:3d}", flush=True)


def compare_assignment() -> None:
    """BLPKMeans with its three assignment steps: same starts, same answer."""
    print(f"{'':28} {'ours s':>8} {'HiGHS s':>9} {'ratio':>7} {'ours':>12} {'HiGHS':>12}")
    for name in ("iris", "seeds", "glass"):
        data = load_set1(name)
        pairs = load_constraints(data, "ml_50_cl_50_1")
        given = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
        models = [
            BLPKMeans(data.n_clusters, n_init=3, random_state=0, solver=how)
            for how in ("structured", "highs")
        ]
        models[0].fit(data.X, **given)
        times = [timed(lambda m=m: m.fit(data.X, **given))[0] for m in models]  # noqa: B023
        print(
            f"{name + ' ml_50_cl_50_1':28} {times[0]:8.4f} {times[1]:9.3f} "
            f"{times[1] / times[0]:7.0f} {models[0].inertia_:12.7g} {models[1].inertia_:12.7g}"
        )


def count_feasible(names: list[str]) -> None:
    """Configurations of 30 in which SoftHGMeans breaks no pair, beside the paper's count."""
    print(f"{'':10} {'feasible':>8} {'paper':>6} {'broken, median':>15} {'s a fit':>8}")
    by_name = {info.name: info for info in list_datasets()}
    for name in names:
        data = load_set1(name)
        broken = []
        begun = time.perf_counter()
        for configuration in by_name[name].configurations:
            pairs = load_constraints(data, configuration)
            model = SoftHGMeans(data.n_clusters, random_state=0)
            model.fit(data.X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
            broken.append(model.n_violations_)
        seconds = (time.perf_counter() - begun) / len(broken)
        print(
            f"{name:10} {broken.count(0):8d} {PAPER_FEASIBLE[name]:6d} {np.median(broken):15.1f} "
            f"{seconds:8.2f}",
            flush=True,
        )


def time_at_scale() -> None:
    """CPU seconds a start on 20000 points in 10 dimensions, K = 10, with 10000 pairs."""
    rng = np.random.default_rng(0)
    n, k, n_pairs = 20_000, 10, 10_000
    y = rng.integers(0, k, n)
    X = 2 * rng.normal(size=(k, 10))[y] + rng.normal(size=(n, 10))
    pairs = rng.integers(0, n, (n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    given = {"must_link": pairs[same], "cannot_link": pairs[~same]}
    models = [
        COPKMeans(k, n_init=5),
        BLPKMeans(k, n_init=5),
        PCKMeans(k, n_init=5, penalty=10.0),
        PCCC(k, n_init=2),
        SoftHGMeans(k, population_size=2, max_generations=0),
    ]
    print(f"{'':12} {'CPU s a start':>13} {'iterations':>10} {'f':>10} {'broken':>6}")
    for model in models:
        model.set_params(random_state=0)
        warm = rng.normal(size=(100, 10)), {"must_link": [(0, 1)], "cannot_link": [(2, 3)]}
        type(model)(3, random_state=0).fit(warm[0], **warm[1])  # compiled before the clock
        seconds, _ = timed(lambda: model.fit(X, **given))  # noqa: B023
        n_starts = model.n_local_searches_
        broken = getattr(model, "n_violations_", 0)
        print(
            f"{type(model).__name__:12} {seconds / n_starts:13.3f} "
            f"{model.n_local_iterations_ / n_starts:10.1f} {model.inertia_:10.1f} {broken:6d}",
            flush=True,
        )


def compare_field() -> None:
    """Every method on the ten instances of the first set: objective, broken pairs, time.

    The objective is the sum of squares over that of the default, a median over the instances that
    have no broken pair and over all. Methods without a limit of their own get ten seconds.
    """
    from smdeclust.cli.methods import METHODS, Setup, make_model

    given = [row for row in instances() if row[0].split()[0] in SET1]
    found: dict[str, list[tuple[float, int, float]]] = {name: [] for name in METHODS}
    for _, X, k, must, cannot in given[:3]:  # compiled before the clock
        for name in found:
            strict_fit(make_model(Setup(name, k, 1, 2.0)), X, must, cannot)
    for _, X, k, must, cannot in given:
        reference = None
        for name, rows in found.items():
            model = make_model(Setup(name, k, 0, 10.0))
            seconds, f = timed(lambda: strict_fit(model, X, must, cannot))  # noqa: B023
            broken = judge(X, model.labels_, must, cannot)[1] if np.isfinite(f) else -1
            reference = f if reference is None else reference
            rows.append((f / reference, broken, seconds))
    print("| method | feasible | f / default, feasible | f / default, all | broken | CPU s |")
    print("|---|---|---|---|---|---|")
    for name, rows in found.items():
        ratio = np.array([row[0] for row in rows])
        broken = np.array([row[1] for row in rows])
        kept = ratio[broken == 0]
        middle = f"{np.median(kept):.4f}" if len(kept) else "-"
        print(
            f"| {METHODS[name].title} | {len(kept)} of {len(rows)} | {middle} | "
            f"{np.median(ratio):.4f} | {broken[broken >= 0].mean():.1f} | "
            f"{np.mean([row[2] for row in rows]):.2f} |",
            flush=True,
        )


def main() -> None:
    """Read the command line and run one part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["public", "assignment", "soft", "scale", "field"])
    parser.add_argument("names", nargs="*", help="data sets, for soft")
    given = parser.parse_args()
    if given.part == "public":
        compare_public()
    elif given.part == "assignment":
        compare_assignment()
    elif given.part == "scale":
        time_at_scale()
    elif given.part == "field":
        compare_field()
    else:
        count_feasible(given.names or list(PAPER_FEASIBLE))


if __name__ == "__main__":
    main()
