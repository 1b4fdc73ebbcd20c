"""What the person in front of the page has said so far, and how each thing said changes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from smdeclust.exceptions import InvalidInputError
from smdeclust.tables import ROLES

# "shapes" is guided clustering: clusters of any shape, as the pairs show them.
METRICS = ("euclidean", "diagonal", "learned", "auto", "shapes")
MOST_CLUSTERS = 1000
LONGEST_NAME = 80
LONGEST_NOTE = 500


@dataclass(frozen=True)
class Pair:
    """Two rows that belong together, or apart; confidence 1 is strict, below it may be broken.

    `note` is what the person wrote about it, `by` who said it.
    """

    first: int
    second: int
    together: bool
    confidence: float = 1.0
    note: str = ""
    by: str = ""

    @property
    def key(self) -> tuple[int, int]:
        """The rows in order: there is one pair for two rows."""
        return min(self.first, self.second), max(self.first, self.second)

    @property
    def is_hard(self) -> bool:
        """Whether it must hold."""
        return self.confidence >= 1.0


@dataclass(frozen=True)
class Wishes:
    """Everything that can be said on the page. Each action gives a new one.

    Attributes
    ----------
    n_clusters
        K.
    columns
        The columns that count, by name.
    standardize
        Whether columns are brought to one scale first.
    metric
        One of ``METRICS``.
    size_min, size_max
        Bounds on the number of points of every cluster, or ``None``.
    pairs
        The pairs, at most one for two rows, in the order in which they were said.
    names
        What clusters are called, by number; absent ones have no name.
    roles
        Roles of columns that were chosen instead of the guess, by name.
    labelled
        Rows and the cluster each is known to be of, by name: rows of one name belong together,
        rows of different names apart.
    """

    n_clusters: int
    columns: tuple[str, ...]
    standardize: bool = True
    metric: str = "euclidean"
    size_min: int | None = None
    size_max: int | None = None
    pairs: tuple[Pair, ...] = ()
    names: tuple[tuple[int, str], ...] = ()
    roles: tuple[tuple[str, str], ...] = ()
    labelled: tuple[tuple[int, str], ...] = ()

    @property
    def knowledge(self) -> tuple[Pair, ...]:
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

    def settings(self) -> dict[str, Any]:
        """All but pairs and labels, as plain data."""
        document = asdict(replace(self, pairs=(), labelled=()))
        del document["pairs"], document["labelled"]
        document["columns"] = list(self.columns)
        document["roles"] = dict(self.roles)
        document["names"] = {str(number): name for number, name in self.names}
        return document


@dataclass(frozen=True)
class Ground:
    """What wishes are about: the number of rows and the names of all columns."""

    n_points: int
    columns: tuple[str, ...]


def add_pairs(wishes: Wishes, pairs: Sequence[Pair]) -> Wishes:
    """Add pairs; one on the same two rows is replaced by the newer."""
    merged = {pair.key: pair for pair in wishes.pairs}
    for pair in pairs:
        merged.pop(pair.key, None)  # a pair said again counts as said last
        merged[pair.key] = pair
    return replace(wishes, pairs=tuple(merged.values()))


def drop_pairs(wishes: Wishes, keys: Sequence[tuple[int, int]]) -> Wishes:
    """Take pairs back; ones that are not there do not matter."""
    gone = {(min(key), max(key)) for key in keys}
    return replace(wishes, pairs=tuple(pair for pair in wishes.pairs if pair.key not in gone))


def change(wishes: Wishes, action: Mapping[str, Any], ground: Ground) -> Wishes:
    """Return the wishes after an action of the page, or say what is wrong with it.

    Actions are ``{"do": "pairs", "pairs": [[i, j], ...], "together": bool, "confidence": c}``
    (and ``note``, ``by``), ``{"do": "drop", "pairs": [[i, j], ...]}``,
    ``{"do": "label", "rows": [i, ...], "name": text}`` (empty: take the label back),
    ``{"do": "set", ...settings}`` and ``{"do": "name", "cluster": k, "name": text}``.
    """
    kind = action.get("do")
    if kind == "pairs":
        together, confidence = action.get("together"), action.get("confidence", 1.0)
        if not isinstance(together, bool):
            raise InvalidInputError("together must be true or false.")
        rows = _row_pairs(action.get("pairs"), ground)
        sure = _number(confidence, "confidence", 0.5, 1.0)
        note = _text(action.get("note", ""), "A note", LONGEST_NOTE)
        by = _text(action.get("by", ""), "Who said it", LONGEST_NAME)
        return add_pairs(wishes, [Pair(i, j, together, sure, note, by) for i, j in rows])
    if kind == "drop":
        return drop_pairs(wishes, _row_pairs(action.get("pairs"), ground))
    if kind == "set":
        given = {name: value for name, value in action.items() if name != "do"}
        return replace(wishes, **_checked_settings(wishes, given, ground))
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


def _checked_settings(wishes: Wishes, given: Mapping[str, Any], ground: Ground) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in given.items():
        if name == "n_clusters":
            most = min(ground.n_points, MOST_CLUSTERS)
            out[name] = _whole(value, "The number of clusters", 1, most)
        elif name in ("size_min", "size_max"):
            label = "The smallest size" if name == "size_min" else "The largest size"
            out[name] = None if value is None else _whole(value, label, 0, ground.n_points)
        elif name == "standardize":
            if not isinstance(value, bool):
                raise InvalidInputError("standardize must be true or false.")
            out[name] = value
        elif name == "metric":
            if value not in METRICS:
                raise InvalidInputError(f"metric must be one of {', '.join(METRICS)}.")
            out[name] = value
        elif name == "columns":
            out[name] = _columns(value, ground)
        elif name == "roles":
            out[name] = _roles(value, ground)
        else:
            raise InvalidInputError(f"There is no setting {name!r}.")
    low = out.get("size_min", wishes.size_min)
    high = out.get("size_max", wishes.size_max)
    if low is not None and high is not None and low > high:
        raise InvalidInputError(f"The smallest size {low} is above the largest size {high}.")
    return out


def _columns(value: Any, ground: Ground) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InvalidInputError("columns must be a list of names.")
    unknown = [name for name in value if name not in ground.columns]
    if unknown:
        raise InvalidInputError(f"There is no column {unknown[0]!r}.")
    if not value:
        raise InvalidInputError("At least one column must count.")
    return tuple(name for name in ground.columns if name in set(value))


def _roles(value: Any, ground: Ground) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise InvalidInputError("roles must be roles by name of column.")
    for name, role in value.items():
        if name not in ground.columns:
            raise InvalidInputError(f"There is no column {str(name)[:LONGEST_NAME]!r}.")
        if role not in ROLES:
            raise InvalidInputError(f"The role of a column must be one of {', '.join(ROLES)}.")
    return tuple(sorted(value.items()))


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
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidInputError(f"{name} must be a number from {low:g} to {high:g}.")
    return float(value)


class History:
    """The wishes now, those before (undo) and those taken back (redo)."""

    MOST = 1000

    def __init__(self, first: Wishes) -> None:
        self.now = first
        self._before: list[Wishes] = []
        self._after: list[Wishes] = []

    def copy(self) -> History:
        """The same history, to be changed apart from this one."""
        other = History(self.now)
        other._before, other._after = [*self._before], [*self._after]
        return other

    def do(self, wishes: Wishes) -> None:
        """Go on to new wishes; nothing can be redone from there."""
        if wishes != self.now:
            self._before = [*self._before[-self.MOST :], self.now]
            self._after = []
            self.now = wishes

    def undo(self) -> None:
        """Go back one step, if there is one."""
        if self._before:
            self._after.append(self.now)
            self.now = self._before.pop()

    def redo(self) -> None:
        """Go forward again, if something was taken back."""
        if self._after:
            self._before.append(self.now)
            self.now = self._after.pop()

    @property
    def can_undo(self) -> bool:
        """Whether there is a step back."""
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        """Whether there is a step forward."""
        return bool(self._after)
