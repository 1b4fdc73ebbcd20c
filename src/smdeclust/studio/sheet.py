"""The person's table: every column as it can be read, its role, and the points made of them."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame, Index, isna

from smdeclust.exceptions import InvalidInputError
from smdeclust.studio.wishes import Ground
from smdeclust.tables.coding import count_levels, levels_of
from smdeclust.tables.features import TableFeatures, as_frame
from smdeclust.tables.roles import check_roles
from smdeclust.tables.values import Columns, Values, as_moments, as_numbers, as_weights

# Values that a column of words may have to be drawn or summed up value by value.
MOST_LEVELS = 40
WORDS = ("category", "yes/no", "class")  # roles of columns with few values
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff")


@dataclass(eq=False)
class Sheet:
    """A table with roles for its columns: `fixed` ones are known, others were `chosen`.

    Where there are `vectors`, they are the points, and columns are only shown. Names of
    pictures are looked up in the folder `home` and nowhere else. `notes` are sentences about the
    reading, `pages` the sheets of its workbook.
    """

    frame: DataFrame
    fixed: dict[str, str] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    vectors: np.ndarray | None = None
    home: Path | None = None
    notes: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.frame = as_frame(self.frame)
        if self.vectors is not None and len(self.vectors) != len(self.frame):
            raise InvalidInputError(
                f"There are {len(self.vectors)} points for {len(self.frame)} rows of the table."
            )
        self._made: tuple[Any, np.ndarray] | None = None

    def under(self, roles: Mapping[str, str]) -> "Sheet":
        """The same table with other roles chosen."""
        if dict(roles) == self.chosen:
            return self
        check_roles(dict(roles), list(self.frame.columns))
        other = replace(self, chosen=dict(roles))
        other.__dict__["values"] = self.values
        return other

    def __len__(self) -> int:
        return len(self.frame)

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: all but functions."""
        return {name: value for name, value in self.__dict__.items() if name != "_cells"}

    @cached_property
    def values(self) -> dict[str, Values]:
        """The values of every column."""
        return dict(Columns(self.frame))

    @cached_property
    def read(self) -> dict[str, Values]:
        """The values of every column, read as its role says."""
        return {name: _as_role(values, self.roles[name]) for name, values in self.values.items()}

    @cached_property
    def features(self) -> TableFeatures:
        """What is done to the columns."""
        made = TableFeatures(roles=self.fixed | self.chosen)
        (made.fit if self.vectors is None else made.fit_roles)(self.frame)
        return made

    @cached_property
    def ids(self) -> tuple[str, ...] | None:
        """Id of each row as text, where there is a column of different ids."""
        if self.id_column is None:
            return None
        words = levels_of(self.values[self.id_column])
        if words.isna().any() or not words.is_unique:
            return None
        return tuple(words.tolist())

    @cached_property
    def _described(self) -> list[tuple[str, str, str, str]]:
        """Column, role, why, and what is done with it."""
        if self.vectors is None:
            return self.features.describe()
        done = "only shown: points come from vectors"
        return [(name, role, why, done) for name, role, why, _ in self.features.describe()]

    @property
    def id_column(self) -> str | None:
        """The column that names the rows."""
        return self.features.id_column_

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that people see, without the id."""
        hidden = self.id_column if self.ids is not None else None
        return tuple(name for name in self.frame.columns if name != hidden)

    @cached_property
    def roles(self) -> dict[str, str]:
        """Role of every column."""
        return {name: role for name, role, _, _ in self._described}

    @cached_property
    def weight(self) -> np.ndarray | None:
        """How much each row counts, where a column has that role."""
        column = self.features.weight_column_
        return None if column is None else as_weights(self.values[column], column, self.name)

    def name(self, row: int) -> str:
        """What a row is called."""
        return str(row) if self.ids is None else self.ids[row]

    def describe(self, counted: tuple[str, ...]) -> list[dict[str, Any]]:
        """One entry per column: role, why, what is done with it, and whether it counts."""
        return [
            fact | {"counts": fact["feature"] and fact["name"] in counted} for fact in self.facts
        ]

    @cached_property
    def facts(self) -> list[dict[str, Any]]:
        """What there is to say about each column, whatever counts."""
        made = set() if self.vectors is not None else set(self.features.columns_out())
        first = range(min(3, len(self)))
        return [
            {
                "name": name, "role": role, "why": why, "done": done, "feature": name in made,
                "example": next((v for v in map(self._cell(name), first) if v is not None), ""),
                "missing": int(self.values[name].column.isna().sum()),
                "spread": self._spread(name), "amount": self.is_amount(name),
                **self._level_counts(name, role in WORDS),
                "range": self._range(name) if self.is_amount(name) else None,
            }
            for name, role, why, done in self._described
        ]  # fmt: skip

    @property
    def ground(self) -> Ground:
        """What wishes about this table are about."""
        return Ground(len(self), tuple(self.frame.columns), self.entries)

    def entries(self, name: str) -> list[Any]:
        """One entry per row, as quotas count them: numbers, or words of everything else."""
        if self.is_amount(name):
            return self.numbers(name).tolist()
        return levels_of(self.values[name]).tolist()

    def is_amount(self, name: str) -> bool:
        """Whether a column holds numbers to be summed, and no names."""
        return self.read[name].kind == "numbers" and self.roles[name] in ("number", "weight")

    def _spread(self, name: str) -> float:
        numbers = self.numbers(name) if self.read[name].kind == "numbers" else np.zeros(1)
        return float(np.nanstd(numbers)) if not np.isnan(numbers).all() else 0.0

    def _level_counts(self, name: str, is_words: bool) -> dict[str, list[Any]]:
        """The values of a column of words, and how many rows have each."""
        codes, levels = self.levels(name) if is_words else (np.zeros(0, np.int64), [])
        return {"levels": levels, "level_counts": np.bincount(codes[codes >= 0]).tolist()}

    def _range(self, name: str) -> list[float]:
        """Least, mean and largest of a column of numbers."""
        there = self.numbers(name)
        there = there[~np.isnan(there)] if not np.isnan(there).all() else np.zeros(1)
        return [float(there.min()), float(there.mean()), float(there.max())]

    def points(self, columns: tuple[str, ...], *, scaled: bool = True) -> np.ndarray:
        """(N, d) coordinates of the columns that count; numbers as they are where not `scaled`."""
        if self.vectors is not None:
            return self.vectors
        key = (columns, scaled)
        if self._made is None or self._made[0] != key:
            self._made = key, self._coordinates(set(columns), scaled)
        return self._made[1]

    def coordinates(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the coordinates of :meth:`points`."""
        if self.vectors is not None:
            return tuple(f"x{i}" for i in range(self.vectors.shape[1]))
        named = zip(self.features.get_feature_names_out(), self.features.columns_out(), strict=True)
        return tuple(str(name) for name, column in named if column in columns)

    def _coordinates(self, chosen: set[str], scaled: bool) -> np.ndarray:
        of = np.array(self.features.columns_out())
        used = np.flatnonzero(np.isin(of, list(chosen)))
        if not len(used):
            raise InvalidInputError("At least one column must be used.")
        X = self.features.transform(self.frame)[:, used]
        if not scaled:
            for at, name in enumerate(of[used]):
                if self.roles[name] == "number":
                    numbers = self.numbers(name)
                    X[:, at] = np.where(np.isnan(numbers), np.nanmean(numbers), numbers)
        return np.ascontiguousarray(X)

    # ---- what people read

    def _cell(self, name: str) -> Any:
        """A function from rows to what is shown."""
        values = self.read[name]
        cells = values.column.array
        shown: Any = {"numbers": float, "moments": _moment, "words": str}[values.kind]
        return lambda row: None if isna(cells[row]) else shown(cells[row])

    def row(self, row: int) -> list[Any]:
        """What is shown of one row: numbers, and text for everything else."""
        return [cell(row) for cell in self._cells]

    @cached_property
    def _cells(self) -> list[Any]:
        return [self._cell(name) for name in self.columns]

    @cached_property
    def picture_columns(self) -> tuple[str, ...]:
        """Columns that hold names of pictures in the folder of the table."""
        return tuple(name for name in self.columns if self._holds_pictures(name))

    def _holds_pictures(self, name: str) -> bool:
        if self.home is None or self.values[name].kind != "words":
            return False
        some = self.values[name].column.dropna().iloc[:20].tolist()
        named = [word for word in some if word.lower().endswith(PICTURES)]
        found = [word for word in named if self.picture_path(word) is not None]
        return 2 * len(named) > len(some) > 0 and bool(found)

    def picture_path(self, word: str) -> Path | None:
        """The picture of this name inside the folder of the table, where there is one."""
        if self.home is None or "\0" in word or not word.lower().endswith(PICTURES):
            return None
        try:
            home = self.home.resolve()
            path = (home / word).resolve()
            return path if path.is_relative_to(home) and path.is_file() else None
        except (OSError, ValueError):
            return None

    def axis(self, name: str) -> tuple[np.ndarray, dict[str, Any]]:
        """Places of all rows along a column, and what its axis says."""
        values = self.read[name]
        axis: dict[str, Any] = {"title": name}
        if values.kind == "words" or self.roles[name] in WORDS:
            codes, levels = self.levels(name)
            spread = np.random.default_rng(0).uniform(-0.3, 0.3, len(codes))
            return np.where(codes < 0, np.nan, codes + spread), axis | {"levels": levels}
        numbers = self.numbers(name)
        there = numbers[~np.isnan(numbers)]
        low, high = (there.min(), there.max()) if len(there) else (0.0, 1.0)
        middle, half = (low + high) / 2, (high - low) / 2 or 1.0
        axis |= {"middle": float(middle), "half": float(half), "date": values.kind == "moments"}
        return (numbers - middle) / half, axis

    def numbers(self, name: str) -> np.ndarray:
        """A column of numbers or dates (in days) as numbers, NaN where missing."""
        values = self.read[name]
        if values.kind == "numbers":
            return values.column.to_numpy(np.float64)
        seconds = values.column.astype("datetime64[s]")
        days = seconds.to_numpy().astype(np.int64) / 86_400
        return np.where(seconds.isna().to_numpy(), np.nan, days)

    def levels(self, name: str) -> tuple[np.ndarray, list[str]]:
        """(N,) which value each row has (-1: none), and the values, the most frequent first."""
        kept = self.__dict__.setdefault("_levels", {})
        if name not in kept:
            words = levels_of(self.values[name]).astype(object)
            names = count_levels(self.values[name]).index
            shown = names.astype(str).tolist()
            if len(names) > MOST_LEVELS:
                shown[MOST_LEVELS - 1 :] = ["(other)"]
            kept[name] = np.minimum(names.get_indexer(Index(words)), len(shown) - 1), shown
        return kept[name]


def _as_role(values: Values, role: str) -> Values:
    if values.kind == "words" and role == "date":
        return as_moments(values.column)
    if values.kind == "words" and role in ("number", "weight"):
        return as_numbers(values.column, values.decimal)
    return values


def _moment(value: Any) -> str:
    """A date as people write it, with the time only where there is one."""
    moment: datetime.datetime = value.to_pydatetime()
    has_time = (moment.hour, moment.minute, moment.second) != (0, 0, 0)
    return moment.isoformat(" ", "minutes") if has_time else moment.date().isoformat()
