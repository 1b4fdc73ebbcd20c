"""``smdeclust predict``: where do new rows belong?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli import options, screen
from smdeclust.cli.errors import CommandError
from smdeclust.cli.fit import _csv
from smdeclust.cli.fitted import Fitted, read_fitted
from smdeclust.cli.folder import check_file
from smdeclust.cli.options import Reading


@options.reads_files(
    "id_column", "data_format", "no_header", "encoding", "format", "kind", "index_base",
    "must_link_sign", "pairs_by_row",
)  # fmt: skip
def predict(
    data: Annotated[Path, typer.Argument(metavar="NEW", help="New rows, with the same columns.")],
    result: Annotated[
        Path, typer.Option("--result", "-r", metavar="DIR", help="What 'fit --out' wrote.")
    ],
    constraints: options.ConstraintFiles = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="CSV to write (default: print)."),
    ] = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
    *,
    reading: Reading,
) -> None:
    """Place new rows in the clusters of an earlier fit.

    Each row goes to its nearest center, or to the best place that the pairs allow. Pairs may be
    among the new rows and between new and old ones, by id; by row, the old rows come first. Old
    rows and centers stay as they are.

    Example:
      smdeclust predict new-people.csv --result result -c new-pairs.csv
    """
    if out is not None:
        check_file(out, force=force)
    fitted = read_fitted(result)
    table = _read_new(data, fitted, reading)
    squares = fitted.squares(table.X)
    labels = squares.argmin(axis=1)
    if constraints:
        labels = _under_pairs(fitted, table, squares, constraints, reading)
    names = list(table.ids) if table.ids is not None else list(range(len(table.X)))
    header = ["row" if table.ids is None else table.id_name or "id", "label"]
    content = _csv([header, *zip(names, labels.tolist(), strict=True)])
    if out is not None:
        from smdeclust.io import write_bytes

        write_bytes(out, content)
    if as_json:
        moved = int((labels != squares.argmin(axis=1)).sum())
        ids = {} if table.ids is None else {"ids": names}
        file = None if out is None else str(out)
        screen.print_json({**ids, "labels": labels, "n_moved_by_pairs": moved, "file": file})
    else:
        screen.print_result(content.decode() if out is None else str(out))


def _read_new(path: Path, fitted: Fitted, reading: Reading) -> Any:
    from smdeclust.io import read_table
    from smdeclust.io.wording import use_words

    features = None if _without_names(path, reading) else fitted.columns
    words = {  # here it is the fit that chose the columns, and not an option
        "features": "which the fit in --result used",
        "missing_feature": "The new rows need every column of that fit, by the same name.",
    }
    with use_words({**options.WORDS, **words}):
        table = read_table(
            path,
            format=reading.data_format,
            label=False,
            id_column=reading.id_column,
            features=features,
            header=not reading.no_header,
            encoding=reading.encoding,
        )
    if table.X.shape[1] != len(fitted.columns):
        raise CommandError(
            f"{path}: there are {table.X.shape[1]} columns, but {len(fitted.columns)} were fitted."
        )
    return table


def _without_names(path: Path, reading: Reading) -> bool:
    """Whether a file has no names of columns to choose by."""
    from smdeclust.io.files import as_utf8, read_bytes
    from smdeclust.io.table_file import detect_table

    content = as_utf8(read_bytes(path), path, reading.encoding)
    return (reading.data_format or detect_table(content, path)) in ("npy", "npz", "text")


def _under_pairs(
    fitted: Fitted, table: Any, squares: Any, constraints: list[Path], reading: Reading
) -> Any:
    """Labels of the new rows that keep all pairs, with old rows and centers as they are."""
    from smdeclust import Constraints
    from smdeclust.estimators.new_points import label_new

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
        list(constraints),
        ids=ids,
        n_points=None if by_id else n_points,
        format=reading.format,
        kind=reading.kind,
        index_base=reading.index_base,
        must_link_sign=reading.must_link_sign,
        encoding=reading.encoding,
    )
    spread = fitted.objective / max(len(fitted.labels) * fitted.model["centers"].shape[1], 1)
    return label_new(squares, fitted.labels, known, spread)
