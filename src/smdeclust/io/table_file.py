"""``read_frame``: a table of any usual file as a pandas frame, and how the file is written."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import MissingExtraError, optional
from smdeclust.io.arrays import NPY_MAGIC, ZIP_MAGIC
from smdeclust.io.cells import plain_cell
from smdeclust.io.files import PathLike, as_utf8, bad_line, decode, lines_of, read_bytes, shown
from smdeclust.io.points import header_of, read_arrays
from smdeclust.io.tokens import parse_number
from smdeclust.io.wording import argument
from smdeclust.tables.values import MISSING, decimal_mark

if TYPE_CHECKING:
    from pandas import DataFrame

ARRAY_FORMATS = ("npy", "npz", "text")
FRAME_FORMATS = ("csv", "excel", "parquet", "feather", "jsonl", "h5ad")
TABLE_FORMATS = (*FRAME_FORMATS[:1], *ARRAY_FORMATS, *FRAME_FORMATS[1:])
_ENDINGS = {
    ".xlsx": "excel", ".xls": "excel", ".xlsm": "excel", ".xlsb": "excel", ".ods": "excel",
    ".feather": "feather", ".arrow": "feather", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "jsonl", ".h5ad": "h5ad",
}  # fmt: skip
_LOOK = 200  # lines that are looked at to see how a file is written
_LISTED = 5


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table that was read from a file.

    Attributes
    ----------
    path
        The file.
    frame
        Its columns, as pandas reads them; text as it is written.
    format
        One of `TABLE_FORMATS`.
    points
        Coordinates that are taken as they are: of ``.npy``, ``.npz``, headed text and ``.h5ad``.
        None for tables, whose columns have names and roles.
    n_clusters
        The K of an ``n d k`` header, else None.
    encoding, separator, header, decimal
        How a text file is written.
    sheet
        The sheet of a spreadsheet that was read.
    notes
        Sentences about what was guessed, for people.
    """

    path: Path
    table: DataFrame | None
    format: str
    points: np.ndarray | None = None
    n_clusters: int | None = None
    encoding: str = "utf-8"
    separator: str = ","
    header: bool = True
    decimal: str = "."
    sheet: str | None = None
    notes: tuple[str, ...] = ()
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)

    @cached_property
    def frame(self) -> DataFrame:
        """The columns; of points, their coordinates and what stands beside them."""
        if self.table is not None:
            return self.table
        with optional(f"{self.path}: reading a table"):
            import pandas as pd
        assert self.points is not None
        names = [f"x{i}" for i in range(self.points.shape[1])]
        return pd.DataFrame(self.points, columns=names).assign(**self.beside)

    @cached_property
    def lines(self) -> Sequence[int] | None:
        """The line of each row in a text file, else None."""
        if self.format != "csv":
            return None
        first, n = (2 if self.header else 1), len(self.frame)
        content = read_bytes(self.path)
        if b'"' not in content:
            return range(first, first + n)
        text = decode_any(content, self.path, self.encoding)[0]
        starts = [line for line, _ in records(text, self.separator, self.path)]
        return starts[first - 1 : first - 1 + n]


def read_frame(
    path: PathLike,
    *,
    format: str | None = None,
    sheet: str | int | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> TableFile:
    """Read a table.

    Parameters
    ----------
    path
        CSV (any separator, decimal mark and encoding), Excel or OpenDocument, Parquet, Feather,
        JSON lines, ``.h5ad``, ``.npy``, ``.npz``, or text headed ``n d`` or ``n d k``.
    format
        ``csv``, ``excel``, ``parquet``, ``feather``, ``jsonl``, ``h5ad``, ``npy``, ``npz`` or
        ``text``; None detects it from the content.
    sheet
        Of a spreadsheet, its name or its number from 1; None takes the first that is not empty.
    header
        Whether the first line of a CSV names the columns; None looks.
    encoding
        Of text; None recognizes it.

    Returns
    -------
    TableFile
        The frame, and how the file is written.

    Raises
    ------
    InvalidInputError
        If the file cannot be read; the message says where and what to do.
    """
    if format is not None and format not in TABLE_FORMATS:
        raise InvalidInputError(
            f"{shown(format)} is not a format of data ({argument('table_format')}), expected one "
            f"of {', '.join(TABLE_FORMATS)}, or nothing to detect it."
        )
    content = [read_bytes(path)]  # handed over, so that the reader can let it go
    found = format or detect_table(content[0], path, encoding)
    if found in ARRAY_FORMATS:
        points, beside, k = read_arrays(as_utf8(content.pop(), path, encoding), path, found)
        return TableFile(Path(path), None, found, points, k, beside=beside)
    with optional(f"{path}: reading a table"):
        import pandas  # noqa: F401
    try:
        if found == "csv":
            return _read_csv(content.pop(), Path(path), header, encoding)
        return _READERS[found](content.pop(), Path(path), sheet)
    except (InvalidInputError, MissingExtraError):
        raise
    except MemoryError as error:
        raise InvalidInputError(f"{path}: the data do not fit into memory.") from error
    # Damaged files make the libraries that read them raise almost anything.
    except Exception as error:
        raise InvalidInputError(
            f"{path}: not a valid {found} file ({shown(error)}). Save it again, or say what it is "
            f"({argument('table_format')})."
        ) from error


def detect_table(content: bytes, path: PathLike, encoding: str | None = None) -> str:
    """Return the format of a data file: from its first bytes, its ending, or its first line."""
    ending = _ENDINGS.get(Path(path).suffix.lower())
    if content.startswith(NPY_MAGIC):
        return "npy"
    if content.startswith(ZIP_MAGIC):
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
    if ending == "jsonl" or content[:1] == b"{":
        return "jsonl"
    first = decode_any(content[:100_000], path, encoding)[0].partition("\n")[0]
    return "text" if header_of(first) is not None else "csv"


# ---- text

# What Western languages write beyond ASCII, in the encoding that most of their files have.
_WESTERN = set(
    "äöüÄÖÜßàâçéèêëîïôùûœÀÂÇÉÈÊËÎÏÔÙÛŒñÑáíóúÁÍÓÚåÅæÆøØìòõãÕÃðÐþÞýÝ€°²³µ§½¼–—’‘“”„«»…·¿¡ºª\xa0"
)


def decode_any(content: bytes, path: PathLike, encoding: str | None) -> tuple[str, str]:
    """Return text and its encoding: as named, by its mark, UTF-8, or recognized.

    Western text is taken for cp1252, what else it may be is for charset-normalizer to say.
    """
    if encoding is not None or content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = decode(as_utf8(content, path, encoding), path)
        return text, encoding or "utf-16"
    try:
        if b"\0" not in content:
            marked = content.startswith(codecs.BOM_UTF8)
            return decode(content, path), "utf-8-sig" if marked else "utf-8"
    except InvalidInputError as error:
        cut = isinstance(error.__cause__, UnicodeDecodeError)
        if cut and error.__cause__.start > len(content) - 4:  # type: ignore[union-attr]
            return content.decode("utf-8", "ignore"), "utf-8"  # a sample ends within a character
    zeros = content.count(b"\0")
    if zeros > 0.3 * len(content):  # every other byte of Western text in UTF-16
        best = "utf-16-le" if content[1::2].count(b"\0") > zeros / 2 else "utf-16-be"
        return decode(as_utf8(content, path, best), path), best
    if zeros:
        return decode(content, path), "utf-8"  # raises, and says where
    western = content.decode("cp1252", "replace")
    letters = [c for c in western if c.isalpha()]
    beyond = [c for c in western if not c.isascii()]
    if set(beyond) <= _WESTERN and len(beyond) < 0.25 * len(letters):
        found = "cp1252"
    else:
        with optional(f"{path}: text that is not UTF-8"):
            import charset_normalizer
        match = charset_normalizer.from_bytes(content[:200_000]).best()
        found = "utf-8" if match is None else match.encoding
    return decode(as_utf8(content, path, found), path), found


def _read_csv(content: bytes, path: Path, header: bool | None, encoding: str | None) -> TableFile:
    text, encoding = decode_any(content, path, encoding)
    notes = [] if encoding.startswith("utf") else [f"Read as {encoding} text."]
    sample = _sample(text)
    if not sample.strip():
        raise bad_line(path, 1, "an empty file", "a header and one line a point")
    # A plain file is read where it lies: a large one is not in memory beside its table.
    plain = encoding == "utf-8" and b"\r" not in content and not content.endswith((b"\n\n", b" "))
    data = None if plain else text.rstrip("\n ").encode()
    quoted = "'" in text
    del text, content
    separator = _separator(sample)
    first = [
        [cell.strip() for cell in cells] for _, cells in records(sample, separator, path) if cells
    ][:_LOOK]
    named = _has_header(first) if header is None else header
    if header is None and not named:
        notes.append("There is no header line: columns are called x0, x1, ...")
    names = _names(first[0], path) if named else [f"x{i}" for i in range(len(first[0]))]
    body = first[1:] if named else first
    if not body:
        raise bad_line(path, 1, "a header and no line below it", "one line a point")
    decimal = decimal_mark(
        (cell for record in body for cell in record), "," if separator == ";" else "."
    )
    if separator == ",":
        decimal = "."  # a quoted 1,5 would be the only one
    how = TableFile(path, None, "csv", None, None, encoding, separator, named, decimal)
    frame = _parse_csv(how, data, names, _text_columns(body, names, decimal))
    if quoted:
        for name in (n for n in frame if frame[n].dtype.kind not in "biufc"):
            frame[name] = frame[name].map(plain_cell, na_action="ignore")
    frame.attrs["decimal"] = decimal
    return replace(how, table=frame, notes=tuple(notes))


def _parse_csv(
    how: TableFile, data: bytes | None, names: list[str], text_columns: list[str]
) -> DataFrame:
    """The table of the file, or of `data`, which is the file in UTF-8."""
    import pandas as pd

    path, separator = how.path, how.separator
    options: dict[str, Any] = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}

    def content() -> bytes:
        return read_bytes(path) if data is None else data

    def check_widths() -> None:
        _check_widths(content().decode().rstrip("\n "), separator, len(names), path)

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)

        def parse(as_text: list[str]) -> DataFrame:
            return pd.read_csv(
                path if data is None else io.BytesIO(data), sep=separator, compression=None,
                names=names, header=0 if how.header else None, index_col=False,
                dtype=dict.fromkeys(as_text, "str"), decimal=how.decimal, keep_default_na=False,
                na_values=[*MISSING], skip_blank_lines=False, skipinitialspace=True, **options,
            )  # fmt: skip

        try:
            try:  # piece by piece, which takes little memory and finds words only where they are
                warnings.simplefilter("error", pd.errors.DtypeWarning)
                frame = parse(text_columns)
            except pd.errors.DtypeWarning:
                options["low_memory"] = False
                frame = parse(text_columns)
            if _hidden_codes(frame, content(), separator):
                frame = parse(names)
        except (pd.errors.ParserError, pd.errors.ParserWarning, ValueError) as error:
            check_widths()
            raise InvalidInputError(
                f"{path}: not a table with {len(names)} columns ({shown(str(error).strip())}). "
                "Check the quotes and the separators."
            ) from error
    if frame.iloc[:, -1].isna().any():  # what short lines lack counts as missing to pandas
        check_widths()
    unnamed = [name for name in names if name.startswith("column ") and frame[name].isna().all()]
    return frame.drop(columns=unnamed)  # a separator at the end of each line


def _sample(text: str) -> str:
    """The first lines; not cut within quotes."""
    end = 0
    for _ in range(_LOOK + 1):
        end = text.find("\n", end) + 1
        if end == 0:
            return text
    while text.count('"', 0, end) % 2:
        following = text.find("\n", end) + 1
        if following == 0:
            return text
        end = following
    return text[:end]


def _separator(sample: str) -> str:
    """The one at which lines split most alike; white space where there is no other."""
    best, score = ",", (0.0, 1)
    for separator in ("\t", ";", ",", "|"):
        widths = [len(r) for r in csv.reader(io.StringIO(sample), delimiter=separator) if r]
        width = widths[0] if widths else 1
        found = (float(np.mean([w == width for w in widths])), width) if width > 1 else (0.0, 1)
        if found > score:
            best, score = separator, found
    if score[1] == 1:
        widths = [len(line.split()) for line in lines_of(sample) if line.strip()]
        numbers = [parse_number(word) is not None for word in sample.split()[:1000]]
        if widths[0] > 1 and len(set(widths)) == 1 and np.mean(numbers) > 0.5:
            return r"\s+"
    return best


def records(text: str, separator: str, path: PathLike) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV: where each begins, and its cells; none for a blank line."""
    if separator == r"\s+":
        for number, line in enumerate(lines_of(text), start=1):
            yield number, line.split()
        return
    reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
    begins = 1
    try:
        for cells in reader:
            yield begins, cells
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInputError(
            f"{path}, line {reader.line_num}: not a CSV line ({error}). Correct its quotes."
        ) from error


def _has_header(records: list[list[str]]) -> bool:
    """No header has numbers where the next line has, half of all cells; but for years."""
    first = [_number(cell) for cell in records[0]]
    there = [number for number in first if number is not None]
    if 2 * len(there) < len(first) or not there:
        return True
    years = all(number % 1 == 0 and 1900 <= number <= 2100 for number in there)
    if years and len(there) < len(first):
        return True
    if len(records) == 1:
        return False
    second = [_number(cell) for cell in records[1]]
    same = [(a is None) == (b is None) for a, b in zip(first, second, strict=False)]
    return not all(same)


def _number(cell: str) -> float | None:
    return parse_number(cell.replace(",", ".", 1))


def _names(cells: list[str], path: Path) -> list[str]:
    names = [cell or f"column {place}" for place, cell in enumerate(cells, start=1)]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise bad_line(path, 1, f"two columns named {shown(repeated[0])}", "different names")
    return names


_CODE = r"0[0-9]+"


def _text_columns(body: list[list[str]], names: list[str], decimal: str) -> list[str]:
    """Columns that are to be kept as they are written: some cell is no plain number."""

    def is_plain(cell: str) -> bool:
        cell = cell.replace(",", ".") if decimal == "," else cell
        number = parse_number(cell) is not None and not re.fullmatch(_CODE, cell)
        return number or cell in MISSING

    columns = zip(names, zip_longest(*body, fillvalue=""), strict=False)
    return [name for name, cells in columns if not all(map(is_plain, cells))]


def _hidden_codes(frame: DataFrame, data: bytes, separator: str) -> bool:
    """Whether more codes such as 007 stand in the file than in the columns that are text."""
    edge = rb"\s" if separator == r"\s+" else re.escape(separator.encode())
    pattern = rb'(?:^|[%b"])0[0-9]+(?=[%b"\r\n]|$)' % (edge, edge)
    n_codes = sum(1 for _ in re.finditer(pattern, data, re.MULTILINE))
    text = [frame[name] for name in frame if frame[name].dtype.kind not in "biufc"]
    return n_codes > sum(int(c.str.fullmatch(_CODE).sum()) for c in text if c.notna().any())


def _check_widths(text: str, separator: str, width: int, path: Path) -> None:
    """Say which lines have another number of cells than the first."""
    wrong = [(line, cells) for line, cells in records(text, separator, path) if len(cells) != width]
    if width == 1:
        wrong = [(line, cells) for line, cells in wrong if len(cells) > 1]
    if not wrong:
        return
    line, cells = wrong[0]
    listed = ", ".join(str(number) for number, _ in wrong[:_LISTED])
    more = f"{listed}{', ...' if len(wrong) > _LISTED else ''}"
    count = f" {len(wrong):,} lines have this problem: {more}." if len(wrong) > 1 else ""
    raise bad_line(
        path, line, f"{len(cells)} cells" if cells else "a blank line",
        f"{width} cells, as in the first line", count.strip(),
    )  # fmt: skip


# ---- other formats


def _read_excel(content: bytes, path: Path, sheet: str | int | None) -> TableFile:
    import pandas as pd

    with optional(f"{path}: reading a spreadsheet"):
        import python_calamine  # noqa: F401
    book = pd.read_excel(
        io.BytesIO(content), sheet_name=None, header=None, engine="calamine",
        keep_default_na=False, na_values=[*MISSING],
    )  # fmt: skip
    filled = [name for name, cells in book.items() if len(cells)]
    if not filled:
        raise bad_line(path, None, "no sheet with anything in it", "a table")
    chosen: Any = filled[0] if sheet is None else sheet
    if str(chosen).isdecimal() and chosen not in book and 0 < int(chosen) <= len(book):
        chosen = list(book)[int(chosen) - 1]
    if chosen not in book:
        listed = ", ".join(map(shown, book))
        raise InvalidInputError(
            f"{path}: there is no sheet {shown(chosen)} ({argument('sheet')}), the sheets are "
            f"{listed}."
        )
    cells = book[chosen].dropna(how="all").dropna(how="all", axis=1)
    if cells.empty:
        raise bad_line(path, None, f"nothing in the sheet {shown(chosen)}", "a table")
    while cells.shape[1] > 2 and len(cells) > 2 and cells.iloc[0].notna().sum() < 2:
        cells = cells.iloc[1:]  # a title above the table
    named = _has_header([[str(cell) for cell in cells.iloc[row]] for row in range(len(cells))[:2]])
    heads = ["" if pd.isna(cell) else str(cell).strip() for cell in cells.iloc[0]]
    names = _names(heads, path) if named else [f"x{i}" for i in range(len(heads))]
    frame = cells.iloc[int(named) :].reset_index(drop=True).set_axis(names, axis=1)
    if frame.empty:
        raise bad_line(path, 1, "a header and no line below it", "one line a point")
    notes = []
    if len(filled) > 1:
        others = ", ".join(shown(name) for name in filled if name != chosen)
        notes.append(
            f"Sheet {shown(chosen)} is read; there are also {others} ({argument('sheet')})."
        )
    frame = frame.infer_objects()
    return TableFile(path, frame, "excel", sheet=str(chosen), header=named, notes=tuple(notes))


def _read_parquet(content: bytes, path: Path, sheet: object) -> TableFile:
    import pandas as pd

    with optional(f"{path}: reading Parquet"):
        import pyarrow  # noqa: F401
    is_feather = not content.startswith(b"PAR1")
    frame = (pd.read_feather if is_feather else pd.read_parquet)(io.BytesIO(content))
    if frame.index.name is not None:
        frame = frame.reset_index()
    _check_filled(frame, path)
    return TableFile(path, frame, "feather" if is_feather else "parquet")


def _read_jsonl(content: bytes, path: Path, sheet: object) -> TableFile:
    import pandas as pd

    text, encoding = decode_any(content, path, None)
    if text.lstrip()[:1] == "[":
        records = json.loads(text)
    else:
        records = []
        for number, line in enumerate(lines_of(text), start=1):
            try:
                records += [json.loads(line)] if line.strip() else []
            except ValueError:
                raise bad_line(path, number, shown(line), "one JSON object a line") from None
    wrong = next((place for place, r in enumerate(records) if not isinstance(r, dict)), None)
    if wrong is not None or not records:
        found = "nothing" if wrong is None else f"{shown(records[wrong])} (row {wrong})"
        raise bad_line(path, None, found, "JSON objects, one a row")
    frame = pd.DataFrame.from_records(records)
    _check_filled(frame, path)
    return TableFile(path, frame, "jsonl", encoding=encoding)


def _read_h5ad(content: bytes, path: Path, sheet: object) -> TableFile:
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
            f"{path}: there is no {shown(sheet)} in obsm ({argument('sheet')}), there are "
            f"{', '.join(map(shown, data.obsm)) or 'none'}."
        )
    matrix: Any = data.X if layer is None else data.obsm[layer]
    points = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)
    frame = pd.DataFrame(data.obs).reset_index(names="cell_id")
    note = f"Points are {'X' if layer is None else f'obsm {layer}'}, {points.shape[1]} columns."
    return TableFile(path, frame, "h5ad", points, notes=(note,))


def _check_filled(frame: DataFrame, path: Path) -> None:
    if frame.empty:
        raise bad_line(path, None, "an empty table", "at least one point and feature")


_READERS: Mapping[str, Any] = {
    "excel": _read_excel,
    "parquet": _read_parquet,
    "feather": _read_parquet,
    "jsonl": _read_jsonl,
    "h5ad": _read_h5ad,
}
