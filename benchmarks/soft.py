"""Soft pairs: the penalised objective against PCCC's own model, and agreement with wrong pairs.

    python -m benchmarks.soft objective [--seeds 3]
    python -m benchmarks.soft wrong [--seeds 5] [--shares 0,0.05,0.1,0.2,0.3] [--sets iris,wine]
    python -m benchmarks.soft time

`objective`: both minimise the sum of squares plus penalty x confidence of each broken pair, PCCC
for as long as SMDEClust takes. `wrong`: adjusted Rand index by the share of wrong pairs (N/2 pairs
in all). `time`: a soft fit against a hard fit of the same pairs.
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

from smdeclust import (
    PCCC,
    InfeasibleConstraintsError,
    PCKMeans,
    SMDEClust,
    SoftHGMeans,
)  # fmt: skip

Data = tuple[np.ndarray, np.ndarray]


def _some(load: Callable[..., Any], most: int = 400) -> Data:
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:most]
    return X[rows], y[rows]


def _paper(name: str) -> Data:
    from smdeclust.datasets import load_set1

    data = load_set1(name)
    return data.X, data.y


SETS: dict[str, Callable[[], Data]] = {
    "iris": lambda: _some(load_iris),
    "wine": lambda: _some(load_wine),
    "breast cancer": lambda: _some(load_breast_cancer),
    "digits": lambda: _some(load_digits),
    "blobs": lambda: make_blobs(300, 4, centers=5, cluster_std=3.0, random_state=0),
    "classes": lambda: make_classification(
        300, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=1
    ),
    "seeds": lambda: _paper("seeds"),
    "ecoli": lambda: _paper("ecoli"),
}


def draw_pairs(y: np.ndarray, wrong: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """N/2 random pairs by the classes, this share of them turned round."""
    pairs = rng.integers(0, len(y), (len(y) // 2, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    same ^= rng.random(len(pairs)) < wrong
    return pairs[same], pairs[~same]


def soft(pairs: np.ndarray, confidence: float) -> list[tuple[int, int, float]]:
    """Pairs with one confidence."""
    return [(int(i), int(j), confidence) for i, j in pairs]


def objective(given: argparse.Namespace) -> None:
    """The same objective, ours against PCCC for the same time."""
    print(
        f"{'data set':15s} {'ours / PCCC - 1, mean':>22s} {'worst':>10s}   runs where ours is lower"
    )
    for name, (X, y) in load(given.sets):
        gaps = []
        for seed in range(given.seeds):
            rng = np.random.default_rng(seed)
            must, cannot = draw_pairs(y, 0.1, rng)
            k, penalty = len(np.unique(y)), float(X.var(axis=0).sum())
            pairs = {"soft_must_link": soft(must, 0.8), "soft_cannot_link": soft(cannot, 0.8)}
            ours = SMDEClust(k, penalty=penalty, random_state=seed).fit(X, **pairs)  # compiles
            started = time.perf_counter()
            ours.fit(X, **pairs)
            seconds = time.perf_counter() - started
            PCCC(k, n_init=1, random_state=seed).fit(
                X, soft_must_link=must, soft_cannot_link=cannot
            )
            theirs = PCCC(k, penalty=penalty, n_init=10**6, max_time=seconds, random_state=seed)
            theirs.fit(
                X, soft_must_link=must, soft_cannot_link=cannot,
                soft_must_link_confidence=np.full(len(must), 0.8),
                soft_cannot_link_confidence=np.full(len(cannot), 0.8),
            )  # fmt: skip
            gaps.append(ours.objective_ / theirs.objective_ - 1)
        lower = sum(gap < -1e-9 for gap in gaps)
        print(f"{name:15s} {np.mean(gaps):22.2%} {max(gaps):10.2%}   {lower} of {len(gaps)}")


def methods(k: int, seed: int, share: float) -> dict[str, Callable[..., Any]]:
    """Each from points and pairs to labels."""
    honest = min(max(1 - share, 0.55), 0.99)
    return {
        "hard": lambda X, m, c: SMDEClust(k, random_state=seed).fit(X, must_link=m, cannot_link=c),
        "soft, honest": lambda X, m, c: SMDEClust(k, random_state=seed).fit(
            X, soft_must_link=soft(m, honest), soft_cannot_link=soft(c, honest)
        ),
        "soft, 0.8": lambda X, m, c: SMDEClust(k, random_state=seed).fit(
            X, soft_must_link=soft(m, 0.8), soft_cannot_link=soft(c, 0.8)
        ),
        "PCK-Means": lambda X, m, c: PCKMeans(k, random_state=seed).fit(
            X, must_link=m, cannot_link=c
        ),
        "PCCC": lambda X, m, c: PCCC(k, random_state=seed).fit(
            X, soft_must_link=m, soft_cannot_link=c
        ),
        "S-HG-MEANS": lambda X, m, c: SoftHGMeans(k, random_state=seed).fit(
            X, must_link=m, cannot_link=c
        ),
    }


def wrong(given: argparse.Namespace) -> None:
    """Agreement with the classes by the share of wrong pairs."""
    names = list(methods(2, 0, 0.0))
    print(f"{'wrong':>6s}" + "".join(f"{name:>14s}" for name in names) + "   (infeasible: ARI 0)")
    for share in map(float, given.shares.split(",")):
        table: dict[str, list[float]] = {name: [] for name in names}
        for _, (X, y) in load(given.sets):
            for seed in range(given.seeds):
                must, cannot = draw_pairs(y, share, np.random.default_rng(seed))
                for name, fit in methods(len(np.unique(y)), seed, share).items():
                    try:
                        labels = fit(X, must, cannot).labels_
                        table[name].append(adjusted_rand_score(y, labels))
                    except InfeasibleConstraintsError:
                        table[name].append(0.0)
        print(f"{share:6.0%}" + "".join(f"{np.mean(table[n]):14.3f}" for n in names), flush=True)


def cost(given: argparse.Namespace) -> None:
    """A soft fit against a hard fit of the same pairs."""
    ratios = []
    for name, (X, y) in load(given.sets):
        must, cannot = draw_pairs(y, 0.0, np.random.default_rng(0))
        k, seconds = len(np.unique(y)), {}
        for kind in ("hard", "soft, 0.8"):
            fit = methods(k, 0, 0.0)[kind]
            fit(X, must, cannot)
            started = time.perf_counter()
            fit(X, must, cannot)
            seconds[kind] = time.perf_counter() - started
        ratios.append(seconds["soft, 0.8"] / seconds["hard"])
        print(f"{name:15s} soft / hard {ratios[-1]:6.2f}", flush=True)
    print(f"{'median':15s} soft / hard {np.median(ratios):6.2f}")


def load(sets: str) -> Any:
    """The data sets asked for, standardised; absent ones are left out with a sentence."""
    for name in sets.split(","):
        try:
            X, y = SETS[name]()
        except Exception as error:  # the paper's data may be absent
            print(f"{name}: left out ({error})")
            continue
        yield name, (StandardScaler().fit_transform(X), np.asarray(y))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["objective", "wrong", "time"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--shares", default="0,0.05,0.1,0.2,0.3")
    parser.add_argument("--sets", default=",".join(SETS))
    given = parser.parse_args()
    {"objective": objective, "wrong": wrong, "time": cost}[given.what](given)


if __name__ == "__main__":
    main()
