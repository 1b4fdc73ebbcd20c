"""``read_frame``: a table of any usual file as a pandas frame."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.constraints.rows import MISSING
from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import optional
from smdeclust.io import files, table_file
from smdeclust.io.arrays import read_arrays

ARRAY_FORMATS = ("npy", "npz", "text")
TABLE_FORMATS = ("csv", *ARRAY_FORMATS, "excel", "parquet", "feather", "jsonl", "h5ad")
_ENDINGS = {
    ".xlsx": "excel", ".xls": "excel", ".xlsm": "excel", ".xlsb": "excel", ".ods": "excel",
    ".feather": "feather", ".arrow": "feather", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "jsonl", ".h5ad": "h5ad",
}  # fmt: skip


RAW_SHEETS: dict[str, Any] = {"header": None, "engine": "calamine", "keep_default_na": False}


def read_frame(
    path: files.PathLike,
    *,
    format: str | None = None,
    sheet: str | int | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> table_file.TableFile:
    """Read a table from a file.

    Parameters
    ----------
    path
        A CSV file (with any separator, decimal mark and encoding), an Excel, OpenDocument, Parquet,
        Feather, JSON lines, ``.h5ad``, ``.npy`` or ``.npz`` file, or text that starts with ``n d``
        or ``n d k``.
    format
        ``csv``, ``excel``, ``parquet``, ``feather``, ``jsonl``, ``h5ad``, ``npy``, ``npz`` or
        ``text``. By default, it is detected from the content.
    sheet
        The name or number of a sheet (the first is 1). By default, the first sheet with more than
        one column.
    header
        Whether the first line of a CSV file contains the names of the columns. By default, this is
        detected. Without names, the columns are called x0, x1, ...
    encoding
        The encoding of a text file. By default, it is detected.

    Returns
    -------
    TableFile
        The table, and what was detected.
    """
    if format is not None and format not in TABLE_FORMATS:
        raise InvalidInputError(
            f"{files.shown(format)} is not a format of data ({files.argument('table_format')}), "
            f"expected one of {', '.join(TABLE_FORMATS)}, or nothing to detect it."
        )
    content = [files.read_bytes(path)]  # handed over, so that the reader can let it go
    found = format or detect_table(content[0], path, encoding)
    if found in ARRAY_FORMATS:
        points, beside, k = read_arrays(files.as_utf8(content.pop(), path, encoding), path, found)
        return table_file.TableFile(Path(path), None, found, points, k, beside=beside)
    with optional(f"{path}: reading a table"):
        import pandas  # noqa: F401
    advice = f" Save it again, or name its format ({files.argument('table_format')})."
    with files.readable(path, f"not a valid {found} file", advice):
        if found == "csv":
            return table_file.read_csv(content.pop(), Path(path), header, encoding)
        file: table_file.TableFile = _READERS[found](content.pop(), Path(path), sheet)
        if file.frame.empty:
            raise files.bad_line(path, None, "an empty table", "at least one point and feature")
    return file


def detect_table(content: bytes, path: files.PathLike, encoding: str | None = None) -> str:
    """Return the format of a data file: from its first bytes, its ending, or its first line."""
    ending = _ENDINGS.get(Path(path).suffix.lower())
    if content.startswith(files.NPY_MAGIC):
        return "npy"
    if content.startswith(files.ZIP_MAGIC):
        return "excel" if ending == "excel" or b"[Content_Types].xml" in content else "npz"
    # The lengths within a Parquet file hold zero bytes; a CSV with a column PAR1 does not.
    if content.startswith(b"PAR1") and b"\0" in content:
        return "parquet"
    if content.startswith((b"ARROW1", b"FEA1")) and b"\0" in content:
        return "feather"
    if content.startswith(b"\x89HDF"):
        return "h5ad"
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        return "excel"
    if content.startswith((b"\x1f\x8b", b"BZh", b"7z\xbc\xaf", b"%PDF", b"\x80\x04", b"\x80\x05")):
        found = "compressed, a PDF or a Python pickle"
        raise files.bad_line(path, None, f"a file that is {found}", "a table", "Export it as CSV.")
    if content[:100].lstrip().lower().startswith((b"<html", b"<!doctype", b"<table", b"<?xml")):
        advice = "Open it in a spreadsheet program and save it as CSV or .xlsx."
        raise files.bad_line(path, None, "a web page or XML", "a table", advice)
    if ending == "jsonl" or content[:1] == b"{":
        return "jsonl"
    first = files.decode_any(content[:100_000], path, encoding)[0].partition("\n")[0]
    return "text" if files.n_d_k(first) is not None else "csv"


def _read_excel(content: bytes, path: Path, sheet: str | int | None) -> table_file.TableFile:
    import pandas as pd

    with optional(f"{path}: reading a spreadsheet"):
        import python_calamine  # noqa: F401
    book = pd.read_excel(io.BytesIO(content), None, na_values=[*MISSING], **RAW_SHEETS)
    filled = [name for name, cells in book.items() if len(cells)]
    if not filled:
        raise files.bad_line(path, None, "no sheet with anything in it", "a table")
    wide = [name for name in filled if min(book[name].shape) > 1]  # a single column may be words
    chosen: Any = [*wide, *filled][0] if sheet is None else sheet
    if str(chosen).isdecimal() and chosen not in book and 0 < int(chosen) <= len(book):
        chosen = list(book)[int(chosen) - 1]
    if chosen not in book:
        raise InvalidInputError(
            f"{path}: there is no sheet {files.shown(chosen)} ({files.argument('sheet')}), the "
            f"sheets are {', '.join(map(files.shown, book))}."
        )
    cells = book[chosen].dropna(how="all").dropna(how="all", axis=1)
    if cells.empty:
        raise files.bad_line(path, None, f"nothing in the sheet {files.shown(chosen)}", "a table")
    others = ", ".join(files.shown(name) for name in filled if name != chosen)
    another = files.argument("another_sheet")
    note = f"Sheet {files.shown(chosen)} is read. To read {others} instead, {another}."
    notes = [note] if others else []
    lines = cells.astype(object).where(cells.notna(), "").itertuples(name=None)
    first, top = table_file.without_title(((at + 1, [*map(str, row)]) for at, *row in lines), notes)
    named = table_file.has_header(top[:2])
    names = table_file.column_names(top[0], path, first, named=named)
    frame = cells.loc[first - 1 :].iloc[int(named) :].set_axis(names, axis=1)
    if frame.empty:
        raise files.bad_line(path, first, "a header and no line below it", "one line per point")
    table_file.mention_total(frame, notes)
    return table_file.TableFile(
        path, frame.reset_index(drop=True).infer_objects(), "excel", sheet=str(chosen),
        header=named, header_line=first, rows=[int(row) + 1 for row in frame.index],
        sheets=tuple(map(str, filled)), notes=tuple(notes),
    )  # fmt: skip


def _read_parquet(content: bytes, path: Path, sheet: object) -> table_file.TableFile:
    import pandas as pd

    with optional(f"{path}: reading Parquet"):
        import pyarrow  # noqa: F401
    is_feather = not content.startswith(b"PAR1")
    frame = (pd.read_feather if is_feather else pd.read_parquet)(io.BytesIO(content))
    if frame.index.name is not None or not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    return table_file.TableFile(path, frame, "feather" if is_feather else "parquet")


def _read_jsonl(content: bytes, path: Path, sheet: object) -> table_file.TableFile:
    import pandas as pd

    text, encoding = files.decode_any(content, path, None)
    rows = json_rows(text, path)[0]
    wrong = next((row for row, each in enumerate(rows) if not isinstance(each, dict)), None)
    cells = rows[0].values() if len(rows) == 1 and wrong is None else ()
    if wrong is not None or not rows or any(isinstance(cell, list | dict) for cell in cells):
        found = "nothing" if not rows else f"{files.shown(rows[wrong or 0])} (row {wrong or 0})"
        advice = "In pandas, frame.to_json(path, orient='records') writes such a file."
        raise files.bad_line(path, None, found, "JSON objects, one per row", advice)
    # objects inside the rows become columns such as user.age
    return table_file.TableFile(path, pd.json_normalize(rows), "jsonl", encoding=encoding)


def json_rows(text: str, path: Path) -> tuple[list[dict[str, Any]], bool]:
    """The objects of an array or one per line; and whether they are an array."""
    rows: Any = []
    try:
        rows = json.loads(text)
    except ValueError:
        for number, line in enumerate(files.lines_of(text), start=1):
            try:
                rows += [json.loads(line)] if line.strip() else []
            except ValueError:
                raise files.bad_line(
                    path, number, files.shown(line), "one JSON object per line"
                ) from None
        return rows, False
    return (rows, True) if isinstance(rows, list) else ([rows], False)


def _read_h5ad(content: bytes, path: Path, sheet: object) -> table_file.TableFile:
    try:
        import anndata
    except ImportError:
        raise InvalidInputError(
            f"{path}: reading .h5ad needs anndata, which is not installed: pip install anndata."
        ) from None
    import pandas as pd

    data = anndata.read_h5ad(path)
    layer = next((name for name in (sheet, "X_pca", "X_scVI") if name in data.obsm), None)
    if sheet is not None and layer != sheet:
        raise InvalidInputError(
            f"{path}: there is no {files.shown(sheet)} in obsm ({files.argument('sheet')}), there "
            f"are {', '.join(map(files.shown, data.obsm)) or 'none'}."
        )
    matrix: Any = data.X if layer is None else data.obsm[layer]
    points = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)
    frame = pd.DataFrame(data.obs).reset_index(names="cell_id")
    note = f"Points are {'X' if layer is None else f'obsm {layer}'}, {points.shape[1]} columns."
    return table_file.TableFile(path, frame, "h5ad", points, notes=(note,))


_READERS: Mapping[str, Any] = {
    "excel": _read_excel,
    "parquet": _read_parquet,
    "feather": _read_parquet,
    "jsonl": _read_jsonl,
    "h5ad": _read_h5ad,
}
