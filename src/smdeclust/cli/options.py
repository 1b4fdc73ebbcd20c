"""Options that several commands share: how data and pairs are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli.errors import CommandError
from smdeclust.cli.spread import option

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table (CSV, Excel, OpenDocument, Parquet, Feather, JSON lines) or points (.npy, "
        ".npz, .h5ad, text headed 'n d').",
    ),
]
NClusters = Annotated[
    int | None,
    option("--clusters -k K", "Number of clusters (default: from the header of the data).", min=1),
]
ConstraintFiles = Annotated[
    list[Path] | None,
    option("--constraints -c FILE", "File of pairs, in any format; repeat for several files."),
]


Seed = Annotated[int, option("N", "Random seed.", min=0, max=2**31 - 1)]
MaxTime = Annotated[
    float | None, option("SECONDS", "Time limit; the best clustering found so far is kept.", min=0)
]
AsJson = Annotated[bool, option("--json", "Print the result as JSON, for machines.")]
Force = Annotated[bool, option("--force", "Replace files that exist.")]
Labels = Annotated[Path | None, option("--labels -l FILE", "labels.csv of a fit.")]
MethodName = Annotated[str, option("--method -m NAME", "Method ('compare --help' lists them).")]

# Options of `Reading` for commands that read pairs but prepare no columns.
PAIRS = "format kind index_base must_link_sign pairs_by_row encoding"


@dataclass(frozen=True)
class Reading:
    """How data and pairs are to be read: one field an option.

    Reading the data:
      --role COLUMN=ROLE: What a column is: number, category, yes/no, date, text, id, class, weight
        or 'left out' (default: guessed, and shown); repeat for more.
      --id COLUMN (id_column): Column of ids: --role COLUMN=id.
      --label COLUMN: Column of known classes, only to compare with: --role COLUMN=class.
      --features A,B,...: The only columns to use (default: those with a suitable role).
      --sheet NAME: Sheet of a spreadsheet (default: the first that is not empty).
      --points FILE: Cluster these points (.npy, ...), one for each row of the table.
      --data-format NAME: csv, excel, parquet, feather, jsonl, h5ad, npy, npz or text (default: seen
        from the content).
      --no-header: The CSV has no header line.
      --raw: Take columns of numbers as they are, and leave all others out.
      --drop-gaps: Leave out rows with a missing value in a column that is used (default: a missing
        value counts as average).
      --standardize/--no-standardize: Only columns of numbers, with mean 0 and standard deviation 1;
        --no-standardize is --raw.
      --result -r DIR: Folder written by 'fit --out': columns are prepared in the same way.
      --encoding NAME: Encoding of text files, such as cp1252 (default: recognized).

    Reading the pairs:
      --format NAME: json, links, csv, signed, graphs, two-column, matrix, groups, labels or ids
        (default: seen from the content).
      --kind ml|cl: Kind of all pairs, if the file does not name it.
      --index-base 0|1: Number of the first row in the pairs files (default: that of the format).
      --must-link-sign 1|-1: The sign that means must-link in a matrix.
      --pairs-by-row/--pairs-by-id: Whether pairs files name rows or ids (default: ids if the data
        have them).
      --group-column COLUMN: Rows with equal values in this column go together (--kind ml) or apart
        (--kind cl); it is not used for clustering.
    """

    role: list[str] | None = None
    id_column: str | None = None
    label: str | None = None
    features: str | None = None
    sheet: str | None = None
    points: Path | None = None
    data_format: str | None = None
    no_header: bool = False
    raw: bool = False
    drop_gaps: bool = False
    standardize: Annotated[bool | None, {"show_default": False}] = None
    result: Path | None = None
    format: str | None = None
    kind: str | None = None
    index_base: Annotated[int | None, {"min": 0, "max": 1}] = None
    must_link_sign: int = 1
    pairs_by_row: Annotated[bool | None, {"show_default": False}] = None
    encoding: str | None = None
    group_column: str | None = None

    def feature_names(self) -> list[str] | None:
        """The columns of ``--features``."""
        if self.features is None:
            return None
        names = [name.strip() for name in self.features.split(",") if name.strip()]
        if not names:
            raise CommandError("--features names no column. Name some, separated by commas.")
        return names

    def pair_options(self) -> dict[str, Any]:
        """How pairs files are read, for `read_constraints`."""
        names = ("format", "kind", "index_base", "must_link_sign", "encoding")
        return {name: getattr(self, name) for name in names}

    @property
    def scaling(self) -> str:
        """How numbers are scaled, as `TableFeatures` calls it."""
        if self.standardize:
            return "standard"
        return "none" if self.raw or self.standardize is False else "robust"

    def roles(self) -> dict[str, str]:
        """The roles that were given, by column."""
        found = {}
        for written in self.role or ():
            name, mark, role = written.rpartition("=")
            if not mark:
                raise CommandError(f"--role {written}: expected COLUMN=ROLE, as in city=category.")
            found[name.strip()] = role.strip()
        special = {"id": self.id_column, "class": self.label, "left out": self.group_column}
        found |= {name: role for role, name in special.items() if name}
        return found
