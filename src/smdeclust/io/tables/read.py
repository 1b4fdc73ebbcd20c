"""``read_table``: every data file format behind one function."""

from __future__ import annotations

from collections.abc import Sequence

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.arrays import NPY_MAGIC, ZIP_MAGIC
from smdeclust.io.files import PathLike, decode, read_bytes, shown
from smdeclust.io.tables import binary, csv_table, headed_text
from smdeclust.io.tables.table import Table

TABLE_FORMATS = ("csv", "text", "npy", "npz", "parquet")


def read_table(
    path: PathLike,
    *,
    format: str | None = None,
    label: str | bool | None = None,
    id_column: str | bool | None = None,
    features: Sequence[str] | None = None,
    header: bool = True,
) -> Table:
    """Read the points of a data file.

    Parameters
    ----------
    path
        CSV with a header, text headed ``n d`` or ``n d k``, ``.npy``, ``.npz`` or Parquet.
    format
        ``csv``, ``text``, ``npy``, ``npz`` or ``parquet``; None tells it from the content.
    label
        Column (in ``.npz`` the array) of the classes. None takes a last column named class,
        label or y where there is one, False none.
    id_column
        Column of the ids. None takes a first column named id where there is one, False none.
    features
        Columns to use as features; None takes all but label and id.
    header
        False for a CSV without a header; its columns are then called x0, x1, ...

    Returns
    -------
    Table
        Points, feature names, ids, classes.

    Raises
    ------
    InvalidInputError
        If the file cannot be read as asked, a value is missing or not finite, or an id repeats.
    """
    if format is not None and format not in TABLE_FORMATS:
        raise InvalidInputError(
            f"format is {shown(format)}, expected one of {', '.join(TABLE_FORMATS)} or None."
        )
    content = read_bytes(path)
    found = format or detect_table(content, path)
    try:
        if found == "csv":
            return csv_table.read(content, path, label, id_column, features, header)
        if found == "parquet":
            return binary.read_parquet(content, path, label, id_column, features)
        if features is not None:
            raise InvalidInputError(f"{path}: a {found} file has no columns to choose by name.")
        if found == "npz":
            return binary.read_npz(content, path, label, id_column)
        if label or id_column:
            raise InvalidInputError(f"{path}: a {found} file has no label or id column.")
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
