"""Agreement with the classes against the number of answers, by strategy.

    python -m benchmarks.queries [--seeds 5] [--budget 200] [--sets iris,wine] [--wrong 0.1]

Prints, for each strategy, the mean area under the curve (adjusted Rand index after each answer),
the answers needed for 95% of its own last value, and seconds an answer; then the same by data set.
Judges that are not installed (active-semi-supervised-clustering, cobras-ts) are left out with a
sentence. All our strategies cluster in the distance that `--metric` says.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
)  # fmt: skip
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from smdeclust import ActiveClustering, SMDEClust
from smdeclust.queries.strategies import STRATEGIES


def _sklearn(load: Callable[..., Any], most: int = 600) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:most]
    return X[rows], y[rows]


def _paper(name: str) -> tuple[np.ndarray, np.ndarray]:
    from smdeclust.datasets import load_set1

    data = load_set1(name)
    return data.X, data.y


def _blobs() -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(600, 6, centers=8, cluster_std=3.0, random_state=0)


def _stretched() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(400, 2, centers=4, cluster_std=1.0, random_state=3)
    noise = np.random.default_rng(0).normal(size=(400, 4))
    return np.column_stack([X, noise]), y


def _classes() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        500, 10, n_informative=4, n_classes=4, n_clusters_per_class=1, class_sep=1.5, random_state=1
    )


SETS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "iris": lambda: _sklearn(load_iris),
    "wine": lambda: _sklearn(load_wine),
    "breast cancer": lambda: _sklearn(load_breast_cancer),
    "digits": lambda: _sklearn(load_digits, 500),
    "blobs": _blobs,
    "stretched": _stretched,
    "classes": _classes,
    "seeds": lambda: _paper("seeds"),
    "glass": lambda: _paper("glass"),
    "ecoli": lambda: _paper("ecoli"),
}


def curve(
    strategy: str, X: np.ndarray, y: np.ndarray, budget: int, seed: int, wrong: float, metric: str
) -> tuple[np.ndarray, float]:
    """Adjusted Rand index after each answer, and seconds an answer."""
    rng = np.random.default_rng(seed)
    confidence = 1.0 if wrong == 0 else 1 - wrong

    def oracle(i: int, j: int) -> tuple[bool, float]:
        truth = bool(y[i] == y[j])
        return (truth if rng.random() >= wrong else not truth), confidence

    k = len(np.unique(y))
    model = SMDEClust(k, metric=metric, max_time=5.0, random_state=seed)
    loop = ActiveClustering(
        model, oracle, budget=budget, strategy=strategy, patience=None, random_state=seed
    )
    values = np.full(budget, np.nan)
    started = time.perf_counter()
    for _ in loop.steps(X):
        values[len(loop.answers_) - 1] = adjusted_rand_score(y, loop.labels_)
    seconds = (time.perf_counter() - started) / max(1, len(loop.answers_))
    last = adjusted_rand_score(y, loop.labels_)
    filled = [v for v in values if np.isfinite(v)]
    previous = filled[0] if filled else last
    for at, value in enumerate(values):
        previous = value if np.isfinite(value) else previous
        values[at] = previous
    values[len(loop.answers_) :] = last
    return values, seconds


def answers_needed(values: np.ndarray) -> int:
    """Answers until 95% of the last value is reached and kept."""
    low = np.flatnonzero(values < 0.95 * values[-1])
    return int(low[-1]) + 2 if len(low) else 1


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--strategies", default=",".join(["influence", "random", *STRATEGIES]))
    parser.add_argument("--wrong", type=float, default=0.0)
    parser.add_argument("--metric", default="learned")
    given = parser.parse_args()
    strategies = list(dict.fromkeys(given.strategies.split(",")))
    table: dict[str, list[tuple[float, float, float, float]]] = {s: [] for s in strategies}
    print(f"{'data set':15s}" + "".join(f"{s:>21s}" for s in strategies))
    for name in given.sets.split(","):
        try:
            X, y = SETS[name]()
        except Exception as error:  # the paper's data may be absent
            print(f"{name:15s} left out: {error}")
            continue
        X = StandardScaler().fit_transform(X)
        line = f"{name:15s}"
        for strategy in strategies:
            runs = [
                curve(strategy, X, y, given.budget, seed, given.wrong, given.metric)
                for seed in range(given.seeds)
            ]
            values = np.mean([run[0] for run in runs], axis=0)
            needed = float(np.mean([answers_needed(run[0]) for run in runs]))
            seconds = float(np.mean([run[1] for run in runs]))
            table[strategy].append((float(values.mean()), needed, seconds, float(values[-1])))
            line += f"{values.mean():11.3f} -> {values[-1]:.3f}"
        print(line, flush=True)
    print(f"\n{'strategy':22s} area under curve   last   answers to 95%   seconds an answer")
    for strategy, rows in table.items():
        area, needed, seconds, last = np.mean(rows, axis=0)
        print(f"{strategy:22s} {area:16.3f} {last:6.3f} {needed:16.0f} {seconds:19.3f}")


if __name__ == "__main__":
    main()
