"""Random knowledge with quotas, from `Constraints` to labels, against enumeration.

Run with ``python -m tests.fuzz_quotas --instances 20000``. Counts, shares, sums and means, several
at once, alike or different by cluster, beside must-links, cannot-links, soft pairs, weights and
sizes (alike, different, by weight). Judged by the definition, over all labels: the exact
assignment, `predict` of new rows beside old ones, and what errors say of quotas that cannot hold.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np

from smdeclust import Constraints, InfeasibleConstraintsError
from smdeclust.assignment import Status, exact_assignment
from smdeclust.estimators.new_points import label_new
from smdeclust.estimators.soft import SoftPrices
from smdeclust.problem import Problem
from smdeclust.structure import SoftPairs, rejections, structure
from smdeclust.structure.bounds import SizeBounds
from tests.seeds import run

# Every so many instances errors are explained in full.
EXPLAINED = 20


@cache
def every_label(n: int, k: int) -> np.ndarray:
    """All (k^n, n) labels."""
    return np.array(list(itertools.product(range(k), repeat=n)))


def kept(
    labels: np.ndarray, k: int, quotas: Any, sizes: Any = (), least: Any = 0, most: Any = np.inf
) -> np.ndarray:
    """Which of these labels keep the quotas, and (k, m) sizes: their bounds in one order of all."""
    found = np.zeros(len(labels), dtype=bool)
    for order in map(list, itertools.permutations(range(k))):
        fits = np.ones(len(labels), dtype=bool)
        ends = (np.broadcast_to(end, k)[order] for end in (least, most))
        for held, low, high in zip(sizes, *ends, strict=False):
            fits &= (held >= low - 1e-9) & (held <= high + 1e-9)
        for quota in quotas:
            lows, highs = (np.broadcast_to(end, k)[order] for end in (quota.low, quota.high))
            for cluster, (low, high) in enumerate(zip(lows, highs, strict=True)):
                inside = labels == cluster
                held, size = inside @ quota.counts, inside.sum(axis=1)
                if quota.of in ("share", "mean"):
                    held = held / np.maximum(size, 1)
                    held = np.where(size == 0, np.clip(0.0, low, high), held)
                fits &= (held >= low - 1e-9) & (held <= high + 1e-9)
        found |= fits
    return found


def random_quotas(
    rng: np.random.Generator, known: Constraints, labels: np.ndarray, k: int
) -> Constraints:
    """One to three quotas: mostly wide enough for these labels, else anything."""
    n = len(labels)
    for number in range(int(rng.integers(1, 4))):
        slack, name = float(rng.choice([0.0, 0.1, 0.3, 1.0])), f"column {number}"
        of = str(rng.choice(["count", "share", "share", "sum", "mean"]))
        if of in ("count", "share"):
            column = rng.choice(["a", "b", "c"][: int(rng.integers(2, 4))], n)
            value = str(rng.choice(column))
            counts = (column == value) * 1.0
        else:
            column = rng.random(n) * 10 if rng.random() < 0.5 else rng.integers(-2, 4, n)
            value, counts = None, np.asarray(column, dtype=float)
        held = np.bincount(labels, counts, k)
        if of in ("share", "mean"):
            held = held / np.maximum(np.bincount(labels, minlength=k), 1)
        differ = bool(rng.random() < 0.4)
        low, high = (held, held) if differ else (held.min(), held.max())
        if rng.random() < 0.03:
            low = high = np.full(k, held.mean()) if differ else held.mean()
        low, high = low - slack * rng.random(), high + slack * rng.random()
        if of == "count":
            low, high = np.maximum(0.0, np.floor(low)), np.ceil(high)
        elif of == "share":
            low, high = np.maximum(0.0, low), np.minimum(1.0, high)
        sides: list[Any] = [np.asarray(low).tolist(), np.asarray(high).tolist()]
        if differ and rng.random() < 0.3:
            sides[int(rng.integers(2))][int(rng.integers(k))] = None
        if rng.random() < 0.4:
            sides[int(rng.integers(2))] = None
        if value is not None:
            sides = [None if side is None else {value: side} for side in sides]
        known = known.quota(column, *sides, of=of, name=name)
    return known


def random_case(rng: np.random.Generator) -> tuple[dict[str, Any], Constraints, np.ndarray]:
    """Points with weights and sizes, what is known, and centers."""
    n, k = int(rng.integers(3, 8)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, 2)) if rng.random() < 0.8 else rng.integers(0, 3, (n, 2)) * 1.0
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    pairs = rng.permutation(pairs)[: int(rng.integers(0, 4))]
    labels = rng.permutation(np.arange(n) % k)
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    same ^= rng.random(len(pairs)) < 0.02
    known = Constraints(pairs[same], pairs[~same], n_points=n)
    known = random_quotas(rng, known, labels, k)
    given: dict[str, Any] = {"X": X, "n_clusters": k}
    if rng.random() < 0.3:
        given["sample_weight"] = rng.integers(1, 4, n) * 1.0
    if rng.random() < 0.3:
        given["size_min"] = rng.integers(1, n // k + 1, k) if rng.random() < 0.5 else n // k
        if rng.random() < 0.3:
            given["size_by"] = "weight"
        elif rng.random() < 0.5:
            spare = rng.integers(0, 2, k) if rng.random() < 0.5 else 1
            given["size_max"] = np.maximum(np.bincount(labels) + spare, given["size_min"])
    if rng.random() < 0.3 and n > 2:
        soft = rng.choice(n, 2, replace=False)[None]
        given["soft"] = SoftPairs(soft, rng.random(1), soft[:0], np.empty(0))
    return given, known, rng.normal(size=(k, 2))


def judged(given: dict[str, Any], known: Constraints, centers: np.ndarray) -> float:
    """The least cost over all labels; infinite where there are none."""
    X, k = given["X"], given["n_clusters"]
    labels = every_label(len(X), k)
    weight = given.get("sample_weight", np.ones(len(X)))
    fits = np.ones(len(labels), dtype=bool)
    for i, j in known.must_link:
        fits &= labels[:, i] == labels[:, j]
    for i, j in known.cannot_link:
        fits &= labels[:, i] != labels[:, j]
    counted = weight if given.get("size_by") == "weight" else np.ones(len(X))
    held = np.array([(labels == cluster) @ counted for cluster in range(k)])
    fits &= (held > 0).all(axis=0)
    sizes = given.get("size_min", 0), given.get("size_max", np.inf)
    fits &= kept(labels, k, known.quotas, held, *sizes)
    if not fits.any():
        return np.inf
    squares = ((X[:, None] - centers) ** 2).sum(axis=2) * weight[:, None]
    costs = squares[np.arange(len(X)), labels[fits]].sum(axis=1)
    if "soft" in given:
        (i, j), price = given["soft"].must_link[0], given["soft"].price[0]
        costs = costs + price * (labels[fits][:, i] != labels[fits][:, j])
    return float(costs.min())


def check(seed: int) -> str | None:
    """What is wrong with one instance, if anything."""
    rng = np.random.default_rng(seed)
    given, known, centers = random_case(rng)
    expected = judged(given, known, centers)
    rejections.MOST_EXPLAINED = 0 if seed % EXPLAINED else 50_000
    structure.PACKING_SECONDS = 0.01 if seed % EXPLAINED else 0.5
    try:
        problem = Problem.build(
            **given, must_link=known.must_link, cannot_link=known.cannot_link, quotas=known.quotas
        )
    except InfeasibleConstraintsError as error:
        return None if expected == np.inf else f"refused ({error}), but there are labels"
    found = exact_assignment(problem, centers)
    if found.labels is None:
        fine = expected == np.inf and found.status == Status.INFEASIBLE
        return None if fine else f"{found.status}, but there are labels of {expected}"
    if not kept(found.labels[None], given["n_clusters"], known.quotas)[0]:
        return "a quota is broken"
    if abs(found.cost - expected) > 1e-6 * max(1.0, abs(expected)):
        return f"cost {found.cost}, expected {expected}"
    if found.status != Status.OPTIMAL:
        return f"not proven: {found.status}"
    return check_new(rng, known, given["n_clusters"]) if seed % 3 == 0 else None


def check_new(rng: np.random.Generator, known: Constraints, k: int) -> str | None:
    """New rows after old ones, under what is left."""
    n = len(known)
    n_old = int(rng.integers(0, n))
    old, squares = rng.integers(0, k, n_old), rng.random((n - n_old, k))
    if n_old == 0:
        return None
    labels = np.column_stack([np.tile(old, (k ** (n - n_old), 1)), every_label(n - n_old, k)])
    fits = np.ones(len(labels), dtype=bool)
    for kind, together in (("must_link", True), ("cannot_link", False)):
        for i, j in getattr(known, kind):
            if max(i, j) >= n_old:
                fits &= (labels[:, i] == labels[:, j]) == together
    fits &= kept(labels, k, known.quotas)
    sizes = None
    if rng.random() < 0.3:
        low = np.bincount(rng.integers(0, k, n - n_old), minlength=k) - rng.integers(0, 2, k)
        sizes = SizeBounds(np.maximum(low, 0.0), np.where(rng.random(k) < 0.3, np.inf, low + 2.0))
        held = np.array([(labels[:, n_old:] == cluster).sum(axis=1) for cluster in range(k)]).T
        fits &= ((held >= sizes.low) & (held <= sizes.high)).all(axis=1)
    costs = squares[np.arange(n - n_old), labels[fits][:, n_old:]].sum(axis=1)
    try:
        found = label_new(squares, old, known, SoftPrices(1.0), sizes)
    except InfeasibleConstraintsError as error:
        return None if not fits.any() else f"new rows: {error}"
    own = squares[np.arange(n - n_old), found].sum()
    if not fits.any():
        return "new rows: labels where there are none"
    return None if abs(own - costs.min()) < 1e-9 else f"new rows: {own}, expected {costs.min()}"


if __name__ == "__main__":
    run(check, __doc__)
