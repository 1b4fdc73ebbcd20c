"""``smdeclust generate``: made data and pairs, or pairs for given data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from smdeclust.cli import opening, options, screen
from smdeclust.cli.errors import CommandError
from smdeclust.cli.folder import check_folder, write_folder
from smdeclust.datasets import make_constraints, make_synthetic
from smdeclust.io.files import as_csv
from smdeclust.io.write import WRITERS

DATA, PAIRS = "data.csv", "constraints.json"


def generate(
    out: Path,
    reading: Annotated[options.Reading, "label data_format no_header encoding"],
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
    """Make data of overlapping Gaussians and pairs from their classes.

    With --data, only pairs are made, from the classes of that file. The default seed gives the
    data sets of the paper.

    Example:
      smdeclust generate -n 500 -k 10 --pairs 200 --out made

    Options:
      --out -o DIR: Folder to write to.
      --points -n N: Number of points.
      --clusters -k K: Number of Gaussians.
      --dimension -d D (n_features): Number of features.
      --spread S: Standard deviation of each Gaussian.
      --pairs M: Number of random pairs, drawn from the classes.
      --data DATA: Make pairs for this file, which has classes, instead of new data.
    """
    files: dict[str, bytes] = {}
    check_folder(out, [PAIRS] if data is not None else [DATA, PAIRS], force=force)
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
            raise CommandError(f"{data}: there is no column of classes. Name it with --label.")
        classes = table.labels
    links = make_constraints(classes, pairs, random_state=seed)
    files[PAIRS] = WRITERS["json"](links).encode()
    write_folder(out, files)
    document = {
        "files": [str(out / name) for name in files],
        "n_points": len(classes),
        "n_must_links": len(links.must_link),
        "n_cannot_links": len(links.cannot_link),
        "seed": seed,
    }
    if as_json:
        screen.print_json(document)
    else:
        counted = {"point": classes, "must-link": links.must_link, "cannot-link": links.cannot_link}
        counts = ", ".join(screen.plural(len(each), noun) for noun, each in counted.items())
        screen.print_result("\n".join([counts, *(str(out / name) for name in files)]))
