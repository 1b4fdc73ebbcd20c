"""``smdeclust studio``: the page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli import screen


def studio(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="The table; without it the page offers to open one."),
    ] = None,
    n_clusters: Annotated[
        int | None,
        typer.Option("--clusters", "-k", metavar="K", min=1, help="Number of clusters."),
    ] = None,
    constraints: Annotated[
        list[Path] | None,
        typer.Option("--constraints", "-c", metavar="FILE", help="Pairs to begin with."),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Column of ids.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="Column of known classes, left out."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="Work folder (default: DATA with -studio at its end)."
        ),
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0: any free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser, or only serve.")
    ] = True,
) -> None:
    """See clusters in the browser, say what belongs together, and see again.

    Everything stays on this computer. What you say is kept in the work folder as you say it, in
    files that smdeclust fit reads; the same command goes on where you stopped.

    Example:
      smdeclust studio people.csv -k 4 --constraints pairs.csv
    """
    from smdeclust.extras import optional

    with optional("The studio"):
        from smdeclust.studio.desk import Desk
        from smdeclust.studio.launch import serve

    place = folder or (Path("studio") if data is None else data.with_name(f"{data.stem}-studio"))
    desk = Desk(place)
    if data is not None:
        table, pairs = _read(data, constraints, id_column, label)
        desk.open(table, data.name, data.resolve(), n_clusters, pairs)

    def announce(url: str) -> None:
        screen.print_result(f"The studio is at {url}")
        screen.note(f"Everything you say is kept in {place}. Ctrl-C ends the studio.")

    try:
        serve(desk, port=port, open_browser=browser, announce=announce)
    except KeyboardInterrupt:
        screen.note("The studio has ended. Nothing is lost.")


def _read(
    data: Path, constraints: list[Path] | None, id_column: str | None, label: str | None
) -> tuple[Any, Any]:
    from smdeclust.io import read_constraints, read_table
    from smdeclust.studio.desk import pairs_of

    table = read_table(data, id_column=id_column, label=label)
    if not constraints:
        return table, []
    found = read_constraints(list(constraints), n_points=len(table.X), ids=table.ids)
    return table, pairs_of(found)
