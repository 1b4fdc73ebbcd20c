"""What the cells of a column are: numbers, moments or words, whatever wrote them.

Numbers may be written as text in any of the usual ways (``1.218,85``, ``1 218,85 €``, ``12%``),
missing values in many more. Everything here works on pandas columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from smdeclust.exceptions import InvalidInputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# Spellings of nothing. "None", "unknown" and the like are levels of a category; in a column of
# numbers they are missing too.
MISSING = (
    "", "NA", "N/A", "n/a", "na", "#N/A", "#N/A N/A", "#NA", "<NA>", "N.A.", "n.a.", "k.A.",
    "k. A.", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "Null", "NaT", "?", "-", "--", ".",
    "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!",
)  # fmt: skip
# Of the cells that are there, so many must be numbers; the others are then missing, and said.
_NEARLY_ALL = 0.95
_SIGNS = re.compile(r"[\s\u00a0\u202f'’]|[€$£¥%]|\b(?:EUR|USD|GBP|CHF)\b")
_POINT = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:[eE][+-]?\d{1,3})?")
_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)?(?:,\d*)?(?:[eE][+-]?\d{1,3})?")
# Either mark could be meant: 1.234 and 1,234.
_EITHER = re.compile(r"[+-]?\d{1,3}[.,]\d{3}")
_DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}(?:[T ].*)?|\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d{2})(?: .*)?"
    r"|\d{4}[/.]\d{1,2}[/.]\d{1,2}(?: .*)?|\d{1,2}\.? [A-Za-z]{3,9}\.? \d{4}"
    r"|[A-Za-z]{3,9} \d{1,2}, \d{4}"
)
_LOOK = 2_000
_NUMERIC = ("integer", "floating", "mixed-integer-float", "decimal")


@dataclass(frozen=True)
class Values:
    """The cells of one column; missing ones are NaN or NaT."""

    kind: str  # "numbers" (float64), "moments" (datetime64) or "words" (text)
    column: Series
    # Words among numbers, which count as missing, and the row where each stands first.
    odd: Mapping[str, int] = field(default_factory=dict)
    decimal: str = "."  # the mark of numbers that are written as text


def values_of(column: Series, decimal: str = ".") -> Values:
    """Read a column of any type; `decimal` is the mark of numbers that are written as text."""
    import pandas as pd

    kinds = pd.api.types
    if kinds.is_datetime64_any_dtype(column):
        return Values("moments", _without_zone(column))
    if kinds.is_timedelta64_dtype(column):
        return Values("numbers", column.dt.total_seconds() / 86_400)
    if kinds.is_bool_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return Values("words", _words(column))
    if kinds.is_numeric_dtype(column) and not kinds.is_complex_dtype(column):
        if column.dtype != np.float64:
            numbers = pd.to_numeric(column).astype("Float64").to_numpy(np.float64, na_value=np.nan)
            column = pd.Series(numbers, index=column.index, name=column.name)
        infinite = np.isinf(column.to_numpy())
        return Values("numbers", column.mask(infinite) if infinite.any() else column)
    if kinds.infer_dtype(column, skipna=True) in ("date", "datetime"):
        return Values("moments", _without_zone(pd.to_datetime(column, errors="coerce")))
    if kinds.is_object_dtype(column) and kinds.infer_dtype(column, skipna=True) in _NUMERIC:
        return values_of(pd.to_numeric(column), decimal)
    words = _words(column)
    return numbers_in(words, decimal) or Values("words", words, decimal=decimal)


def _words(column: Series) -> Series:
    """Cells as text without space around it, missing where there is nothing."""
    import pandas as pd

    if isinstance(column.dtype, pd.StringDtype):
        stripped: Any = column.str.strip()
        return stripped.mask(stripped.isin(MISSING))
    there: Any = column.dropna().astype("object")
    text = {cell: _word(cell) for cell in _different(there)}
    return there.map(text or _word).reindex(column.index)


def _word(cell: object) -> str | None:
    word = str(cell).strip()
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

    A code is written with a zero in front (``01234``) or with more digits than a number holds.
    """
    there = words.dropna()
    some = [not np.isnan(as_number(word, decimal)) for word in there.iloc[:_LOOK]]
    if not some or np.mean(some) < 0.5:
        return None
    if any(re.match(r"0\d|\d{16}", word) for word in there.unique()):
        return None
    found = as_numbers(words, decimal)
    share = 1 - found.column[words.notna()].isna().mean()
    return found if share >= _NEARLY_ALL else None


def as_numbers(words: Series, decimal: str) -> Values:
    """The numbers that words write, and the words that write none."""
    import pandas as pd

    codes, different = pd.factorize(words)  # each word once: a large table has many cells
    read = np.array([*(as_number(word, decimal) for word in different), np.nan])
    wrong = np.flatnonzero(np.isnan(read[:-1])).tolist()
    first = {str(different[at]): int((codes == at).argmax()) for at in wrong}
    numbers = pd.Series(read[codes], index=words.index, name=words.name)
    return Values("numbers", numbers, first, decimal)


def as_weights(values: Values, name: str, row_name: Callable[[int], str] = str) -> np.ndarray:
    """How much each row counts by the column of this name; an error calls a row by `row_name`."""
    read = as_numbers(values.column, values.decimal) if values.kind == "words" else values
    weight = read.column.to_numpy(np.float64) if read.kind == "numbers" else np.full(1, np.nan)
    wrong = np.flatnonzero(~(weight >= 0))
    if len(wrong):
        row = int(wrong[0])
        raise InvalidInputError(
            f"Column {name!r} has the role weight, and row {row_name(row)} has "
            f"{str(values.column.iloc[row])!r}, expected a number from 0. Correct the value, or "
            "give the column another role."
        )
    return weight


def as_number(word: str, decimal: str = ".") -> float:
    """The number that a word writes, NaN where it writes none."""
    plain = _SIGNS.sub("", word)
    pattern, mark = (_COMMA, ".") if decimal == "," else (_POINT, ",")
    if not plain.isascii() or not pattern.fullmatch(plain):
        return np.nan
    try:
        number = float(plain.replace(mark, "").replace(",", "."))
    except ValueError:
        return np.nan
    return number if np.isfinite(number) else np.nan


def decimal_mark(cells: Iterable[Any], unclear: str = ".") -> str:
    """The decimal mark that some cells of a table can only be read with; else `unclear`."""
    commas = 0  # how many more cells can only be read with a comma than with a point
    for cell in cells:
        plain = _SIGNS.sub("", cell) if isinstance(cell, str) else ""
        if ("." in plain or "," in plain) and not _EITHER.fullmatch(plain):
            comma, point = (not np.isnan(as_number(plain, mark)) for mark in ",.")
            commas += comma - point
    return unclear if commas == 0 else "," if commas > 0 else "."


def mark_of_frame(frame: DataFrame, unclear: str = ".") -> str:
    """The decimal mark of the text columns of a frame; `attrs` may have that of its file."""
    unclear = str(frame.attrs.get("decimal", unclear))
    text = [frame[name] for name in frame if frame[name].dtype.kind not in "biufcmM"]
    return decimal_mark((cell for column in text for cell in column.iloc[:_LOOK]), unclear)


def looks_like_dates(words: Series) -> bool:
    """Whether nearly all words are written like dates."""
    there = words.dropna().iloc[:_LOOK].astype(object)
    return len(there) > 0 and bool(there.map(lambda w: bool(_DATE.fullmatch(w))).mean() > 0.95)


def as_moments(words: Series) -> Series:
    """Dates written as text; the day comes first where it must, else where the month could be."""
    import pandas as pd

    codes, words_found = pd.factorize(words)
    different = pd.Series(np.asarray(words_found, dtype=object), dtype=object)
    how: Any = {"errors": "coerce", "format": "mixed", "utc": True}
    read = [pd.to_datetime(different, dayfirst=first, **how) for first in _orders(different)]
    best = max(read, key=lambda found: found.notna().sum())
    moments = np.append(_without_zone(best).to_numpy("datetime64[s]"), np.datetime64("NaT", "s"))
    return pd.Series(moments[codes], index=words.index, name=words.name)


def _orders(words: Series) -> tuple[bool, ...]:
    """Whether to read the day first: where a first number is above 12, or points divide."""
    parts = words.str.extract(r"^(\d{1,2})([/.-])(\d{1,2})[/.-]").dropna()
    if parts.empty:
        return (False,)
    if (parts[0].astype(int) > 12).any() or (parts[1] == ".").all():
        return (True,)
    return (False,) if (parts[2].astype(int) > 12).any() else (False, True)
