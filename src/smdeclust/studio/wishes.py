"""What the person has entered on the page so far, and how each action changes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from smdeclust.constraints import Constraints
from smdeclust.exceptions import InvalidInputError
from smdeclust.tables import ROLES

# "shapes" is guided clustering: clusters of any shape, as the pairs show them.
METRICS = ("euclidean", "diagonal", "learned", "auto", "shapes")
QUOTAS = ("share", "count", "sum", "mean")
MOST_CLUSTERS = 1000
MOST_STEPS = 1000  # back
LONGEST_NAME = 80
LONGEST_NOTE = 500


@dataclass(frozen=True)
class Pair:
    """Two rows that belong together, or apart; confidence 1 is strict, below it may be broken."""

    first: int
    second: int
    together: bool
    confidence: float = 1.0
    note: str = ""  # what the person wrote about it
    by: str = ""  # who said it

    @property
    def key(self) -> tuple[int, int]:
        """The rows in order: there is one pair for two rows."""
        return min(self.first, self.second), max(self.first, self.second)

    @property
    def is_hard(self) -> bool:
        """Whether it must hold."""
        return self.confidence >= 1.0


@dataclass(frozen=True)
class Quota:
    """What every cluster must hold of a column: a share or count of a value, a sum or mean."""

    column: str
    of: str
    low: float | None = None
    high: float | None = None
    value: str | None = None  # that is counted; None: each value, or the numbers of the column

    @property
    def bounds(self) -> list[Any]:
        """Low and high, by value where one is counted."""
        low, high = self.low, self.high
        return [b if b is None or self.value is None else {self.value: b} for b in (low, high)]


@dataclass(frozen=True)
class Wishes:
    """Everything that can be said on the page. Each action gives a new one."""

    n_clusters: int
    columns: tuple[str, ...]  # that count, by name
    standardize: bool = True  # whether columns are brought to one scale first
    metric: str = "euclidean"  # one of `METRICS`
    size_min: int | None = None  # bounds on the number of points of every cluster
    size_max: int | None = None
    quotas: tuple[Quota, ...] = ()
    pairs: tuple[Pair, ...] = ()  # at most one for two rows, in the order in which they were said
    names: tuple[tuple[int, str], ...] = ()  # what clusters are called, by number
    roles: tuple[tuple[str, str], ...] = ()  # of columns, chosen instead of the guess
    # Rows and the cluster each is known to be of, by name: rows of one name belong together, rows
    # of different names apart.
    labelled: tuple[tuple[int, str], ...] = ()

    @property
    def all_pairs(self) -> tuple[Pair, ...]:
        """The pairs that were said, and those that follow from labels."""
        first: dict[str, int] = {}
        implied = []
        for row, name in self.labelled:
            if name in first:
                implied.append(Pair(first[name], row, True))
            else:
                implied += [Pair(other, row, False) for other in first.values()]
                first[name] = row
        return (*self.pairs, *implied)

    def constraints(self, ground: "Ground") -> Constraints:
        """All of that, and the quotas, as the estimators take it."""
        rows: dict[str, Any] = {}
        for pair in self.all_pairs:
            kind = "must_link" if pair.together else "cannot_link"
            entry = pair.key if pair.is_hard else (*pair.key, pair.confidence)
            rows.setdefault(kind if pair.is_hard else f"soft_{kind}", []).append(entry)
        known = Constraints(**rows, n_points=ground.n_points)
        for quota in self.quotas:
            entries = ground.entries(quota.column)
            known = known.quota(entries, *quota.bounds, of=quota.of, name=quota.column)
        return known

    def settings(self) -> dict[str, Any]:
        """All but pairs and labels, as plain data."""
        document = asdict(replace(self, pairs=(), labelled=()))
        del document["pairs"], document["labelled"]
        document["columns"], document["quotas"] = list(self.columns), list(document["quotas"])
        document["roles"] = dict(self.roles)
        document["names"] = {str(number): name for number, name in self.names}
        return document


@dataclass(frozen=True)
class Ground:
    """What wishes are about: the number of rows, the names of all columns, what is in one."""

    n_points: int
    columns: tuple[str, ...]
    entries: Callable[[str], Sequence[Any]] = field(default=lambda name: (), compare=False)

    def check_column(self, name: Any) -> None:
        """Refuse a name that no column has."""
        if name not in self.columns:
            raise InvalidInputError(f"There is no column {str(name)[:LONGEST_NAME]!r}.")


def pairs_of(constraints: Constraints) -> list[Pair]:
    """The pairs of a file as the page keeps them."""
    if constraints.quotas:
        raise InvalidInputError("The file has quotas: open only its pairs, and set quotas here.")
    found = []
    for kind, together in (("must_link", True), ("cannot_link", False)):
        found += [Pair(int(i), int(j), together) for i, j in getattr(constraints, kind)]
        rows = getattr(constraints, f"soft_{kind}")
        sure = getattr(constraints, f"soft_{kind}_confidence")
        if np.isnan(sure).any():
            raise InvalidInputError(
                "Some soft pairs have prices, but the studio needs confidences. Give these instead."
            )
        found += [
            Pair(int(i), int(j), together, max(0.5, float(c)))
            for (i, j), c in zip(rows, sure, strict=True)
        ]
    return found


def add_pairs(wishes: Wishes, pairs: Sequence[Pair]) -> Wishes:
    """Add pairs; one on the same two rows is replaced by the newer."""
    merged = {pair.key: pair for pair in wishes.pairs}
    for pair in pairs:
        merged.pop(pair.key, None)  # a pair said again counts as said last
        merged[pair.key] = pair
    return replace(wishes, pairs=tuple(merged.values()))


def change(wishes: Wishes, action: Mapping[str, Any], ground: Ground) -> Wishes:
    """Return the wishes after an action of the page, or say what is wrong with it.

    Actions are ``{"do": "pairs", "pairs": [[i, j], ...], "together": bool, "confidence": c}``
    (and ``note``, ``by``), ``{"do": "drop", "pairs": [[i, j], ...]}``,
    ``{"do": "label", "rows": [i, ...], "name": text}`` (empty: take the label back),
    ``{"do": "set", ...settings}`` and ``{"do": "name", "cluster": k, "name": text}``.
    """
    kind = action.get("do")
    if kind == "pairs":
        together = _flag(action.get("together"), "together")
        rows = _row_pairs(action.get("pairs"), ground)
        sure = _number(action.get("confidence", 1.0), "confidence", 0.5, 1.0)
        note = _text(action.get("note", ""), "A note", LONGEST_NOTE)
        by = _text(action.get("by", ""), "Who said it", LONGEST_NAME)
        return add_pairs(wishes, [Pair(i, j, together, sure, note, by) for i, j in rows])
    if kind == "drop":
        gone = {(min(key), max(key)) for key in _row_pairs(action.get("pairs"), ground)}
        return replace(wishes, pairs=tuple(pair for pair in wishes.pairs if pair.key not in gone))
    if kind == "set":
        return _with_settings(wishes, action, ground)
    if kind == "name":
        number = _whole(action.get("cluster"), "cluster", 0, wishes.n_clusters - 1)
        name = _text(action.get("name", ""), "The name of a cluster", LONGEST_NAME)
        names = dict(wishes.names) | {number: name}
        return replace(wishes, names=tuple(sorted((k, v) for k, v in names.items() if v)))
    if kind == "label":
        rows_given = action.get("rows")
        if not isinstance(rows_given, list):
            raise InvalidInputError("rows must be a list of rows.")
        name = _text(action.get("name", ""), "A label", LONGEST_NAME)
        said = {_whole(row, "A row", 0, ground.n_points - 1): name for row in rows_given}
        merged = dict(wishes.labelled) | said
        return replace(wishes, labelled=tuple((row, word) for row, word in merged.items() if word))
    raise InvalidInputError(f"There is no action {kind!r}: use pairs, drop, label, set or name.")


def _with_settings(wishes: Wishes, action: Mapping[str, Any], ground: Ground) -> Wishes:
    given = {name: value for name, value in action.items() if name != "do"}
    unknown = next((name for name in given if name not in _SETTINGS), None)
    if unknown is not None:
        raise InvalidInputError(f"There is no setting {unknown!r}.")
    found = replace(wishes, **{name: _SETTINGS[name](v, ground) for name, v in given.items()})
    low, high = found.size_min, found.size_max
    if low is not None and high is not None and low > high:
        raise InvalidInputError(f"The smallest size {low} is above the largest size {high}.")
    return found


def _columns(value: Any, ground: Ground) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InvalidInputError("columns must be a list of names.")
    for name in value:
        ground.check_column(name)
    if not value:
        raise InvalidInputError("At least one column must be used.")
    return tuple(name for name in ground.columns if name in set(value))


def _roles(value: Any, ground: Ground) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise InvalidInputError("roles must map names of columns to roles.")
    for name, role in value.items():
        ground.check_column(name)
        _one_of(role, "The role of a column", ROLES)
    return tuple(sorted(value.items()))


def _quotas(value: Any, ground: Ground) -> tuple[Quota, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InvalidInputError("quotas must be a list of quotas.")
    found = []
    for item in value:
        column, of, own = (item.get(name) for name in ("column", "of", "value"))
        ground.check_column(column)
        _one_of(of, f"A quota on {column}", QUOTAS)
        most = 1.0 if of == "share" else float("inf")
        least = 0.0 if of in ("share", "count") else -most
        low, high = (
            None if item.get(end) is None else _number(item[end], f"A {of}", least, most)
            for end in ("low", "high")
        )
        if own is not None:
            own = _text(own, "The value of a quota", LONGEST_NOTE)
        found.append(Quota(str(column), str(of), low, high, own))
    return tuple(dict.fromkeys(found))


def _size(value: Any, name: str, ground: Ground) -> int | None:
    return None if value is None else _whole(value, name, 0, ground.n_points)


def _one_of(value: Any, name: str, known: Sequence[str]) -> str:
    if value not in known:
        raise InvalidInputError(f"{name} must be one of {', '.join(known)}.")
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be true or false.")
    return value


# How each setting is checked and kept.
_SETTINGS: dict[str, Callable[[Any, Ground], Any]] = {
    "n_clusters": lambda value, ground: _whole(
        value, "The number of clusters", 1, min(ground.n_points, MOST_CLUSTERS)
    ),
    "columns": _columns,
    "standardize": lambda value, _: _flag(value, "standardize"),
    "metric": lambda value, _: _one_of(value, "metric", METRICS),
    "size_min": lambda value, ground: _size(value, "The smallest size", ground),
    "size_max": lambda value, ground: _size(value, "The largest size", ground),
    "quotas": _quotas,
    "roles": _roles,
}


def _text(value: Any, name: str, longest: int) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be text.")
    return value.strip()[:longest]


def _row_pairs(value: Any, ground: Ground) -> list[tuple[int, int]]:
    if not isinstance(value, list):
        raise InvalidInputError("pairs must be a list of two rows each.")
    found = []
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidInputError("Each pair must be a list of two rows.")
        i, j = (_whole(row, "A row", 0, ground.n_points - 1) for row in pair)
        if i == j:
            raise InvalidInputError(f"Row {i} cannot be paired with itself.")
        found.append((i, j))
    return found


def _whole(value: Any, name: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInputError(f"{name} must be a whole number from {low} to {high}.")
    return value


def _number(value: Any, name: str, low: float, high: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high or abs(value) == float("inf"):
        span = "" if high == float("inf") else f" from {low:g} to {high:g}"
        raise InvalidInputError(f"{name} must be a number{span or ', not negative' * (low == 0)}.")
    return float(value)


@dataclass(frozen=True)
class History:
    """The wishes now, those before (undo) and those taken back (redo)."""

    steps: tuple[Wishes, ...]
    at: int = 0

    @property
    def now(self) -> Wishes:
        """The wishes as they are."""
        return self.steps[self.at]

    def then(self, wishes: Wishes) -> "History":
        """Go on to new wishes; nothing can be redone from there."""
        if wishes == self.now:
            return self
        steps = (*self.steps[: self.at + 1][-MOST_STEPS:], wishes)
        return History(steps, len(steps) - 1)

    def undo(self) -> Self:
        """Go back one step, if there is one."""
        return replace(self, at=self.at - self.can_undo)

    def redo(self) -> Self:
        """Go forward again, if something was taken back."""
        return replace(self, at=self.at + self.can_redo)

    @property
    def can_undo(self) -> bool:
        """Whether there is a step back."""
        return self.at > 0

    @property
    def can_redo(self) -> bool:
        """Whether there is a step forward."""
        return self.at < len(self.steps) - 1
