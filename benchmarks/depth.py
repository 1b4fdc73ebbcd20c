"""How often does the default find the best known solution, and at what cost?

    python -m benchmarks.depth                 # the first set: paper's setting against the default
    python -m benchmarks.depth --held-out      # data that played no part in choosing the default
    python -m benchmarks.depth --ablation      # what each idea contributes
    python -m benchmarks.depth --update        # first look for better solutions with a long run

A run is at the best known if its objective is within a relative 1e-8 of it. Best known objectives
are in ``best_objectives.json``, and lower where a run of this command finds better. Times are to be
compared within one run of this script only: each instance is given to all settings in turn. The
last column is the largest ratio on any one instance, summed over seeds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn import datasets as sklearn_data

from smdeclust import Problem, SMDEClust
from smdeclust.datasets import (
    list_datasets,
    load_constraints,
    load_set1,
    load_set3,
    make_constraints,
    standardize,
)

BEST_FILE = Path(__file__).with_name("best_objectives.json")
AT_BEST = 1e-8

Setting = Callable[..., SMDEClust]
PAPER: Setting = partial(SMDEClust.from_paper, "SG-MDE")
DEFAULTS: dict[str, Setting] = {"paper": PAPER, "default": SMDEClust}
ONE = {"max_populations": 1, "population_size": 20}
ABLATION: dict[str, Setting] = {
    "paper (SG-MDE)": PAPER,
    "paper (SMG-MDE)": partial(SMDEClust.from_paper, "SMG-MDE"),
    "paper (SG-MDE), P=60": partial(SMDEClust.from_paper, "SG-MDE", population_size=60),
    "one population, deep, no mutation": partial(SMDEClust, mutation=False, **ONE),
    "one population, deep": partial(SMDEClust, **ONE),
    "one population, deep, P=60": partial(SMDEClust, max_populations=1, population_size=60),
    "until 5 agree, P=10, not deep": partial(SMDEClust, local_search="lloyd"),
    "until 5 agree, P=10, no mutation": partial(SMDEClust, mutation=False),
    "until 5 agree, P=10, greedy-repair": partial(SMDEClust, assignment="greedy-repair"),
    "until 2 agree, P=10": partial(SMDEClust, n_agree=2),
    "until 3 agree, P=10": partial(SMDEClust, n_agree=3),
    "until 3 agree, P=20": partial(SMDEClust, n_agree=3, population_size=20),
    "until 5 agree, P=10 (default)": SMDEClust,
}
LONG: Setting = partial(SMDEClust, population_size=30, n_agree=6, max_populations=16)


@dataclass(frozen=True)
class Instance:
    """One problem: a data set and one configuration of its pairs."""

    dataset: str
    name: str
    X: np.ndarray
    n_clusters: int
    must_link: np.ndarray
    cannot_link: np.ndarray


def set1_instances(names: list[str] | None) -> Iterator[Instance]:
    """The 270 instances of the paper's first set (Gene's matrix is not everywhere)."""
    for info in list_datasets(1):
        if info.name == "gene" or (names and info.name not in names):
            continue
        data = load_set1(info.name)
        for name in info.configurations:
            pairs = load_constraints(data, name)
            yield Instance(
                info.name, name, data.X, data.n_clusters, pairs.must_link, pairs.cannot_link
            )


def _held_out_data() -> Iterator[tuple[str, np.ndarray, np.ndarray, int]]:
    cancer_X, cancer_y = sklearn_data.load_breast_cancer(return_X_y=True)
    wine_X, wine_y = sklearn_data.load_wine(return_X_y=True)
    digits_X, digits_y = sklearn_data.load_digits(return_X_y=True)
    iris_X, iris_y = sklearn_data.load_iris(return_X_y=True)
    diabetes_X, diabetes_y = sklearn_data.load_diabetes(return_X_y=True)
    yield "breast cancer", standardize(cancer_X), cancer_y, 2
    yield "breast cancer, K=5", standardize(cancer_X), cancer_y, 5
    yield "wine, standardized", standardize(wine_X), wine_y, 3
    yield "wine, K=6", standardize(wine_X), wine_y, 6
    yield "iris, K=8", iris_X, iris_y, 8
    yield "diabetes, K=7", diabetes_X, np.digitize(diabetes_y, [90, 140, 200]), 7
    yield "digits, first 300", digits_X[:300], digits_y[:300], 10
    yield "digits, next 300", digits_X[300:600], digits_y[300:600], 10
    small = load_set3(500, 2)
    assert small.y is not None
    yield "synthetic n500_k2", small.X, small.y, 2


def held_out_instances(names: list[str] | None) -> Iterator[Instance]:
    """Other data with random pairs: as many as a quarter and half of the points, mixed or CL."""
    for dataset, X, y, n_clusters in _held_out_data():
        if names and dataset not in names:
            continue
        for share in (0.25, 0.5):
            for seed in (1, 2):
                pairs = make_constraints(y, int(share * len(y)), random_state=seed)
                none = np.empty((0, 2), dtype=np.int64)
                for kind, must in (("mixed", pairs.must_link), ("cl", none)):
                    name = f"{kind}_{share}_{seed}"
                    yield Instance(dataset, name, X, n_clusters, must, pairs.cannot_link)


def solve(instance: Instance, setting: Setting, seed: int) -> tuple[float, float]:
    """Objective and seconds (of the processor: others may keep it busy) of one run.

    An infeasible answer is an error.
    """
    model = setting(n_clusters=instance.n_clusters, random_state=seed)
    start = time.process_time()
    model.fit(instance.X, must_link=instance.must_link, cannot_link=instance.cannot_link)
    seconds = time.process_time() - start
    problem = Problem.build(
        instance.X, instance.n_clusters, instance.must_link, instance.cannot_link
    )
    if problem.violations(model.labels_) != (0, 0):
        raise AssertionError(f"{instance.dataset}/{instance.name}: seed {seed} is infeasible")
    return model.inertia_, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--held-out", action="store_true", help="other data than the first set")
    parser.add_argument("--ablation", action="store_true", help="all settings, glass and ecoli")
    parser.add_argument("--update", action="store_true", help="look for better solutions first")
    parser.add_argument("--datasets", help="only these, separated by commas")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()

    names = options.datasets.split(",") if options.datasets else None
    if options.ablation and names is None:
        names = ["glass", "ecoli"]
    make = held_out_instances if options.held_out else set1_instances
    settings = ABLATION if options.ablation else DEFAULTS
    best = json.loads(BEST_FILE.read_text()) if BEST_FILE.exists() else {}

    for setting in (*settings.values(), LONG):  # compile before the clock runs
        points = [[0.0], [1.0], [3.0], [4.0], [9.0]]
        setting(n_clusters=3, random_state=0).fit(points)
        setting(n_clusters=3, random_state=0).fit(points, cannot_link=[(0, 1)])
    runs: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for instance in make(names):
        key = f"{instance.dataset}/{instance.name}"
        known = best.get(key, np.inf)
        if options.update:
            known = min(known, solve(instance, LONG, 1000)[0])
        for seed in range(options.seeds):
            for label, setting in settings.items():
                objective, seconds = solve(instance, setting, seed)
                known = min(known, objective)
                runs.setdefault((instance.dataset, label), []).append((key, objective, seconds))
        if known < best.get(key, np.inf) * (1 - 1e-10):
            if key in best:
                print(f"{key}: {known:.12g} is better than {best[key]:.12g}", flush=True)
            best[key] = known
    if options.update:
        BEST_FILE.write_text(json.dumps(dict(sorted(best.items())), indent=0) + "\n")

    print("| data set | setting | runs | at best known | mean ms | times the first | at worst |")
    print("|---|---|---|---|---|---|---|")
    datasets = list(dict.fromkeys(dataset for dataset, _ in runs))
    for dataset in (*datasets, "all"):
        first: dict[str, float] = {}
        for label in settings:
            if dataset == "all":
                rows = [row for (_, other), rows in runs.items() if other == label for row in rows]
            else:
                rows = runs[dataset, label]
            hits = np.mean([objective <= best[key] * (1 + AT_BEST) for key, objective, _ in rows])
            spent: dict[str, float] = {}
            for key, _, seconds in rows:
                spent[key] = spent.get(key, 0.0) + seconds
            first = first or spent
            ratio = sum(spent.values()) / sum(first.values())
            worst = max(spent[key] / first[key] for key in spent)  # of one instance, over seeds
            mean = 1e3 * sum(spent.values()) / len(rows)
            print(
                f"| {dataset} | {label} | {len(rows)} | {hits:.3f} | {mean:.1f} | {ratio:.1f} | "
                f"{worst:.1f} |"
            )


if __name__ == "__main__":
    main()
