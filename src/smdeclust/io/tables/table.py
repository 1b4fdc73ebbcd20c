"""What a data file gives: points, and where present names, ids and classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import PathLike, bad_line, shown
from smdeclust.io.tokens import parse_whole

LABEL_NAMES = ("class", "label", "y")
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
    n_clusters
        The K of an ``n d k`` header, else None.
    id_name, label_name
        The columns that became ids and labels, None where there are none.
    """

    X: NDArray[np.float64]
    feature_names: tuple[str, ...] = ()
    ids: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    n_clusters: int | None = None
    id_name: str | None = None
    label_name: str | None = None


@dataclass(frozen=True)
class Columns:
    """Which column of a file is what, by position."""

    features: tuple[int, ...]
    label: int | None
    id: int | None
    names: tuple[str, ...] = field(default=())


def assign_columns(
    names: Sequence[str],
    path: PathLike,
    label: str | bool | None,
    id_column: str | bool | None,
    features: Sequence[str] | None,
) -> Columns:
    """Decide which columns are features, label and id.

    By default a last column named class, label or y is the label, and a first column named id is
    the id. False switches either off.
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
    label_position = _find(names, path, "label", label)
    if label is None and names[-1].lower() in LABEL_NAMES:
        label_position = len(names) - 1
    id_position = _find(names, path, "id_column", id_column)
    if id_column is None and names[0].lower() == ID_NAME:
        id_position = 0
    taken = {label_position, id_position} - {None}
    if features is None:
        chosen = [position for position in range(len(names)) if position not in taken]
    else:
        chosen = [_position(names, path, "features", name) for name in features]
    if not chosen:
        raise bad_line(path, 1, "no column of features", "at least one besides label and id")
    return Columns(tuple(chosen), label_position, id_position, tuple(names))


def _find(names: Sequence[str], path: PathLike, option: str, name: str | bool | None) -> int | None:
    if name is None or name is False:
        return None
    return _position(names, path, option, str(name))


def _position(names: Sequence[str], path: PathLike, option: str, name: str) -> int:
    if name not in names:
        listed = ", ".join(map(shown, names[:20]))
        raise InvalidInputError(
            f"{path}: there is no column {shown(name)} ({option}), the columns are {listed}"
            f"{' and others' if len(names) > 20 else ''}. Name one of them."
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
                "Choose another id column, or remove the repeated row.",
            )
    return tuple(ids)


def check_points(
    points: NDArray[Any], path: PathLike, names: Sequence[str], lines: Sequence[int] | None
) -> NDArray[np.float64]:
    """Return points as finite float64, or name the first entry that is not."""
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
        row, column = np.argwhere(~np.isfinite(X))[0].tolist()
        raise bad_line(
            path,
            None if lines is None else lines[row],
            f"{X[row, column]} in column {shown(names[column])} (row {row})",
            "a finite number",
            "Fill in or remove the rows with missing values.",
        )
    return X
