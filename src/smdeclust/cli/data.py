"""``smdeclust convert``, ``generate``, ``demo``: other formats of pairs, made data, an example."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli import methods, opening, options, output
from smdeclust.cli.errors import CommandError
from smdeclust.constraints.constraints import FORMAT_OF_ENDING
from smdeclust.datasets import make_constraints, make_synthetic
from smdeclust.io import WRITABLE_FORMATS, read_constraints, read_table
from smdeclust.io.files import as_csv
from smdeclust.io.write import WRITERS, check_writable, write_constraints
from smdeclust.structure.pairs import count_broken


def convert(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files of pairs; several are joined.")
    ],
    reading: Annotated[opening.Reading, f"id_column data_format no_header {opening.PAIRS}"],
    out: Path | None = None,
    to: str | None = None,
    data: Path | None = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Convert pairs from any format to json, links or csv.

    Rows are written as positions from 0, even if the input files count from 1 or use ids. If
    the files use ids, name the data file with --data.

    Example:
      smdeclust convert must.link cannot.link --format graphs --out pairs.json

    Options:
      --out -o FILE: File to write (default: print).
      --to NAME: json, links or csv (default: from the extension of --out, or json).
      --data DATA: Data file, to check rows and to look up ids (no other column is read).
    """
    target = to or FORMAT_OF_ENDING.get("" if out is None else out.suffix.lower(), "json")
    if target not in WRITABLE_FORMATS:
        raise CommandError(f"--to is {target!r}, expected one of {', '.join(WRITABLE_FORMATS)}.")
    output.check_file(out, force=force)
    n_points = ids = None
    if data is not None:
        table = read_table(
            data,
            format=reading.data_format,
            id_column=reading.id_column,
            label=False,
            header=False if reading.no_header else None,
            encoding=reading.encoding,
            only_ids=True,
        )
        n_points = len(table.X)
        ids = None if reading.pairs_by_row is True else table.ids
    elif reading.id_column is not None or reading.pairs_by_row is False:
        raise CommandError("Ids are looked up in the data: name the file with --data.")
    pairs = read_constraints(list(files), n_points=n_points, ids=ids, **reading.pair_options())
    n_soft = pairs.n_soft
    check_writable(pairs, target)
    if out is not None:
        write_constraints(pairs, out, target)
    counts = {
        "must_links": len(pairs.must_link),
        "cannot_links": len(pairs.cannot_link),
        "soft_pairs": n_soft,
        "format": target,
        "file": None if out is None else str(out),
    }
    if out is None:
        output.print_result(WRITERS[target](pairs))
    elif as_json:
        output.print_json(counts)
    else:
        soft = f", {output.plural(n_soft, 'soft pair')}" if n_soft else ""
        hard = output.links(len(pairs.must_link), len(pairs.cannot_link))
        output.print_result(f"{out}: {hard}{soft} ({target})")


DATA, PAIRS = "data.csv", "constraints.json"


def generate(
    out: Path,
    reading: Annotated[opening.Reading, "label data_format no_header encoding"],
    points: options.Count = 1000,
    clusters: options.Count = 5,
    n_features: options.Count = 2,
    spread: options.Seconds = 10.0,
    pairs: options.Natural = 100,
    data: Path | None = None,
    seed: options.Seed = 24,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Generate example data (overlapping Gaussians), and pairs from their classes.

    With --data, only pairs are generated, from the classes in that file. With the default seed and
    spread, two features give the data sets of set 3 in Mansueto and Schoen (2024).

    Example:
      smdeclust generate -n 500 -k 10 --pairs 200 --out made

    Options:
      --out -o DIR: Folder to write to.
      --points -n N: Number of points.
      --clusters -k K: Number of Gaussians.
      --dimension -d D (n_features): Number of features.
      --spread S: Standard deviation of each Gaussian.
      --pairs M: Number of random pairs, drawn from the classes.
      --data DATA: Generate only pairs, from the classes in this file.
    """
    files: dict[str, bytes] = {}
    output.check_folder(out, [PAIRS] if data is not None else [DATA, PAIRS], force=force)
    classes: Any
    if data is None:
        made = make_synthetic(
            points, clusters, n_features=n_features, cluster_std=spread, random_state=seed
        )
        classes = made.y
        header = [*(f"x{i}" for i in range(n_features)), "class"]
        both = zip(made.X.tolist(), classes.tolist(), strict=True)
        files[DATA] = as_csv([header, *([*map(repr, point), y] for point, y in both)])
    else:
        table = opening.read_data(data, reading).table
        if table.labels is None:
            raise CommandError(f"{data}: no column of classes was found. Name it with --label.")
        classes = table.labels
    links = make_constraints(classes, pairs, random_state=seed)
    files[PAIRS] = WRITERS["json"](links).encode()
    output.write_folder(out, files)
    document = {
        "files": [str(out / name) for name in files],
        "n_points": len(classes),
        "n_must_links": len(links.must_link),
        "n_cannot_links": len(links.cannot_link),
        "seed": seed,
    }
    if as_json:
        output.print_json(document)
    else:
        counted = {"point": classes, "must-link": links.must_link, "cannot-link": links.cannot_link}
        counts = ", ".join(output.plural(len(each), noun) for noun, each in counted.items())
        output.print_result("\n".join([counts, *(str(out / name) for name in files)]))


FILES = ("labels.csv", "clusters.png")


def demo(
    out: Path = Path("demo-output"),
    pairs: Annotated[int, {"min": 0, "max": 5000}] = 100,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Cluster the iris flowers with random pairs that agree with their species.

    Shows what the pairs change, and writes the labels and a plot.

    Example:
      smdeclust demo --out demo-output

    Options:
      --out -o: Folder for labels.csv and clusters.png.
      --pairs N: Number of random pairs.
    """
    output.check_folder(out, FILES, force=force)
    result, table, picture = solve_iris(pairs, seed)
    output.write_folder(out, {"labels.csv": table, "clusters.png": picture})
    result["files"] = [str(out / name) for name in FILES]
    if as_json:
        output.print_json(result)
    else:
        _show(result, out)


def solve_iris(n_pairs: int, seed: int) -> tuple[dict[str, Any], bytes, bytes]:
    """Return the result, labels as CSV, and the picture as PNG."""
    with output.progress("Demo", total=4) as update:
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
        update(output.starting(), 0)
        # Each solver runs once before: a first run compiles or starts threads, and the times shown
        # should be the solvers' own.
        setup = methods.Setup(methods.DEFAULT, 3, seed)
        methods.run_method(setup, X, pairs)
        KMeans(3, n_init=1, random_state=seed).fit(X)
        update("clustering with the pairs", 1)
        run = methods.run_method(replace(setup, update=update), X, pairs)
        update("k-means without pairs, for comparison", 2)
        with threadpool_limits(limits=1):  # on so few points threads only wait for each other
            start = time.perf_counter()
            plain = KMeans(3, n_init=10, random_state=seed).fit(X)
            elapsed = time.perf_counter() - start
        update("plotting", 3)
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
    links = output.links(result["must_links"], result["cannot_links"])
    rows = [
        ("objective (sum of squares)", f"{ours['objective']:.4f}", f"{plain['objective']:.4f}"),
        ("broken pairs", str(ours["violations"]), str(plain["violations"])),
        ("agreement with the classes (ARI)", f"{ours['ari']:.3f}", f"{plain['ari']:.3f}"),
        ("time", output.seconds(ours["seconds"]), output.seconds(plain["seconds"])),
    ]
    header, title = ["", "smdeclust", "plain k-means"], f"iris, 3 clusters, {links}"
    output.print_table(rows, header=header, title=title, right=[1, 2])
    output.print_result(f"Labels:  {out / 'labels.csv'}\nPlot:    {out / 'clusters.png'}")
