"""Quotas as people give them: a column, and bounds for its values or its numbers."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from smdeclust.constraints.rows import as_list, did_you_mean, is_missing, is_nothing
from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.quotas import Quota

CATEGORIES, NUMBERS = ("count", "share"), ("sum", "mean")
# A number written as text, and no code (01234).
_WRITTEN = re.compile(r"[-+(]?(?!0\d)[$£€]?\s?\d[\d.,'\s]*(?:e[-+]?\d+)?\)?\s?[%$£€]?", re.I)


def as_quotas(
    column: Any, low: Any, high: Any, of: str | None, name: str | None, n_points: int | None,
    ids: Any = None,
) -> tuple[Quota, ...]:  # fmt: skip
    """Return one quota for each value that is bounded, or one for a column of numbers: what
    `Constraints.quota` is given, and the number of points and their ids where these are known."""
    name = str(name or getattr(column, "name", None) or "column")
    where, entries = f"quota on {name}", as_list(column)
    if n_points is not None and len(entries) != n_points:
        raise InvalidInputError(f"{where}: {len(entries)} entries for {n_points} points.")
    if any(isinstance(entry, list | tuple | np.ndarray) for entry in entries):
        raise InvalidInputError(f"{where}: expected one entry for each point, not a table.")
    if low is None and high is None:
        raise InvalidInputError(f"{where}: give low=, high= or both.")
    if of is not None and of not in (*CATEGORIES, *NUMBERS):
        raise InvalidInputError(f"{where}: of must be count, share, sum or mean, got {of!r}.")
    by_value = isinstance(low, Mapping) or isinstance(high, Mapping)
    present = [entry for entry in entries if not is_nothing(entry)]
    if _is_numbers(present) and not by_value and of not in CATEGORIES:
        numbers = np.array([np.nan if is_nothing(e) else float(e) for e in entries])
        if not np.isfinite(numbers).all():
            row = int(np.flatnonzero(~np.isfinite(numbers))[0])
            place = f"row {row}" if ids is None else f"{str(ids[row])!r} (row {row})"
            raise InvalidInputError(
                f"{where}: {place} has no number. Fill it in, or leave the row out of the data."
            )
        span = _bound(low, None, where), _bound(high, None, where)
        if of is None:  # of 0 and 1 a fraction is a share
            of = "sum" if _whole(*span) or not np.isin(numbers, (0, 1)).all() else "mean"
        return (make_quota(name, None, numbers, *span, of),)
    if of in NUMBERS:
        raise InvalidInputError(f"{where}: the {of} needs a column of numbers.")
    values = list(dict.fromkeys(present))
    if by_value:
        mappings = (bound for bound in (low, high) if isinstance(bound, Mapping))
        asked = list(dict.fromkeys(value for bound in mappings for value in bound))
        for value in asked:
            if not any(not is_missing(e) and e == value for e in entries):
                hint = did_you_mean(str(value), [str(v) for v in values])
                raise InvalidInputError(f"{where}: no point has the value {value!r}.{hint}")
        values = asked
    elif all(isinstance(value, bool | np.bool_) for value in values):
        values = [True]
    elif of is None and all(isinstance(value, str) for value in values):
        _check_categories(values, len(present), where)
    spans = [(_bound(low, value, where), _bound(high, value, where)) for value in values]
    if of is None:
        of = "count" if all(_whole(*span) for span in spans) else "share"
    return tuple(
        make_quota(name, value, [not is_missing(e) and e == value for e in entries], *span, of)
        for value, span in zip(values, spans, strict=True)
    )


def _check_categories(values: list[str], n_present: int, where: str) -> None:
    """Raise where one bound is for every value of text that holds no categories."""
    wrong = ""
    if all(_WRITTEN.fullmatch(value.strip()) for value in values):
        wrong = f"numbers written as text, such as {values[0]!r}. Convert them to numbers first"
    elif len(values) > max(10, 0.9 * n_present):
        wrong = f"{len(values)} different values in {n_present} rows. Bound single ones (a mapping)"
    if wrong:
        raise InvalidInputError(
            f"{where}: the column contains {wrong}. To count each of these values, pass "
            "of='count' (on the command line, COLUMN:count=...)."
        )


def make_quota(name: str, value: Any, counts: Any, low: Any, high: Any, of: str) -> Quota:
    """A quota whose bounds make sense: a number, K of them, or ``None`` where there is none."""
    where = f"quota on {name}" if value is None else f"quota on {name}, {value!r}"
    if of not in (NUMBERS if value is None else CATEGORIES):
        raise InvalidInputError(f"{where}: it has no {of}.")
    for bound in _numbers(low, high):
        most = np.inf if of != "share" else 1.0
        if value is not None and not 0 <= bound <= most:
            span = "0 to 1" if of == "share" else "0 or more"
            raise InvalidInputError(f"{where}: a {of} is {span}, got {bound:g}.")
        if of == "count" and not float(bound).is_integer():
            raise InvalidInputError(f"{where}: a count is a whole number, got {bound:g}.")
    low, high = _filled(low, -np.inf), _filled(high, np.inf)
    if np.ndim(low) + np.ndim(high) == 2 and len(low) != len(high):
        raise InvalidInputError(f"{where}: {len(low)} numbers in low, {len(high)} in high.")
    for least, most in zip(*map(np.ravel, np.broadcast_arrays(low, high)), strict=True):
        if least > most:
            raise InvalidInputError(f"{where}: low={least:g} is more than high={most:g}.")
    return Quota(name, value, np.asarray(counts, dtype=np.float64), low, high, of)


def _numbers(*given: Any) -> list[float]:
    """The numbers in bounds as they are given."""
    each = [bound if isinstance(bound, tuple) else (bound,) for bound in given]
    return [bound for bounds in each for bound in bounds if bound is not None]


def _whole(*given: Any) -> bool:
    return all(bound.is_integer() for bound in _numbers(*given))


def _filled(bound: Any, absent: float) -> Any:
    """A bound, or one for each cluster, with a number where there is none."""
    if isinstance(bound, tuple):
        return tuple(_filled(each, absent) for each in bound)
    return absent if bound is None else float(bound)


def _bound(given: Any, value: Any, where: str) -> Any:
    """A number, or a tuple of one for each cluster; ``None`` where there is none."""
    if isinstance(given, Mapping):
        given = given.get(value)
    each = given if isinstance(given, list | tuple | np.ndarray) and len(given) else [given]
    try:
        numbers = tuple(None if bound is None else float(bound) for bound in each)
    except (TypeError, ValueError):
        numbers = (np.nan,)
    if not np.isfinite(_numbers(numbers)).all():
        raise InvalidInputError(
            f"{where}: a bound is one number for all clusters, a list of one for each (None: no "
            f"bound), or a mapping from values to these, got {given!r}."
        )
    return numbers[0] if each is not given else numbers


def _is_numbers(present: list[Any]) -> bool:
    return bool(present) and all(
        isinstance(e, int | float | np.integer | np.floating) and not isinstance(e, bool | np.bool_)
        for e in present
    )
