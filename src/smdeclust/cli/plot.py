"""``smdeclust plot``: pictures of a clustering, of pairs, of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from smdeclust.cli import opening, options, screen
from smdeclust.cli.errors import CommandError
from smdeclust.cli.fitted import beside, read_json, read_labels
from smdeclust.cli.folder import check_file
from smdeclust.io import write_bytes

FORMATS = ("png", "svg", "pdf")
KINDS = ("clusters", "margins", "graph", "convergence", "diversity")


def plot(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Data file; for runs, result.json of a fit.")
    ],
    out: Path,
    reading: options.Reading,
    picture: str = "clusters",
    labels: options.Labels = None,
    constraints: options.ConstraintFiles = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Draw clusters with their pairs, margins, the graph of the pairs, or the course of a run.

    Example:
      smdeclust plot people.csv --labels result/labels.csv -c pairs.csv --out clusters.png

    Example:
      smdeclust plot result/result.json --picture convergence --out run.svg

    Options:
      --out -o FILE: Picture: .png, .svg or .pdf.
      --picture -p NAME: One of clusters, margins, graph, convergence, diversity.
    """
    if picture not in KINDS:
        raise CommandError(f"--picture is {picture!r}, expected one of {', '.join(KINDS)}.")
    suffix = out.suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise CommandError(f"{out}: the name must end with .png, .svg or .pdf.")
    check_file(out, force=force)
    from smdeclust.plotting.style import render

    drawn = partial(render, format=suffix)
    if picture in ("convergence", "diversity"):
        content = _run_picture(drawn, data, picture)
    else:
        content = _data_picture(drawn, data, labels, constraints, reading, picture)
    write_bytes(out, content)
    if as_json:
        screen.print_json({"file": str(out), "picture": picture})
    else:
        screen.print_result(str(out))


def _data_picture(
    drawn: Callable[..., bytes],
    data: Path,
    labels: Path | None,
    constraints: list[Path] | None,
    reading: options.Reading,
    picture: str,
) -> bytes:
    from smdeclust import plotting

    reading = replace(reading, result=reading.result or beside(labels))
    inputs = opening.read_inputs(data, constraints, reading)
    found = None if labels is None else read_labels(labels, inputs.table)
    known = inputs.constraints
    pairs = {"must_link": known.must_link, "cannot_link": known.cannot_link}
    if picture == "graph":
        if not constraints:
            raise CommandError("A graph needs pairs: name their file with --constraints.")
        return drawn(plotting.plot_constraint_graph, len(inputs.X), labels=found, **pairs)
    if found is None:
        raise CommandError(f"The picture {picture} needs labels: name labels.csv with --labels.")
    if picture == "margins":
        if len(set(found.tolist())) < 2:
            raise CommandError("Margins need at least two clusters.")
        return drawn(plotting.plot_margins, inputs.X, found)
    names = inputs.table.feature_names or None
    return drawn(plotting.plot_clusters, inputs.X, found, feature_names=names, **pairs)


def _run_picture(drawn: Callable[..., bytes], path: Path, picture: str) -> bytes:
    from smdeclust import plotting

    history = read_json(path, "the result.json of a fit").get("history")
    if not isinstance(history, dict) or not all(
        isinstance(column, list) and all(isinstance(v, int | float) for v in column)
        for column in history.values()
    ):
        raise CommandError(
            f"{path}: there is no history of a run. Name the result.json that fit wrote (only "
            "SMDEClust and its variants have a history)."
        )
    draw = plotting.plot_convergence if picture == "convergence" else plotting.plot_diversity
    return drawn(draw, history)
