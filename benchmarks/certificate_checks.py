"""What `python -m benchmarks.certificates` measures beside the first set: doubts and large data."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_iris, make_blobs

from smdeclust import SMDEClust
from smdeclust.datasets import load_constraints, load_set2, load_set3, make_constraints
from smdeclust.exact import Certificate, InvalidCertificateError, certify, verify
from smdeclust.exceptions import DataNotFoundError

REJECTED, VALID, FALSE = "rejected", "accepted: still a valid proof", "ACCEPTED AND FALSE"


def forgeries(n_mutations: int) -> None:
    """Known forgeries, and random changes of true certificates: none may pass and be false."""
    X, y = (array[::3] for array in load_iris(return_X_y=True))
    drawn = make_constraints(y, 20)
    pairs: dict[str, Any] = {"must_link": drawn.must_link, "cannot_link": drawn.cannot_link}
    labels = SMDEClust(3, random_state=0).fit_predict(X, **pairs)
    honest = certify(X, labels, tol=1e-5, **pairs)
    optimum = verify(X, honest, n_clusters=3, **pairs).upper_bound
    for name, (data, forged, more) in known_forgeries(X, honest).items():
        print(f"{name:44s} {_judge(data, forged, {**pairs, **more}, optimum)}", flush=True)
    rng = np.random.default_rng(0)
    counts = Counter(
        _judge(X, mutated(honest, rng), {**pairs, "n_clusters": 3}, optimum)
        for _ in range(n_mutations)
    )
    print(f"{n_mutations} random mutations: {counts[REJECTED]} rejected; {counts[VALID]} accepted "
          f"because the claimed bound still follows from what was changed, and is true; "
          f"{counts[FALSE]} false ones accepted")  # fmt: skip


def known_forgeries(X: Any, honest: Certificate) -> dict[str, tuple[Any, Certificate, dict]]:
    """Claims that were once accepted."""
    rng = np.random.default_rng(0)
    random = rng.integers(0, 3, len(X))
    claim: dict[str, Any] = {"lower_bound": 0.0, "status": "optimal", "proof": type(honest.proof)()}

    def cost(labels: Any) -> float:
        parts = [X[labels == c] for c in np.unique(labels)]
        return float(sum(np.sum((p - p.mean(axis=0)) ** 2) for p in parts if len(p)))

    def about(labels: Any, **more: Any) -> Certificate:
        values = {**claim, "labels": labels, "upper_bound": cost(labels), **more}
        return replace(honest, **values)

    nan_one = np.where(random == 0, np.nan, random)
    nothing = np.full(len(X), np.nan)
    k: dict[str, Any] = {"n_clusters": 3}
    none: dict[str, Any] = {"must_link": None, "cannot_link": None}
    return {
        "NaN labels everywhere": (X, about(nothing, n_clusters=1, upper_bound=0.0), none),
        "NaN labels of one cluster": (X, about(nan_one), none),
        "random labels, no proof, tol = 1": (X, about(random, tol=1.0), {**none, **k}),
        "random labels, no proof, tol = infinity": (X, about(random, tol=np.inf), {**none, **k}),
        "K = N": (X, about(np.arange(len(X)), n_clusters=len(X)), {**none, **k}),
        "data scaled by 1e-165": (1e-165 * X, about(random, upper_bound=0.0), {**none, **k}),
        "another lower bound": (X, replace(honest, lower_bound=honest.upper_bound), k),
        "pairs left out": (X, honest, {**none, **k}),
    }


def mutated(honest: Certificate, rng: np.random.Generator) -> Certificate:
    """A true certificate with one random change in its labels, its claims or its proof."""
    kind = rng.integers(10)
    if kind == 0:
        labels = honest.labels.copy()
        labels[rng.integers(len(labels))] = rng.integers(-1, 4)
        return replace(honest, labels=labels)
    if kind == 1:
        name = rng.choice(["lower_bound", "upper_bound"])
        return replace(honest, **{name: getattr(honest, name) * (1 + 10.0 ** rng.uniform(-6, 1))})
    names = [n for n in vars(honest.proof) if getattr(honest.proof, n).size]
    name = names[rng.integers(len(names))]
    array = getattr(honest.proof, name).copy()
    if kind == 2:
        array = np.delete(array, rng.integers(len(array)), axis=0)
    elif kind == 3:
        array = np.concatenate([array, array[:1]])
    else:
        at = tuple(rng.integers(0, size) for size in array.shape)
        if array.dtype.kind == "f":
            array[at] = rng.choice([-1.0, 0.0, 2.0, 1e9, np.nan, np.inf]) * array[at]
        else:
            array[at] += rng.choice([-1, 1, 13, 10**6])
    return replace(honest, proof=replace(honest.proof, **{name: array}))


def _judge(X: Any, certificate: Certificate, problem: dict[str, Any], optimum: float) -> str:
    try:
        found = verify(X, certificate, **problem)
    except InvalidCertificateError:
        return REJECTED
    true = found.lower_bound <= optimum and found.upper_bound >= optimum * (1 - 1e-12)
    return VALID if true else FALSE


def tiny(n_instances: int, first: int, n_jobs: int) -> None:
    """Bounds of tiny problems against all clusterings, in exact arithmetic."""
    start = time.perf_counter()
    seeds = range(first, first + n_instances)
    found = Parallel(n_jobs)(delayed(_tiny)(seed) for seed in seeds)
    wrong, gaps = zip(*found, strict=True)
    seconds = time.perf_counter() - start
    print(f"{n_instances} tiny instances from seed {first}: {sum(wrong)} bounds on the wrong side "
          f"of the optimum ({seconds:.0f} s; median gap {np.median(gaps):.1e})")  # fmt: skip


def _tiny(seed: int) -> tuple[bool, float]:
    """Whether a bound of one instance is on the wrong side of the optimum, and its gap."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    k = int(rng.integers(1, min(n, 4) + 1))
    X = np.round(rng.normal(size=(n, int(rng.integers(1, 4)))) * 10.0 ** rng.integers(-2, 3), 3)
    X += float(10.0 ** rng.integers(-1, 6)) * (seed % 2)
    cost = ExactCosts(X)
    costs = sorted((cost(labels), labels) for labels in clusterings(n, k))
    optimum = costs[0][0] * cost.unit
    labels = np.array(costs[int(rng.integers(len(costs)))][1])
    parts = 2 if seed % 4 == 0 and n >= 4 else 1
    result = certify(X, labels, tol=1e-6, max_time=5.0, parts=parts)
    found = verify(X, result, n_clusters=k)
    true_cost = cost(tuple(result.labels.tolist())) * cost.unit
    wrong = Fraction(found.lower_bound) > optimum or Fraction(found.upper_bound) < true_cost
    return wrong, found.gap


def clusterings(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """All clusterings of n points into exactly k clusters, named in the order they appear."""
    for labels in itertools.product(range(k), repeat=n):
        seen = tuple(dict.fromkeys(labels))
        if seen == tuple(range(k)):
            yield labels


class ExactCosts:
    """Costs of clusterings of a few points in exact arithmetic, as whole numbers of one unit."""

    def __init__(self, X: np.ndarray) -> None:
        given = [[Fraction(float(v)) for v in row] for row in X]
        scale = max(v.denominator for row in given for v in row)  # all are powers of two
        self.rows = [[int(v * scale) for v in row] for row in given]
        self.share = math.lcm(*range(1, len(X) + 1))
        self.unit = Fraction(1, self.share * scale * scale)

    def __call__(self, labels: tuple[int, ...]) -> int:
        """Cost of labels, in units."""
        total = 0
        for label in set(labels):
            rows = [row for row, at in zip(self.rows, labels, strict=True) if at == label]
            share = self.share // len(rows)
            for column in zip(*rows, strict=True):
                total += self.share * sum(v * v for v in column) - share * sum(column) ** 2
        return total


def large(max_time: float, only: str | None, n_jobs: int) -> None:
    """Gap and time of the proof in parts, for banana and the third set with few clusters."""
    plan: list[tuple[str, int]] = [("banana", m) for m in (100, 200, 500, 1000)]
    plan += [(f"n{n}_k2", 500) for n in (1000, 2000, 5000, 10000, 20000)]
    plan += [(f"n{n}_k20", 500) for n in (5000, 10000, 20000)] + [
        ("letter", 1000),
        ("shuttle", 1000),
    ]
    print(
        "| data | pairs | points | clusters | parts | gap % | seconds | verify s |\n"
        + "|---" * 8
        + "|"
    )
    for name, n_pairs in plan:
        if only is not None and f"{name}/{n_pairs}" not in only and name not in only.split(","):
            continue
        try:
            data = load_set3(*map(int, name[1:].split("_k"))) if "_k" in name else load_set2(name)
            drawn = load_constraints(data, n_pairs)
        except DataNotFoundError:
            continue
        pairs: dict[str, Any] = {"must_link": drawn.must_link, "cannot_link": drawn.cannot_link}
        model = SMDEClust(data.n_clusters, random_state=0, max_time=60).fit(data.X, **pairs)
        start = time.perf_counter()
        proof = certify(data.X, model.labels_, max_time=max_time, n_jobs=n_jobs, **pairs)
        proven = time.perf_counter() - start
        start = time.perf_counter()
        found = verify(data.X, proof, n_clusters=data.n_clusters, n_jobs=n_jobs, **pairs)
        checked = time.perf_counter() - start
        print(f"| {name} | {n_pairs} | {len(data.X)} | {data.n_clusters} | {found.n_parts} "
              f"| {100 * found.gap:.3f} | {proven:.0f} | {checked:.1f} |", flush=True)  # fmt: skip


def blobs(max_time: float, only: str | None, n_jobs: int) -> None:
    """Unconstrained blobs in the plane, to 1e-4."""
    print(
        "| N | K | std | status | gap | root gap | nodes | seconds | CPU s |\n" + "|---" * 9 + "|"
    )
    toy = make_blobs(80, centers=3, random_state=0)[0]  # compile before anything is timed
    certify(toy, SMDEClust(3, random_state=0).fit_predict(toy), tol=1e-6)
    for n, k, std in ((500, 10, 1.0), (500, 5, 4.0), (800, 5, 4.0), (1500, 5, 1.0)):
        if only is not None and f"{n}_{k}" not in only.split(","):
            continue
        X, _ = make_blobs(n, centers=k, cluster_std=std, random_state=0)
        labels = SMDEClust(k, random_state=0).fit_predict(X)
        start, cpu = time.perf_counter(), time.process_time()
        proof = certify(X, labels, max_time=max_time, parts=1, n_jobs=n_jobs)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        root = 1.0 - proof.root_bound / proof.upper_bound
        print(f"| {n} | {k} | {std:g} | {proof.status} | {proof.gap:.1e} | {root:.1e} "
              f"| {proof.n_nodes} | {seconds:.0f} | {cpu:.0f} |", flush=True)  # fmt: skip
