"""``smdeclust demo``: iris under constraints, in a few seconds."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from smdeclust.cli import methods, options, screen
from smdeclust.cli.folder import check_folder, write_folder
from smdeclust.datasets import make_constraints
from smdeclust.io.files import as_csv
from smdeclust.structure.pairs import count_broken

FILES = ("labels.csv", "clusters.png")


def demo(
    out: Path = Path("demo-output"),
    pairs: Annotated[int, {"min": 0, "max": 5000}] = 100,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Cluster the iris flowers under random pairs taken from their classes.

    Shows what the pairs change, and writes the labels and a picture.

    Example:
      smdeclust demo --out demo-output

    Options:
      --out -o: Folder for labels.csv and clusters.png.
      --pairs N: How many random pairs.
    """
    check_folder(out, FILES, force=force)
    result, table, picture = solve_iris(pairs, seed)
    write_folder(out, {"labels.csv": table, "clusters.png": picture})
    result["files"] = [str(out / name) for name in FILES]
    if as_json:
        screen.print_json(result)
    else:
        _show(result, out)


def solve_iris(n_pairs: int, seed: int) -> tuple[dict[str, Any], bytes, bytes]:
    """Return the result, labels as CSV, and the picture as PNG."""
    with screen.progress("Demo", total=4) as update:
        update("loading", 0)
        from sklearn.cluster import KMeans
        from sklearn.datasets import load_iris
        from sklearn.metrics import adjusted_rand_score
        from threadpoolctl import threadpool_limits

        from smdeclust.plotting import plot_clusters
        from smdeclust.plotting.style import render

        iris = load_iris()
        X, classes = iris.data, iris.target
        pairs = make_constraints(classes, n_pairs, random_state=seed)
        links: dict[str, Any] = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
        update(screen.starting(), 0)
        # Each solver runs once before: a first run compiles or starts threads, and the times shown
        # should be the solvers' own.
        setup = methods.Setup(methods.DEFAULT, 3, seed)
        methods.run_method(setup, X, pairs)
        KMeans(3, n_init=1, random_state=seed).fit(X)
        update("clustering under the pairs", 1)
        run = methods.run_method(replace(setup, update=update), X, pairs)
        update("k-means without pairs, for comparison", 2)
        with threadpool_limits(limits=1):  # on so few points threads only wait for each other
            start = time.perf_counter()
            plain = KMeans(3, n_init=10, random_state=seed).fit(X)
            elapsed = time.perf_counter() - start
        update("drawing", 3)
        picture = render(plot_clusters, X, run.labels, **links)

    def judge(labels: Any, objective: float, seconds: float) -> dict[str, Any]:
        broken = sum(count_broken(**links, labels=labels))
        found = {"objective": float(objective), "violations": broken, "seconds": seconds}
        return found | {"ari": float(adjusted_rand_score(classes, labels))}

    result = {
        "data": "iris (150 flowers, 4 features, 3 classes)",
        "must_links": len(pairs.must_link),
        "cannot_links": len(pairs.cannot_link),
        "seed": seed,
        "smdeclust": judge(run.labels, run.objective, run.seconds),
        "kmeans": judge(plain.labels_, plain.inertia_, elapsed),
    }
    labels = zip(run.labels.tolist(), iris.target_names[classes].tolist(), strict=True)
    rows = [[row, *both] for row, both in enumerate(labels)]
    return result, as_csv([["row", "label", "class"], *rows]), picture


def _show(result: dict[str, Any], out: Path) -> None:
    ours, plain = result["smdeclust"], result["kmeans"]
    links = f"{result['must_links']} must-links, {result['cannot_links']} cannot-links"
    rows = [
        ("objective (sum of squares)", f"{ours['objective']:.4f}", f"{plain['objective']:.4f}"),
        ("broken pairs", str(ours["violations"]), str(plain["violations"])),
        ("agreement with the classes (ARI)", f"{ours['ari']:.3f}", f"{plain['ari']:.3f}"),
        ("time", screen.seconds(ours["seconds"]), screen.seconds(plain["seconds"])),
    ]
    header, title = ["", "smdeclust", "plain k-means"], f"iris, 3 clusters, {links}"
    screen.print_table(rows, header=header, title=title, right=[1, 2])
    screen.print_result(f"Labels:  {out / 'labels.csv'}\nPicture: {out / 'clusters.png'}")
