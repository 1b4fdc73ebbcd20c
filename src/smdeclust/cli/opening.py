"""Data and pairs, read and prepared as the options say, and the notes about them."""

import re
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from smdeclust.cli import output
from smdeclust.cli.errors import CommandError
from smdeclust.constraints import Constraints
from smdeclust.constraints.constraints import format_of
from smdeclust.datasets import standardize
from smdeclust.exceptions import InvalidInputError
from smdeclust.io import pairs_from_groups, read_frame, read_table
from smdeclust.io.files import COMMAND_LINE, use_words
from smdeclust.io.frames import ARRAY_FORMATS
from smdeclust.io.table import find_column, numeric_table, table_of, texts_of
from smdeclust.io.write import check_writable
from smdeclust.tables.values import Columns, as_numbers, as_weights, values_of

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
      --encoding NAME: Encoding of text files, such as cp1252 (default: recognized;
        for pairs, UTF-8).

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


@dataclass(frozen=True)
class Inputs:
    """A table and its points to cluster, and the pairs about them.

    `table` is what stands beside the points in the file, `X` the points, `features` how columns
    became points (None where points were given as such), `file` the table as read, `standardized`
    whether the columns of `X` were scaled to standard deviation 1, and `weight` how much each row
    counts (None: all alike). Where rows with gaps were left out, `kept` are the others, and `whole`
    is the file with all of them. Pairs name points by ``id`` or ``row``, and follow from the
    `pair_columns` of a group or a class, too.
    """

    path: Path
    table: Any
    X: Any
    features: Any = None
    file: Any = None
    standardized: bool = False
    weight: Any = None
    kept: Any = None
    whole: Any = None
    pair_paths: tuple[Path, ...] = ()
    constraints: Any = None
    pairs_by: str = "row"
    pair_columns: dict[str, str | None] = field(default_factory=dict)

    @cached_property
    def units(self) -> Any:
        """(N, d) the points in the units of the data."""
        return self.features.in_units(self.file.frame) if self.is_table else self.table.X

    def name(self, row: int) -> str:
        """The id of a row, or its number."""
        return str(row) if self.table.ids is None else self.table.ids[row]

    def pair_document(self, kind: str, position: int, among: Any = None) -> dict[str, Any]:
        """A pair, of these constraints or of others: its rows, ids and place in the files."""
        known = self.constraints if among is None else among
        rows = getattr(known, kind)[position].tolist()
        ids, where = [self.name(row) for row in rows], known.where(kind, position)
        if among is not None and where == f"{kind} pair {position}":  # given by an option
            where = f"--add {'ml' if kind == 'must_link' else 'cl'}:{','.join(ids)}"
        return {"type": kind, "rows": rows, "ids": ids, "where": where}

    @property
    def weight_name(self) -> str | None:
        """The column of the weights."""
        return None if self.weight is None else self.features.weight_column_

    @property
    def is_table(self) -> bool:
        """Whether the points were made of columns with roles."""
        return self.features is not None and self.file.points is None


def read_data(
    path: Path, reading: Reading, *, id_column: str | None = None, may_drop: bool = False
) -> Inputs:
    """Read a table and prepare it: as the earlier result says, or as the options do.

    Beside an earlier result, `id_column` names the ids of this table where they are in another.
    Where rows with gaps are dropped (`may_drop`, if asked for now or by that fit), there are
    points and weights of the others.
    """
    from smdeclust.cli.fitted import read_preparation

    earlier = None if reading.result is None else read_preparation(reading.result)
    file = read_frame(
        path,
        format=reading.data_format,
        sheet=reading.sheet,
        header=False if reading.no_header else None,
        encoding=reading.encoding,
    )
    if file.format not in ARRAY_FORMATS or reading.points is not None:
        asked = reading.drop_gaps or bool((earlier or {}).get("drop_gaps"))
        return _prepare(file, reading, earlier, id_column, may_drop and asked)
    table = numeric_table(
        file, reading.label, reading.id_column, reading.feature_names(), reading.group_column
    )
    if reading.role:
        raise CommandError(f"{path}: --role needs a table with columns, not {file.format}.")
    standard = (reading.scaling if earlier is None else earlier["scaling"]) == "standard"
    X = standardize(table.X) if standard else table.X
    return Inputs(path, table, X, file=file, standardized=standard)


def _prepare(
    file: Any, reading: Reading, earlier: Any, id_column: str | None, drop_gaps: bool
) -> Inputs:
    from smdeclust import TableFeatures

    names, only = [str(name) for name in file.frame.columns], reading.feature_names()
    for asked, name in (
        ("label", reading.label), ("id_column", reading.id_column or id_column),
        ("group_column", reading.group_column), ("class_column", reading.class_column),
        *(("features", name) for name in only or ()),
    ):  # fmt: skip
        if name is not None:
            find_column(names, file.path, asked, name)
    if reading.points is not None:
        file = replace(file, points=read_table(reading.points).X)
        if len(file.points) != len(file.frame):
            raise CommandError(
                f"{reading.points}: there are {len(file.points)} points for the "
                f"{len(file.frame)} rows of {file.path}."
            )
    points = file.points
    try:
        if earlier is not None and "columns" in earlier:
            features = TableFeatures.from_dict(earlier)
            features.id_column_ = id_column or features.id_column_
        else:
            features = TableFeatures(reading.roles(), scaling=reading.scaling)
            if points is not None:
                features.fit_roles(file.frame)
            elif drop_gaps:
                features.fit(file.frame, only=only)
            else:
                points = features.fit_transform(file.frame, only=only)
        kept = None
        if drop_gaps and points is None:
            kept = np.flatnonzero(~features.gaps(file.frame))
            if len(kept) == 0:
                raise CommandError(f"{file.path}: every row has a missing value (--drop-gaps).")
            for name, done in features.done_.items():
                features.done_[name] = done.replace("placed at the mean", "their rows left out")
        frame = file.frame if kept is None else file.frame.iloc[kept]
        points = features.transform(frame) if points is None else points
        weight, name = None, features.weight_column_
        if name is not None and name in file.frame:
            weight = as_weights(values_of(file.frame[name], file.decimal), name)
            weight = weight if kept is None else weight[kept]
    except InvalidInputError as error:
        said = str(error)
        if earlier is not None and "no column" in said:
            said += " The table needs the columns of the fit in --result."
        if file.lines is not None:
            said = re.sub(r", row (\d+):", lambda row: f", line {file.lines[int(row[1])]}:", said)
        raise CommandError(" ".join([f"{file.path}: {said}", *file.notes])) from error
    table = table_of(file, features, reading.group_column)
    standard = features.scaling == "standard"
    if file.points is not None and reading.scaling == "standard":
        points = standardize(points)
    X = np.ascontiguousarray(points)
    return Inputs(file.path, table, X, features, file, standard, weight, kept)


def read_inputs(
    path: Path,
    pair_paths: list[Path] | None,
    reading: Reading,
    quotas: list[str] | None = None,
) -> Inputs:
    """Read data, pairs, and quotas as they are written after ``--quota``."""
    data = read_data(path, reading, may_drop=True)
    table = data.table
    by_id = table.ids is not None and reading.pairs_by_row is not True
    if pair_paths and not by_id and reading.pairs_by_row is not True and table.repeated_ids:
        raise CommandError(f"{path}: {table.repeated_ids}")
    if reading.pairs_by_row is False and not by_id:
        raise CommandError(f"{path}: --pairs-by-id, but there is no id column. Name it with --id.")
    inputs = replace(
        data,
        pair_paths=tuple(pair_paths or ()),
        constraints=_read_pairs(data, pair_paths, reading, by_id),
        pairs_by="id" if by_id else "row",
        pair_columns={"group": reading.group_column, "class": reading.class_column},
    )
    if inputs.kept is not None:
        inputs = _without_gaps(inputs)
    return _with_quotas(inputs, quotas) if quotas else inputs


def _without_gaps(inputs: Inputs) -> Inputs:
    """Table, file and pairs of the rows that were kept."""
    file, table, known, kept = inputs.file, inputs.table, inputs.constraints, inputs.kept
    left = known[kept]
    n_pairs = known.n_pairs - left.n_pairs
    output.note(
        f"{output.plural(len(table.X) - len(kept), 'row')} with a missing value left out"
        + (f", and {output.plural(n_pairs, 'pair')} with them." if n_pairs else ".")
    )

    def pick(entries: Any) -> Any:
        return None if entries is None else tuple(entries[row] for row in kept)

    fewer = replace(
        table,
        X=table.X[kept],
        ids=pick(table.ids or [str(row) for row in range(len(table.X))]),
        id_name=table.id_name or "row",
        labels=None if table.labels is None else table.labels[kept],
        groups=pick(table.groups),
        lines=pick(table.lines),
    )
    return replace(
        inputs,
        table=fewer,
        constraints=left,
        file=replace(file, table=file.frame.iloc[kept].reset_index(drop=True)),
        whole=file,
    )


def _read_pairs(data: Inputs, pair_paths: list[Path] | None, reading: Reading, by_id: bool) -> Any:
    """The pairs of the files, and those of the columns of groups and of classes."""
    table = data.table
    ids, n_points = (table.ids, None) if by_id else (None, len(table.X))
    if not pair_paths:
        known = Constraints(ids=ids, n_points=n_points)
    else:
        options = reading.pair_options()
        about_kind: Any = nullcontext()
        if table.groups is not None:
            options["kind"], about_kind = None, use_words({**COMMAND_LINE, "kind": _SAY_KIND})
        with about_kind:
            known = Constraints.read(list(pair_paths), ids=ids, n_points=n_points, **options)
    if table.groups is not None:
        if reading.kind is None:
            raise CommandError(
                f"Do rows with the same {table.group_name} belong together? If so, pass --kind ml, "
                "otherwise --kind cl. If the column has known classes, pass --class-column "
                f"{table.group_name} instead."
            )
        known = known | pairs_from_groups(table, reading.kind, data.path)
    if reading.class_column is not None:
        columns = data.file.beside if data.file.table is None else data.file.frame
        name = find_column(columns, data.path, "class_column", reading.class_column)
        classes = replace(table, groups=tuple(texts_of(columns[name])))
        known = known | pairs_from_groups(classes, "class", data.path)
    return known


_SAY_KIND = (
    "a file that says so, as 'smdeclust convert FILE --kind ml --out NEW.csv' writes it (--kind "
    "applies to --group-column here),"
)


def resolve_k(n_clusters: int | None, inputs: Inputs) -> int:
    """The K of the command line, or else of the data's header."""
    k = inputs.table.n_clusters if n_clusters is None else n_clusters
    if k is None:
        raise CommandError("How many clusters? Pass the number with -k K.")
    if k > len(inputs.X):
        raise CommandError(
            f"{inputs.path}: {k} clusters cannot be made from {len(inputs.X)} points. Use a "
            "smaller -k."
        )
    return int(k)


# A column with more of the variance than this decides nearly alone.
_NEARLY_ALL = 0.9
_SCALED = {
    "robust": "prepared to have comparable influence",
    "standard": "standardized",
    "none": "as given",
}


def columns_line(inputs: Inputs) -> str:
    """Which columns are used for clustering, and how."""
    if not inputs.is_table:
        return f"{inputs.X.shape[1]} coordinates, {scaling(inputs)}"
    names = inputs.features.used_columns
    shown = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
    return f"{shown}; {scaling(inputs)}"


def scaling(inputs: Inputs) -> str:
    """How columns were scaled, in words."""
    plain = "standard" if inputs.standardized else "none"
    return _SCALED[inputs.features.scaling if inputs.is_table else plain]


def mention_columns(inputs: Inputs) -> None:
    """Say what every column is, why, and what was done; and where one of them decides alone."""
    for sentence in inputs.file.notes:
        output.note(sentence)
    if inputs.features is not None:
        lines = inputs.features.describe()
        if inputs.file.points is not None:
            lines = [(name, role, why, "not used: points given") for name, role, why, _ in lines]
        made = {name: (name, what, "set by you", "makes pairs")
                for what, name in inputs.pair_columns.items()}  # fmt: skip
        lines = [made.get(line[0], line) for line in lines]
        output.print_table(lines, header=["column", "role", "why", "what was done"], stderr=True)
        if inputs.table.repeated_ids:
            output.note(inputs.table.repeated_ids)
        name = inputs.weight_name
        if name is not None and inputs.features.reasons_[name] != "set by you":
            output.note(
                f"rows are weighted by column {name}, which looks like weights. If it is a "
                f"measurement, pass --role {name}=number."
            )
    else:
        output.say(f"Points: {columns_line(inputs)}.")
    names = inputs.table.feature_names
    raw = inputs.features is None or inputs.features.scaling == "none"
    if not raw or inputs.standardized or len(names) < 2:
        return
    variance = inputs.X.var(axis=0)
    largest = int(np.argmax(variance))
    if variance[largest] > _NEARLY_ALL * variance.sum():
        share = 100 * variance[largest] / variance.sum()
        advice = "Pass --standardize" if inputs.features is None else "Leave out --raw"
        output.note(
            f"column {names[largest]} has {share:.1f}% of the variance, so it decides the clusters "
            f"almost alone. {advice} to give all columns equal weight."
        )


def mention_weights(inputs: Inputs, what: str) -> None:
    """Say that the column of weights is not used."""
    if inputs.weight is not None:
        output.note(f"the weights in column {inputs.weight_name} are not used: {what}.")


def mention_quotas(inputs: Inputs) -> None:
    """Say that a certificate is not about quotas."""
    if inputs.constraints.quotas:
        output.note(
            "The certificate ignores the quotas. They only rule out clusterings, so the bound is "
            "still valid. (If a better clustering is found, it may break the quotas.)"
        )


def mention_soft(inputs: Inputs, what: str) -> None:
    """Say that soft pairs are left out."""
    if n_soft := inputs.constraints.n_soft:
        output.note(f"{output.plural(n_soft, 'soft pair')} (with a confidence) not used: {what}.")


def check_save(path: Path | None, inputs: Inputs) -> None:
    """Say before the work begins if a file could not hold what is known."""
    if path is not None:
        check_writable(inputs.constraints, format_of(path))


# ---- quotas: bounds on what every cluster holds of a column, as people write them

_FORM = "expected COLUMN=LOW..HIGH (gender=0.4..0.6), or one bound per cluster (gender:f=3,4..5,6)"


def _with_quotas(inputs: Inputs, written: list[str]) -> Inputs:
    """The same inputs, with these quotas among what is known."""
    frame, known = inputs.file.frame, inputs.constraints
    for each in written:
        name, value, low, high = _parse(each)
        if name not in frame.columns:
            raise CommandError(
                f"--quota {each}: there is no column {name!r}; the columns are "
                f"{', '.join(map(str, frame.columns))}."
            )
        numbers = _as_numbers(inputs, name)
        if numbers is not None and value in (None, "sum", "mean"):
            known = known.quota(numbers, low, high, of=value, name=name)
        else:
            known = _added(known, frame[name], name, value, low, high)
    return replace(inputs, constraints=known)


def _added(known: Any, column: Any, name: str, value: str | None, low: Any, high: Any) -> Any:
    entries = [str(e) if there else None for e, there in zip(column, column.notna(), strict=True)]
    if value is None or (value in ("share", "count") and value not in entries):
        yes_or_no = {e.lower() for e in entries if e} <= {"true", "false"}
        column = [e and e.lower() == "true" for e in entries] if yes_or_no else entries
        return known.quota(column, low, high, of=value, name=name)
    bounds = [None if bound is None else {value: bound} for bound in (low, high)]
    return known.quota(entries, *bounds, name=name)


def _as_numbers(inputs: Inputs, name: str) -> Any:
    """The numbers of a column as the table reads it; None where it holds something else."""
    frame = inputs.file.frame
    column = frame[name].astype(float) if frame[name].dtype == bool else frame[name]
    read = values_of(column, Columns(frame, inputs.file.decimal).decimal)
    if read.kind == "words" and inputs.features and inputs.features.roles_.get(name) == "number":
        read = as_numbers(read.column, read.decimal)
    return read.column if read.kind == "numbers" else None


def _parse(written: str) -> tuple[str, str | None, float | None, float | None]:
    left, _, right = written.rpartition("=")
    name, _, value = left.partition(":")
    ends = right.split("..") if ".." in right else [right, right]
    try:
        low, high = (_end(end) for end in ends if left and right)
    except ValueError:
        raise CommandError(f"--quota {written}: {_FORM}.") from None
    return name.strip(), value.strip() or None, low, high


def _end(written: str) -> Any:
    """One number, one for each cluster, or ``None``."""
    ends = [float(each) if each.strip() else None for each in written.split(",")]
    return ends[0] if len(ends) == 1 else ends
