"""``smdeclust convert``: pairs from any format into another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from smdeclust.cli import options, screen
from smdeclust.cli.errors import CommandError
from smdeclust.cli.folder import check_file
from smdeclust.io import WRITABLE_FORMATS, read_constraints, read_table
from smdeclust.io.write import WRITERS, check_writable, write_constraints

_SUFFIXES = {".json": "json", ".csv": "csv", ".txt": "links", ".links": "links"}


def convert(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files of pairs; several are joined.")
    ],
    reading: Annotated[options.Reading, f"id_column data_format no_header {options.PAIRS}"],
    out: Path | None = None,
    to: str | None = None,
    data: Path | None = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Convert pairs from any format to json, links or csv.

    Rows are written as positions from 0, whatever the input files use. If the files use ids, name
    the data file with --data.

    Example:
      smdeclust convert must.link cannot.link --format graphs --out pairs.json

    Options:
      --out -o FILE: File to write (default: print).
      --to NAME: json, links or csv (default: from the extension of --out, or json).
      --data DATA: Data file, to check rows and to look up ids (no other column is read).
    """
    target = to or (_SUFFIXES.get(out.suffix.lower(), "json") if out is not None else "json")
    if target not in WRITABLE_FORMATS:
        raise CommandError(f"--to is {target!r}, expected one of {', '.join(WRITABLE_FORMATS)}.")
    check_file(out, force=force)
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
        screen.print_result(WRITERS[target](pairs))
    elif as_json:
        screen.print_json(counts)
    else:
        kinds = {"must-link": pairs.must_link, "cannot-link": pairs.cannot_link}
        said = [screen.plural(len(each), noun) for noun, each in kinds.items()]
        said += [screen.plural(n_soft, "soft pair")] if n_soft else []
        screen.print_result(f"{out}: {', '.join(said)} ({target})")
