"""What a data file gives: points, and where present names, ids, classes and groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import PathLike, bad_line, shown
from smdeclust.io.tables.bad_cells import BadCell, bad_cells
from smdeclust.io.tokens import parse_whole
from smdeclust.io.wording import argument

# A last column of these names is the classes. (Not y: beside an x that is a coordinate.)
CLASS_NAMES = ("class", "label")
ID_NAME = "id"


@dataclass(frozen=True, eq=False)
class Table:
    """The points of a data file.

    Attributes
    ----------
    X
        Points, shape (n, d), all finite.
    feature_names
        One name a column of ``X``.
    ids
        Id of each point as text, unique; None where the file has no id column.
    labels
        Class of each point, whole numbers or text; None where the file has no label column.
    groups
        Group of each point as text, empty where it has none; None where no column was named.
    n_clusters
        The K of an ``n d k`` header, else None.
    id_name, label_name, group_name
        The columns that became ids, labels and groups, None where there are none.
    lines
        Line of each point in a text file, else None.
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


@dataclass(frozen=True)
class Choice:
    """What the columns of a file are, as asked for; see :func:`~smdeclust.io.read_table`."""

    label: str | bool | None = None
    id_column: str | bool | None = None
    features: Sequence[str] | None = None
    group_column: str | None = None
    only_ids: bool = False


@dataclass(frozen=True)
class Columns:
    """Which column of a file is what, by position."""

    features: tuple[int, ...]
    label: int | None
    id: int | None
    group: int | None = None
    names: tuple[str, ...] = field(default=())

    def name(self, position: int | None) -> str | None:
        """The name of a column that may not be there."""
        return None if position is None else self.names[position]


def assign_columns(names: Sequence[str], path: PathLike, choice: Choice) -> Columns:
    """Decide which columns are features, label, id and group.

    By default a last column named class or label is the label, and a first column named id is the
    id. False switches either off.
    """
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise bad_line(path, 1, f"two columns named {shown(repeated[0])}", "different names")
    if "" in names:
        raise bad_line(
            path,
            1,
            f"no name for column {list(names).index('') + 1}",
            "a name for every column",
            "Name it (an index written by pandas may be called id), or remove it.",
        )
    label = _find(names, path, "label", choice.label)
    if choice.label is None and names[-1].lower() in CLASS_NAMES:
        label = len(names) - 1
    id_position = _find(names, path, "id_column", choice.id_column)
    if choice.id_column is None and names[0].lower() == ID_NAME:
        id_position = 0
    group = _find(names, path, "group_column", choice.group_column)
    taken = {label, id_position, group} - {None}
    if choice.only_ids:
        chosen = []
    elif choice.features is None:
        chosen = [position for position in range(len(names)) if position not in taken]
    else:
        chosen = [_position(names, path, "features", name) for name in choice.features]
    if not chosen and not choice.only_ids:
        raise bad_line(path, 1, "no column of features", "at least one besides label and id")
    return Columns(tuple(chosen), label, id_position, group, tuple(names))


def _find(names: Sequence[str], path: PathLike, option: str, name: str | bool | None) -> int | None:
    if name is None or name is False:
        return None
    return _position(names, path, option, str(name))


def _position(names: Sequence[str], path: PathLike, option: str, name: str) -> int:
    if name not in names:
        listed = ", ".join(map(shown, names[:20]))
        advice = argument("missing_feature") if option == "features" else "Name one of them."
        raise InvalidInputError(
            f"{path}: there is no column {shown(name)} ({argument(option)}), the columns are "
            f"{listed}{' and others' if len(names) > 20 else ''}. {advice}"
        )
    return list(names).index(name)


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
            raise bad_line(
                path,
                line,
                f"the id {shown(name)} again (row {row})",
                f"unique ids, and it is that of {earlier} already",
                f"Choose another id column ({argument('id_column')}), or remove the repeated row.",
            )
    return tuple(ids)


def check_points(
    points: NDArray[Any], path: PathLike, names: Sequence[str], lines: Sequence[int] | None
) -> NDArray[np.float64]:
    """Return points as finite float64, or list the entries that are not."""
    if points.ndim != 2 or points.dtype.kind not in "biuf":
        raise bad_line(
            path,
            None,
            f"an array of shape {points.shape} and type {points.dtype}",
            "a table of numbers, one row a point (n x d)",
        )
    if 0 in points.shape:
        raise bad_line(path, None, f"a table of {points.shape}", "at least one point and feature")
    try:
        with np.errstate(over="ignore"):
            X = np.ascontiguousarray(points, dtype=np.float64)
    except MemoryError as error:
        raise InvalidInputError(f"{path}: the points do not fit into memory.") from error
    if not np.isfinite(X).all():
        raise bad_cells(path, non_finite(X, names, lines), len(X))
    return X


def non_finite(
    X: NDArray[np.float64], names: Sequence[str], lines: Sequence[int] | None
) -> list[BadCell]:
    """The entries that are no finite numbers."""
    return [
        BadCell(row, None if lines is None else lines[row], names[column], str(X[row, column]))
        for row, column in np.argwhere(~np.isfinite(X)).tolist()
    ]
