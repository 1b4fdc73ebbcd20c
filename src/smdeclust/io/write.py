"""Files out: pairs, labels, centers and results, each whole or not at all.

Everything is written aside and renamed, so that a full disk or an interruption leaves the file that
was there before, or none.
"""

import csv
import io
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from smdeclust.constraints import KINDS, Constraints
from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import optional
from smdeclust.io import files, pair_forms
from smdeclust.io.frames import RAW_SHEETS, json_rows
from smdeclust.io.table_file import TableFile, records

if TYPE_CHECKING:
    from pandas import DataFrame

WRITERS: dict[str, Callable[[Constraints], str]] = {
    "json": pair_forms.write_json,
    "links": pair_forms.write_links,
    "csv": pair_forms.write_csv,
}
WRITABLE_FORMATS = tuple(WRITERS)
MOST_ROWS_OF_EXCEL = 1_048_575
# In a person's own table, @name and - none - stay: only a call or a link does anything.
_FORMULA = re.compile(r"\s*(?:=|[+@-](?s:.*)(?:[|!]|[A-Za-z][\w.]*\s*\())")


def write_bytes(path: files.PathLike, content: bytes) -> None:
    """Write bytes. If this fails, an existing file stays unchanged."""
    target = Path(path)
    if target.exists() and not target.is_file():
        # A device or a pipe cannot be replaced; a folder fails here by itself.
        target.write_bytes(content)
        return
    with aside(target) as part:
        write_new(part, content)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is not there yet, down to the disk."""
    with path.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def aside(path: files.PathLike) -> Iterator[Path]:
    """Yield the path of a new file beside `path`, which takes its place where all went well."""
    target = Path(path).resolve()  # through a link, so that the link stays
    part = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.part")
    try:
        yield part
        os.replace(part, target)
    except BaseException:
        with suppress(OSError):  # where there is no such folder, the first error counts
            part.unlink()
        raise


def write_text(path: files.PathLike, text: str) -> None:
    """Write text as UTF-8. If this fails, an existing file stays unchanged."""
    write_bytes(path, text.encode("utf-8"))


def write_constraints(constraints: Constraints, path: files.PathLike, format: str = "json") -> None:
    """Write pairs as ``json``, ``links`` or ``csv``, by id if the constraints have ids.

    Raises
    ------
    InvalidInputError
        The format is unknown or cannot store the constraints: ``links`` stores no soft pairs and no
        ids with spaces, ``links`` and ``csv`` store no quotas, and no format stores prices.
    """
    check_writable(constraints, format)
    write_text(path, WRITERS[format](constraints))


def check_writable(constraints: Constraints, format: str) -> None:
    """Raise where a format cannot hold the pairs; see `write_constraints`."""
    if format not in WRITERS:
        raise InvalidInputError(
            f"format is {files.shown(format)}, expected one of {', '.join(WRITABLE_FORMATS)} (the "
            "others can be read only)."
        )
    if format != "json" and constraints.quotas:
        raise InvalidInputError(f"The format {format} cannot store quotas. Write json.")
    if format == "links" and constraints.n_soft:
        raise InvalidInputError("The format links cannot store soft pairs. Write json or csv.")
    if any(not np.isnan(getattr(constraints, f"{kind}_price")).all() for kind in KINDS[2:]):
        raise InvalidInputError("Files store confidences of soft pairs, but some have a price.")
    if format == "links" and constraints.ids is not None:
        rows = np.concatenate([constraints.must_link, constraints.cannot_link])
        for name in constraints.ids[np.unique(rows)].tolist():
            if len(str(name).split()) != 1 or set(str(name)) & set(",;#"):
                raise InvalidInputError(
                    f"The format links cannot store the id {files.shown(name)}. Write json or csv."
                )


def write_labels(
    path: files.PathLike,
    labels: ArrayLike,
    *,
    ids: Sequence[object] | None = None,
    id_name: str = "id",
    label_name: str = "label",
) -> None:
    """Write the label of each point as CSV.

    The first column contains the ids, or row positions if there are none. `id_name` and
    `label_name` are the names of the two columns.
    """
    column = np.asarray(labels)
    if column.ndim != 1:
        raise InvalidInputError(f"labels has shape {column.shape}, expected one label per point.")
    if ids is not None and len(ids) != len(column):
        raise InvalidInputError(f"There are {len(ids)} ids for {len(column)} labels.")
    write_bytes(path, labels_csv(column, ids, id_name, label_name))


def labels_csv(
    labels: np.ndarray,
    ids: Sequence[object] | None,
    id_name: str | None = None,
    label_name: str = "label",
) -> bytes:
    """One line per point: its id, or else its row, and its label."""
    header = ["row" if ids is None else id_name or "id", label_name]
    keys = range(len(labels)) if ids is None else ids
    return files.as_csv([header, *zip(keys, labels.tolist(), strict=True)])


def write_centers(
    path: files.PathLike, centers: ArrayLike, feature_names: Sequence[str] | None = None
) -> None:
    """Write cluster centers as CSV, with one row for each cluster."""
    table = np.asarray(centers, dtype=np.float64)
    if table.ndim != 2:
        raise InvalidInputError(f"centers has shape {table.shape}, expected one row per cluster.")
    names = [f"x{i}" for i in range(table.shape[1])] if feature_names is None else feature_names
    if len(names) != table.shape[1]:
        raise InvalidInputError(f"There are {len(names)} names for {table.shape[1]} features.")
    rows = ([cluster, *map(repr, row)] for cluster, row in enumerate(table.tolist()))
    write_rows(path, ["cluster", *names], rows)


def write_rows(path: files.PathLike, header: Sequence[str], rows: Any) -> None:
    """Write a header and rows as CSV. If this fails, an existing file stays unchanged."""
    write_bytes(path, files.as_csv([header, *rows]))


def frame_bytes(file: TableFile, columns: Mapping[str, ArrayLike]) -> bytes:
    """Return a table in its own format and encoding, with additional columns at the end.

    The rest of the file stays unchanged, except for cells of a CSV file that a spreadsheet would
    run as formulas. Spreadsheets other than ``.xlsx`` and ``.xlsm`` are converted to ``.xlsx``.
    """
    added = {name: np.asarray(column).tolist() for name, column in columns.items()}
    add = {"csv": _add_to_csv, "excel": _add_to_book, "jsonl": _add_to_json,
           "parquet": _add_to_arrow, "feather": _add_to_arrow}.get(file.format)  # fmt: skip
    return add(file, added) if add else sheet_bytes(file.frame.assign(**added), excel=False)


def _add_to_csv(file: TableFile, added: dict[str, list[Any]]) -> bytes:
    content = files.read_bytes(file.path)
    text = files.decode_any(content, file.path, file.encoding)[0].rstrip("\n ")
    above = file.header_line - 1
    rows = [row for row in records(text, file.separator, file.path) if row[0] > above]
    begins = [begin for begin, _ in rows] + [text.count("\n") + 2]
    lines = list(io.StringIO(content.decode(file.encoding), newline=""))
    mark = " " if file.separator == r"\s+" else file.separator
    cells_of = [*[list(added)] * file.header, *zip(*added.values(), strict=True)]
    written = lines[:above]
    for (begin, cells), end, new in zip(rows, begins[1:], cells_of, strict=True):
        line = "".join(lines[begin - 1 : end - 1])
        body = line.rstrip("\r\n")
        if any(map(_FORMULA.match, cells)):
            safe, row = (f"'{c}" if _FORMULA.match(c) else c for c in cells), io.StringIO()
            csv.writer(row, delimiter=mark, lineterminator="").writerow(safe)
            body = row.getvalue()
        values = ["" if value is None else str(value) for value in new]
        written.append(mark.join([body, *values]) + line[len(line.rstrip("\r\n")) :])
    return "".join([*written, *lines[begins[-1] - 1 :]]).encode(file.encoding)


def _add_to_book(file: TableFile, added: dict[str, list[Any]]) -> bytes:
    with optional("Writing a spreadsheet"):
        import openpyxl
    suffix, source = file.path.suffix.lower(), files.read_bytes(file.path)
    if suffix not in (".xlsx", ".xlsm"):
        source = _as_xlsx(source)
    book = openpyxl.load_workbook(io.BytesIO(source), keep_vba=suffix == ".xlsm")
    page, rows = book[file.sheet], [*[file.header_line] * file.header, *(file.lines or ())]
    filled = (c.column for row in page.iter_rows() for c in row if c.value not in (None, ""))
    for column, (name, values) in enumerate(added.items(), start=max(filled) + 1):
        for row, value in zip(rows, [*[name] * file.header, *values], strict=True):
            page.cell(row, column, value)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _as_xlsx(content: bytes) -> bytes:
    """The cells of all sheets of another kind of spreadsheet."""
    import pandas as pd

    stream = io.BytesIO()
    with pd.ExcelWriter(stream, engine="openpyxl") as book:
        for name, cells in pd.read_excel(io.BytesIO(content), None, **RAW_SHEETS).items():
            safe = cells.map(lambda cell: files.safe_cell(cell) if isinstance(cell, str) else cell)
            safe.to_excel(book, sheet_name=name, header=False, index=False)
    return stream.getvalue()


def _add_to_json(file: TableFile, added: dict[str, list[Any]]) -> bytes:
    rows, is_array = json_rows(
        files.decode_any(files.read_bytes(file.path), file.path, None)[0], file.path
    )
    new = [dict(zip(added, values, strict=True)) for values in zip(*added.values(), strict=True)]
    both = [json.dumps(row | more, ensure_ascii=False) for row, more in zip(rows, new, strict=True)]
    text = "[" + ",\n".join(both) + "]\n" if is_array else "\n".join(both) + "\n"
    return text.encode(file.encoding)


def _add_to_arrow(file: TableFile, added: dict[str, list[Any]]) -> bytes:
    import pyarrow as pa
    from pyarrow import feather, parquet

    stream, is_parquet = io.BytesIO(), file.format == "parquet"
    table = (parquet if is_parquet else feather).read_table(file.path)
    for name, values in added.items():
        table = table.append_column(name, pa.array(values))
    (parquet.write_table if is_parquet else feather.write_feather)(table, stream)
    return stream.getvalue()


def sheet_bytes(frame: "DataFrame", *, excel: bool) -> bytes:
    """A table as CSV or as a spreadsheet; formulas are made safe."""
    frame, stream = frame.rename(columns=lambda name: files.safe_cell(str(name))), io.BytesIO()
    for name in frame.columns[[dtype.kind == "O" for dtype in frame.dtypes]]:
        frame[name] = [files.safe_cell(v) if isinstance(v, str) else v for v in frame[name]]
    if not excel:
        frame.to_csv(stream, index=False)
        return stream.getvalue()
    if len(frame) > MOST_ROWS_OF_EXCEL:
        raise InvalidInputError("Excel holds at most 1,048,575 rows: export CSV instead.")
    with optional("Writing a spreadsheet"):
        import openpyxl  # noqa: F401
    frame.to_excel(stream, sheet_name="Table", index=False, engine="openpyxl")
    return stream.getvalue()


def write_json(path: files.PathLike, document: Any) -> None:
    """Write a result as JSON. If this fails, an existing file stays unchanged."""
    write_text(path, as_json(document))


def as_json(document: Any) -> str:
    """Return a result as JSON text, a line break at its end.

    numpy arrays and numbers become lists and numbers, infinities and NaN become null (JSON has no
    word for them).
    """
    return json.dumps(_plain(document), indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    raise InvalidInputError(f"A value of type {type(value).__name__} cannot be written as JSON.")
