"""The role of every column of a table, by rule, each with its reason in words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.tables.values import Values, as_moments

if TYPE_CHECKING:
    from pandas import Series

ROLES = ("number", "category", "yes/no", "date", "text", "id", "class", "weight", "left out")
# Other words for them that people write.
_ALSO = {
    "numeric": "number", "categorical": "category", "bool": "yes/no", "boolean": "yes/no",
    "yesno": "yes/no", "time": "date", "key": "id", "label": "class", "target": "class",
    "weights": "weight", "ignore": "left out", "skip": "left out", "drop": "left out",
    "leftout": "left out", "none": "left out",
}  # fmt: skip

YES_NO = [
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("1", "0"), ("on", "off"),
    ("present", "absent"), ("ja", "nein"), ("j", "n"), ("oui", "non"), ("o", "n"),
    ("vrai", "faux"), ("wahr", "falsch"), ("si", "no"), ("sí", "no"), ("s", "n"),
    ("sì", "no"), ("sim", "não"), ("да", "нет"), ("はい", "いいえ"), ("是", "否"),
]  # fmt: skip
_CLASS = {
    "class", "label", "labels", "target", "outcome", "y", "truth", "cluster", "segment",
    "diagnosis", "species", "klasse", "etikett", "classe", "clase", "etiqueta", "étiquette",
}  # fmt: skip
_ID = {
    "id", "ids", "key", "uuid", "guid", "index", "rownames", "rowname", "row", "serial", "nr",
    "nummer", "ssn", "email", "isbn",
}  # fmt: skip
_CODE = {
    "zip", "zipcode", "postal", "postcode", "plz", "phone", "tel", "code", "fips", "id", "ids",
    "key", "nr",
}  # fmt: skip
_WEIGHT = {"weight", "weights", "wt", "w", "pweight", "sampleweight", "caseweight"}

MOST_EMPTY = 0.5
_FEW_WHOLE = 5  # whole numbers with so few values are codes of categories
_MOST_CLASSES = 30
_MOST_LEVELS = 60
_TITLE = r"[^\W\d].{0,40}"
_COMPARED = ("number", "category", "yes/no", "date")


@dataclass(frozen=True)
class Guess:
    """The role of a column and why."""

    role: str
    reason: str


def check_roles(roles: Mapping[str, str] | None, columns: list[str]) -> dict[str, str]:
    """Return the given roles by their standard names; each column must exist."""
    found = {}
    for name, role in (roles or {}).items():
        word = re.sub(r"[_\s-]+", " ", str(role).strip().lower())
        word = _ALSO.get(word.replace(" ", ""), word)
        if word not in ROLES:
            raise InvalidInputError(
                f"The role of column {name!r} is {role!r}, expected one of {', '.join(ROLES)}."
            )
        if str(name) not in columns:
            raise InvalidInputError(
                f"A role was given to the column {name!r}, but the table has no such column. It "
                f"has {', '.join(columns[:20])}{' and others' if len(columns) > 20 else ''}."
            )
        found[str(name)] = word
    return found


def guess_roles(columns: Mapping[str, Values]) -> dict[str, Guess]:
    """Guess the role of every column of a table.

    A column is a class only by its name, and only one is: the last of them.
    """
    found = {name: guess_role(values, name) for name, values in columns.items()}
    names = {name.lower() for name in found}
    classes = [name for name, guess in found.items() if guess.role == "class"]
    for name in classes:
        if name != classes[-1] or (name.lower() == "y" and "x" in names):
            other = guess_role(columns[name], name, may_be_class=False)
            said = f"; {classes[-1]} is the class" if name != classes[-1] else ""
            found[name] = Guess(other.role, other.reason + said)
    if not any(guess.role == "id" for guess in found.values()):
        found |= _names_of_rows(columns, found)
    return found


def _names_of_rows(columns: Mapping[str, Values], found: dict[str, Guess]) -> dict[str, Guess]:
    """People's names, or the shortest titles, where nothing else names the rows."""
    others, titles = any(guess.role in _COMPARED for guess in found.values()), {}
    for name in (name for name, guess in found.items() if guess.role == "text"):
        cells, called = columns[name].column, _words_of(name) & {"name", "names"}
        if cells.is_unique and called:
            return {name: Guess("id", "column name, all different")}
        if cells.is_unique and others and cells.str.fullmatch(_TITLE).mean() > 0.9:
            titles[name] = cells.str.len().mean()
    return {min(titles, key=titles.__getitem__): Guess("id", "all different")} if titles else {}


def guess_role(values: Values, name: str, *, may_be_class: bool = True) -> Guess:
    """Guess the role of one column from its name and its values."""
    column = values.column
    there = column.dropna()
    n, unique = len(there), there.nunique()
    words = _words_of(name)
    if n == 0:
        return Guess("left out", "no values")
    mostly_empty = n < (1 - MOST_EMPTY) * len(column)  # then a class may have only a row or two
    few = 2 <= unique <= max(2, min(_MOST_CLASSES, n if mostly_empty else n // 4))
    if may_be_class and few and len(words) == 1 and words & _CLASS:
        return Guess("class", f"column name, {unique} values")
    if mostly_empty:
        return Guess("left out", f"{1 - n / len(column):.0%} empty")
    if unique == 1:
        return Guess("left out", f"one value ({_short(there.iloc[0])})")
    if values.kind == "moments":
        return Guess("date", "dates" + _as_missing(values))
    if unique == 2 and {_short(value).lower() for value in there.unique()} in map(set, YES_NO):
        return Guess("yes/no", " or ".join(sorted(_short(value) for value in there.unique())))
    if values.kind == "numbers":
        return _guess_numbers(values, words, n, unique)
    return _guess_words(there, words, n, unique)


def _guess_numbers(values: Values, words: set[str], n: int, unique: int) -> Guess:
    there = values.column.dropna()
    whole = bool((there % 1 == 0).all())
    around_one = not whole and there.min() > 0 and 0.2 < there.mean() < 5
    if words & _WEIGHT and len(words) <= 2 and around_one:
        return Guess("weight", f"column name, mean {there.mean():.2g}")
    if whole:
        span = there.max() - there.min()
        if unique == n and n > 20 and span == n - 1:
            return Guess("id", "consecutive whole numbers, each once" + _as_missing(values))
        if words & _ID and unique > 0.5 * n and n > 2:
            return Guess("id", f"column name, {unique} different values in {n} rows")
        as_dates = unique > 2 and 19_000_101 <= there.min() <= there.max() < 21_000_000
        if as_dates and not as_moments(there.map("{:.0f}".format)).odd:
            return Guess("date", "dates written as numbers")
        if words & _CODE:
            role = "left out" if unique > 0.3 * n else "category"
            return Guess(role, f"a code with {unique} values")
        if unique <= min(_FEW_WHOLE, n // 4):
            return Guess("category", f"{unique} different whole numbers")
    reason = "whole numbers" if whole else "numbers"
    all_different = whole and unique == n > 20
    return Guess("number", reason + ", all different: an id?" * all_different + _as_missing(values))


def _guess_words(there: "Series", words: set[str], n: int, unique: int) -> Guess:
    named = bool(words & _ID)
    if named and (unique == n or unique > max(_FEW_WHOLE, 0.3 * n)):
        return Guess("id", f"column name, {unique} different values in {n} rows")
    if words & _CODE and unique > 0.3 * n:
        return Guess("left out", f"a code with {unique} values")
    if unique <= min(_MOST_LEVELS, max(20, 0.15 * n)) and unique < 0.8 * n:
        return Guess("category", f"{unique} values")
    if there.str.match("https?://").all():
        return Guess("left out", "links")
    spaces = float(np.mean([word.count(" ") for word in there.iloc[:2_000]]))
    if there.str.fullmatch(r"\W*\d+[.,]\d+\W*").mean() > 0.5:
        return Guess("left out", "most are numbers, but not all: correct the others to use it")
    if unique > 0.95 * n and spaces < 1:
        return Guess("id", "all different, short")
    if unique > 0.3 * n or spaces >= 2:
        return Guess("text", f"{unique} different texts in {n} rows")
    return Guess("category", f"{unique} values that repeat")


def _as_missing(values: Values) -> str:
    listed = [*map(repr, values.odd)][:3] + ["..."] * (len(values.odd) > 3)
    return f"; {', '.join(listed)} read as missing" if listed else ""


def _words_of(name: str) -> set[str]:
    """``customerId_2`` has the words customer, id, 2."""
    parted = re.sub(r"([a-z])([A-Z])", r"\1 \2", str(name)).lower()
    return {word for word in re.split(r"[\W_]+|(?=nr$|nummer$)", parted) if word}


def _short(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 30 else text[:27] + "..."
