"""Large data: each part prints a small table.

    python -m benchmarks.scale sgmde            # a whole SG-MDE run against unconstrained KMeans
    python -m benchmarks.scale sgmde --data letter,mnist --share 0.1

    python -m benchmarks.scale growth           # time per iteration against N, K, d, pairs
    python -m benchmarks.scale dask --points 1e7   # end to end on two worker processes

`sgmde` runs, in one process and with the same threads, the paper's heuristic setting (population
10, 10 generations, 25 local iterations, 1000 pairs) and scikit-learn's KMeans with 100 random
starts of at most 25 iterations. With ``--share 0.1`` KMeans makes 10 starts and its time is
multiplied by 10. `ratio` is of wall-clock time, `CPU` of processor time.
The paper's data must be in SMDECLUST_DATA.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.gpu import stored
from smdeclust import SMDEClust
from smdeclust.datasets import load_constraints, load_set2
from smdeclust.local_search import local_search
from smdeclust.problem import Problem

N_CLUSTERS = {"letter": 26, "shuttle": 7, "mnist": 10, "cifar10": 10}


def sgmde(names: list[str], share: float, dtype: str, folder: str) -> None:
    """Time a whole SG-MDE run and 100 starts of KMeans on each data set."""
    from sklearn.cluster import KMeans

    warm_up()
    print(
        f"{'data':8s} {'N':>6s} {'d':>5s} {'K':>3s} {'KMeans s':>9s} {'SG-MDE s':>9s} "
        f"{'ratio':>6s} {'CPU':>6s} {'searches':>8s} {'iterations':>10s} "
        f"{'inertia KMeans':>15s} {'SG-MDE':>15s} broken",
        flush=True,
    )
    for name in names:
        if folder:
            points, must, cannot = stored(Path(folder) / f"{name}.npz")
            k = N_CLUSTERS[name]
        else:
            data, pairs = load_set2(name), load_constraints(name, "1000")
            points, k = data.X, data.n_clusters
            must, cannot = pairs.must_link, pairs.cannot_link
        X = np.ascontiguousarray(points, dtype=dtype)
        n_init = max(1, round(100 * share))
        kmeans = KMeans(k, n_init=n_init, max_iter=25, init="random", random_state=0)
        theirs, theirs_cpu = timed(lambda model=kmeans, X=X: model.fit(X))
        theirs, theirs_cpu = theirs * 100 / n_init, theirs_cpu * 100 / n_init
        ours = SMDEClust.from_paper(
            "SG-MDE",
            n_clusters=k,
            population_size=10,
            max_generations=10,
            max_local_iter=25,
            random_state=0,
        )
        links = {"must_link": must, "cannot_link": cannot}
        seconds, cpu = timed(lambda model=ours, X=X, links=links: model.fit(X, **links))
        found = kmeans.labels_
        broken = np.count_nonzero(found[cannot[:, 0]] == found[cannot[:, 1]])
        broken += np.count_nonzero(found[must[:, 0]] != found[must[:, 1]])
        print(
            f"{name:8s} {len(X):6d} {X.shape[1]:5d} {k:3d} {theirs:9.2f} "
            f"{seconds:9.2f} {seconds / theirs:6.2f} {cpu / theirs_cpu:6.2f} "
            f"{ours.n_local_searches_:8d} {ours.n_local_iterations_:10d} "
            f"{kmeans.inertia_:15.8g} {ours.inertia_:15.8g} {broken} / 0",
            flush=True,
        )


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of the processors, that `work` takes."""
    begun, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begun, time.process_time() - cpu


def growth(most: float, picture: str) -> None:
    """Time per iteration of a local search against N, K, d and pairs; fitted exponents."""
    tables = {
        "N (d=16, K=26, 1000 pairs)": [
            (n, time_iteration(n, 16, 26, 1000)) for n in powers(1e4, most)
        ],
        "K (N=100000, d=16)": [
            (k, time_iteration(100_000, 16, k, 1000)) for k in (2, 8, 30, 100, 300, 1000)
        ],
        "d (N=8000, K=10)": [
            (d, time_iteration(8000, d, 10, 1000)) for d in (2, 8, 32, 128, 512, 2048, 8192, 20_000)
        ],
        "pairs (N=2000000, d=4, K=10, chains of three)": [
            (m, time_iteration(2_000_000, 4, 10, m, chains=True)) for m in powers(1e2, 1e6)
        ],
    }
    for name, rows in tables.items():
        print(f"\n{name}: exponent of the upper half {exponent(rows):.2f}")
        for size, seconds in rows:
            print(f"  {size:>9d}  {1e3 * seconds:10.2f} ms", flush=True)
    if picture:
        draw(tables, picture)


def powers(low: float, high: float) -> list[int]:
    """Half powers of ten from `low` to `high`."""
    steps = round(2 * np.log10(high / low))
    return [round(low * 10 ** (i / 2)) for i in range(steps + 1)]


def time_iteration(n: int, d: int, k: int, n_pairs: int, chains: bool = False) -> float:
    """Processor seconds of one iteration, mean over the first 10 of a local search."""
    X, must, cannot = overlapping(n, d, k, n_pairs, chains)
    problem = Problem.build(X, k, must, cannot)
    start = problem.enter(X[np.random.default_rng(1).choice(n, k, replace=False)])
    local_search(problem, start, max_iter=1)
    begun = time.process_time()
    solution = local_search(problem, start, max_iter=10)
    seconds = (time.process_time() - begun) / solution.n_iterations
    print(f"  N={n} d={d} K={k} pairs={n_pairs}: {1e3 * seconds:.2f} ms", flush=True)
    return seconds


def overlapping(
    n: int, d: int, k: int, n_pairs: int, chains: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of overlapping classes in float32, and pairs: by class, or cannot-link chains."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, k, n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += (2 * rng.standard_normal((k, d), dtype=np.float32))[classes]
    if chains:
        first = 3 * np.arange(n_pairs // 2)
        links = np.column_stack([first, first + 1, first + 1, first + 2]).reshape(-1, 2)
        return X, links[:0], rng.permutation(n)[links]
    pairs = rng.integers(0, n, (n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return X, pairs[same], pairs[~same]


def exponent(rows: list[tuple[int, float]]) -> float:
    """Slope of log time against log size over the upper half."""
    sizes, seconds = np.array(rows[len(rows) // 2 :]).T
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def draw(tables: dict[str, list[tuple[int, float]]], picture: str) -> None:
    """One log-log panel a table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(tables), figsize=(14, 3.4), layout="constrained")
    for axis, (name, rows) in zip(axes, tables.items(), strict=True):
        sizes, seconds = np.array(rows).T
        axis.loglog(sizes, 1e3 * seconds, "o-", color="#0072B2")
        axis.set_title(f"exponent {exponent(rows):.2f}", fontsize=10)
        axis.set_xlabel(name, fontsize=8)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("ms per iteration")
    figure.savefig(picture)


def on_dask(n: int) -> None:
    """A run of few searches on N x 16 points and N / 100 pairs on two worker processes."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    d, k, chunk = 16, 26, max(n // 16, 1)
    rng = np.random.default_rng(0)
    middles = 3 * rng.standard_normal((k, d))
    n_pairs = n // 100

    def make(seed: int, rows: int) -> np.ndarray:
        own = np.random.default_rng(seed)
        classes = own.integers(0, k, rows)
        return (middles[classes] + own.standard_normal((rows, d))).astype(np.float32)

    def make_classes(seed: int, rows: int) -> np.ndarray:
        return np.random.default_rng(seed).integers(0, k, rows)

    sizes = [min(chunk, n - start) for start in range(0, n, chunk)]
    X = da.concatenate(
        [
            da.from_delayed(dask.delayed(make)(i, rows), (rows, d), np.float32)
            for i, rows in enumerate(sizes)
        ]
    )
    classes = np.concatenate([make_classes(i, rows) for i, rows in enumerate(sizes)])
    pairs = rng.integers(0, n, (n_pairs, 2))
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    must, cannot = pairs[same], pairs[~same]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        model = SMDEClust.from_paper(
            "SG-MDE",
            n_clusters=k,
            population_size=4,
            max_generations=1,
            max_local_iter=10,
            random_state=0,
        )
        begun = time.perf_counter()
        model.fit(X, must_link=must, cannot_link=cannot)
        seconds = time.perf_counter() - begun
        labels = model.labels_.compute()
        whole = time.perf_counter() - begun
        peaks = [*client.run(peak_gib).values(), peak_gib()]
    broken = np.count_nonzero(labels[must[:, 0]] != labels[must[:, 1]]) + np.count_nonzero(
        labels[cannot[:, 0]] == labels[cannot[:, 1]]
    )
    print(
        f"{n} x {d}, {n_pairs} pairs: fit {seconds:.0f} s, with labels {whole:.0f} s, "
        f"{model.n_local_searches_} searches, {model.n_local_iterations_} iterations, "
        f"{seconds / model.n_local_iterations_:.2f} s an iteration; network "
        f"{model.network_bytes_ / model.n_local_iterations_ / 1e3:.0f} kB an iteration; peak "
        f"memory of workers and driver {', '.join(f'{p:.2f}' for p in peaks)} GiB; data "
        f"{n * d * 4 / 2**30:.2f} GiB; pairs broken: {broken}"
    )


def peak_gib() -> float:
    """Peak memory of this process."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def warm_up() -> None:
    """Compile everything, for data small and large, so that no table shows it."""
    rng = np.random.default_rng(0)
    for n, dtype in ((200, "float64"), (70_000, "float64"), (70_000, "float32")):
        X = rng.normal(size=(n, 61)).astype(dtype)
        SMDEClust.from_paper(
            "SG-MDE",
            n_clusters=3,
            population_size=4,
            max_generations=1,
            max_local_iter=2,
            random_state=0,
        ).fit(X, must_link=[(0, 1)], cannot_link=[(1, 2), (2, 3)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=["sgmde", "growth", "dask"])
    parser.add_argument("--data", default="letter,shuttle,mnist")
    parser.add_argument("--share", type=float, default=1.0, help="share of KMeans's 100 starts")
    parser.add_argument("--dtype", default="float64", choices=["float64", "float32"])
    parser.add_argument("--folder", default="", help="files as for benchmarks.gpu, instead")
    parser.add_argument("--most", type=float, default=1e6, help="most points of growth")
    parser.add_argument("--picture", default="", help="file for the plot of growth")
    parser.add_argument("--points", type=float, default=1e6, help="points of dask")
    given = parser.parse_args()
    if given.part == "sgmde":
        sgmde(given.data.split(","), given.share, given.dtype, given.folder)
    elif given.part == "growth":
        growth(given.most, given.picture)
    else:
        on_dask(int(given.points))


if __name__ == "__main__":
    main()
