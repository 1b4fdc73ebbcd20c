"""Prove the optimum of every configuration of the first set, one row each; resumable.

    python -m benchmarks.certificates                 # all at hand, to 1e-4
    python -m benchmarks.certificates --tol 1e-6
    python -m benchmarks.certificates --only iris,glass/ml_0_cl_50_0 --keep proofs/
    python -m benchmarks.certificates --summary       # only rewrite the table
    python -m benchmarks.certificates forgeries       # known ones, and 1,000 random mutations
    python -m benchmarks.certificates tiny --count 10000   # against all clusterings, in fractions
    python -m benchmarks.certificates large --jobs 2  # gaps in parts: banana, third set, letter
    python -m benchmarks.certificates blobs           # unconstrained, N = 500 to 1500

For each configuration: SMDEClust for a clustering, `certify` for the proof, `verify` for the check
of the proof. Rows go to ``docs/certificates/results.csv`` as they are made, and what is already
there is not done again; ``docs/certificates/table.md`` is written from it. ``seconds`` and
``cpu_seconds`` are those of `certify` alone, on one thread: where other work shares the machine,
the second is the one to compare. The paper's data must be in SMDECLUST_DATA.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import certificate_checks
from smdeclust import SMDEClust
from smdeclust.datasets import list_datasets, load_constraints, load_set1
from smdeclust.exact import certify, verify
from smdeclust.exceptions import DataNotFoundError

COLUMNS = [
    "instance", "tol", "points", "groups", "clusters", "status", "optimum", "lower_bound", "gap",
    "root_gap", "nodes", "iterations", "seconds", "cpu_seconds", "heuristic_seconds",
    "verified_gap", "verify_seconds", "improved", "over_best_known",
]  # fmt: skip


def best_known() -> dict[str, float]:
    """The lowest objectives of long runs, where the data folder has them."""
    path = Path(os.environ.get("SMDECLUST_DATA", "")) / "best_known.json"
    return json.loads(path.read_text()) if path.is_file() else {}


def prove(
    name: str, configuration: str, tol: float, max_time: float, keep: Path | None
) -> dict[str, object]:
    """Make the row of one configuration."""
    data = load_set1(name)
    constraints = load_constraints(name, configuration)
    pairs = {"must_link": constraints.must_link, "cannot_link": constraints.cannot_link}
    instance = f"{name}/{configuration}"

    start = time.perf_counter()
    labels = SMDEClust(data.n_clusters, random_state=0).fit_predict(data.X, **pairs)
    heuristic = time.perf_counter() - start
    start, cpu = time.perf_counter(), time.process_time()
    proof = certify(data.X, labels, tol=tol, max_time=max_time, **pairs)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    start = time.perf_counter()
    verified = verify(data.X, proof, n_clusters=data.n_clusters, tol=tol, **pairs)
    checking = time.perf_counter() - start
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        proof.save(keep / f"{name}-{configuration}-{tol:g}.npz")
    known = best_known().get(instance)
    upper = proof.upper_bound
    return {
        "instance": instance,
        "tol": f"{tol:g}",
        "points": len(data.X),
        "groups": proof.n_groups,
        "clusters": data.n_clusters,
        "status": proof.status,
        "optimum": repr(float(upper)),
        "lower_bound": repr(float(proof.lower_bound)),
        "gap": f"{proof.gap:.3e}",
        "root_gap": f"{max(upper - proof.root_bound, 0.0) / upper:.3e}",
        "nodes": proof.n_nodes,
        "iterations": proof.n_iterations,
        "seconds": f"{seconds:.2f}",
        "cpu_seconds": f"{cpu:.2f}",
        "heuristic_seconds": f"{heuristic:.2f}",
        "verified_gap": f"{verified.gap:.3e}",
        "verify_seconds": f"{checking:.2f}",
        "improved": int(proof.improved),
        "over_best_known": "" if known is None else f"{upper / known - 1.0:.1e}",
    }


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows made so far."""
    if not path.is_file():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write_table(rows: list[dict[str, str]], path: Path) -> None:
    """Write the Markdown table: a summary per data set and tolerance; the rows are in the CSV."""
    lines = [
        "# Proven optima of the paper's small data sets",
        "",
        "This page summarizes the proofs of optimality for the small data sets of Mansueto "
        "and Schoen (2024). A *configuration*",
        "is a data set with one set of pairs. The results are from versions up to 0.2.0, on "
        "one thread of a shared machine. The",
        "file [results.csv](results.csv) has one row for each configuration and relative "
        "gap. This command runs the missing",
        "proofs (pass `--tol 1e-6` for the smaller gap):",
        "",
        "```sh",
        "python -m benchmarks.certificates",
        "```",
        "",
        "The columns of the tables have these meanings:",
        "",
        "- *Nodes: most* is the largest number of nodes in a branch-and-cut tree.",
        "- *Root gap* is the relative gap at the first node.",
        "- *Better* counts the proofs that found a better clustering than the best known one.",
        "",
    ]
    for tol in sorted({row["tol"] for row in rows}, key=float, reverse=True):
        mine = [row for row in rows if row["tol"] == tol]
        lines += [f"## Proofs to a relative gap of {float(tol):.0e}".replace("e-0", "e-"), ""]
        lines += [
            "| data set | configurations | proven | nodes: most | CPU s: median | CPU s: worst "
            "| root gap: median | better |",
            "|---|---|---|---|---|---|---|---|",
        ]
        names = list(dict.fromkeys(row["instance"].split("/")[0] for row in mine))
        for name in [*names, "all"]:
            part = [r for r in mine if name == "all" or r["instance"].startswith(name + "/")]
            cpu = [float(r["cpu_seconds"]) for r in part]
            roots = [float(r["root_gap"]) for r in part]
            better = sum(r["over_best_known"].startswith("-") and
                         float(r["over_best_known"]) < -1e-9 for r in part)  # fmt: skip
            lines.append(
                f"| {name} | {len(part)} | {sum(r['status'] == 'optimal' for r in part)} "
                f"| {max(int(r['nodes']) for r in part)} | {statistics.median(cpu):.1f} "
                f"| {max(cpu):.1f} | {statistics.median(roots):.1e} | {better} |"
            )
        lines.append("")
    path.write_text("\n".join(lines))


def wanted(name: str, configuration: str, only: str | None) -> bool:
    """Whether the option ``--only`` leaves this configuration in."""
    if only is None:
        return True
    return any(item in (name, f"{name}/{configuration}") for item in only.split(","))


def main() -> None:
    """Run what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "what", nargs="?", default="set1", choices=("set1", "forgeries", "tiny", "large", "blobs")
    )
    parser.add_argument("--count", type=int, default=1000, help="mutations, or tiny instances")
    parser.add_argument("--first", type=int, default=0, help="seed of the first tiny instance")
    parser.add_argument("--jobs", type=int, default=1, help="processes: blobs, tiny, large data")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--max-time", type=float, default=300.0, help="seconds per configuration")
    parser.add_argument("--only", help="data sets or dataset/configuration, comma-separated")
    parser.add_argument("--out", type=Path, default=Path("docs/certificates"))
    parser.add_argument("--keep", type=Path, help="folder for the certificates themselves")
    parser.add_argument("--summary", action="store_true", help="only rewrite the table")
    options = parser.parse_args()
    if options.what != "set1":
        others: dict[str, Callable[[], None]] = {
            "forgeries": lambda: certificate_checks.forgeries(options.count),
            "tiny": lambda: certificate_checks.tiny(options.count, options.first, options.jobs),
            "large": lambda: certificate_checks.large(options.max_time, options.only, options.jobs),
            "blobs": lambda: certificate_checks.blobs(options.max_time, options.only, options.jobs),
        }
        others[options.what]()
        return
    options.out.mkdir(parents=True, exist_ok=True)
    results = options.out / "results.csv"
    done = {(row["instance"], row["tol"]) for row in read_rows(results)}
    # Compile before anything is timed.
    toy = np.random.default_rng(0).normal(size=(80, 2))
    certify(toy, SMDEClust(3, random_state=0).fit_predict(toy), tol=1e-6)
    # Seeds of a kind are spread over the run, so that an interrupted one is a fair sample.
    plan = [(c.rsplit("_", 1)[1], i.name, c) for i in list_datasets(1) for c in i.configurations]
    for _, name, configuration in [] if options.summary else sorted(plan):
        key = (f"{name}/{configuration}", f"{options.tol:g}")
        if key in done or not wanted(name, configuration, options.only):
            continue
        try:
            row = prove(name, configuration, options.tol, options.max_time, options.keep)
        except DataNotFoundError:
            continue  # gene is not at hand everywhere
        fresh = not results.is_file()
        with results.open("a", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            if fresh:
                writer.writeheader()
            writer.writerow(row)
        print(  # a benchmark reports as it goes
            f"{row['instance']:32s} {row['status']:10s} gap {row['gap']} nodes {row['nodes']} "
            f"{row['seconds']} s ({row['cpu_seconds']} s CPU)",
            flush=True,
        )
    rows = read_rows(results)
    if rows:
        write_table(rows, options.out / "table.md")


if __name__ == "__main__":
    main()
