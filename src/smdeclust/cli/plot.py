"""``smdeclust plot``: pictures of a clustering, of pairs, of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli import options, pictures, screen
from smdeclust.cli.errors import CommandError
from smdeclust.cli.folder import check_file
from smdeclust.cli.labels import read_labels
from smdeclust.cli.options import Reading
from smdeclust.cli.preparation import beside

KINDS = ("clusters", "margins", "graph", "convergence", "diversity")


@options.reads_files()
def plot(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Data file; for runs, result.json of a fit.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Picture: .png, .svg or .pdf.")
    ],
    picture: Annotated[
        str,
        typer.Option("--picture", "-p", metavar="NAME", help=f"One of {', '.join(KINDS)}."),
    ] = "clusters",
    labels: Annotated[
        Path | None,
        typer.Option("--labels", "-l", metavar="FILE", help="labels.csv of a fit."),
    ] = None,
    constraints: options.ConstraintFiles = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
    *,
    reading: Reading,
) -> None:
    """Draw clusters with their pairs, margins, the graph of the pairs, or how a run went.

    Example:
      smdeclust plot people.csv --labels result/labels.csv -c pairs.csv --out clusters.png

    Example:
      smdeclust plot result/result.json --picture convergence --out run.svg
    """
    if picture not in KINDS:
        raise CommandError(f"--picture is {picture!r}, expected one of {', '.join(KINDS)}.")
    suffix = out.suffix.lower().lstrip(".")
    if suffix not in pictures.FORMATS:
        raise CommandError(f"{out}: the name must end with .png, .svg or .pdf.")
    check_file(out, force=force)
    if picture in ("convergence", "diversity"):
        content = _run_picture(data, picture, suffix)
    else:
        content = _data_picture(data, labels, constraints, reading, picture, suffix)
    from smdeclust.io import write_bytes

    write_bytes(out, content)
    if as_json:
        screen.print_json({"file": str(out), "picture": picture})
    else:
        screen.print_result(str(out))


def _data_picture(
    data: Path,
    labels: Path | None,
    constraints: list[Path] | None,
    reading: Reading,
    picture: str,
    suffix: str,
) -> bytes:
    reading = replace(reading, result=reading.result or beside(labels))
    inputs = options.read_inputs(data, constraints, reading)
    found = None if labels is None else read_labels(labels, inputs.table)
    pairs: dict[str, Any] = {
        "must_link": inputs.constraints.must_link,
        "cannot_link": inputs.constraints.cannot_link,
    }
    pictures.prepare()
    from smdeclust import plotting

    if picture == "graph":
        if not constraints:
            raise CommandError("A graph needs pairs: name their file with --constraints.")
        return pictures.render(
            plotting.plot_constraint_graph, len(inputs.X), labels=found, format=suffix, **pairs
        )
    if found is None:
        raise CommandError(f"The picture {picture} needs labels: name labels.csv with --labels.")
    if picture == "margins":
        if len(set(found.tolist())) < 2:
            raise CommandError("Margins need at least two clusters.")
        return pictures.render(plotting.plot_margins, inputs.X, found, format=suffix)
    names = inputs.table.feature_names or None
    return pictures.render(
        plotting.plot_clusters, inputs.X, found, feature_names=names, format=suffix, **pairs
    )


def _run_picture(path: Path, picture: str, suffix: str) -> bytes:
    from smdeclust.io.files import decode, read_bytes

    text = decode(read_bytes(path), path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path}: this is no JSON; name the result.json of a fit.") from error
    history = document.get("history") if isinstance(document, dict) else None
    if not isinstance(history, dict) or not all(
        isinstance(column, list) and all(isinstance(v, int | float) for v in column)
        for column in history.values()
    ):
        raise CommandError(
            f"{path}: there is no history of a run. Name the result.json that fit wrote (only "
            "SMDEClust and its variants have a history)."
        )
    pictures.prepare()
    from smdeclust import plotting

    draw = plotting.plot_convergence if picture == "convergence" else plotting.plot_diversity
    return pictures.render(draw, history, format=suffix)
