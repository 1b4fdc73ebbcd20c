"""``smdeclust studio``: the page in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli import options, screen
from smdeclust.io import read_constraints


def studio(
    reading: Annotated[options.Reading, "role id_column label sheet points"],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="A table, or a folder of pictures; without it the page offers to open one.",
        ),
    ] = None,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    folder: Path | None = None,
    port: Annotated[int, {"min": 0, "max": 65535}] = 0,
    browser: bool = True,
) -> None:
    """See the clusters in the browser, mark what belongs together, and see what changes.

    Everything stays on this computer. Every answer is saved in the work folder at once, in files
    that smdeclust fit reads; the same command continues where you stopped.

    Example:
      smdeclust studio people.csv -k 4 --constraints pairs.csv

    Options:
      --folder DIR: Work folder (default: the name of DATA with -studio added).
      --port N: Port to serve on (0: any free one).
      --browser/--no-browser: Open the browser, or only serve the page.
    """
    from smdeclust.extras import optional

    with optional("The studio"):
        from smdeclust.studio.desk import Desk
        from smdeclust.studio.opening import from_path
        from smdeclust.studio.server import Serving

    desk = Desk(folder or Path("studio"))
    if data is not None:
        source = from_path(
            data, folder, sheet_name=reading.sheet, vectors=reading.points, roles=reading.roles()
        )
        desk.start_folder = source.folder
        desk.open_source(source, clusters, _read_pairs(source.sheet, constraints))
    serving = Serving(desk, port)
    screen.print_result(f"The studio is at {serving.url}")
    place = desk.folder_path
    screen.note(f"Your answers are saved in {place}. Press Ctrl-C to end the studio.")
    if browser:
        webbrowser.open(serving.url)
    try:
        serving.run()
    except KeyboardInterrupt:
        screen.note("The studio has ended. All answers are saved.")


def _read_pairs(sheet: Any, constraints: list[Path] | None) -> list[Any]:
    from smdeclust.studio.wishes import pairs_of

    if not constraints:
        return []
    return pairs_of(read_constraints(list(constraints), n_points=len(sheet), ids=sheet.ids))
