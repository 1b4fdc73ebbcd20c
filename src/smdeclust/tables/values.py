"""What the cells of a column are: numbers, times or words, whichever program wrote them.

Numbers may be written as text in any of the usual ways (``1.218,85``, ``-1 218,85 €``, ``12%``,
``(40.00)``, ``40.00-``, ``1:30:00``), missing values in many more. Everything here works on
pandas columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from smdeclust.constraints.rows import MISSING
from smdeclust.exceptions import InvalidInputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# This share of the nonempty cells must be numbers; the others are then missing, and a note says so.
_NEARLY_ALL = 0.95
# Currencies (a backslash is the yen of Japanese files), and marks between groups of three digits.
_SIGNS = re.compile(
    r"\s*(?:[$£¥￥\\%円元원\u20a0-\u20cf]|(?<![a-zA-Z])(?:EUR|USD|GBP|CHF|JPY|kr|zł|Kč)(?![a-zA-Z]))\s*"
)
_GROUPS = re.compile(r"(?<=\d)[\s'’](?=\d{3}(?!\d))")
_POINT = re.compile(r"[+-]?(?:[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}|\d+)?(?:\.\d*)?(?:[eE][+-]?\d{1,3})?")
_COMMA = re.compile(r"[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)?(?:,\d*)?(?:[eE][+-]?\d{1,3})?")
# Either mark could be meant: 1.234 and 1,234.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
_NEGATIVE = re.compile(r"\((\d.*)\)|(\d.*[.,]\d+)-")
_TIME = re.compile(r"(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d*)?))?")
_CODE = re.compile(r"0\d(?!\d*:)|\d{16}")
_PHONE = r"\+[\d\s()/-]{9,}"
_WHOLE = 2**53  # the whole numbers up to here are different as float64
_DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}(?:[T ].*)?|\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d{2})(?: .*)?"
    r"|\d{4}[/.]\d{1,2}[/.]\d{1,2}(?: .*)?|[A-Za-z]{3,9} \d{1,2}, \d{4}|\d{1,2}/\d{4}"
    r"|(?:\w{2,9}[.,]{0,2} )?(?:\d{1,2}(?:\.? |-))?[^\W\d]{3,9}(?:\.? |-)\d{4}"
    r"|\d{1,2}(?:\.? |-)[^\W\d]{3,9}(?:\.? |-)\d{2}|\d{4}-\d{2}"
    r"|\d{4} ?[年년] ?\d{1,2} ?[月월] ?\d{1,2} ?[日일]"
)
# Both numbers could be the month, and they differ.
_UNCLEAR = re.compile(r"(0?[1-9]|1[0-2])[/.-](?!\1[/.-])(?:0?[1-9]|1[0-2])[/.-]")
# How months begin in English and other languages.
_MONTHS = (
    "jan jän ene gen", "feb fév fev", "mar mär mrt", "apr avr abr", "may mai mei mag",
    "jun juin giu", "jul juil lug", "aug aoû aou ago", "sep set", "oct okt ott out", "nov",
    "dec dez déc dic",
)  # fmt: skip
_MONTH_OF = {begin: names[:3] for names in _MONTHS for begin in names.split()}
_MONTH = re.compile(rf"\b({'|'.join(_MONTH_OF)})[^\W\d]*")
# Years of two digits are read as Excel reads them (pandas: by the clock, 75 as 2075 in 2026).
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_SHORT = re.compile(
    rf"^({_DAY}(?:[/.-]{_DAY}[/.-]|(?:\.? |-)[^\W\d]{{3,9}}(?:\.? |-)))(\d\d)(?= |$)"
)
_LOOK = 2_000
_NUMERIC = ("integer", "floating", "mixed-integer-float", "decimal")


# By the mark between the numbers of a date (/ . -); "mixed /" where some have the other order.
DayFirst = Mapping[str, bool]


@dataclass(frozen=True)
class Values:
    """The cells of one column; missing ones are NaN or NaT."""

    kind: str  # "numbers" (float64), "moments" (datetime64) or "words" (text)
    column: Series
    # Words among numbers or dates, which count as missing, and the row where each stands first.
    odd: Mapping[str, int] = field(default_factory=dict)
    decimal: str = "."  # the mark of numbers that are written as text
    order: str = ""  # how dates were read that could be read in two ways, in words
    day_first: DayFirst = field(default_factory=dict)  # how dates were read, by their mark


def values_of(column: Series, decimal: str = ".", day_first: DayFirst | None = None) -> Values:
    """Read a column of any type; `decimal` is the mark of numbers that are written as text.

    `day_first` is how an earlier table was read: dates that contradict it are not read.
    """
    import pandas as pd

    kinds = pd.api.types
    if kinds.is_datetime64_any_dtype(column):
        return Values("moments", _without_zone(column))
    if isinstance(column.dtype, pd.PeriodDtype):
        return Values("moments", _without_zone(column.dt.to_timestamp()))
    if kinds.is_timedelta64_dtype(column):
        return Values("numbers", column.dt.total_seconds() / 86_400)
    if kinds.is_bool_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return Values("words", _words(column, decimal))
    if kinds.is_integer_dtype(column) and not column.between(-_WHOLE, _WHOLE)[column.notna()].all():
        return Values("words", _words(column.astype(object), decimal))
    if kinds.is_numeric_dtype(column) and not kinds.is_complex_dtype(column):
        if column.dtype != np.float64:
            numbers = pd.to_numeric(column).astype("Float64").to_numpy(np.float64, na_value=np.nan)
            column = pd.Series(numbers, index=column.index, name=column.name)
        infinite = np.isinf(column.to_numpy())
        return Values("numbers", column.mask(infinite) if infinite.any() else column)
    held = kinds.infer_dtype(column, skipna=True)
    if held in ("date", "datetime"):
        return Values("moments", _without_zone(pd.to_datetime(column, errors="coerce")))
    if kinds.is_object_dtype(column) and held in _NUMERIC:
        plain = pd.to_numeric(column)  # whole numbers of any size: objects, or floats of pandas 2
        if plain.dtype != object and (held != "integer" or plain.abs().max() <= _WHOLE):
            return values_of(plain, decimal)
    words = _words(column, decimal)
    dates = numbers_in(words, decimal) or dates_in(words, decimal, day_first)
    return dates or Values("words", words, decimal=decimal)


def _words(column: Series, decimal: str) -> Series:
    """Cells as text without space around it, missing where there is nothing."""
    import pandas as pd

    if isinstance(column.dtype, pd.StringDtype):
        stripped: Any = column.str.strip()
        return stripped.mask(stripped.isin(MISSING))
    there: Any = column.dropna().astype("object")
    text = {cell: _word(cell, decimal) for cell in _different(there)}
    return there.map(text or (lambda cell: _word(cell, decimal))).reindex(column.index)


def _word(cell: object, decimal: str) -> str | None:
    word = str(cell).strip()
    if isinstance(cell, float):  # among words, numbers are written as these write them
        word = f"{cell:.15g}".replace(".", decimal)
    return None if word in MISSING else word


def _different(cells: Series) -> Any:
    """The different cells; none where they cannot be told apart, such as lists."""
    try:
        return cells.unique()
    except TypeError:
        return ()


def _without_zone(column: Series) -> Series:
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return column.astype("datetime64[s]")


def numbers_in(words: Series, decimal: str) -> Values | None:
    """Numbers written as text; None where too few of the cells are numbers, or these are codes.

    A code is written with a zero in front (``01234``) or with more digits than a number holds;
    a phone number with a plus.
    """
    there = words.dropna()
    some = [not np.isnan(as_number(word, decimal)) for word in there.iloc[:_LOOK]]
    if not some or np.mean(some) < 0.5:
        return None
    if any(map(_CODE.match, there.unique())) or there.str.fullmatch(_PHONE).all():
        return None
    return _if_nearly_all(words, as_numbers(words, decimal))


def dates_in(words: Series, decimal: str, day_first: DayFirst | None) -> Values | None:
    """Dates written as text; None where too few of the cells are dates."""
    some = words.dropna().iloc[:_LOOK].astype(object)
    if not len(some) or some.map(lambda w: bool(_DATE.fullmatch(w))).mean() < _NEARLY_ALL:
        return None
    return _if_nearly_all(words, as_moments(words, decimal, day_first))


def _if_nearly_all(words: Series, read: Values) -> Values | None:
    return read if read.column[words.notna()].notna().mean() >= _NEARLY_ALL else None


def as_numbers(words: Series, decimal: str) -> Values:
    """The numbers that words write, and the words that write none."""
    import pandas as pd

    codes, different = pd.factorize(words)  # each word once: a large table has many cells
    read = np.array([*(as_number(word, decimal) for word in different), np.nan])
    return _read(words, "numbers", codes, read, decimal)


def _read(words: Series, kind: str, codes: Any, read: Any, decimal: str = ".") -> Values:
    """What each word was read as; the last of `read` is for cells without any."""
    import pandas as pd

    column = pd.Series(read[codes], index=words.index, name=words.name)
    lost = np.flatnonzero(words.notna() & column.isna())[::-1].tolist()
    return Values(kind, column, {str(words.iloc[row]): row for row in lost}, decimal)


def as_weights(values: Values, name: str, row_name: Callable[[int], str] = str) -> np.ndarray:
    """How much each row counts by the column of this name; an error calls a row by `row_name`."""
    read = as_numbers(values.column, values.decimal) if values.kind == "words" else values
    weight = read.column.to_numpy(np.float64) if read.kind == "numbers" else np.full(1, np.nan)
    wrong = np.flatnonzero(~(weight >= 0))
    if len(wrong):
        row = int(wrong[0])
        raise InvalidInputError(
            f"Column {name!r} has the role weight, and row {row_name(row)} has "
            f"{str(values.column.iloc[row])!r}, expected a number of at least 0. Correct the "
            "value, or give the column another role."
        )
    return weight


def as_number(word: str, decimal: str = ".") -> float:
    """The number that a word writes, NaN where it writes none."""
    pattern, mark = (_COMMA, ".") if decimal == "," else (_POINT, ",")
    plain = word if pattern.fullmatch(word) else _plain(word)
    if time := _TIME.fullmatch(plain):
        hours, minutes, seconds = (float(part or 0) for part in time.groups())
        return hours + minutes / 60 + seconds / 3600
    if not plain.isascii() or not pattern.fullmatch(plain):
        return np.nan
    try:
        number = float(plain.replace(mark, "").replace(",", "."))
    except ValueError:
        return np.nan
    return number if np.isfinite(number) else np.nan


def _plain(word: str) -> str:
    """A number without currency and marks between thousands, its minus in front."""
    plain = _GROUPS.sub("", _SIGNS.sub("", word.replace("\u2212", "-"))).strip()
    return _NEGATIVE.sub(r"-\1\2", plain) if _NEGATIVE.fullmatch(plain) else plain


def decimal_mark(cells: Iterable[Any], unclear: str = ".") -> str:
    """The decimal mark that some cells of a table can only be read with; else `unclear`."""
    commas = 0  # how many more cells can only be read with a comma than with a point
    for cell in cells:
        plain = _plain(cell) if isinstance(cell, str) else ""
        if ("." in plain or "," in plain) and not _EITHER.fullmatch(plain):
            comma, point = (not np.isnan(as_number(plain, mark)) for mark in ",.")
            commas += comma - point
    return unclear if commas == 0 else "," if commas > 0 else "."


class Columns(Mapping[str, Values]):
    """The values of every column, by name; read when asked for: a large table takes memory."""

    def __init__(
        self, frame: DataFrame, unclear: str = ".", day_first: Mapping[str, DayFirst] | None = None
    ) -> None:
        self.frame, self._day_first = frame, day_first or {}
        text = [frame[name] for name in frame if frame[name].dtype.kind not in "biufcmM"]
        cells = (cell for column in text for cell in column.iloc[:_LOOK])
        # (`attrs` may have the mark of the file that the frame comes from.)
        self.decimal = decimal_mark(cells, str(frame.attrs.get("decimal", unclear)))

    def __getitem__(self, name: str) -> Values:
        return values_of(self.frame[name], self.decimal, self._day_first.get(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.frame.columns)

    def __len__(self) -> int:
        return self.frame.shape[1]


def as_moments(words: Series, decimal: str = ".", day_first: DayFirst | None = None) -> Values:
    """Dates written as text; a number is one only if it is written as 20240331 is.

    Without `day_first`, see `values_of`, the order is that of most dates that have only one, else
    the day first where numbers have a decimal comma. The others are read, too.
    """
    import pandas as pd

    codes, found = pd.factorize(words)
    dates = pd.Series(np.asarray(found, dtype=object), dtype=object).astype("str")
    dates = dates.str.replace(r" ?[年년月월] ?", "-", regex=True).str.rstrip(" 日일").str.lower()
    dates = dates.str.replace(r"^[^\W\d]+\.?, ?", "", regex=True)  # the day of the week
    dates = dates.str.replace(_MONTH, lambda found: _MONTH_OF[found[1]], regex=True)
    dates = dates.mask(dates.str.fullmatch(r"(?!(?:19|20)\d{6}$)\d*[.,]?\d*"))
    read, order = pd.Series(pd.NaT, dates.index, dtype="datetime64[s]"), ""
    how: Any = {"errors": "coerce", "format": "mixed", "utc": True}
    marks = dates.str.extract(r"^\d{1,2}([/.-])\d{1,2}[/.-]", expand=False).fillna("")
    given, used = day_first or {}, {}
    for mark, some in dates.groupby(marks):
        first, strict = _order_of(some, str(mark), decimal, given)
        beyond = r"^\d+\D(?:1[3-9]|[2-9]\d)\D" if first else r"^(?:1[3-9]|[2-9]\d)\D"
        other = some[some.str.match(beyond)] if mark else some[:0]
        some = some.drop(other.index) if strict else some
        full = some.str.replace(_SHORT, lambda d: f"{d[1]}{20 - (d[2] >= '30')}{d[2]}", regex=True)
        read[some.index] = _without_zone(pd.to_datetime(full, dayfirst=first, **how))
        unclear = [date for date in some[read[some.index].notna()] if _UNCLEAR.match(date)]
        if mark:
            used[str(mark)] = first
        if len(other) and not strict:
            used[f"mixed {mark}"] = True
        if mark and unclear and not strict:
            ways = ("day", "month") if first else ("month", "day")
            but = f", but {other.iloc[0]} {ways[1]} first" if len(other) else ""
            order += f"; {unclear[0]} read {ways[0]} first{but}"
    moments = np.append(read.to_numpy("datetime64[s]"), np.datetime64("NaT", "s"))
    return replace(_read(words, "moments", codes, moments), order=order, day_first=used)


def _order_of(dates: Series, mark: str, decimal: str, given: DayFirst) -> tuple[bool, bool]:
    """Whether the day is first, and whether that is known from an earlier table."""
    if mark in given:
        return given[mark], f"mixed {mark}" not in given
    if mark in ("", "."):
        return mark == ".", False
    orders = {first for known, first in given.items() if len(known) == 1}
    if len(orders) == 1:
        return orders.pop(), True
    day, month = (dates.str.extract(r"^(\d+).(\d+)").astype(int) > 12).sum()
    return day > month or (day == month and decimal == ","), False
