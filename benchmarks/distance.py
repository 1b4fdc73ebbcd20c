"""Learned distances: agreement with classes, pairs held out, time, and other packages as judges.

    python -m benchmarks.distance                        # everything: hours
    python -m benchmarks.distance --seeds 1 --max-points 300 --share 1/4
    python -m benchmarks.distance --only iris wine --judges none
    python -m benchmarks.distance --store runs.jsonl     # keep results, go on where it stopped

Data: scikit-learn's, the paper's first and second set (where SMDECLUST_DATA or the web has them),
and made ones: some where Euclid is right, some where it is wrong. Every column is standardised for
all methods. Pairs are drawn at random and follow the classes; as many again, not given, are held
out. Judges learn a distance from the same pairs, in front of SMDEClust (RCA, ITML, MMC, SDML, LSML
of metric-learn), or are methods of their own (MPCK-Means of active-semi-supervised-clustering). A
judge that fails or takes longer than --judge-time counts as Euclid's distance, and is counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn import datasets as toys
from sklearn.metrics import adjusted_rand_score

from smdeclust import SMDEClust
from smdeclust.datasets import load_set1, load_set2, standardize
from smdeclust.exceptions import DataNotFoundError
from smdeclust.structure.groups import contract

METRICS = ("euclidean", "diagonal", "learned", "auto")
JUDGES = ("RCA", "ITML", "MMC", "SDML", "LSML", "MPCK")
AMOUNTS = {"N/8": 1 / 8, "N/4": 1 / 4, "N/2": 1 / 2, "N": 1.0}
SET1 = ("connectionist", "seeds", "glass", "accent", "ecoli", "computers")
SET2 = ("banana", "letter", "shuttle", "mnist")


# --- data -----------------------------------------------------------------------------------


def made(name):
    """Points and classes of a made data set."""
    rng = np.random.default_rng(5)
    if name == "round":  # Euclid is right
        return toys.make_blobs(300, centers=4, n_features=5, cluster_std=2.5, random_state=3)
    if name == "round-10":
        return toys.make_blobs(400, centers=8, n_features=10, cluster_std=3.5, random_state=4)
    if name == "round-200":
        return toys.make_blobs(150, centers=3, n_features=200, cluster_std=14.0, random_state=7)
    if name == "sheared":  # from here on it is wrong
        X, y = toys.make_blobs(300, centers=3, n_features=4, cluster_std=1.2, random_state=1)
        return X @ rng.normal(size=(4, 4)) @ np.diag([1, 0.3, 3, 0.5]), y
    if name == "noise-columns":
        X, y = toys.make_blobs(300, centers=3, n_features=3, cluster_std=2.0, random_state=2)
        return np.hstack([X, 6 * rng.normal(size=(300, 9))]), y
    if name == "common-noise":
        X, y = toys.make_blobs(300, centers=4, n_features=3, cluster_std=1.5, random_state=7)
        noise = 8 * rng.normal(size=(300, 2)) @ rng.normal(size=(2, 8))
        return np.hstack([X, np.zeros((300, 5))]) + noise + rng.normal(size=(300, 8)), y
    raise KeyError(name)


TOYS = {
    "iris": toys.load_iris,
    "wine": toys.load_wine,
    "breast-cancer": toys.load_breast_cancer,
    "digits": toys.load_digits,
}
MADE = ("round", "round-10", "round-200", "sheared", "noise-columns", "common-noise")
NAMES = (*TOYS, *SET1, *SET2, *MADE)


def load(name, max_points):
    """Standardised points and classes from 0, a random part of large data."""
    if name in TOYS:
        X, y = TOYS[name](return_X_y=True)
    elif name in MADE:
        X, y = made(name)
    else:
        data = load_set1(name) if name in SET1 else load_set2(name)
        X, y = data.X, data.y
    rows = np.random.default_rng(0).permutation(len(X))[:max_points]
    return standardize(np.asarray(X, dtype=float)[rows]), np.unique(y[rows], return_inverse=True)[1]


def draw(y, n_pairs, seed):
    """`n_pairs` must-links and cannot-links to give, and as many that are held out."""
    rng = np.random.default_rng([seed, n_pairs])
    drawn = rng.integers(0, len(y), (6 * n_pairs + 100, 2))
    drawn = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0)
    drawn = rng.permutation(drawn)[: 2 * n_pairs]

    def split(pairs):
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        return pairs[same], pairs[~same]

    return split(drawn[:n_pairs]), split(drawn[n_pairs:])


# --- methods --------------------------------------------------------------------------------


class JudgeFailedError(Exception):
    """A judge gave no distance."""


@contextlib.contextmanager
def within(seconds):
    """Raise an error in the block after so many seconds of the processor."""

    def ring(*_):
        raise JudgeFailedError("too slow")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def the_judges():
    """The package metric-learn, which still uses keywords that scikit-learn has changed."""
    import metric_learn
    from metric_learn import _util, sdml

    def renamed(check):
        def call(*args, force_all_finite=None, **kwargs):
            if force_all_finite is not None:
                kwargs["ensure_all_finite"] = force_all_finite
            return check(*args, **kwargs)

        return call

    if not hasattr(_util, "plain_checks"):
        _util.plain_checks = _util.check_array, _util.check_X_y
        _util.check_array, _util.check_X_y = map(renamed, _util.plain_checks)
        lasso = sdml.graphical_lasso
        sdml.graphical_lasso = lambda *args, cov_init=None, **kwargs: lasso(*args, **kwargs)
    return metric_learn


def judge_map(name, X, must, cannot, seed):
    """Points in the distance that metric-learn learns from the pairs."""
    metric_learn = the_judges()
    pairs = np.concatenate([must, cannot])
    signs = np.concatenate([np.ones(len(must)), -np.ones(len(cannot))]).astype(int)
    if name == "RCA":
        grouping = contract(len(X), must, cannot)
        chunks = np.where(grouping.size[grouping.of_point] > 1, grouping.of_point, -1)
        return metric_learn.RCA().fit(X, np.unique(chunks, return_inverse=True)[1] - 1).transform(X)
    if name == "LSML":
        rng = np.random.default_rng(seed)
        n = 4 * len(pairs)
        near, far = rng.integers(0, len(must), n), rng.integers(0, len(cannot), n)
        fours = X[np.hstack([must[near], cannot[far]])]
        return metric_learn.LSML(random_state=seed).fit(fours).transform(X)
    if name != "SDML":
        return getattr(metric_learn, name)(random_state=seed).fit(X[pairs], signs).transform(X)
    # Its loss is a sum over pairs; the largest balance with which its solver converges.
    for balance in np.array([50, 10, 2, 0.5, 0.1]) / len(pairs):
        with contextlib.suppress(RuntimeError):
            model = metric_learn.SDML(balance_param=balance, prior="identity", random_state=seed)
            return model.fit(X[pairs], signs).transform(X)
    raise JudgeFailedError("its solver did not converge")


def mpck(X, n_clusters, must, cannot, seed):
    """Labels of MPCK-Means."""
    from active_semi_clustering.semi_supervised.pairwise_constraints import MPCKMeans

    np.random.seed(seed)  # noqa: NPY002 - it draws from the global state
    model = MPCKMeans(n_clusters=n_clusters, max_iter=30)
    model.fit(X, ml=[tuple(p) for p in must], cl=[tuple(p) for p in cannot])
    return np.asarray(model.labels_)


def run(method, X, n_clusters, must, cannot, seed, limits):
    """Labels of one method, and whether a judge failed."""
    settings = {"random_state": seed, "max_time": limits.max_time}
    pairs = {"must_link": must, "cannot_link": cannot}
    if method in METRICS:
        return SMDEClust(n_clusters, metric=method, **settings).fit(X, **pairs).labels_, False
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), within(limits.judge_time):
            warnings.simplefilter("ignore")
            if method == "MPCK":
                return mpck(X, n_clusters, must, cannot, seed), False
            Z = np.asarray(judge_map(method, X, must, cannot, seed), dtype=float)
        if not np.isfinite(Z).all():
            raise JudgeFailedError("not finite")
    except ImportError:
        raise
    except Exception:  # they raise many types
        return SMDEClust(n_clusters, **settings).fit(X, **pairs).labels_, True
    return SMDEClust(n_clusters, **settings).fit(Z, **pairs).labels_, False


def measure(name, amount, seed, methods, X, y, limits):
    """One record a method."""
    n_clusters = int(y.max()) + 1
    given, held_out = draw(y, max(2, round(AMOUNTS[amount] * len(X))), seed)
    for method in methods:
        begun = time.process_time()  # others may use the machine
        labels, failed = run(method, X, n_clusters, *given, seed, limits)
        seconds = time.process_time() - begun
        kept = sum((labels[pairs[:, 0]] == labels[pairs[:, 1]]).sum() for pairs in held_out[:1])
        kept += (labels[held_out[1][:, 0]] != labels[held_out[1][:, 1]]).sum()
        yield {
            "data": name,
            "amount": amount,
            "seed": seed,
            "method": method,
            "ari": float(adjusted_rand_score(y, labels)),
            "kept": float(kept / sum(map(len, held_out))),
            "seconds": seconds,
            "failed": failed,
        }


def warm_up(options):
    """Compile everything before anything is timed."""
    X, y = made("round")
    for metric in METRICS:
        run(metric, X, 4, *draw(y, 150, 0)[0], 0, options)


def available(judges):
    """The judges whose package is here; a sentence for each that is not."""
    here = []
    for package, names in (("metric_learn", JUDGES[:-1]), ("active_semi_clustering", JUDGES[-1:])):
        wanted = [name for name in names if name in judges]
        try:
            __import__(package)
            here += wanted
        except ImportError:
            if wanted:
                print(f"{', '.join(wanted)}: left out, the package {package} is not installed.")
    return here


# --- tables ---------------------------------------------------------------------------------


def mean_of(records, field, *keys):
    """Mean of a field by the values of some keys."""
    groups = defaultdict(list)
    for record in records:
        groups[tuple(record[key] for key in keys)].append(record[field])
    return {key: float(np.mean(values)) for key, values in groups.items()}


def show(records):
    """Print the tables, in Markdown."""
    methods = [m for m in (*METRICS, *JUDGES) if any(r["method"] == m for r in records)]
    names = [n for n in NAMES if any(r["data"] == n for r in records)]
    amounts = [a for a in AMOUNTS if any(r["amount"] == a for r in records)]
    seeds = len({r["seed"] for r in records})
    print(
        f"\nAgreement with the classes (ARI), mean over {', '.join(amounts)} pairs, {seeds} seeds\n"
    )
    by_name = mean_of(records, "ari", "data", "method")
    rows = [[n, *(cell(by_name.get((n, m))) for m in methods)] for n in names]
    # A mean of means, so that data with fewer runs count alike.
    rows.append(["**mean**", *(cell(average(by_name, names, m)) for m in methods)])
    table(["data", *methods], rows)
    print("\nBy the number of pairs (ARI; then held-out pairs kept)\n")
    rows = []
    for field, form in (("ari", "{}"), ("kept", "kept, {}")):
        cells = mean_of(records, field, "data", "amount", "method")
        for a in amounts:
            at = {(n, m): cells[n, a, m] for n in names for m in methods if (n, a, m) in cells}
            rows.append([form.format(a), *(cell(average(at, names, m)) for m in methods)])
    table(["pairs", *methods], rows)
    print("\nTime against one Euclidean fit on the same pairs, and judges that failed\n")
    table(["", *methods], list(time_rows(records, methods)))
    against(records, [m for m in methods if m in JUDGES])
    judge_auto(records)


def against(records, judges):
    """Print learned and each judge on the same runs: judges that are slow have fewer."""
    if not judges:
        return
    print("\nlearned and each judge, on the runs that both have\n")
    found = {(r["data"], r["amount"], r["seed"], r["method"]): r["ari"] for r in records}
    rows = []
    for judge in judges:
        runs = [key[:3] for key in found if key[3] == judge and (*key[:3], "learned") in found]
        ours, theirs, plain = (
            np.array([found[*run, method] for run in runs])
            for method in ("learned", judge, "euclidean")
        )
        better, worse = (ours > theirs + 0.01).sum(), (ours < theirs - 0.01).sum()
        rows.append(
            [judge, str(len(runs)), *(f"{x.mean():.3f}" for x in (ours, theirs, plain)),
             f"{better} / {worse}"]
        )  # fmt: skip
    table(["judge", "runs", "learned", "judge", "euclidean", "learned better / worse"], rows)


def time_rows(records, methods):
    """Ratios of time, median and of the sums, and counts of failures."""
    times = {(r["data"], r["amount"], r["seed"], r["method"]): r["seconds"] for r in records}
    keys = {key[:3] for key in times}
    ratios, sums = [], []
    for m in methods:
        both = [(times[*k, m], times[*k, "euclidean"]) for k in keys
                if (*k, m) in times and (*k, "euclidean") in times]  # fmt: skip
        ratios.append(f"{np.median([a / b for a, b in both]):.2f}" if both else "")
        sums.append(f"{sum(a for a, _ in both) / sum(b for _, b in both):.2f}" if both else "")
    yield ["median of ratios", *ratios]
    yield ["ratio of sums", *sums]
    failed = defaultdict(list)
    for r in records:
        failed[r["method"]].append(r["failed"])
    yield ["failed", *(f"{sum(failed[m])} of {len(failed[m])}" for m in methods)]


def judge_auto(records):
    """Say how far auto stays behind the better of both, by data set and amount."""
    cells = mean_of(records, "ari", "data", "amount", "method")
    behind = []
    for name, amount, method in cells:
        both = [cells.get((name, amount, m)) for m in ("euclidean", "learned")]
        if method == "auto" and None not in both:
            behind.append((max(both) - cells[name, amount, "auto"], name, amount))
    if behind:
        far = [f"{n} {a} ({gap:.3f})" for gap, n, a in sorted(behind, reverse=True) if gap > 0.02]
        print(
            f"\nauto is more than 0.02 below the better of euclidean and learned in {len(far)} of "
            f"{len(behind)} (data set, amount): {', '.join(far) or 'none'}"
        )


def average(values, names, method):
    """Mean over data sets of one method, where it has all of them."""
    there = [values[n, method] for n in names if (n, method) in values]
    return float(np.mean(there)) if len(there) == len(names) else None


def cell(value):
    """A number, or nothing."""
    return "" if value is None else f"{value:.3f}"


def table(header, rows):
    """Print a Markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(NAMES), choices=NAMES, metavar="DATA")
    parser.add_argument("--amounts", nargs="+", default=list(AMOUNTS), choices=list(AMOUNTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--judges", nargs="*", default=list(JUDGES), choices=[*JUDGES, "none"])
    parser.add_argument("--max-points", type=int, default=600, help="rows of a data set at most")
    parser.add_argument("--max-time", type=float, help="seconds of one fit of ours at most")
    parser.add_argument("--judge-time", type=float, default=20.0, help="seconds of a judge")
    parser.add_argument("--share", default="1/1", help="2/5: the second of five parts of the work")
    parser.add_argument("--store", type=Path, help="file of results, one JSON record a line")
    parser.add_argument("--stop-after", type=float, default=np.inf, help="seconds")
    return parser.parse_args()


def main():
    """Run what is missing and print the tables of all results."""
    options = arguments()
    methods = [*METRICS, *available(options.judges)]
    records = []
    if options.store and options.store.exists():
        records = [json.loads(line) for line in options.store.read_text().splitlines()]
    done = {(r["data"], r["amount"], r["seed"], r["method"]) for r in records}
    number, parts = map(int, options.share.split("/"))
    # Seeds outermost: a run that is stopped has something of everything.
    tasks = [(s, n, a) for s in range(options.seeds) for n in options.only for a in options.amounts]
    warm_up(options)
    np.seterr(all="warn", under="ignore")  # a judge's import may have made it strict
    begun = time.perf_counter()
    for seed, name, amount in tasks[number - 1 :: parts]:
        missing = [m for m in methods if (name, amount, seed, m) not in done]
        if not missing or time.perf_counter() - begun > options.stop_after:
            continue
        try:
            X, y = load(name, options.max_points)
        except DataNotFoundError as error:
            print(f"{name}: left out. {error}")
            continue
        for record in measure(name, amount, seed, missing, X, y, options):
            records.append(record)
            if options.store:
                with options.store.open("a") as file:
                    file.write(json.dumps(record) + "\n")
    if records:
        show(records)


if __name__ == "__main__":
    main()
