"""Sparse points: memory and time of a fit, beside scikit-learn's KMeans on the same matrix.

Run with ``python -m benchmarks.sparse``; ``--points``, ``--features``, ``--stored`` and
``--clusters`` set the size. Rows are made like short documents: words of a class and of a common
stock, by Zipf's law.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from smdeclust import SMDEClust

MIB = 2**20


def documents(
    n: int, d: int, stored: int, k: int, rng: np.random.Generator
) -> tuple[sp.csr_matrix, np.ndarray]:
    """(n, d) float32 CSR with at most `stored` entries a row, and the class of each row."""
    classes = rng.integers(0, k, n)
    words = rng.zipf(1.3, (n, stored)) - 1 + 37 * classes[:, None]
    values = rng.random(n * stored).astype(np.float32)
    indptr = np.arange(0, n * stored + 1, stored, dtype=np.int32)
    X = sp.csr_matrix((values, (words % d).ravel().astype(np.int32), indptr), shape=(n, d))
    X.sum_duplicates()
    return X, classes


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of `work`, and how many bytes this process grew meanwhile at most."""
    page = 4096
    status = Path("/proc/self/statm")

    def resident() -> int:
        return int(status.read_text().split()[1]) * page

    before = peak = resident()
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.process_time()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return time.process_time() - start, float(peak - before)


def compare(n: int, d: int, stored: int, k: int) -> None:
    rng = np.random.default_rng(0)
    X, classes = documents(n, d, stored, k, rng)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    pairs = rng.integers(0, n, (1000, 2))
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    setting = {"n_clusters": k, "population_size": 4, "max_local_iter": 25, "random_state": 0}
    few, _ = documents(max(1000, 2**22 // d + 1), d, stored, k, rng)
    compile_run = SMDEClust.from_paper("SMG-MDE", max_generations=1, **setting)
    compile_run.fit(few, must_link=[(0, 1)], cannot_link=[(0, 3), (2, 4)])
    model = SMDEClust.from_paper("SMG-MDE", max_generations=2, **setting)
    seconds, grown = measured(lambda: model.fit(X, must_link=pairs[same], cannot_link=pairs[~same]))
    rival = KMeans(k, n_init=4, max_iter=25, init="random", algorithm="lloyd", random_state=0)
    rival_seconds, rival_grown = measured(lambda: rival.fit(X))
    print(f"{n} x {d}, {X.nnz / n:.1f} stored a row, K={k}: {size / MIB:.0f} MiB of data")
    print(f"  (dense, float32: {n * d * 4 / MIB:.0f} MiB)")
    print(
        f"  SMG-MDE: {model.n_local_searches_} searches, {model.n_local_iterations_} iterations, "
        f"{seconds:.1f} s, {1000 * seconds / model.n_local_iterations_:.1f} ms each; "
        f"{grown / MIB:.0f} MiB beside the data ({grown / n:.0f} bytes a point)"
    )
    print(
        f"  KMeans, 4 starts of at most 25: {rival_seconds:.1f} s, at least "
        f"{10 * rival_seconds:.1f} ms each; {rival_grown / MIB:.0f} MiB beside the data"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=5000)
    parser.add_argument("--stored", type=int, default=10)
    parser.add_argument("--clusters", type=int, default=20)
    given = parser.parse_args()
    compare(given.points, given.features, given.stored, given.clusters)


if __name__ == "__main__":
    main()
