"""Rows and pairs as people give them: ids, confidences, prices; and the pairs of some rows."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.pairs import one_each

if TYPE_CHECKING:
    from smdeclust.constraints.constraints import Constraints

# So many ids are searched for one that is spelled almost like an unknown one.
_MAX_SUGGESTED_FROM = 20_000
# A soft pair without a number is right 19 times of 20.
DEFAULT_CONFIDENCE = 0.95
# Spellings of nothing. "None", "unknown" and the like are levels of a category; in a column of
# numbers they are missing too.
MISSING = (
    "", "NA", "N/A", "n/a", "na", "#N/A", "#N/A N/A", "#NA", "<NA>", "N.A.", "n.a.", "k.A.",
    "k. A.", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "Null", "NaT", "?", "-", "--", ".",
    "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!",
)  # fmt: skip


def as_ids(ids: Any) -> np.ndarray:
    """Return the ids of the points as a read-only object array; no two may be equal."""
    if getattr(ids, "ndim", 1) != 1 or hasattr(ids, "columns"):
        raise InvalidInputError(
            "ids must be one column: give frame['name'] or frame.index, not a whole table."
        )
    values = as_list(ids)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    first: dict[Any, int] = {}
    for row, value in enumerate(values):
        if is_missing(value):
            raise InvalidInputError(f"ids: row {row} has no id ({value!r}). Give every row an id.")
        try:
            seen = first.setdefault(value, row)
        except TypeError:
            raise InvalidInputError(f"ids: {value!r} (row {row}) cannot be an id.") from None
        if seen != row:
            raise InvalidInputError(
                f"ids: rows {seen} and {row} have the same id {value!r}. Ids must be unique: "
                f"choose another column, or remove the repeated row."
            )
    array.flags.writeable = False
    return array


def rows_of_pairs(pairs: Any, row_of_id: dict[Any, int], name: str) -> np.ndarray:
    """Return the (m, 2) rows of pairs that are written as ids."""
    written = [] if pairs is None else as_list(pairs)
    rows = np.empty((len(written), 2), dtype=np.int64)
    for where, pair in enumerate(written):
        ends = list(pair) if isinstance(pair, Iterable) and not isinstance(pair, str) else []
        if len(ends) != 2:
            raise InvalidInputError(f"{name}: entry {where} is {pair!r}, expected a pair of ids.")
        rows[where] = [row_of(value, row_of_id, f"{name}: pair {where}") for value in ends]
    return rows


def row_of(value: Any, row_of_id: dict[Any, int], where: str) -> int:
    """Return the row of one id, or say what may have been meant."""
    try:
        row = row_of_id.get(value)
    except TypeError:
        row = None
    if row is not None:
        return row
    hint = suggestion(value, row_of_id)
    example = repr(next(iter(row_of_id), None))
    raise InvalidInputError(
        f"{where} names {value!r}, which is not an id of the data (ids look like {example}).{hint} "
        f"To use row positions instead, pass by_row=True."
    )


def suggestion(value: Any, row_of_id: Mapping[Any, int]) -> str:
    """Name the id that is spelled almost like an unknown one, if there are not too many."""
    if not isinstance(value, str) or len(row_of_id) > _MAX_SUGGESTED_FROM:
        return ""
    return did_you_mean(value, [known for known in row_of_id if isinstance(known, str)])


def did_you_mean(word: str, known: list[str]) -> str:
    """Name the known word that is spelled almost like this one, if there is one."""
    close = get_close_matches(word, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def as_list(values: Any) -> list[Any]:
    """Return a column, an array, a table or any iterable as a list of plain values."""
    to_numpy = getattr(values, "to_numpy", None)
    array = to_numpy() if callable(to_numpy) else values
    if isinstance(array, np.ndarray) and array.dtype.kind not in "mM":  # lists of dates are numbers
        return array.tolist()
    try:
        return list(values)
    except TypeError:
        raise InvalidInputError(f"Expected a sequence, got {values!r}.") from None


def is_missing(value: Any) -> bool:
    """Whether this is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


def is_nothing(value: Any) -> bool:
    """Whether this is missing, or text that says so (`MISSING`)."""
    return value.strip() in MISSING if isinstance(value, str) else is_missing(value)


def as_rows(rows: Any, n_points: int | None) -> np.ndarray:
    """Return row positions from integers, a slice or a boolean mask; no row twice.

    Where `n_points` is None the size of the data is not known: rows count from 0, and a mask or a
    slice with an end is taken as it is.
    """
    if isinstance(rows, slice):
        if n_points is None:
            raise InvalidInputError(
                "The number of points of these constraints is not known: create them with "
                "n_points= or ids= to slice them."
            )
        return np.arange(n_points)[rows]
    chosen = np.asarray(rows)
    if chosen.size == 0 and chosen.dtype != bool:
        chosen = chosen.astype(np.int64).reshape(-1)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iub":
        raise InvalidInputError(
            f"Rows are chosen by integers, a slice or a boolean mask, got {rows!r}."
        )
    if chosen.dtype == bool:
        if n_points is not None and len(chosen) != n_points:
            raise InvalidInputError(f"The mask has {len(chosen)} entries for {n_points} points.")
        return np.flatnonzero(chosen)
    chosen = chosen.astype(np.int64)
    if n_points is not None:
        chosen = np.where(chosen < 0, chosen + n_points, chosen)
    outside = (chosen < 0) | (chosen >= (np.inf if n_points is None else n_points))
    if outside.any():
        given = np.asarray(rows)[np.flatnonzero(outside)[0]]
        span = "from 0" if n_points is None else f"0 to {n_points - 1}"
        raise InvalidInputError(f"There is no row {given}: rows are numbered {span}.")
    if len(np.unique(chosen)) != len(chosen):
        raise InvalidInputError(
            "A row was selected twice. What pairs mean for a repeated point is not defined: "
            "select every row once (no bootstrap samples)."
        )
    return chosen


def restrict(pairs: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs with both ends among `rows`, renumbered, and which of them these are."""
    if len(pairs) == 0 or len(rows) == 0:
        return np.empty((0, 2), dtype=np.int64), np.zeros(len(pairs), dtype=bool)
    order = np.argsort(rows)
    place = np.searchsorted(rows[order], pairs)
    place = order[np.minimum(place, len(rows) - 1)]
    inside = (rows[place] == pairs).all(axis=1)
    return place[inside], inside


def same_points(one: "Constraints", two: "Constraints") -> tuple[np.ndarray | None, int | None]:
    """The ids and the number of points of both, or an error where they differ."""
    sizes = {c.n_points for c in (one, two) if c.n_points is not None}
    if len(sizes) > 1:
        raise InvalidInputError(
            f"One set of constraints is for {one.n_points} points, the other for {two.n_points}: "
            f"only constraints on the same points can be combined."
        )
    if one.ids is not None and two.ids is not None and one.ids is not two.ids:
        differ = np.flatnonzero([a != b for a, b in zip(one.ids, two.ids, strict=True)])
        if len(differ):
            row = int(differ[0])
            raise InvalidInputError(
                f"Row {row} is {one.ids[row]!r} here and {two.ids[row]!r} there: only constraints "
                f"on the same points in the same order can be combined."
            )
    return (two.ids if one.ids is None else one.ids), next(iter(sizes), None)


def among(pairs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of these pairs are among the others, either way round."""
    return rows_among(np.sort(pairs, axis=1), np.sort(others, axis=1))


def rows_among(entries: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which rows of one table are rows of the other."""
    if len(entries) == 0 or len(others) == 0:
        return np.zeros(len(entries), dtype=bool)
    both = np.concatenate([others, entries])
    number = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    return np.isin(number[len(others) :], number[: len(others)])


# ---- soft pairs, with a confidence or a price


def split_soft(
    pairs: Any, confidence: Any, price: Any, name: str
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return pairs, their confidences and their prices (NaN where it is the other that counts).

    Pairs are ``(i, j)`` or ``(i, j, confidence)``, also mixed, or an array of two or three columns.
    Confidences (None where the pairs say them) or prices are one number per pair, or one for all.
    """
    entries = [] if pairs is None else as_list(pairs)
    plain, said = [], np.full(len(entries), np.nan)
    for where, entry in enumerate(entries):
        values = as_list(entry) if not isinstance(entry, str) else [entry]
        if len(values) not in (2, 3):
            raise InvalidInputError(
                f"{name}: entry {where} is {entry!r}, expected (i, j) or (i, j, confidence)."
            )
        plain.append(values[:2])
        if len(values) == 3:
            said[where] = _confidence_of(values[2], f"{name}: entry {where}")
    if confidence is not None and price is not None:
        raise InvalidInputError(f"{name}: give confidences or prices, not both.")
    if (confidence is not None or price is not None) and not np.isnan(said).all():
        raise InvalidInputError(
            f"{name}: the pairs already have confidences; leave out {name}_confidence and "
            f"{name}_price."
        )
    sure, paid, what = said, np.full(len(entries), np.nan), f"{len(entries)} soft pairs"
    if price is not None:
        paid = one_each(price, len(entries), f"{name}_price", what)
    elif confidence is not None:
        sure = one_each(confidence, len(entries), f"{name}_confidence", what)
    else:
        sure = np.where(np.isnan(said), DEFAULT_CONFIDENCE, said)
    priced = ~np.isnan(paid)
    wrong = np.flatnonzero(~priced & ~((sure >= 0.5) & (sure <= 1)))
    if len(wrong):
        raise InvalidInputError(not_a_confidence(sure[wrong[0]], f"{name}: pair {wrong[0]}"))
    if not (paid[priced] >= 0).all():
        raise InvalidInputError(f"{name}_price holds a number below 0.")
    return plain, sure, paid


def _confidence_of(value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if 0.5 <= number <= 1:
        return number
    raise InvalidInputError(not_a_confidence(value if np.isnan(number) else number, where))


def not_a_confidence(value: Any, where: str) -> str:
    """What to say of a confidence that is not from 0.5 to 1."""
    if isinstance(value, float) and 0 <= value < 0.5:
        return (
            f"{where} has the confidence {value:g}. Below 0.5 the opposite is more likely: list "
            f"the pair as the other kind, with the confidence {1 - value:g}."
        )
    return f"{where} has the confidence {value!r}, expected 0.5 to 1."
