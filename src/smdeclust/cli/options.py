"""Options: how a command becomes what typer shows, and the options that several commands share.

A command's docstring describes its options: it ends with sections of entries such as ``--out -o
DIR: Folder to write to.``: names, what the value is called, and help. Where the parameter has
another name than the option, that follows in parentheses. The title of a section is that of the
panel in the help (``Options``: none). Parameters that are dataclasses mean one option per field,
described in the docstring of the class; some of them are chosen as in ``Annotated[Reading, "label
encoding"]``.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from smdeclust.cli.errors import CommandError

Command = Callable[..., Any]
# An option of this type, with limits: what goes to ``typer.Option`` beside its description.
Count = Annotated[int, {"min": 1}]
Natural = Annotated[int, {"min": 0}]
Seconds = Annotated[float, {"min": 0}]

_SECTION = re.compile(r"^([A-Z][\w ]+):\n(?=  --)", re.MULTILINE)
_ENTRY = re.compile(r"(--.+?)(?: \((\w+)\))?: (.+)")


def option(form: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """An option: its names and what its value is called (``--out -o FILE``), and its help."""
    names = [word for word in form.split() if word.startswith("-")]
    value = form.split()[len(names) :]
    metavar = value[0] if value else None
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, **more)


def as_command(function: Command) -> tuple[Command, str]:
    """The function as typer takes it, one parameter per option, and what its docstring says."""
    hints = get_type_hints(function, include_extras=True)
    text, described = _read(function.__doc__ or "")
    groups: dict[str, Any] = {}
    own, of_groups = [], []
    for name, parameter in inspect.signature(function).parameters.items():
        group, *chosen = get_args(hints[name]) or (hints[name],)
        if is_dataclass(group):
            wanted = chosen[0].split() if chosen else [field.name for field in fields(group)]
            there = [field for field in fields(group) if field.name in wanted]
            groups[name] = group, wanted
            types, about = get_type_hints(group, include_extras=True), _read(group.__doc__ or "")[1]
            of_groups += [_shown(f.name, types[f.name], f.default, about) for f in there]
        else:
            own.append(_shown(name, hints[name], parameter.default, described))

    def command(**given: Any) -> Any:
        for name, (group, names) in groups.items():
            given[name] = group(**{each: given.pop(each) for each in names})
        return function(**given)

    shown = [*own, *of_groups]
    command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in shown}
    return command, text


def _shown(name: str, hint: Any, default: Any, described: dict[str, Any]) -> inspect.Parameter:
    if name in described:
        kind, more = get_args(hint) if hasattr(hint, "__metadata__") else (hint, {})
        hint = Annotated[kind, option(*described[name], **more)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _read(doc: str) -> tuple[str, dict[str, tuple[str, str, str | None]]]:
    """What a docstring says, and for each parameter names, help and panel of its option."""
    text, *sections = _SECTION.split(inspect.cleandoc(doc))
    found = {}
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        for entry in re.split(r"^  (?=--)", body, flags=re.MULTILINE)[1:]:
            match = _ENTRY.fullmatch(" ".join(entry.split()))
            assert match is not None, entry
            form, parameter, help = match.groups()
            name = parameter or re.split("[ /]", form)[0][2:].replace("-", "_")
            found[name] = form, help, None if title == "Options" else title
    return text.rstrip(), found


# ---- options of several commands

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table (CSV, Excel, OpenDocument, Parquet, Feather, JSON lines) or points (.npy, "
        ".npz, .h5ad, or text with a first line 'n d').",
    ),
]
NClusters = Annotated[
    int | None,
    option("--clusters -k K", "Number of clusters (default: from the header of the data).", min=1),
]
ConstraintFiles = Annotated[
    list[Path] | None,
    option("--constraints --pairs -c FILE", "File of pairs, in any format; repeat for more files."),
]


Seed = Annotated[int, option("N", "Random seed.", min=0, max=2**31 - 1)]
MaxTime = Annotated[
    float | None, option("SECONDS", "Time limit; you get the best result found by then.", min=0)
]
Quotas = Annotated[
    list[str] | None,
    option(
        "--quota COLUMN=LOW..HIGH",
        "What every cluster must contain: gender=0.4..0.6 (shares of each value), "
        "gender:female=10..14 (a count of one value), amount=..500 (a sum), amount:mean=2..3, "
        "level:share=0.2..0.4 (shares of each value in a column of numbers), gender:female=3,4,5.. "
        "(one bound for each cluster; the search decides which gets which); repeat for more.",
    ),
]
AsJson = Annotated[bool, option("--json", "Print the result as JSON, for scripts.")]
Force = Annotated[bool, option("--force", "Replace existing files.")]
MethodName = Annotated[str, option("--method -m NAME", "Method ('compare --help' lists all).")]

# Options of `Reading` for commands that read pairs but prepare no columns.
PAIRS = "format kind index_base must_link_sign pairs_by_row encoding"


@dataclass(frozen=True)
class Reading:
    """How data and pairs are to be read: one field per option.

    Reading the data:
      --role COLUMN=ROLE: What a column is: number, category, yes/no, date, text, id, class, weight
        or 'left out' (default: guessed, and shown); repeat for more.
      --id COLUMN (id_column): Column of ids; short for --role COLUMN=id.
      --label COLUMN: Column of known classes, not used for clustering ('fit --class-column' uses
        them); short for --role COLUMN=class.
      --features A,B,...: The only columns to use (default: those with a suitable role).
      --sheet NAME: Sheet of a spreadsheet (default: the first with more than one column).
      --points FILE: Cluster these points (.npy, ...), one for each row of the table.
      --data-format NAME: csv, excel, parquet, feather, jsonl, h5ad, npy, npz or text (default:
        recognized from the content).
      --no-header: The CSV has no header line.
      --raw: Use only columns of numbers, without scaling.
      --drop-gaps: Leave out rows with a missing value in a column that is used (default: a missing
        value counts as average).
      --standardize/--no-standardize: Use only columns of numbers, scaled to mean 0 and standard
        deviation 1; --no-standardize is the same as --raw.
      --result -r DIR: Folder written by 'fit --out': columns are prepared in the same way.
      --encoding NAME: Encoding of text files, such as cp1252 (default: recognized).

    Reading the pairs:
      --format NAME: json, links, csv, signed, graphs, two-column, matrix, groups, labels or ids
        (default: recognized from the content).
      --kind ml|cl: Kind of the pairs, if the file does not say or for --group-column.
      --index-base 0|1: Number of the first row in the pairs files (default: from the format).
      --must-link-sign 1|-1: The sign that means must-link in a matrix.
      --pairs-by-row/--pairs-by-id: Whether pairs files use row positions or ids (default: ids if
        the data have them).
      --group-column COLUMN: Rows with the same value in this column belong together (--kind ml) or
        do not (--kind cl). The column is not used as a feature.
      --class-column COLUMN: Rows of the same class in this column belong together, rows of
        different classes do not, and an empty cell says nothing. The column is not a feature.
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
    class_column: str | None = None

    def feature_names(self) -> list[str] | None:
        """The columns of ``--features``."""
        if self.features is None:
            return None
        names = [name.strip() for name in self.features.split(",") if name.strip()]
        if not names:
            raise CommandError("--features names no columns. Name some, separated by commas.")
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
        special = {self.group_column: "left out", self.class_column: "left out"}
        special |= {self.id_column: "id", self.label: "class"}
        return found | {name: role for name, role in special.items() if name}
