"""Options that several commands share: how data and pairs are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli.errors import CommandError
from smdeclust.cli.spread import Command, option, spread

_DATA, _PAIRS = "Reading the data", "Reading the pairs"

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


@dataclass(frozen=True)
class Reading:
    """How data and pairs are to be read: one field an option (see `reads_files`)."""

    role: Annotated[
        list[str] | None,
        option(
            "--role COLUMN=ROLE",
            "What a column is: number, category, yes/no, date, text, id, class, weight or 'left "
            "out' (default: guessed, and shown); repeat for more.",
            _DATA,
        ),
    ] = None
    id_column: Annotated[
        str | None, option("--id COLUMN", "Column of ids: --role COLUMN=id.", _DATA)
    ] = None
    label: Annotated[
        str | None,
        option(
            "--label COLUMN",
            "Column of known classes, only to compare with: --role COLUMN=class.",
            _DATA,
        ),
    ] = None
    features: Annotated[
        str | None,
        option("A,B,...", "The only columns to use (default: those with a suitable role).", _DATA),
    ] = None
    sheet: Annotated[
        str | None,
        option("NAME", "Sheet of a spreadsheet (default: the first that is not empty).", _DATA),
    ] = None
    points: Annotated[
        Path | None,
        option("FILE", "Cluster these points (.npy, ...), one for each row of the table.", _DATA),
    ] = None
    data_format: Annotated[
        str | None,
        option(
            "NAME",
            "csv, excel, parquet, feather, jsonl, h5ad, npy, npz or text (default: seen from the "
            "content).",
            _DATA,
        ),
    ] = None
    no_header: Annotated[bool, option("--no-header", "The CSV has no header line.", _DATA)] = False
    raw: Annotated[
        bool,
        option("--raw", "Take columns of numbers as they are, and leave all others out.", _DATA),
    ] = False
    drop_gaps: Annotated[
        bool,
        option(
            "--drop-gaps",
            "Leave out rows with a missing value in a column that is used (default: a missing "
            "value counts as average).",
            _DATA,
        ),
    ] = False
    standardize: Annotated[
        bool | None,
        option(
            "--standardize/--no-standardize",
            "Only columns of numbers, with mean 0 and standard deviation 1; --no-standardize is "
            "--raw.",
            _DATA,
            show_default=False,
        ),
    ] = None
    result: Annotated[
        Path | None,
        option(
            "--result -r DIR",
            "Folder written by 'fit --out': columns are prepared in the same way.",
            _DATA,
        ),
    ] = None
    format: Annotated[
        str | None,
        option(
            "--format NAME",
            "json, links, csv, signed, graphs, two-column, matrix, groups, labels or ids (default:"
            " seen from the content).",
            _PAIRS,
        ),
    ] = None
    kind: Annotated[
        str | None,
        option("--kind ml|cl", "Kind of all pairs, if the file does not name it.", _PAIRS),
    ] = None
    index_base: Annotated[
        int | None,
        option(
            "0|1",
            "Number of the first row in the pairs files (default: that of the format).",
            _PAIRS,
            min=0,
            max=1,
        ),
    ] = None
    must_link_sign: Annotated[
        int, option("--must-link-sign 1|-1", "The sign that means must-link in a matrix.", _PAIRS)
    ] = 1
    pairs_by_row: Annotated[
        bool | None,
        option(
            "--pairs-by-row/--pairs-by-id",
            "Whether pairs files name rows or ids (default: ids if the data have them).",
            _PAIRS,
            show_default=False,
        ),
    ] = None
    encoding: Annotated[
        str | None,
        option("NAME", "Encoding of text files, such as cp1252 (default: recognized).", _DATA),
    ] = None
    group_column: Annotated[
        str | None,
        option(
            "COLUMN",
            "Rows with equal values in this column go together (--kind ml) or apart (--kind cl); "
            "it is not used for clustering.",
            _PAIRS,
        ),
    ] = None

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


def reads_files(*names: str) -> Callable[[Command], Command]:
    """Give a command the options of `Reading`, or some, in place of its parameter ``reading``."""
    return spread(Reading, "reading", names)
