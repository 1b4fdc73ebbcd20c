"""Options that several commands share: how data and pairs are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli import screen
from smdeclust.cli.errors import CommandError
from smdeclust.cli.spread import Command, spread

_DATA, _PAIRS = "Reading the data", "Reading the pairs"

# How messages of the library name what they advise, here.
WORDS = {
    "answers": "--answers FILE",
    "encoding": "--encoding NAME",
    "features": "--features A,B,...",
    "format": "--format NAME",
    "group_column": "--group-column COLUMN",
    "ids": "--id COLUMN, --pairs-by-id",
    "id_column": "--id COLUMN",
    "index_base": "--index-base 0|1",
    "index_base=1": "--index-base 1",
    "kind": "--kind ml or --kind cl",
    "label": "--label COLUMN",
    "missing_feature": "Name one of them.",
    "must_link_sign": "--must-link-sign 1|-1",
    "no_header": "--no-header",
    "pairs_by_row": "--pairs-by-row",
    "sheet": "--sheet NAME",
    "table_format": "--data-format NAME",
}

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="CSV with a header, text headed 'n d', .npy, .npz or Parquet."
    ),
]
NClusters = Annotated[
    int | None,
    typer.Option(
        "--clusters", "-k", metavar="K", min=1, help="Number of clusters (or in the data's header)."
    ),
]
ConstraintFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--constraints",
        "-c",
        metavar="FILE",
        help="Pairs, in any of the formats; repeat for several files.",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column of ids (default: a first column named id).",
        rich_help_panel=_DATA,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Column of known classes, not used for clustering (default: a last column named "
        "class or label).",
        rich_help_panel=_DATA,
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="Columns to use (default: all but id and label).",
        rich_help_panel=_DATA,
    ),
]
DataFormat = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="csv, text, npy, npz or parquet (default: seen from the content).",
        rich_help_panel=_DATA,
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option("--no-header", help="The CSV has no header line.", rich_help_panel=_DATA),
]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize/--no-standardize",
        help="Scale every column to mean 0 and standard deviation 1 first, or take the numbers as "
        "they are.",
        rich_help_panel=_DATA,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of text files, such as cp1252 or utf-16-le (default: UTF-8, or UTF-16 "
        "with its mark).",
        rich_help_panel=_DATA,
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Rows with equal values in this column go together (--kind ml) or apart (--kind cl); "
        "it is not used for clustering.",
        rich_help_panel=_PAIRS,
    ),
]
PairFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="json, links, csv, signed, graphs, two-column, matrix, groups, labels or ids "
        "(default: seen from the content).",
        rich_help_panel=_PAIRS,
    ),
]
PairKind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="ml|cl",
        help="What the pairs are, where the file does not say.",
        rich_help_panel=_PAIRS,
    ),
]
IndexBase = Annotated[
    int | None,
    typer.Option(
        metavar="0|1",
        min=0,
        max=1,
        help="Number of the first row in the pairs files (default: as the format says).",
        rich_help_panel=_PAIRS,
    ),
]
MatrixSign = Annotated[
    int,
    typer.Option(
        "--must-link-sign",
        metavar="1|-1",
        help="The sign that means must-link in a matrix.",
        rich_help_panel=_PAIRS,
    ),
]
PairsByRow = Annotated[
    bool | None,
    typer.Option(
        "--pairs-by-row/--pairs-by-id",
        help="The pairs files name rows or ids (default: ids where the data have them).",
        rich_help_panel=_PAIRS,
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, max=2**31 - 1, help="Random seed.")]
MaxTime = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", min=0, help="Stop then, with the best found so far."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


@dataclass(frozen=True)
class Reading:
    """How data and pairs are to be read: one field an option (see `reads_files`)."""

    id_column: IdColumn = None
    label: LabelColumn = None
    features: Features = None
    data_format: DataFormat = None
    no_header: NoHeader = False
    standardize: Standardize = False
    format: PairFormat = None
    kind: PairKind = None
    index_base: IndexBase = None
    must_link_sign: MatrixSign = 1
    pairs_by_row: PairsByRow = None
    encoding: Encoding = None
    group_column: GroupColumn = None

    def feature_names(self) -> list[str] | None:
        """The columns of ``--features``."""
        if self.features is None:
            return None
        names = [name.strip() for name in self.features.split(",") if name.strip()]
        if not names:
            raise CommandError("--features names no column. Name some, separated by commas.")
        return names


def reads_files(*names: str) -> Callable[[Command], Command]:
    """Give a command the options of `Reading` in place of its parameter ``reading``.

    Parameters
    ----------
    names
        The options that the command has; none named: all of them.
    """
    return spread(Reading, "reading", names)


@dataclass(frozen=True)
class Inputs:
    """Data and pairs as read.

    Attributes
    ----------
    path, pair_paths
        The files.
    table
        The data as they stand in the file.
    X
        The points to cluster: those of the table, standardised if asked for.
    constraints
        The pairs.
    pairs_by
        ``"id"`` or ``"row"``: what the pairs files name.
    standardized
        Whether the columns of `X` were scaled.
    """

    path: Path
    pair_paths: tuple[Path, ...]
    table: Any
    X: Any
    constraints: Any
    pairs_by: str
    standardized: bool

    def name(self, row: int) -> str:
        """The id of a row, or its number."""
        return str(row) if self.table.ids is None else self.table.ids[row]


def read_data(path: Path, reading: Reading) -> tuple[Any, Any]:
    """Return the table, and its points, standardised if asked for."""
    from smdeclust.io import read_table

    table = read_table(
        path,
        format=reading.data_format,
        label=reading.label,
        id_column=reading.id_column,
        features=reading.feature_names(),
        group_column=reading.group_column,
        header=not reading.no_header,
        encoding=reading.encoding,
    )
    if not reading.standardize:
        return table, table.X
    from smdeclust.datasets import standardize

    return table, standardize(table.X)


def read_inputs(path: Path, pair_paths: list[Path] | None, reading: Reading) -> Inputs:
    """Read data and pairs."""
    table, X = read_data(path, reading)
    if reading.pairs_by_row is False and table.ids is None:
        raise CommandError(f"{path}: --pairs-by-id, but there is no id column. Name it with --id.")
    by_id = table.ids is not None and reading.pairs_by_row is not True
    return Inputs(
        path=path,
        pair_paths=tuple(pair_paths or ()),
        table=table,
        X=X,
        constraints=_read_pairs(path, pair_paths, reading, table, by_id),
        pairs_by="id" if by_id else "row",
        standardized=reading.standardize,
    )


def _read_pairs(
    path: Path, pair_paths: list[Path] | None, reading: Reading, table: Any, by_id: bool
) -> Any:
    """The pairs of the files, and those of the group column."""
    from smdeclust.constraints import Constraints
    from smdeclust.io import pairs_from_groups

    ids, n_points = (table.ids, None) if by_id else (None, len(table.X))
    known = Constraints(ids=ids, n_points=n_points)
    if pair_paths:
        known = Constraints.read(
            list(pair_paths),
            ids=ids,
            n_points=n_points,
            format=reading.format,
            kind=reading.kind,
            index_base=reading.index_base,
            must_link_sign=reading.must_link_sign,
            encoding=reading.encoding,
        )
    if table.groups is not None:
        if reading.kind is None:
            raise CommandError(
                f"Do rows with the same {table.group_name} go together or apart? Say --kind ml or "
                "--kind cl."
            )
        known = known | pairs_from_groups(table, reading.kind, path)
    return known


def resolve_k(n_clusters: int | None, inputs: Inputs) -> int:
    """The K of the command line, or else of the data's header."""
    k = inputs.table.n_clusters if n_clusters is None else n_clusters
    if k is None:
        raise CommandError("How many clusters? Say it with -k K.")
    if k > len(inputs.X):
        raise CommandError(
            f"{inputs.path}: {k} clusters cannot be made of {len(inputs.X)} points. Use a smaller "
            "-k."
        )
    return int(k)


# A column with more of the variance than this decides nearly alone.
_NEARLY_ALL = 0.9


def columns_line(inputs: Inputs) -> str:
    """Which columns are used for clustering, and how."""
    names = inputs.table.feature_names
    shown = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
    return f"{shown}; {'standardised' if inputs.standardized else 'as given, not standardised'}"


def mention_columns(inputs: Inputs) -> None:
    """Say which columns are used and which are not, and where one of them decides alone."""
    import numpy as np

    table = inputs.table
    others = [
        f"{what}: {name}"
        for what, name in (
            ("ids", table.id_name),
            ("classes, only to compare with", table.label_name),
            ("groups", table.group_name),
        )
        if name is not None
    ]
    screen.say("; ".join([f"Columns used: {columns_line(inputs)}", *others]) + ".")
    names = table.feature_names
    if table.label_name is None and len(names) > 1 and names[-1].lower() == "y":
        screen.note("the last column, y, is used like the others. Say --label y if it is classes.")
    if inputs.standardized or len(names) < 2:
        return
    variance = inputs.X.var(axis=0)
    largest = int(np.argmax(variance))
    if variance[largest] > _NEARLY_ALL * variance.sum():
        share = 100 * variance[largest] / variance.sum()
        screen.note(
            f"column {names[largest]} carries {share:.1f} % of the variance, so it decides nearly "
            "alone. Say --standardize to let all columns count alike."
        )


def mention_soft(inputs: Inputs, what: str) -> int:
    """Say that soft pairs are left out; return how many there are."""
    pairs = inputs.constraints
    n_soft = len(pairs.soft_must_link) + len(pairs.soft_cannot_link)
    if n_soft:
        screen.note(f"{screen.plural(n_soft, 'soft pair')} (with a confidence) left out: {what}.")
    return n_soft
