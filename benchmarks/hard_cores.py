"""Exact assignments on the dense instances of the third set: ours against HiGHS.

Runs whole local searches from random centers. Every assignment of a search is solved twice in the
same run: by `exact_assignment`, warm from the labels before, and by HiGHS on the plain model of
the paper over groups (binaries x[g, k], one label a group, a group for every label, and
x[g, k] + x[h, k] <= 1 for every cannot-link). Times are CPU seconds of one thread.

    python benchmarks/hard_cores.py
    python benchmarks/hard_cores.py --instances n500_k20/1000 n500_k20/2000 --highs-time 30
    python benchmarks/hard_cores.py --highs-time 0          # ours alone

Columns: assignments made; ours and HiGHS, median and worst; ratio HiGHS / ours, median and least
(a HiGHS run cut at its limit counts with the time it had, so the ratio is a lower bound: `>`);
proven optimal by ours and by HiGHS; largest relative gap left by ours; largest search tree.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import highspy
import numpy as np

from smdeclust.assignment import exact_assignment
from smdeclust.problem import Problem

INSTANCES = [
    "n500_k20/1000",
    "n500_k20/2000",
    "n500_k20/5000",
    "n500_k20/10000",
    "n1000_k20/2000",
    "n1000_k20/5000",
    "n1000_k20/10000",
    "n500_k100/5000",
    "n500_k100/10000",
]


def load(root: Path, name: str) -> Problem:
    """Read one instance, `nN_kK/pairs`, of the third set."""
    folder, pairs = name.split("/")
    table = np.loadtxt(root / "set3" / folder / "data.csv", delimiter=",", skiprows=1)
    text = (root / "set3" / folder / "constraints" / f"{pairs}.json").read_text()
    constraints = json.loads(text)
    return Problem.build(
        table[:, :-1],
        int(folder.split("_k")[1]),
        must_link=constraints["ml"],
        cannot_link=constraints["cl"],
    )


def group_costs(problem: Problem, centers: np.ndarray) -> np.ndarray:
    """cost[g, k] = w_g |m_g - y_k|^2 of every group."""
    difference = problem.means[:, None, :] - (centers - problem.offset)[None, :, :]
    return problem.weights[:, None] * (difference**2).sum(axis=2)


def plain_highs(problem: Problem, centers: np.ndarray, limit: float) -> tuple[float, bool, float]:
    """HiGHS on the plain model over groups: cost (with scatter), whether optimal, CPU seconds."""
    costs = group_costs(problem, centers)
    n_groups, n_labels = costs.shape
    size = costs.size
    group, label = np.divmod(np.arange(size), n_labels)
    source = np.repeat(np.arange(problem.n_linked), np.diff(problem.cl_indptr))
    once = source < problem.cl_indices
    first, second = source[once], problem.cl_indices[once]
    m = len(first) * n_labels
    edge = (first[:, None] * n_labels + np.arange(n_labels)).ravel()
    edge = np.stack([edge, (second[:, None] * n_labels + np.arange(n_labels)).ravel()], axis=1)
    starts = np.concatenate(
        [
            np.arange(n_groups) * n_labels,
            size + np.arange(n_labels) * n_groups,
            2 * size + 2 * np.arange(m + 1),
        ]
    )
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = size, n_groups + n_labels + m
    model.col_cost_ = costs.ravel()
    model.col_lower_, model.col_upper_ = np.zeros(size), np.ones(size)
    low = np.concatenate([np.ones(n_groups + n_labels), np.full(m, -np.inf)])
    high = np.concatenate([np.ones(n_groups), np.full(n_labels, np.inf), np.ones(m)])
    model.row_lower_, model.row_upper_ = low, high
    model.integrality_ = [highspy.HighsVarType.kInteger] * size
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = starts
    by_label = np.lexsort((group, label))
    model.a_matrix_.index_ = np.concatenate([np.arange(size), by_label, edge.ravel()])
    model.a_matrix_.value_ = np.ones(2 * size + 2 * m)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("time_limit", limit)
    highs.passModel(model)
    started = time.process_time()
    highs.run()
    seconds = time.process_time() - started
    optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value + problem.scatter, optimal, seconds


@dataclass
class Record:
    """What the assignments of one instance took."""

    ours: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    highs_optimal: list[bool] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)
    proven: list[bool] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    disagreements: int = 0


def search(problem: Problem, seed: int, args: argparse.Namespace, record: Record) -> None:
    """One local search from random centers, each assignment solved by both."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(problem.n_points, problem.n_clusters, replace=False)
    centers = problem.X[chosen].astype(np.float64)
    labels = None
    value = np.inf
    for _ in range(args.iterations):
        started = time.process_time()
        found = exact_assignment(problem, centers, upper_labels=labels, max_time=args.time)
        seconds = time.process_time() - started
        proven = found.bound >= found.cost
        record.ours.append(seconds)
        record.proven.append(proven)
        record.gap.append((found.cost - found.bound) / abs(found.cost))
        record.nodes.append(found.nodes)
        if args.highs_time > 0:
            cost, optimal, theirs = plain_highs(problem, centers, args.highs_time)
            record.highs.append(theirs)
            record.highs_optimal.append(optimal)
            record.ratio.append(theirs / seconds)
            if optimal and proven and abs(cost - found.cost) > 1e-6 * abs(cost):
                record.disagreements += 1
        labels = found.labels
        groups = problem.group_labels(labels)
        centers = problem.centers(groups)
        before, value = value, problem.objective(groups)
        if value >= before - 1e-12 * abs(before):
            break


def line(name: str, record: Record) -> str:
    """One row of the table."""
    row = (
        f"{name:<16} {len(record.ours):>4} {np.median(record.ours):>8.3f} {max(record.ours):>8.3f}"
    )
    if record.highs:
        cut = " " if all(record.highs_optimal) else ">"
        row += f" {np.median(record.highs):>8.2f} {max(record.highs):>8.2f}"
        row += f" {cut}{np.median(record.ratio):>7.1f} {min(record.ratio):>7.1f}"
    else:
        row += f" {'-':>8} {'-':>8} {'-':>8} {'-':>7}"
    total = len(record.ours)
    theirs = f"{sum(record.highs_optimal)}/{total}" if record.highs else "-"
    row += f" {sum(record.proven)}/{total:<4} {theirs:>7} {max(record.gap):>9.1e}"
    row += f" {max(record.nodes):>6}"
    if record.disagreements:
        row += f"  {record.disagreements} DISAGREE"
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", default=os.environ.get("SMDECLUST_DATA"), help="data folder")
    parser.add_argument("--instances", nargs="+", default=INSTANCES, help="nN_kK/pairs")
    parser.add_argument("--seeds", type=int, default=1, help="random starts an instance")
    parser.add_argument("--iterations", type=int, default=25, help="most assignments a search")
    parser.add_argument("--time", type=float, default=120.0, help="seconds an assignment, ours")
    parser.add_argument(
        "--highs-time", type=float, default=60.0, help="the same for HiGHS; 0: none"
    )
    args = parser.parse_args()
    if not args.data:
        parser.error("set SMDECLUST_DATA or pass --data: the folder that holds set3/")
    print(
        f"{'instance':<16} {'n':>4} {'ours':>8} {'worst':>8} {'HiGHS':>8} {'worst':>8}"
        f" {'ratio':>8} {'least':>7} {'proven':>6} {'HiGHS':>7} {'gap':>9} {'nodes':>6}"
    )
    ratios: list[float] = []
    # Compile before the clock runs.
    warm = load(Path(args.data), INSTANCES[0])
    search(warm, 0, argparse.Namespace(iterations=3, time=5.0, highs_time=0.0), Record())
    for name in args.instances:
        problem = load(Path(args.data), name)
        record = Record()
        for seed in range(1, args.seeds + 1):
            search(problem, seed, args, record)
        ratios += record.ratio
        print(line(name, record), flush=True)
    if ratios:
        print(f"all assignments: median ratio {np.median(ratios):.1f}, least {min(ratios):.1f}")


if __name__ == "__main__":
    main()
