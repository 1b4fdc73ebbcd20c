"""How long people wait: for a first answer and for the last one, and how good both are.

    python -m benchmarks.waiting                            # nine data sets
    python -m benchmarks.waiting --before ../v0.2.0/src     # an earlier version, too
    python -m benchmarks.waiting --only digits,sizes

Times are CPU seconds of one thread after kernels are compiled. A gap is the share by which an
objective is above the best that anything here found with the same knowledge. KMeans (ten starts)
knows nothing, so its objective is comparable only where there are few pairs (entities);
k-means-constrained (ten starts, in a process of its own) knows sizes alone, and is left out where
it takes more than ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets as toys

from benchmarks.sizes import objective

PATIENCE = 600


def pairs_of(y: np.ndarray, n_pairs: int) -> dict[str, Any]:
    """Random pairs by class."""
    pairs = np.random.default_rng(0).integers(0, len(y), (n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def blobs(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clusters."""
    X, y = toys.make_blobs(n, d, centers=k, cluster_std=6.0, random_state=0)
    return X, y


def led_digits(n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """500 digits as seven segments, a tenth of which are wrong, and true cannot-links."""
    rng = np.random.default_rng(0)
    shown = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111",
             "1010010", "1111111", "1111011"]  # fmt: skip
    digits = np.array([list(segments) for segments in shown], dtype=float)
    y = rng.integers(0, 10, 500)
    X = np.abs(digits[y] - (rng.random((500, 7)) < 0.1))
    every = np.argwhere(np.triu(y[:, None] != y))
    return X, every[rng.choice(len(every), n_pairs, replace=False)]


def entities(n: int, d: int, k: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Noisy copies of k entities, n / k each, and some pairs of both kinds."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(k), n // k)
    X = rng.normal(size=(k, d))[y] + 0.3 * rng.normal(size=(n, d))
    ones, others = rng.integers(0, n, (2, 1_000))
    copies = (others + rng.integers(1, n // k, 1_000)) % (n // k) + y[others] * (n // k)
    apart, together = y[ones] != y[others], copies != others
    pairs = {"must_link": np.column_stack((others, copies))[together],
             "cannot_link": np.column_stack((ones, others))[apart]}  # fmt: skip
    return X, pairs


def load(name: str) -> tuple[np.ndarray, int, dict[str, Any], dict[str, int]]:
    """Points, K, pairs, sizes."""
    if name in ("digits", "digits sizes"):
        X, y = toys.load_digits(return_X_y=True)
        if name == "digits":
            return X, 10, pairs_of(y, 900), {}
        return X, 10, {}, {"size_min": 120, "size_max": 240}
    if name == "breast cancer":
        X, y = toys.load_breast_cancer(return_X_y=True)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        return X, 2, pairs_of(y, 300), {}
    if name == "pairs 20,000 x 10":
        X, y = blobs(20_000, 10, 20)
        return X, 20, pairs_of(y, 5_000), {}
    if name == "sizes 23,000 x 50":
        X, _ = blobs(23_000, 50, 10)
        return X, 10, {}, {"size_min": 1_150, "size_max": 4_600}
    if name == "entities 20,000 x 16, K = 5,000":
        X, pairs = entities(20_000, 16, 5_000)
        return X, 5_000, pairs, {}
    if name.startswith("LED"):
        X, pairs_apart = led_digits(int(name.split()[2].replace(",", "")))
        return X, 10, {"cannot_link": pairs_apart}, {}
    X, y = blobs(5_000, 8, 50)
    return X, 50, pairs_of(y, 2_000), {}


NAMES = ("breast cancer", "digits", "digits sizes", "LED digits, 1,000 cannot-links",
         "LED digits, 2,000 cannot-links", "pairs 5,000 x 8, K = 50",
         "pairs 20,000 x 10", "sizes 23,000 x 50", "entities 20,000 x 16, K = 5,000")  # fmt: skip


def compile_all(
    method: Any, X: np.ndarray, k: int, pairs: dict[str, Any], sizes: dict[str, int]
) -> None:
    """Fit 300 rows, and with sizes all of them: kernels that bounds need are not met otherwise.

    Twice: the prices of bounds have a time limit, which compiling uses up.
    """
    some = {kind: p[(p < 300).all(axis=1)] for kind, p in pairs.items()}
    method(min(k, 50), random_state=0).fit(X[:300], **some)
    for _ in range(2 if sizes else 0):
        method(k, random_state=0, **sizes).fit(X)


def ours(name: str) -> dict[str, Any]:
    """Seconds and objectives: [first answer], [quick], [standard]."""
    from smdeclust import SMDEClust

    X, k, pairs, sizes = load(name)
    first: list[float] = []

    def note(state: Any) -> None:
        if not first and state.best is not None:
            first.extend([time.process_time() - begun, float(state.best.objective)])

    found = {}
    compile_all(SMDEClust, X, k, pairs, sizes)
    for search in ("quick", "standard"):
        model = SMDEClust(k, search=search, random_state=0, **sizes)
        model.set_params(callback=note if search == "standard" else None)
        begun = time.process_time()
        model.fit(X, **pairs)
        found[search] = [time.process_time() - begun, float(objective(X, model.labels_))]
    return {"first": first, **found}


def old(name: str) -> dict[str, Any]:
    """An earlier version's default."""
    from smdeclust import SMDEClust

    X, k, pairs, sizes = load(name)
    compile_all(SMDEClust, X, k, pairs, sizes)
    begun = time.process_time()
    model = SMDEClust(k, random_state=0, **sizes).fit(X, **pairs)
    return {"before": [time.process_time() - begun, float(objective(X, model.labels_))]}


def kmeans(name: str) -> dict[str, Any]:
    """scikit-learn's KMeans with ten starts, which knows neither pairs nor sizes."""
    from sklearn.cluster import KMeans

    X, k, _, _ = load(name)
    begun = time.process_time()
    model = KMeans(k, n_init=10, random_state=0).fit(X)
    seconds = time.process_time() - begun
    return {"KMeans": [seconds, model.inertia_ if name.startswith("entities") else np.nan]}


def constrained(name: str) -> dict[str, Any]:
    """k-means-constrained with ten starts."""
    from k_means_constrained import KMeansConstrained

    X, k, _, sizes = load(name)
    begun = time.process_time()
    model = KMeansConstrained(k, **sizes, n_init=10, random_state=0, n_jobs=1).fit(X)
    seconds = time.process_time() - begun
    return {"k-means-constrained": [seconds, float(objective(X, model.labels_))]}


def apart(what: str, name: str, source: Path | None = None) -> dict[str, Any]:
    """One of these functions in a process of its own."""
    env = dict(os.environ, OMP_NUM_THREADS="1")
    if source is not None:
        env["PYTHONPATH"] = str(source)
    command = [sys.executable, "-m", "benchmarks.waiting", "--part", what, name]
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return {}
    if done.returncode:
        raise SystemExit(f"{what} on {name}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run all and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="some of the names, by commas; parts of names will do")
    parser.add_argument("--before", type=Path, help="folder src of an earlier version")
    parser.add_argument("--part", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        warnings.simplefilter("ignore")
        print(json.dumps(globals()[options.part[0]](options.part[1])))
        return
    only = (options.only or "").split(",")
    columns = ("KMeans", "k-means-constrained", "before", "first", "quick", "standard")
    print(f"| seconds (gap) | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name in NAMES:
        if not any(part in name for part in only):
            continue
        found = apart("ours", name) | apart("kmeans", name)
        if "sizes" in name:
            found |= apart("constrained", name)
        if options.before:
            found |= apart("old", name, options.before)
        best = min(value for _, value in found.values() if not np.isnan(value))
        cells = []
        for column in columns:
            seconds, value = found.get(column, (np.nan, np.nan))
            gap = "" if np.isnan(value) else f" ({value / best - 1:.2%})"
            cells.append("" if np.isnan(seconds) else f"{seconds:.2f}{gap}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
