"""``read_table``: one function for every data file format."""

from __future__ import annotations

from collections.abc import Sequence

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.arrays import NPY_MAGIC, ZIP_MAGIC
from smdeclust.io.files import PathLike, as_utf8, decode, read_bytes, shown
from smdeclust.io.tables import binary, csv_table, headed_text
from smdeclust.io.tables.table import Choice, Table
from smdeclust.io.wording import argument

TABLE_FORMATS = ("csv", "text", "npy", "npz", "parquet")


def read_table(
    path: PathLike,
    *,
    format: str | None = None,
    label: str | bool | None = None,
    id_column: str | bool | None = None,
    features: Sequence[str] | None = None,
    group_column: str | None = None,
    header: bool = True,
    encoding: str | None = None,
    only_ids: bool = False,
) -> Table:
    """Read the points of a data file.

    Parameters
    ----------
    path
        CSV with a header, text headed ``n d`` or ``n d k``, ``.npy``, ``.npz`` or Parquet.
    format
        ``csv``, ``text``, ``npy``, ``npz`` or ``parquet``; None detects it from the content.
    label
        Column (in ``.npz`` the array) of the classes. None takes a last column named class or
        label where there is one (in ``.npz`` also an array y), False none.
    id_column
        Column of the ids. None takes a first column named id where there is one, False none.
    features
        Columns to use as features; None takes all but label, id and group.
    group_column
        Column whose equal values belong together or apart.
    header
        False for a CSV without a header; its columns are then called x0, x1, ...
    encoding
        Of text; None is UTF-8, or UTF-16 where the file begins with its mark.
    only_ids
        Whether to read no features: ``X`` then has no column.

    Returns
    -------
    Table
        Points, feature names, ids, classes, groups.

    Raises
    ------
    InvalidInputError
        If the file cannot be read as asked, a value is missing or not finite, or an id repeats.
    """
    if format is not None and format not in TABLE_FORMATS:
        raise InvalidInputError(
            f"{shown(format)} is no format of data ({argument('table_format')}), expected one of "
            f"{', '.join(TABLE_FORMATS)}, or nothing to detect it."
        )
    content = as_utf8(read_bytes(path), path, encoding)
    found = format or detect_table(content, path)
    choice = Choice(label, id_column, features, group_column, only_ids)
    try:
        if found == "csv":
            return csv_table.read(content, path, choice, header)
        if found == "parquet":
            return binary.read_parquet(content, path, choice)
        if features is not None:
            raise InvalidInputError(
                f"{path}: a {found} file has no columns to choose by name ({argument('features')})."
            )
        if found == "npz":
            return binary.read_npz(content, path, choice)
        if label or id_column or group_column:
            raise InvalidInputError(
                f"{path}: a {found} file has no columns to name ({argument('label')}, "
                f"{argument('id_column')}, {argument('group_column')})."
            )
        return (
            headed_text.read(content, path) if found == "text" else binary.read_npy(content, path)
        )
    except MemoryError as error:
        raise InvalidInputError(f"{path}: the data do not fit into memory.") from error


def detect_table(content: bytes, path: PathLike) -> str:
    """Return the format of a data file, from its first bytes or its first line."""
    if content.startswith(NPY_MAGIC):
        return "npy"
    if content.startswith(ZIP_MAGIC):
        return "npz"
    # The lengths within a Parquet file hold zero bytes; a CSV with a column PAR1 does not.
    if content.startswith(binary.PARQUET_MAGIC) and b"\0" in content:
        return "parquet"
    first = decode(content, path).partition("\n")[0]
    return "text" if headed_text.header_of(first) is not None else "csv"
