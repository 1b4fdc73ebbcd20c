"""Large data: each part prints a small table.

    python -m benchmarks.scale sgmde            # a whole SG-MDE run against unconstrained KMeans
    python -m benchmarks.scale sgmde --data letter,mnist --share 0.1

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

import numpy as np

from smdeclust import SMDEClust
from smdeclust.datasets import load_constraints, load_set2


def sgmde(names: list[str], share: float, dtype: str) -> None:
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
        data = load_set2(name)
        pairs = load_constraints(name, "1000")
        X = np.ascontiguousarray(data.X, dtype=dtype)
        n_init = max(1, round(100 * share))
        kmeans = KMeans(data.n_clusters, n_init=n_init, max_iter=25, init="random", random_state=0)
        theirs, theirs_cpu = timed(lambda model=kmeans, X=X: model.fit(X))
        theirs, theirs_cpu = theirs * 100 / n_init, theirs_cpu * 100 / n_init
        ours = SMDEClust.from_paper(
            "SG-MDE",
            n_clusters=data.n_clusters,
            population_size=10,
            max_generations=10,
            max_local_iter=25,
            random_state=0,
        )
        links = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
        seconds, cpu = timed(lambda model=ours, X=X, links=links: model.fit(X, **links))
        broken = np.count_nonzero(
            kmeans.labels_[pairs.cannot_link[:, 0]] == kmeans.labels_[pairs.cannot_link[:, 1]]
        ) + np.count_nonzero(
            kmeans.labels_[pairs.must_link[:, 0]] != kmeans.labels_[pairs.must_link[:, 1]]
        )
        print(
            f"{name:8s} {len(X):6d} {X.shape[1]:5d} {data.n_clusters:3d} {theirs:9.2f} "
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
    parser.add_argument("part", choices=["sgmde"])
    parser.add_argument("--data", default="letter,shuttle,mnist")
    parser.add_argument("--share", type=float, default=1.0, help="share of KMeans's 100 starts")
    parser.add_argument("--dtype", default="float64", choices=["float64", "float32"])
    given = parser.parse_args()
    sgmde(given.data.split(","), given.share, given.dtype)


if __name__ == "__main__":
    main()
