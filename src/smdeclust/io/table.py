"""``read_table``: the points of a data file, and beside them ids, classes and groups."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.arrays import check_points
from smdeclust.io.files import PathLike, argument, bad_line, parse_whole, shown, some_of
from smdeclust.io.frames import ARRAY_FORMATS, read_frame
from smdeclust.io.table_file import TableFile
from smdeclust.tables.values import as_numbers, values_of

if TYPE_CHECKING:
    from smdeclust.tables.features import TableFeatures

# A last column of these names is the classes. (Not y: beside an x that is a coordinate.)
_CLASS_NAMES = ("class", "label")


@dataclass(frozen=True, eq=False)
class Table:
    """The result of `read_table`.

    Attributes
    ----------
    X
        The (n, d) points in the units of the file. If they come from a table with categories or
        missing values, each value of a category has a column of 0 and 1. A missing number is the
        median, and a missing category has 0 in all its columns.
    feature_names
        The name of each column of ``X``.
    ids
        The unique id of each point as text, or None.
    labels
        The class of each point as a whole number or text, or None.
    groups
        The group of each point as text, which may be empty, or None if no column was named.
    n_clusters
        The K of an ``n d k`` header, or None.
    id_name, label_name, group_name
        The names of the columns of ids, classes and groups, or None.
    lines
        The line of each point in a text file, or None.
    repeated_ids
        A sentence that says why the id column cannot be used, if this is the case.
    """

    X: NDArray[np.float64]
    feature_names: tuple[str, ...] = ()
    ids: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    groups: tuple[str, ...] | None = None
    n_clusters: int | None = None
    id_name: str | None = None
    label_name: str | None = None
    group_name: str | None = None
    lines: Sequence[int] | None = None
    repeated_ids: str = ""


def table_of(file: TableFile, features: "TableFeatures", group_column: str | None = None) -> Table:
    """What stands beside the points of a file by the roles of its columns; its points only where
    they are given as such. `repeated_ids` says why ids lack."""
    frame = file.frame
    special = {
        "id": features.id_column_ if features.id_column_ in frame else None,
        "label": features.class_column_ if features.class_column_ in frame else None,
        "group": group_column,
    }
    if file.points is None:
        points, names = np.empty((len(frame), 0)), features.get_feature_names_out().tolist()
    else:
        points, names = file.points, [f"x{i}" for i in range(file.points.shape[1])]
    try:
        return _table(file, points, names, frame, special)
    except InvalidInputError as error:
        said = f"Column {special['id']!r} cannot name the rows. {error}"
    return replace(_table(file, points, names, frame, special | {"id": None}), repeated_ids=said)


def read_table(
    path: PathLike,
    *,
    format: str | None = None,
    label: str | bool | None = None,
    id_column: str | bool | None = None,
    features: Sequence[str] | None = None,
    group_column: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    only_ids: bool = False,
) -> Table:
    """Read points from a file whose features are all numbers. They are not scaled.

    For other tables, use :func:`read_frame` and :class:`smdeclust.TableFeatures`.

    Parameters
    ----------
    path
        Any file that :func:`read_frame` reads.
    format, header, encoding
        As in :func:`read_frame`.
    label
        The column of the classes (in ``.npz`` files, the array). By default, a last column called
        class or label (in ``.npz`` files, also an array y). False reads none.
    id_column
        The column of the ids. By default, a first column called id. False reads none.
    features
        The columns to use. By default, all other columns.
    group_column
        The column of groups (points that all belong together, or all in different clusters).
    only_ids
        Whether to read no features. ``X`` then has no columns.

    Returns
    -------
    Table
        The points, and what is known about them.
    """
    file = read_frame(path, format=format, header=header, encoding=encoding)
    return numeric_table(file, label, id_column, features, group_column, only_ids=only_ids)


def numeric_table(
    file: TableFile,
    label: str | bool | None = None,
    id_column: str | bool | None = None,
    features: Sequence[str] | None = None,
    group_column: str | None = None,
    *,
    only_ids: bool = False,
) -> Table:
    """A file that is read as a table of numbers; see `read_table`."""
    path, asked = file.path, (label, id_column, group_column)
    if file.format in ARRAY_FORMATS:
        if features is not None or (any(asked) and file.format != "npz"):
            raise InvalidInputError(
                f"{path}: a {file.format} file has no columns to name ({argument('features')}, "
                f"{argument('label')}, {argument('id_column')}, {argument('group_column')})."
            )
        assert file.points is not None
        special = _special(list(file.beside), path, *asked, beside=True)
        names = [f"x{i}" for i in range(file.points.shape[1])]
        return _table(file, file.points, names, file.beside, special)
    names = [str(name) for name in file.frame.columns]
    special = _special(names, path, *asked)
    if only_ids:
        return _table(file, np.empty((len(file.frame), 0)), [], file.frame, special)
    chosen = feature_columns(names, path, features, special)
    return _table(file, _numbers(file, chosen), chosen, file.frame, special)


def _special(
    names: Sequence[str], path: PathLike, label: Any = None, id_column: Any = None,
    group: Any = None, *, beside: bool = False,
) -> dict[str, str | None]:  # fmt: skip
    """The columns with a meaning of their own; arrays `beside` the points may stand anywhere."""
    at_end, at_start = (names, names) if beside else (names[-1:], names[:1])
    classes, ids = ((*_CLASS_NAMES, "y"), ("id", "ids")) if beside else (_CLASS_NAMES, ("id",))
    return {
        "label": find_column(names, path, "label", label, classes, at_end),
        "id": find_column(names, path, "id_column", id_column, ids, at_start),
        "group": find_column(names, path, "group_column", group),
    }


def feature_columns(
    names: Sequence[str],
    path: PathLike,
    features: Sequence[str] | None,
    special: dict[str, str | None] | None = None,
) -> list[str]:
    """The columns that are features: those named, or all but label, id and group."""
    if features is not None:
        return [str(find_column(names, path, "features", name)) for name in features]
    taken = (_special(names, path) if special is None else special).values()
    chosen = [name for name in names if name not in taken]
    if not chosen:
        raise bad_line(path, 1, "no column of features", "at least one besides label and id")
    return chosen


def find_column(
    names: Any,
    path: PathLike,
    option: str,
    name: str | bool | None,
    usual: Sequence[str] = (),
    candidates: Sequence[str] = (),
) -> str | None:
    """The column that was named; or, of the candidates, the first of a usual name."""
    if name is False:
        return None
    if name is None:
        return next((each for each in candidates if each.lower() in usual), None)
    if name not in names:
        listed = ", ".join(map(shown, list(names)[:20]))
        raise InvalidInputError(
            f"{path}: there is no column {shown(name)} ({argument(option)}), the columns are "
            f"{listed}{' and others' if len(names) > 20 else ''}. Name one of them."
        )
    return str(name)


def _table(
    file: TableFile,
    points: NDArray[np.float64],
    names: Sequence[str],
    columns: Any,
    special: dict[str, str | None],
) -> Table:
    ids, labels, groups = (
        None if special[what] is None else texts_of(columns[special[what]])
        for what in ("id", "label", "group")
    )
    return Table(
        points,
        tuple(names),
        ids=None if ids is None else check_ids(ids, file.path, file.lines),
        labels=None if labels is None else as_labels(labels),
        groups=None if groups is None else tuple(groups),
        n_clusters=file.n_clusters,
        id_name=special["id"],
        label_name=special["label"],
        group_name=special["group"],
        lines=file.lines,
    )


def texts_of(column: Any) -> list[str]:
    """The cells of a column as text, empty where there is nothing, whole numbers as such."""
    if hasattr(column, "notna"):
        column = column.astype(object).where(column.notna(), "")
    texts = (f"{cell:.15g}" if isinstance(cell, float) else str(cell) for cell in column)
    return [text.strip() for text in texts]


def as_labels(words: Sequence[str]) -> NDArray[Any]:
    """Return whole numbers where all classes are whole numbers, else text."""
    numbers = [parse_whole(word) for word in words]
    if all(number is not None for number in numbers):
        return np.array(numbers, dtype=np.int64)
    return np.array(words, dtype=np.str_)


def check_ids(ids: Sequence[str], path: PathLike, lines: Sequence[int] | None) -> tuple[str, ...]:
    """Return the ids, which must be there and different."""
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        line = None if lines is None else lines[row]
        if not name:
            raise bad_line(path, line, f"an empty id (row {row})", "an id for every row")
        first = seen.setdefault(name, row)
        if first != row:
            earlier = f"row {first}" if lines is None else f"line {lines[first]}"
            found = f"the id {shown(name)} again (row {row})"
            todo = (
                f"Choose another id column ({argument('id_column')}), or remove the repeated row."
            )
            raise bad_line(path, line, found, f"unique ids ({earlier} already has it)", todo)
    return tuple(ids)


def _numbers(file: TableFile, names: Sequence[str]) -> NDArray[np.float64]:
    """The columns as numbers; or an error that names the first that is none, and counts all."""
    points = np.full((len(file.frame), len(names)), np.nan)
    for place, name in enumerate(names):
        column = file.frame[name]
        values = values_of(column, file.decimal)
        if values.kind == "words":
            values = as_numbers(values.column, file.decimal)
        if values.kind == "numbers":  # infinities are named as such
            points[:, place] = column if column.dtype.kind == "f" else values.column
    bad = np.argwhere(~np.isfinite(points))
    if not len(bad):
        return check_points(points, file.path)
    row, place = bad[0].tolist()
    cell: Any = file.frame[names[place]].iloc[row]
    empty = cell is None or cell != cell
    found = "nothing" if empty else shown(cell) if isinstance(cell, str) else str(cell)
    counts = ""
    if len(bad) > 1:
        parts = [
            _places(name, bad[bad[:, 1] == column, 0], file)
            for column, name in enumerate(names)
            if (bad[:, 1] == column).any()
        ]
        more = [f"{len(parts) - 12} more columns"] if len(parts) > 12 else []
        counts = f" {len(bad):,} cells have this problem: {'; '.join([*parts[:12], *more])}."
    raise bad_line(
        file.path, None if file.lines is None else file.lines[row],
        f"{found} in column {shown(names[place])} (row {row})", "a finite number",
        f"{counts} If a column should not be used, give it another role ({argument('label')}, "
        f"{argument('id_column')}) or choose the columns to use ({argument('features')}). Fill in "
        "missing values, or remove their rows.".strip(),
    )  # fmt: skip


def _places(name: str, rows: NDArray[np.int64], file: TableFile) -> str:
    if len(rows) == len(file.frame):
        return f"all {len(rows):,} of column {shown(name)}"
    listed = some_of(rows if file.lines is None else [file.lines[row] for row in rows])
    noun = ("row" if file.lines is None else "line") + ("s" if len(rows) > 1 else "")
    return f"{len(rows):,} of column {shown(name)} ({noun} {listed})"
