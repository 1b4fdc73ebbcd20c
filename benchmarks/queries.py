"""Agreement with the classes against the number of answers, by way of asking.

    python -m benchmarks.queries [--seeds 5] [--budget 200] [--sets iris,wine] [--wrong 0.1]
                                 [--model guided] [--jobs 2] [--store curves.jsonl]

Every way of asking (ours, and those of `questioners`) has the same oracle and budget. Its answers
go into the same clustering, `--model`: ``guided``, ``graph`` (the graph view alone), ``learned`` or
``euclidean``. ``cobras (own)`` are the clusters that COBRAS makes itself; ``--ways labels`` is ours
asking "which cluster is this one?", where an answer is a label. With ``--wrong`` that share of the
answers is wrong, and all are soft with that confidence. Prints the adjusted Rand index after some
numbers of answers and the area under its curve, by data set and on average, and seconds a question.
``--store`` keeps every curve, so that a run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import smdeclust
from benchmarks.questioners import QUESTIONERS, BudgetSpent, Oracle
from smdeclust import ActiveClustering, Constraints, SMDEClust

OURS, LABELS, OWN = "influence", "labels", "cobras (own)"
CHECKPOINTS = (25, 50, 100, 200)
MOST_ROWS = 300
FILES = (
    "compound", "heart", "jain", "led7digit", "pathbased", "satimage", "segment", "spiral",
    "texture", "vehicle", "vowel", "wisconsin", "yeast",
)  # fmt: skip


def _blobs() -> tuple[np.ndarray, np.ndarray]:
    return datasets.make_blobs(300, 6, centers=8, cluster_std=3.0, random_state=0)


def _stretched() -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.make_blobs(300, 2, centers=4, cluster_std=1.0, random_state=3)
    return np.column_stack([X, np.random.default_rng(0).normal(size=(300, 4))]), y


def _of_file(name: str) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    def load() -> tuple[np.ndarray, np.ndarray]:
        folder = Path(os.environ.get("SMDECLUST_DATA", "data")) / "classes"
        with np.load(folder / f"{name}.npz", allow_pickle=True) as file:
            return np.asarray(file["X"], dtype=np.float64), np.asarray(file["y"])

    return load


# The sets of the documentation's tables; `--sets` may name any of SETS.
TWELVE = (
    "iris", "wine", "breast cancer", "digits", "moons", "blobs", "stretched", "compound", "heart",
    "jain", "led7digit", "pathbased",
)  # fmt: skip
SETS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "moons": lambda: datasets.make_moons(300, noise=0.1, random_state=0),
    "blobs": _blobs,
    "stretched": _stretched,
    **{name: _of_file(name) for name in FILES},
}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """At most 300 rows, standardized; classes of fewer than four rows are left out."""
    X, y = SETS[name]()
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    X, (_, y, sizes) = X[rows], np.unique(y[rows], return_inverse=True, return_counts=True)
    large = sizes[y] >= 4
    return StandardScaler().fit_transform(X[large]), np.unique(y[large], return_inverse=True)[1]


def make_model(kind: str, k: int, seed: int) -> Any:
    """The clustering that answers go into."""
    if kind in ("guided", "graph"):
        views = "auto" if kind == "guided" else ["graph"]
        return smdeclust.GuidedClustering(k, views=views, random_state=seed)
    return SMDEClust(k, metric=kind, max_time=2.0, random_state=seed)


def as_constraints(
    answers: list[tuple[int, int, bool]], n_points: int, wrong: float
) -> Constraints:
    """The answers as pairs: hard, or soft where some are wrong."""
    must = [(i, j) for i, j, same in answers if same]
    cannot = [(i, j) for i, j, same in answers if not same]
    if wrong == 0:
        return Constraints(must_link=must, cannot_link=cannot, n_points=n_points)
    return Constraints(
        soft_must_link=[(*pair, 1 - wrong) for pair in must],
        soft_cannot_link=[(*pair, 1 - wrong) for pair in cannot],
        n_points=n_points,
    )


def ask_ours(X: np.ndarray, y: np.ndarray, given: Any, seed: int, ask: str) -> tuple[Any, float]:
    """Our answers, question by question, and seconds a question."""
    oracle = Oracle(y, given.budget, given.wrong, seed)

    def which(row: int, representatives: list[int]) -> int | str:
        same = [at for at, other in enumerate(representatives) if oracle.answer(row, other)]
        return same[0] if same else "none"

    loop = ActiveClustering(
        make_model(given.model, len(np.unique(y)), seed),
        oracle.answer if ask == "pairs" else which,
        budget=given.budget,
        ask=ask,
        error_rate="auto" if given.wrong else 0.0,
        patience=None,
        random_state=seed,
    )
    started = time.perf_counter()
    turns = [list(loop.answers_) for _ in loop.steps(X)]
    seconds = (time.perf_counter() - started) / max(1, loop.n_questions_)
    found = [[(*a.pair, a.verdict == "same") for a in turn] for turn in turns]
    return found, seconds


def curve(way: str, name: str, seed: int, given: Any) -> tuple[dict[str, list[float]], float]:
    """Adjusted Rand indices at the checkpoints, by way of asking, and seconds a question."""
    X, y = load(name)
    k = len(np.unique(y))
    oracle = Oracle(y, given.budget, given.wrong, seed)
    seconds = 0.0
    if way in (OURS, LABELS):
        found, seconds = ask_ours(X, y, given, seed, "pairs" if way == OURS else "labels")
        known = [found[min(n, len(found)) - 1] if found else [] for n in given.checkpoints]
    else:
        with contextlib.suppress(BudgetSpent):
            QUESTIONERS[way](X, k, oracle, np.random.default_rng(seed))
        known = [oracle.answers[:n] for n in given.checkpoints]
    out: dict[str, list[float]] = {way: []}
    for answers in known:
        model = make_model(given.model, k, seed)
        labels = model.fit(X, constraints=as_constraints(answers, len(X), given.wrong)).labels_
        out[way].append(adjusted_rand_score(y, labels))
    if oracle.snapshots:
        out[OWN] = [
            adjusted_rand_score(y, [own for at, own in oracle.snapshots if at <= n][-1])
            for n in given.checkpoints
        ]
    return out, seconds


def kept_curve(way: str, name: str, seed: int, given: Any) -> tuple[dict[str, list[float]], float]:
    """`curve`, read from the store where it has it, and written there otherwise."""
    key = [way, name, seed, given.budget, given.wrong, given.model, given.checkpoints]
    if given.store and given.store.exists():
        for line in given.store.read_text().splitlines():
            record = json.loads(line)
            if record["key"] == key:
                return record["curves"], record["seconds"]
    curves, seconds = curve(way, name, seed, given)
    if given.store:
        with given.store.open("a") as file:
            file.write(json.dumps({"key": key, "curves": curves, "seconds": seconds}) + "\n")
    return curves, seconds


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--sets", default=",".join(TWELVE))
    parser.add_argument("--ways", default=",".join([OURS, *QUESTIONERS]))
    parser.add_argument("--wrong", type=float, default=0.0)
    parser.add_argument("--model", default="guided")
    parser.add_argument("--checkpoints", default=",".join(map(str, CHECKPOINTS)))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, help="file of curves, one JSON record a line")
    given = parser.parse_args()
    given.checkpoints = [n for n in map(int, given.checkpoints.split(",")) if n <= given.budget]
    rows: dict[str, list[np.ndarray]] = {}
    worst: dict[str, list[str]] = {}
    seconds: list[float] = []
    print(f"{'':20s}{'':22s}" + "".join(f"{n:>7d}" for n in given.checkpoints) + "   area")
    for name in given.sets.split(","):
        tasks = [(way, seed) for way in given.ways.split(",") for seed in range(given.seeds)]
        done = Parallel(n_jobs=given.jobs)(delayed(kept_curve)(w, name, s, given) for w, s in tasks)
        curves: dict[str, list[list[float]]] = {}
        for (way, _), (found, spent) in zip(tasks, done, strict=True):
            for key, values in found.items():
                curves.setdefault(key, []).append(values)
            if way == OURS:
                seconds.append(spent)
        for way, values in curves.items():
            mean = np.mean(values, axis=0)
            rows.setdefault(way, []).append(mean)
            print(f"{name:20s}{way:22s}" + _line(mean, given.checkpoints), flush=True)
        if OURS in curves and "random" in curves:
            behind = rows[OURS][-1] < rows["random"][-1] - 1e-9
            worst[name] = [str(n) for n, b in zip(given.checkpoints, behind, strict=True) if b]
    print()
    for way, means in rows.items():
        mean = np.mean(means, axis=0)
        print(f"{'mean':20s}{way:22s}" + _line(mean, given.checkpoints))
    for name, numbers in worst.items():
        if numbers:
            print(f"{name}: ours is below random after {', '.join(numbers)} answers")
    if seconds:
        print(f"ours: {np.mean(seconds):.3f} seconds a question, clustering included")


def _line(mean: np.ndarray, checkpoints: list[int]) -> str:
    area = np.trapezoid(mean, checkpoints) / (checkpoints[-1] - checkpoints[0])
    return "".join(f"{value:7.3f}" for value in mean) + f"{area:7.3f}"


if __name__ == "__main__":
    main()
