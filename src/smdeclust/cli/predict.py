"""``smdeclust predict``: where do new rows belong?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli import opening, options, screen
from smdeclust.cli.errors import CommandError
from smdeclust.cli.fitted import COLUMNS, Fitted, read_fitted
from smdeclust.cli.folder import check_file
from smdeclust.io.write import labels_csv, write_bytes

_READ = f"id_column sheet points data_format no_header {options.PAIRS}"


def predict(
    data: Annotated[Path, typer.Argument(metavar="NEW", help="New rows, with the same columns.")],
    result: Path,
    reading: Annotated[options.Reading, _READ],
    constraints: options.ConstraintFiles = None,
    out: Path | None = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Place new rows in the clusters of an earlier fit.

    Each row goes to its nearest center, or to the best cluster that its pairs allow. Pairs may be
    among new rows or between new and old rows. They name ids; if they name row positions, old rows
    are counted before new ones. Old rows and centers do not change.

    Example:
      smdeclust predict new-people.csv --result result -c new-pairs.csv

    Options:
      --result -r DIR: Folder written by 'fit --out'.
      --out -o FILE: CSV to write (default: print).
    """
    check_file(out, force=force)
    fitted = read_fitted(result)
    new = _read_new(data, fitted, result, reading)
    table = new.table
    squares = fitted.squares(new.X)
    labels = squares.argmin(axis=1)
    if constraints:
        labels = _under_pairs(fitted, table, squares, constraints, reading)
    content = labels_csv(labels, table.ids, table.id_name)
    if out is not None:
        write_bytes(out, content)
    if as_json:
        moved = int((labels != squares.argmin(axis=1)).sum())
        ids = {} if table.ids is None else {"ids": list(table.ids)}
        file = None if out is None else str(out)
        screen.print_json({**ids, "labels": labels, "n_moved_by_pairs": moved, "file": file})
    else:
        screen.print_result(content.decode() if out is None else str(out))


def _read_new(path: Path, fitted: Fitted, result: Path, reading: options.Reading) -> Any:
    """New rows, their columns prepared as those of the fit were."""
    folder = result if result.is_dir() else result.parent
    if (folder / COLUMNS).exists():
        known = replace(reading, result=folder, id_column=None)
    else:  # of an earlier version: numbers as they are, scaled by what result.json says
        known = replace(reading, raw=True, features=",".join(fitted.columns))
    new = opening.read_data(path, known, id_column=reading.id_column)
    if new.features is None:  # mere points: their scale is in the model
        new = replace(new, X=new.table.X)
    if new.X.shape[1] != (n_fitted := fitted.width):
        raise CommandError(
            f"{path}: there are {new.X.shape[1]} columns, but {n_fitted} were fitted."
        )
    return new


def _under_pairs(
    fitted: Fitted, table: Any, squares: Any, constraints: list[Path], reading: options.Reading
) -> Any:
    """Labels of the new rows that keep all pairs, with old rows and centers as they are."""
    from smdeclust import Constraints
    from smdeclust.estimators.new_points import label_new
    from smdeclust.estimators.soft import SoftPrices

    by_id = reading.pairs_by_row is not True and fitted.ids is not None and table.ids is not None
    if reading.pairs_by_row is False and not by_id:
        raise CommandError("--pairs-by-id, but the old or the new rows have no ids.")
    n_points = len(fitted.labels) + len(table.X)
    ids = None
    if by_id:
        ids = [*(fitted.ids or ()), *table.ids]
        both = set(fitted.ids or ()) & set(table.ids)
        if both:
            raise CommandError(
                f"The id {min(both)!r} is that of an old and of a new row. Ids must differ, or "
                "give pairs by row (--pairs-by-row; old rows come first)."
            )
    known = Constraints.read(
        list(constraints), ids=ids, n_points=None if by_id else n_points, **reading.pair_options()
    )
    return label_new(squares, fitted.labels, known, SoftPrices(**fitted.soft_prices))
