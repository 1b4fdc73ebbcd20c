"""A table that was read from a file; and how a CSV is written."""

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import dropwhile, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smdeclust.constraints.rows import MISSING
from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import frugal, optional
from smdeclust.io import files
from smdeclust.tables.values import decimal_mark

if TYPE_CHECKING:
    from pandas import DataFrame

_LOOK = 200  # lines that are looked at to see how a file is written
Line = tuple[int, list[str]]  # where it begins, and its cells


@dataclass(frozen=True, eq=False)
class TableFile:
    """The result of `read_frame`.

    Attributes
    ----------
    path
        The file.
    frame
        The columns as a pandas data frame. Text is unchanged.
    format
        The format, one of `TABLE_FORMATS`.
    points
        Coordinates that are used as they are, from ``.npy``, ``.npz``, ``.h5ad`` or text with a
        header. None for tables, whose columns have names and roles.
    n_clusters
        The K of an ``n d k`` header, or None.
    encoding, separator, header, decimal
        How a text file is written.
    header_line, quoted
        The first line of the table, and whether the file contains quotes.
    sheet, rows, sheets
        The sheet that was read, the position of its rows, and the names of all sheets.
    notes
        Sentences about what was detected.
    """

    path: Path
    table: "DataFrame | None"
    format: str
    points: np.ndarray | None = None
    n_clusters: int | None = None
    encoding: str = "utf-8"
    separator: str = ","
    header: bool = True
    decimal: str = "."
    header_line: int = 1
    quoted: bool = False
    sheet: str | None = None
    rows: Sequence[int] | None = None
    sheets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)

    @cached_property
    def frame(self) -> "DataFrame":
        """The columns of a table, or the coordinates of points and the columns beside them."""
        if self.table is not None:
            return self.table
        with optional(f"{self.path}: reading a table"):
            import pandas as pd
        assert self.points is not None
        names = [f"x{i}" for i in range(self.points.shape[1])]
        return pd.DataFrame(self.points, columns=names).assign(**self.beside)

    @cached_property
    def lines(self) -> Sequence[int] | None:
        """The line of each row in a text file or a spreadsheet, else None."""
        if self.format != "csv":
            return self.rows
        first, n = self.header_line + self.header, len(self.frame)
        if not self.quoted:
            return range(first, first + n)
        text = files.decode_any(files.read_bytes(self.path), self.path, self.encoding)[0]
        each = records(text, self.separator, self.path)
        return [line for line, _ in each if line >= first][:n]


def read_csv(content: bytes, path: Path, header: bool | None, encoding: str | None) -> TableFile:
    """Read a CSV of any separator, decimal mark and encoding."""
    text, encoding = files.decode_any(content, path, encoding)
    notes = [] if encoding.startswith("utf") else [f"Read as {encoding} text."]
    sample = _sample(text)
    if not sample.strip():
        raise files.bad_line(path, 1, "an empty file", "a header and one line per point")
    # A plain file is read where it lies: a large one is not in memory beside its table.
    plain = encoding == "utf-8" and b"\r" not in content and not content.endswith((b"\n\n", b" "))
    data = None if plain else text.rstrip("\n ").encode()
    separator, quotes = _separator(sample), [mark in text for mark in "'\""]
    n_codes = _count_codes(content if data is None else data, separator)
    del text, content
    begins, first = without_title(records(sample, separator, path), notes)
    named = has_header(first) if header is None else header
    if header is None and not named:
        notes.append("There is no header line: columns are called x0, x1, ...")
    names = column_names(first[0], path, begins, named=named)
    body = first[1:] if named else first
    if not body:
        raise files.bad_line(path, begins, "a header and no line below it", "one line per point")
    decimal = "."
    if separator != ",":  # (where commas separate, a quoted 1,5 would be the only one)
        cells = (cell for record in body for cell in record)
        decimal = decimal_mark(cells, "," if separator == ";" else ".")
    how = TableFile(path, None, "csv", None, None, encoding, separator, named, decimal, begins)
    with frugal():
        frame = _parse_csv(how, data, names, _text_columns(body, names, decimal), n_codes)
    if quotes[0]:
        for name in (n for n in frame if frame[n].dtype.kind not in "biufc"):
            frame[name] = frame[name].map(files.plain_cell, na_action="ignore")
    mention_total(frame, notes)
    frame.attrs["decimal"] = decimal
    file = replace(how, table=frame, notes=tuple(notes), quoted=quotes[1])
    is_text = named and all(dtype.kind not in "biufc" for dtype in frame.dtypes)
    again = [*np.flatnonzero(frame.eq(list(frame)).all(axis=1))] if is_text else []
    if again and file.lines is not None:
        line = file.lines[again[0]]
        raise files.bad_line(
            path, line, "the header again", "a row of the table", "Remove the line."
        )
    return file


def _parse_csv(
    how: TableFile, data: bytes | None, names: list[str], text_columns: list[str], n_codes: int
) -> "DataFrame":
    """The table of the file, or of `data`, which is the file in UTF-8."""
    import pandas as pd

    path, separator = how.path, how.separator
    options: dict[str, Any] = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}

    def check_widths() -> None:
        content = files.read_bytes(path) if data is None else data
        _check_widths(content.decode().rstrip("\n "), how, len(names))

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)

        def parse(as_text: list[str]) -> "DataFrame":
            return pd.read_csv(
                path if data is None else io.BytesIO(data), sep=separator, compression=None,
                names=names, header=0 if how.header else None, index_col=False,
                dtype=dict.fromkeys(as_text, "str"), decimal=how.decimal, keep_default_na=False,
                na_values=[*MISSING], skip_blank_lines=False, skipinitialspace=True,
                skiprows=how.header_line - 1, **options,
            )  # fmt: skip

        try:
            try:  # piece by piece, which takes little memory and finds words only where they are
                warnings.simplefilter("error", pd.errors.DtypeWarning)
                frame = parse(text_columns)
            except pd.errors.DtypeWarning:
                options["low_memory"] = False
                frame = parse(text_columns)
            text = [frame[name] for name in frame if frame[name].dtype.kind not in "biufc"]
            if n_codes > sum(int(c.str.fullmatch(_CODE).sum()) for c in text if c.notna().any()):
                frame = parse(names)
        except (pd.errors.ParserError, pd.errors.ParserWarning, ValueError) as error:
            check_widths()
            raise InvalidInputError(
                f"{path}: not a table with {len(names)} columns "
                f"({files.shown(str(error).strip())}). Check the quotes and the separators."
            ) from error
    if frame.iloc[:, -1].isna().any():  # what short lines lack counts as missing to pandas
        check_widths()
    unnamed = [name for name in names if name.startswith("column ") and frame[name].isna().all()]
    return frame.drop(columns=unnamed)  # a separator at the end of each line


def _sample(text: str) -> str:
    """The first lines; not cut within quotes."""
    end = n_lines = 0
    while n_lines <= _LOOK or text.count('"', 0, end) % 2:
        end, n_lines = text.find("\n", end) + 1, n_lines + 1
        if end == 0:
            return text
    return text[:end]


def _separator(sample: str) -> str:
    """The one at which lines split most alike; white space where there is no other."""
    best, score = ",", (0.0, 1)
    for separator in ("\t", ";", ",", "|"):
        widths = [len(r) for r in csv.reader(io.StringIO(sample), delimiter=separator) if r]
        width = Counter(widths).most_common(1)[0][0] if widths else 1
        found = (float(np.mean([w == width for w in widths])), width) if width > 1 else (0.0, 1)
        if found > score:
            best, score = separator, found
    if score[1] == 1:
        widths = [len(line.split()) for line in files.lines_of(sample) if line.strip()]
        numbers = [number is not None for number in files.parse_numbers(sample.split()[:1000])]
        if widths[0] > 1 and len(set(widths)) == 1 and np.mean(numbers) > 0.5:
            return r"\s+"
    return best


def records(text: str, separator: str, path: files.PathLike) -> list[Line]:
    """The lines of a CSV: where each begins, and its cells; none for a blank line."""
    if separator == r"\s+":
        return [(number, line.split()) for number, line in enumerate(files.lines_of(text), start=1)]
    reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
    found, begins = [], 1
    try:
        for cells in reader:
            found.append((begins, cells))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInputError(
            f"{path}, line {reader.line_num}: not a CSV line ({error}). Correct its quotes."
        ) from error
    return found


def without_title(lines: Iterable[Line], notes: list[str]) -> tuple[int, list[list[str]]]:
    """The line in which the table begins, and its first rows; titles and comments stand above."""
    some = [(n, [cell.strip() for cell in cells]) for n, cells in islice(lines, _LOOK) if cells]
    width = Counter(len(cells) for _, cells in some).most_common(1)[0][0]

    def above(cells: list[str]) -> bool:
        alone = sum(map(bool, cells)) < 2 and {*_numbers(cells)} == {None}
        title = alone and (width > 2 or len(cells) < width)
        comment = cells[0].startswith("#") and len(cells) != width
        return title or comment or cells[0].startswith("sep=")

    table = list(dropwhile(lambda line: above(line[1]), some)) or some
    if len(table) < len(some):
        notes.append(f"The table begins in line {table[0][0]}; the lines above it are skipped.")
    if len(table) > 2 and (names := _in_two_lines(*(cells for _, cells in table[:3]))):
        notes.append(f"The names of columns are in lines {table[0][0]} and {table[1][0]}.")
        table = [(table[1][0], names), *table[2:]]
    return table[0][0], [cells for _, cells in table]


def _in_two_lines(above: list[str], below: list[str], row: list[str]) -> list[str]:
    """Names in two lines as one: years, say, above merged cells, and what is counted below."""
    over: list[str] = []
    for cell in above:
        over.append(cell or (over[-1] if over else ""))
    three = list(zip(over, above, below, strict=False))
    merged = any(top and name and not cell for top, cell, name in three)
    if not merged or {*_numbers(below)} != {None} or {*_numbers(row)} == {None}:
        return []
    names = [f"{top} {name}".strip() if name else cell for top, cell, name in three]
    return names if all(names) else []


_TOTAL = re.compile(r"(?:grand |sub)?(?:total|sum|summe|gesamt|insgesamt|somme)\b.*", re.IGNORECASE)


def mention_total(frame: "DataFrame", notes: list[str]) -> None:
    """Add a note where the last row looks like the sums of the others."""
    for name in list(frame)[:2]:
        last: Any = frame[name].iloc[-1]
        if isinstance(last, str) and _TOTAL.fullmatch(last) and (frame[name] == last).sum() == 1:
            notes.append(f"The last row looks like a total ({last}), but counts as a point.")


def has_header(records: list[list[str]]) -> bool:
    """No header has numbers where the next line has, half of all cells; but for years."""
    first = _numbers(records[0])
    there = [number for number in first if number is not None]
    if 2 * len(there) < len(first) or not there:
        return True
    years = all(number % 1 == 0 and 1900 <= number <= 2100 for number in there)
    if years and len(there) < len(first):
        return True
    if len(records) == 1:
        return False
    same = [(a is None) == (b is None) for a, b in zip(first, _numbers(records[1]), strict=False)]
    return not all(same)


def _numbers(cells: Iterable[str]) -> list[float | None]:
    return files.parse_numbers([cell.replace(",", ".", 1) for cell in cells])


def column_names(cells: list[str], path: Path, line: int, *, named: bool) -> list[str]:
    """The names in a header, which must be different; x0, x1, ... where there is none."""
    if not named:
        return [f"x{place}" for place in range(len(cells))]
    names = [cell or f"column {place}" for place, cell in enumerate(cells, start=1)]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        found = f"two columns named {files.shown(repeated[0])}"
        raise files.bad_line(path, line, found, "different names", "Rename one of them.")
    return names


_CODE = r"(?:0[0-9]+|[0-9]{16,}|\+[0-9]{9,})"  # and phone numbers


def _text_columns(body: list[list[str]], names: list[str], decimal: str) -> list[str]:
    """Columns that are to be kept as they are written: some cell is no plain number."""

    def are_plain(cells: Iterable[str]) -> bool:
        words = [cell.replace(",", ".") if decimal == "," else cell for cell in cells]
        words = [word for word in words if word not in MISSING]
        return None not in files.parse_numbers(words) and not any(
            re.fullmatch(_CODE, w) for w in words
        )

    columns = zip(names, zip_longest(*body, fillvalue=""), strict=False)
    return [name for name, cells in columns if not are_plain(cells)]


def _count_codes(data: bytes, separator: str) -> int:
    """How many cells of a file are codes such as 007, or have more digits than a number holds."""
    edge = rb"\s" if separator == r"\s+" else re.escape(separator.encode())
    pattern = rb'(?:^|[%b"])%b(?=[%b"\r\n]|$)' % (edge, _CODE.encode(), edge)
    return sum(1 for _ in re.finditer(pattern, data, re.MULTILINE))


def _check_widths(text: str, how: TableFile, width: int) -> None:
    """Say which lines have another number of cells than the first."""
    wrong = [
        (line, cells)
        for line, cells in records(text, how.separator, how.path)
        if line >= how.header_line and len(cells) != width and (cells or width > 1)
    ]
    if not wrong:
        return
    line, cells = wrong[0]
    lines = files.some_of([number for number, _ in wrong])
    count = f"{len(wrong):,} lines have this problem: {lines}. " if len(wrong) > 1 else ""
    found = f"{len(cells)} cells" if cells else "a blank line"
    expected = f"{width} cells, as in line {how.header_line}"
    raise files.bad_line(
        how.path, line, found, expected, f"{count}Correct or remove what is wrong."
    )
