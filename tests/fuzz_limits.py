"""Random problems with a known feasible clustering and hardly any time: the limit holds.

Run with ``python -m tests.fuzz_limits --instances 200``. Sizes (exact, wider, by weight), dense
cannot-links, must-links, soft pairs, weights and quotas meet in every combination. Claims: a fit
ends within a second and 30% of its limit, and its labels keep everything. How often no labels were
found in the time is counted. Seconds are those of the processor, so that a busy machine changes
nothing; kernels are compiled by an instance that does not count.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from smdeclust import Constraints, SMDEClust
from smdeclust.exceptions import NoFeasibleSolutionError


def random_problem(rng: np.random.Generator, largest: int) -> tuple[np.ndarray, int, dict, dict]:
    """Points, K, options of SMDEClust and of fit, all kept by a planted clustering."""
    k = int(rng.integers(2, 11))
    n = int(rng.integers(4 * k, max(largest, 4 * k + 1)))
    classes = rng.permutation(np.arange(n) % k)
    X = rng.normal(size=(n, 2)) + rng.choice([0.0, 3.0]) * rng.normal(size=(k, 2))[classes]
    pairs = rng.integers(0, n, (int(n * rng.choice([0.2, 2, 8, 25])), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    must = pairs[same][: int(rng.choice([0, n // 10, n // 3]))]
    soft = rng.integers(0, n, (int(n * rng.choice([0, 0, 0.5, 3])), 2))
    soft = soft[soft[:, 0] != soft[:, 1]]
    apart = rng.random(len(soft)) < 0.5
    known = Constraints(
        must, pairs[~same], n_points=n, soft_must_link=soft[~apart], soft_cannot_link=soft[apart]
    )
    options: dict = {}
    weight = rng.uniform(0.2, 3.0, n) if rng.random() < 0.4 else None
    if rng.random() < 0.7:
        by_weight = weight is not None and rng.random() < 0.6
        held = np.bincount(classes, weight if by_weight else None, k)
        # (Exact sums of real numbers have the planted clustering alone: no search finds that.)
        exact = 0.05 if by_weight else 0.0
        slack = held * rng.choice([exact, exact, 0.05, 0.2])
        low, high = (held - slack), (held + slack)
        if not by_weight:
            low, high = np.floor(low), np.ceil(high)
        options = {"size_min": low, "size_max": high}
        options["size_by"] = "weight" if by_weight else "points"
    if rng.random() < 0.2:
        column = rng.random(n) < 0.4
        share = np.bincount(classes, column, k) / np.bincount(classes)
        known = known.quota(column, low=share.min() - 0.02, high=share.max() + 0.02, of="share")
    return X, k, options, {"constraints": known, "sample_weight": weight}


def examine(seed: int, max_time: float, largest: int) -> tuple[str | None, bool]:
    """What is wrong with one fit, and whether labels were found."""
    X, k, options, given = random_problem(np.random.default_rng(seed), largest)
    started = time.process_time()
    model = SMDEClust(k, random_state=0, max_time=max_time, **options)
    try:
        model.fit(X, **given)
    except NoFeasibleSolutionError:
        model = None
    spent = time.process_time() - started
    if spent > 1.3 * max_time + 1:
        return f"{spent:.1f} s instead of {max_time:g} (N={len(X)}, K={k})", model is not None
    if model is None:
        return None, False
    known, labels = given["constraints"], model.labels_
    ends = labels[known.must_link], labels[known.cannot_link]
    if (ends[0][:, 0] != ends[0][:, 1]).any() or (ends[1][:, 0] == ends[1][:, 1]).any():
        return "a pair is broken", True
    for quota in known.quotas:
        held = quota.held(labels, k)
        if (held < quota.low - 1e-9).any() or (held > quota.high + 1e-9).any():
            return "a quota is broken", True
    if options:
        weight = given["sample_weight"] if options["size_by"] == "weight" else None
        sizes = np.sort(np.bincount(labels, weight, k))
        low, high = np.sort(options["size_min"]), np.sort(options["size_max"])
        rounding = 1e-9 * sizes.sum()
        if (sizes < low - rounding).any() or (sizes > high + rounding).any():
            return "a size is broken", True
    return None, True


def main() -> None:
    """Run instances, print how many are late or wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--largest", type=int, default=1000)
    parser.add_argument("--max-time", type=float, nargs="+", default=[0.5, 2.0])
    args = parser.parse_args()
    time.perf_counter = time.process_time
    for seed in range(args.first, args.first + 5):
        examine(seed, 2.0, 200)
    for max_time in args.max_time:
        wrong = without = 0
        for seed in range(args.first, args.first + args.instances):
            found, labeled = examine(seed, max_time, args.largest)
            without += not labeled
            if found is not None:
                wrong += 1
                print(f"seed {seed}, {max_time:g} s: {found}", flush=True)
        print(
            f"{args.instances} instances, {max_time:g} s: {wrong} late or wrong, {without} without "
            f"labels"
        )


if __name__ == "__main__":
    main()
