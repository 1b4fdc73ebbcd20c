"""GuidedClustering: agreement with classes, wrong pairs, labels, ablation, scale.

    python -m benchmarks.guided                          # small tables: about an hour on one core
    python -m benchmarks.guided --tables pairs --only wine digits --seeds 1
    python -m benchmarks.guided --before ../v0.2.0/src   # an earlier version's metric="auto", too
    python -m benchmarks.guided --store runs.jsonl       # keep results, go on where it stopped

Tables: `pairs` (up to 300 rows, pairs N/16, N/8, N/2), `full` (all rows of sets that have more than
300, up to 20,000; `large` are the sets with at least 1,797), `wrong` (0 to 30% of the pairs wrong,
all soft), `labels` (5 and 10 labelled points a class), `ablation` (each view left out, equal
weights, the best view alone), `scale` (seconds and memory). Data: sets with classes in the folder
`classes` of SMDECLUST_DATA (X and y in .npz files), scikit-learn's, and letter. Columns are
standardized for all methods. Methods that fail, because they find no feasible labels, count with
the Euclidean distance.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn import datasets as toys
from sklearn.metrics import adjusted_rand_score

from smdeclust.datasets import standardize

SHAPES = ("chainlink", "spiral", "pathbased", "compound", "jain", "zigzag")
REAL = (
    "vehicle", "segment", "satimage", "vowel", "texture", "led7digit", "movement_libras",
    "ionosphere", "heart", "wisconsin", "twonorm", "spambase", "yeast",
)  # fmt: skip
TOYS = {"digits": toys.load_digits, "wine": toys.load_wine, "breast": toys.load_breast_cancer}
NAMES = (*REAL, *TOYS, *SHAPES)
LARGE = ("digits", "segment", "satimage", "texture", "spambase", "twonorm", "letter")
FULL = (
    *LARGE, "vehicle", "vowel", "led7digit", "movement_libras", "ionosphere", "wisconsin", "yeast",
    "breast", "chainlink", "spiral", "compound", "jain",
)  # fmt: skip
SHARES = (16, 8, 2)
VIEWS = ("given", "learned", "graph", "graph-learned", "parts", "classes")
METHODS = {
    "pairs": ("before", "euclidean", "learned", "auto", "guided", "spectral", "ITML", "PCK", "COP"),
    "full": ("before", "euclidean", "learned", "auto", "guided"),
    "wrong": ("no pairs", "euclidean", "learned", "guided", "PCK"),
    "labels": ("auto", "guided", "SVC", "spreading", "1-NN"),
    "ablation": ("guided", "equal", "best view", *(f"without {name}" for name in VIEWS)),
}


# --- data -----------------------------------------------------------------------------------


def load(name, most):
    """Standardized points and classes, a random part of large data; None where it is not here."""
    folder = Path(os.environ.get("SMDECLUST_DATA", "."))
    if name in TOYS:
        X, y = TOYS[name](return_X_y=True)
    else:
        path = folder / ("set2/letter/letter.npz" if name == "letter" else f"classes/{name}.npz")
        if not path.exists():
            return None
        with np.load(path, allow_pickle=True) as file:
            X, y = file["X"], file["y"]
    rows = np.random.default_rng(0).permutation(len(X))[:most]
    return standardize(np.asarray(X, dtype=float)[rows]), np.unique(y[rows], return_inverse=True)[1]


def draw(y, n_pairs, seed):
    """Random must-links and cannot-links that follow the classes."""
    rng = np.random.default_rng([seed, n_pairs])
    pairs = rng.integers(0, len(y), (6 * n_pairs + 100, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    pairs = rng.permutation(pairs)[:n_pairs]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return pairs[same], pairs[~same]


def spoiled(must, cannot, rate, seed):
    """The same with a share of the pairs turned round."""
    pairs = np.concatenate([must, cannot])
    together = np.arange(len(pairs)) < len(must)
    together = together ^ (np.random.default_rng([seed, 7]).random(len(pairs)) < rate)
    return pairs[together], pairs[~together]


def labelled(y, count, seed):
    """`count` labelled points of each class; -1 elsewhere."""
    rng = np.random.default_rng([seed, count])
    partial = np.full(len(y), -1)
    for c in np.unique(y):
        partial[rng.permutation(np.flatnonzero(y == c))[:count]] = c
    return partial


# --- methods --------------------------------------------------------------------------------


def run(method, X, k, must, cannot, seed, soft=None):
    """Labels of one method. `soft`: the confidence of all pairs, where they are soft."""
    from smdeclust import COPKMeans, GuidedClustering, PCKMeans, SMDEClust

    hard = {"must_link": must, "cannot_link": cannot}
    given = hard
    if soft is not None:
        given = {
            f"soft_{kind}": [(*pair, soft) for pair in pairs.tolist()]
            for kind, pairs in hard.items()
        }
    plain = SMDEClust(k, random_state=seed, max_time=20)
    if method == "no pairs":
        return plain.fit(X).labels_
    if method in ("euclidean", "learned", "auto"):
        return plain.set_params(metric=method).fit(X, **given).labels_
    if method == "PCK":
        return PCKMeans(k, random_state=seed).fit(X, **hard).labels_
    if method == "COP":
        try:
            return COPKMeans(k, random_state=seed).fit(X, **hard).labels_
        except Exception:
            return plain.fit(X, **hard).labels_
    if method == "spectral":
        return spectral(X, k, must, cannot, seed)
    if method == "ITML":
        from benchmarks.distance import judge_map, within

        try:
            with within(20.0):
                Z = judge_map("ITML", X, must, cannot, seed)
        except ImportError:
            raise
        except Exception:
            Z = X
        return plain.fit(Z, **hard).labels_
    model = GuidedClustering(k, random_state=seed)
    if method.startswith("without "):
        model.set_params(views=[name for name in VIEWS if name != method.removeprefix("without ")])
    if method == "equal":
        from smdeclust.views import consensus

        weigh = consensus.weights_of
        consensus.weights_of = lambda held: dict.fromkeys(held.names, 1 / len(held.names))
        try:
            return model.fit(X, **given).labels_
        finally:
            consensus.weights_of = weigh
    model.fit(X, **given)
    if method == "best view":
        return model.views_[max(model.view_weights_, key=model.view_weights_.get)].labels
    return model.labels_


def spectral(X, k, must, cannot, seed):
    """Spectral clustering of a neighbor graph whose affinities the pairs edit."""
    from sklearn.cluster import SpectralClustering
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, min(10, len(X) - 1)).toarray()
    graph = np.maximum(graph, graph.T)
    for pairs, value in ((must, 1.0), (cannot, 0.0)):
        graph[pairs[:, 0], pairs[:, 1]] = graph[pairs[:, 1], pairs[:, 0]] = value
    model = SpectralClustering(k, affinity="precomputed", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit_predict(graph)


def run_labels(method, X, k, partial, seed):
    """Labels of one method that knows the classes of some points."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.semi_supervised import LabelSpreading
    from sklearn.svm import SVC

    from smdeclust import Constraints, GuidedClustering, SMDEClust

    known = partial >= 0
    if method in ("auto", "guided"):
        model = GuidedClustering(k, random_state=seed)
        if method == "auto":
            model = SMDEClust(k, metric="auto", random_state=seed, max_time=20)
        return model.fit(X, constraints=Constraints.from_labels(partial)).labels_
    if method == "spreading":
        model = LabelSpreading(kernel="knn", n_neighbors=10, max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, partial).transduction_
    model = SVC(C=10) if method == "SVC" else KNeighborsClassifier(1)
    return model.fit(X[known], partial[known]).predict(X)


def before(path, tasks):
    """ARI of an earlier version's metric="auto", in a process of its own.

    It had no limit unless one was given; 200 seconds are more than it needs on all but the largest.
    """
    program = (
        "import json, sys; sys.path.insert(0, '.'); from benchmarks import guided as g\n"
        "for line in sys.stdin:\n"
        "    name, most, share, seed = json.loads(line); X, y = g.load(name, most)\n"
        "    from smdeclust import SMDEClust\n"
        "    m, c = g.draw(y, max(2, round(len(X) / share)), seed)\n"
        "    model = SMDEClust(int(y.max()) + 1, metric='auto', random_state=seed, max_time=200)\n"
        "    found = model.fit(X, must_link=m, cannot_link=c).labels_\n"
        "    print(g.adjusted_rand_score(y, found), flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input="\n".join(json.dumps(task) for task in tasks),
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [float(line) for line in done.stdout.split()]


# --- the tables -----------------------------------------------------------------------------


def tasks_of(table, options):
    """(name, most rows, what is given, seed) of a table; seeds outermost."""
    names = [n for n in (FULL if table == "full" else NAMES) if n in options.only]
    most = options.max_rows if table == "full" else 300
    given = {"pairs": SHARES, "full": SHARES, "wrong": (0, 10, 20, 30), "labels": (5, 10)}
    for seed in range(1 if table == "full" else options.seeds):
        for name in names:
            for amount in given.get(table, (8,)):
                yield name, most, amount, seed


def measure(table, task, method, options):
    """ARI of one method, and its seconds."""
    name, most, amount, seed = task
    X, y = load(name, most)
    k, begun = int(y.max()) + 1, time.process_time()
    if method == "before":
        return before(options.before, [task])[0], float("nan")
    if table == "labels":
        found = run_labels(method, X, k, labelled(y, amount, seed), seed)
    elif table == "wrong":
        pairs = spoiled(*draw(y, len(X) // 2, seed), amount / 100, seed)
        # Nobody knows how many are wrong: all pairs have the confidence that is the default.
        found = run(method, X, k, *pairs, seed, soft=0.95)
    else:
        found = run(method, X, k, *draw(y, max(2, round(len(X) / amount)), seed), seed)
    return float(adjusted_rand_score(y, found)), time.process_time() - begun


def show(table, records, methods):
    """Print mean ARI by data set and by what was given, and the mean seconds."""
    found = defaultdict(list)
    for record in records:
        if record["table"] == table:
            for key in (record["name"], f"given {record['amount']}", "mean",
                        "shapes" if record["name"] in SHAPES else "real"):  # fmt: skip
                found[key, record["method"]].append(record["ari"])
            if table == "full" and record["name"] in LARGE:
                found["large", record["method"]].append(record["ari"])
            found["seconds", record["method"]].append(record["seconds"])
    methods = [m for m in methods if ("mean", m) in found]
    keys = sorted({key for key, _ in found} - {"mean", "seconds", "real", "shapes", "large"})
    print(f"\n{table}: mean ARI\n\n| | {' | '.join(methods)} |\n|{'---|' * (len(methods) + 1)}")
    for key in (*keys, "real", "shapes", "large", "mean", "seconds"):
        cells = [found.get((key, m)) for m in methods]
        told = " | ".join("" if not cell else f"{np.mean(cell):.3f}" for cell in cells)
        print(f"| {key} | {told} |")


def scale():
    """Seconds and memory of made data that grow."""
    from smdeclust import GuidedClustering

    print("\nscale: four classes of two parts each\n")
    print("| rows | columns | seconds | MB more | ARI |\n|---|---|---|---|---|")
    for n, d in ((1000, 10), (5000, 20), (20_000, 50), (1_000_000, 10)):
        X, parts = toys.make_blobs(n, n_features=d, centers=8, cluster_std=2.0, random_state=0)
        y = parts // 2
        must, cannot = draw(y, min(n // 8, 5000), 0)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.perf_counter()
        model = GuidedClustering(4, random_state=0).fit(X, must_link=must, cannot_link=cannot)
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
        ari = adjusted_rand_score(y, model.labels_)
        print(f"| {n} | {d} | {time.perf_counter() - begun:.1f} | {more:.0f} | {ari:.3f} |")


def main():
    """Run what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables = (*METHODS, "scale")
    parser.add_argument("--tables", nargs="+", default=list(tables), choices=tables)
    parser.add_argument("--only", nargs="+", default=[*NAMES, "letter"], metavar="DATA")
    parser.add_argument("--methods", nargs="+", help="these methods only")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--max-rows", type=int, default=20_000, help="rows of the table full")
    parser.add_argument("--before", type=Path, help="folder src of an earlier version")
    parser.add_argument("--store", type=Path, help="file of results, one JSON record a line")
    options = parser.parse_args()
    records = []
    if options.store and options.store.exists():
        records = [json.loads(line) for line in options.store.read_text().splitlines()]
    keys = ("table", "name", "most", "amount", "seed", "method")
    done = {tuple(record[key] for key in keys) for record in records}
    for table in options.tables:
        if table == "scale":
            scale()
            continue
        methods = [m for m in METHODS[table] if not options.methods or m in options.methods]
        for task in tasks_of(table, options):
            if load(task[0], 10) is None:
                print(f"{task[0]}: left out, there is no such file in SMDECLUST_DATA.")
                continue
            for method in methods:
                if (table, *task, method) in done or (method == "before" and not options.before):
                    continue
                try:
                    ari, seconds = measure(table, task, method, options)
                except ImportError:
                    continue  # a package to compare with is not installed
                values = (table, *task, method)
                record = dict(zip(keys, values, strict=True)) | {"ari": ari, "seconds": seconds}
                records.append(record)
                if options.store:
                    with options.store.open("a") as file:
                        file.write(json.dumps(record) + "\n")
        show(table, records, methods)


if __name__ == "__main__":
    main()
