"""From the values of a column to coordinates: one class per role, all of plain numbers and lists.

A missing value is at the mean of each of its coordinates, so that it is neither near nor far from
anything by this column. What is learned can be written as JSON and read back.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.tables.roles import YES_NO
from smdeclust.tables.values import DayFirst, Values, as_moments, as_numbers

if TYPE_CHECKING:
    from pandas import Series

_IQR_OF_NORMAL = 1.349  # with a standard deviation of 1
_SPLIT_OF_NORMAL = 2 / np.pi  # of its variance lies between the halves
_MOST_LEVELS = 30
_DAY = 86_400.0
_YEAR = 365.2425
# Rayleigh's test: dates all over the year reach this with a probability of 0.001.
_SEASONAL = 6.9


@dataclass
class Coder(ABC):
    """`names` of coordinates, their `mean` for missing values, `odd` words that are missing."""

    names: list[str] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)

    @property
    @abstractmethod
    def done(self) -> str:
        """What is done to the column, in words."""

    @abstractmethod
    def code(self, values: Values, where: str) -> np.ndarray:
        """(n, d) coordinates with NaN for missing values; `where` names the column in errors."""

    def units(self, values: Values, where: str) -> np.ndarray:
        """(n, d) the same in the units of the table, without gaps, for people to read."""
        coordinates = self.code(values, where)
        coordinates[np.isnan(coordinates[:, 0])] = self.mean
        return coordinates

    def as_dict(self) -> dict[str, Any]:
        """What was learned, for JSON."""
        return {"coder": type(self).__name__, **asdict(self)}


@dataclass
class NumberCoder(Coder):
    """z = (x - median) / (IQR / 1.349), then 3 z / sqrt(9 + z^2), divided by its deviation.

    The clip takes variance away, more of it where tails are long: with standard deviation 1 every
    column counts alike again. Not `soft`: (x - center) / scale, and a missing value is an error.
    """

    center: float = 0.0
    scale: float = 1.0
    soft: bool = True
    deviation: float = 1.0  # of the clipped numbers

    @classmethod
    def learn(cls, values: Values, name: str) -> NumberCoder:
        """Learn center and scale."""
        numbers = _as_numbers(values, f"Column {name!r}")
        there = numbers[~np.isnan(numbers)]
        low, center, high = np.percentile(there, [25, 50, 75])
        scale = (high - low) / _IQR_OF_NORMAL
        # Compared with the numbers themselves: a spread below their precision is none.
        if not scale > 1e-12 * max(abs(low), abs(high)):
            scale = there.std() or 1.0
        made = cls([name], center=float(center), scale=float(scale), odd=list(values.odd))
        made.deviation = float(np.nanstd(made.code(values, f"Column {name!r}"))) or 1.0
        return made

    @classmethod
    def learn_plain(cls, values: Values, name: str, *, standardize: bool) -> NumberCoder:
        """Numbers as they are, or with mean 0 and standard deviation 1."""
        made = cls([name], [0.0], soft=False)  # no place for missing ones
        if standardize:
            numbers = _as_numbers(values, f"Column {name!r}", made.odd)
            there = numbers[~np.isnan(numbers)]
            made.center = float(there.mean())
            made.scale = 1.0 if there.min() == there.max() else float(there.std())
        return made

    @property
    def done(self) -> str:
        if not self.soft:
            as_given = self.center == 0 and self.scale == 1
            return "as given" if as_given else "mean 0, standard deviation 1"
        return f"centered at {self.center:g}, divided by {self.scale:.3g}, outliers pulled in"

    def code(self, values: Values, where: str) -> np.ndarray:
        numbers = _as_numbers(values, where, self.odd)
        z = (numbers - self.center) / self.scale
        if self.soft:
            return (3 * z / np.hypot(3, z) / self.deviation)[:, None]
        if np.isnan(numbers).any():
            row = int(np.isnan(numbers).argmax())
            raise InvalidInputError(
                f"{where}, row {row}: found nothing, expected a number. Numbers used as they are "
                "must not have missing values: fill it in, remove the row, or let the table be "
                "prepared."
            )
        return z[:, None]

    def units(self, values: Values, where: str) -> np.ndarray:
        numbers = _as_numbers(values, where, self.odd)
        return np.where(np.isnan(numbers), self.center, numbers)[:, None]


def _as_numbers(values: Values, where: str, known: list[str] | None = None) -> np.ndarray:
    """Numbers of a column; words not `known` are an error, among numbers missing if it is None."""
    read = values
    if values.kind != "numbers":
        known, read = known or [], as_numbers(levels_of(values), values.decimal)
    _check_odd(read.odd, known, where, "a number")
    return read.column.to_numpy(np.float64)


def _check_odd(odd: Mapping[str, int], known: list[str] | None, where: str, expected: str) -> None:
    """Raise at the first word that is not known to count as missing."""
    unknown = {} if known is None else {w: row for w, row in odd.items() if w not in known}
    if unknown:
        word, row = min(unknown.items(), key=lambda item: item[1])
        raise InvalidInputError(
            f"{where}, row {row}: found {word!r}, expected {expected}. Correct the value, leave it "
            "empty, or give the column another role, such as category or left out."
        )


@dataclass
class CategoryCoder(Coder):
    """One coordinate per level, 1[x = level] - p with p its share of the rows, times a factor.

    The factor makes the variances add up to 1, as of a number; to less where splitting one value
    off would remove more of them than the best split in two removes of a normal number. Clusters
    would else follow a column of two values alone, which a split removes altogether. Two levels
    need one coordinate only, which has the same distances. Rare levels are one level, as are those
    beyond the thirty most frequent.
    """

    levels: list[str] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    others: bool = False
    factor: float = 1.0

    @classmethod
    def learn(cls, values: Values, name: str) -> CategoryCoder:
        """Learn levels and how frequent they are."""
        counts = count_levels(values)
        n = counts.sum()
        frequent = counts[counts >= max(2, 0.005 * n)].iloc[:_MOST_LEVELS]
        if len(frequent) < 2:
            frequent = counts.iloc[:_MOST_LEVELS]
        if tuple(str(level).lower() for level in frequent.index[::-1]) in YES_NO:
            frequent = frequent[::-1]  # the one coordinate is about yes
        shares = (frequent / n).tolist()
        levels = [str(level) for level in frequent.index]
        others = len(frequent) < len(counts)
        names = [f"{name}={level}" for level in (*levels, *["(other)"] * others)]
        shares += [1 - sum(shares)] * others
        names = names[:1] if len(shares) == 2 else names
        p = np.array(shares)
        squares, rest_of = (p**2).sum(), np.maximum(1 - p, 1e-12)
        total = max(1 - squares, 1e-12)
        split = (p * rest_of + p * (squares - p**2) / rest_of).max() / total
        factor = np.sqrt(min(1.0, _SPLIT_OF_NORMAL / split) / total)
        zeros = [0.0] * len(names)
        return cls(names, zeros, levels=levels, shares=shares, others=others, factor=float(factor))

    @property
    def done(self) -> str:
        rest = " and (other)" if self.others else ""
        if len(self.levels) > 6:
            return f"one coordinate for each of {len(self.levels)} values{rest}"
        if len(self.shares) == 2:
            return f"one coordinate: {' or '.join(self.levels)}"
        return f"one coordinate per value ({', '.join(self.levels)}{rest})"

    def _positions(self, values: Values) -> tuple[np.ndarray, np.ndarray]:
        """The number of each level, -1 where it was never seen; and which values are missing."""
        import pandas as pd

        codes, different = _different_levels(values)
        of_word = pd.Index(self.levels).get_indexer(pd.Index(different.astype(object)))
        missing = codes < 0
        position = np.append(of_word, -1)[codes]
        if self.others:
            position = np.where(position < 0, len(self.levels), position)
        return position, missing

    def unseen(self, values: Values, name: str) -> str:
        """Which values count as missing because the fit has not seen them, in words."""
        counts = count_levels(values).drop(self.levels, errors="ignore")
        n, rows = len(counts), int(counts.sum())
        if n == 0 or self.others:
            return ""
        these = f"{some(counts.index)}, {rows} row{'s' * (rows > 1)}"
        said = f"column {name!r}: {n} value{'s' * (n > 1)} not seen in the fit ({these})"
        return f"{said} count{'s' * (n == 1)} as missing"

    def units(self, values: Values, where: str) -> np.ndarray:
        position, missing = self._positions(values)
        level = position[:, None] == np.arange(len(self.names))
        return (level & ~missing[:, None]).astype(np.float64)

    def code(self, values: Values, where: str) -> np.ndarray:
        position, missing = self._positions(values)
        shares = np.array(self.shares)
        of_level = np.eye(len(shares)) - shares
        if len(shares) == 2:  # one coordinate, the same distances
            of_level = of_level[:, :1] * np.sqrt(2)
        of_level = np.vstack([self.factor * of_level, np.full(len(self.names), np.nan)])
        # a level never seen before is missing too: both are in the last line
        return of_level[np.where(missing, -1, position)]


def some(names: Any) -> str:
    """The first few of an array, for people."""
    return ", ".join([f"{name!r:.40}" for name in names[:5].tolist()] + ["..."] * (len(names) > 5))


def _different_levels(values: Values) -> tuple[np.ndarray, Series]:
    """For each cell its number in a list of levels, -1 for none: a large table has many cells."""
    import pandas as pd

    codes, words = pd.factorize(values.column)
    return codes, levels_of(replace(values, column=pd.Series(words)))


def count_levels(values: Values) -> Series:
    """How many cells each level has, the most frequent first, equal ones by the alphabet."""
    import pandas as pd

    codes, different = _different_levels(values)
    cells = pd.Series(np.bincount(codes[codes >= 0], minlength=len(different)))
    by_level = cells.groupby(different.to_numpy()).sum()
    return by_level.sort_values(ascending=False, kind="stable")


def levels_of(values: Values) -> Series:
    """The values of a category as text; whole numbers without a decimal point."""
    if values.kind == "numbers":
        there = values.column.dropna()
        names = {number: f"{number:.15g}" for number in there.unique()}
        return there.map(names).reindex(values.column.index)
    return values.column.astype(object) if values.kind == "words" else values.column.astype(str)


@dataclass
class DateCoder(Coder):
    """Days as a number; and the season, where dates of two years or more prefer a part of it."""

    days: dict[str, Any] = field(default_factory=dict)
    season: bool = False
    day_first: dict[str, bool] = field(default_factory=dict)  # as in `Values`

    @classmethod
    def learn(cls, values: Values, name: str) -> DateCoder:
        """Learn the scale of the days, and whether seasons matter."""
        days = _days(values, f"Column {name!r}")
        number = NumberCoder.learn(_numbers(days), name)
        there = days[~np.isnan(days)]
        angles = np.exp(2j * np.pi * there / _YEAR)
        seasonal = len(there) * abs(angles.mean()) ** 2 > _SEASONAL
        dense = len(np.unique(there.astype(np.int64) % 366)) > 12  # not only years or months
        season = bool(seasonal and dense and np.ptp(there) > 2 * _YEAR)
        names = [name, *([f"{name} (season, sine)", f"{name} (season, cosine)"] * season)]
        made = cls(names, days=asdict(number), season=season, odd=list(values.odd))
        read = values if values.kind == "moments" else as_moments(levels_of(values), values.decimal)
        made.day_first = dict(read.day_first)
        return made

    @property
    def done(self) -> str:
        scaled = f"days, divided by {self.days['scale']:.3g}, outliers pulled in"
        return scaled + ("; and the season" if self.season else "")

    def code(self, values: Values, where: str) -> np.ndarray:
        days = _days(values, where, self.odd, self.day_first)
        if values.order and values.day_first.keys() - self.day_first.keys() - {"."}:
            warnings.warn(f"{where}: the fit has no dates like these{values.order}", stacklevel=7)
        elapsed = NumberCoder(**self.days).code(_numbers(days), where)
        if not self.season:
            return elapsed
        angle = 2 * np.pi * days / _YEAR
        return np.column_stack([elapsed, np.sin(angle), np.cos(angle)])

    def units(self, values: Values, where: str) -> np.ndarray:
        coordinates = super().units(values, where)
        days = _days(values, where, self.odd, self.day_first)
        coordinates[:, 0] = 1970 + np.where(np.isnan(days), self.days["center"], days) / _YEAR
        return coordinates


def _numbers(numbers: np.ndarray) -> Values:
    import pandas as pd

    return Values("numbers", pd.Series(numbers))


def _days(
    values: Values, where: str, known: list[str] | None = None, day_first: DayFirst | None = None
) -> np.ndarray:
    """Days since 1970; a year alone is its first day. Words not `known` are an error."""
    import pandas as pd

    if values.kind == "numbers":
        years = values.column.to_numpy(np.float64)
        if np.nanmin(years, initial=1800) >= 1800 and np.nanmax(years, initial=2200) <= 2200:
            return (years - 1970) * _YEAR
    read = values
    if values.kind != "moments":
        known, read = known or [], as_moments(levels_of(values), values.decimal, day_first)
    like = [("31{}03{}2024" if first else "03{}31{}2024").format(mark, mark)
            for mark, first in (day_first or {}).items()]  # fmt: skip
    expected = "".join(f", or {date} with the order of the fit" for date in like[:1])
    _check_odd(read.odd, known, where, f"a date such as 2024-03-31{expected}")
    column = read.column
    seconds = column.to_numpy("datetime64[s]").astype(np.int64).astype(np.float64)
    return np.where(pd.isna(column), np.nan, seconds / _DAY)


@dataclass
class TextCoder(Coder):
    """A few dimensions of character TF-IDF; their variances add up to 1."""

    vocabulary: list[str] = field(default_factory=list)
    idf: list[float] = field(default_factory=list)
    components: list[list[float]] = field(default_factory=list)

    @classmethod
    def learn(cls, values: Values, name: str, n_dimensions: int = 10) -> TextCoder:
        """Learn the dimensions in which the texts differ most."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        words = levels_of(values).dropna()
        rarest = 2 if len(words) > 20 else 1
        counter = TfidfVectorizer(**_GRAMS, max_features=3_000, min_df=rarest)
        try:
            grams = counter.fit_transform(words)
        except ValueError:  # nothing but space and punctuation
            raise InvalidInputError(
                f"Column {name!r} has no words in common, so nothing can be learned from its text. "
                "Leave it out."
            ) from None
        size = max(1, min(n_dimensions, *(side - 1 for side in grams.shape)))
        with np.errstate(invalid="ignore", divide="ignore"):  # shares of no variance
            parts = TruncatedSVD(size, random_state=0).fit(grams)
        total = parts.transform(grams).var(axis=0).sum()
        scale = np.sqrt(total) if total > 1e-9 else 1.0  # texts that differ in nothing it counts
        return cls(
            [f"{name} (text {place + 1})" for place in range(size)],
            vocabulary=counter.get_feature_names_out().tolist(),
            idf=counter.idf_.tolist(),
            components=(parts.components_ / scale).tolist(),
        )

    @property
    def done(self) -> str:
        return f"{len(self.names)} dimensions of its character TF-IDF"

    def code(self, values: Values, where: str) -> np.ndarray:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.preprocessing import normalize

        words = levels_of(values)
        there = words.notna().to_numpy()
        counter = CountVectorizer(**_GRAMS, vocabulary=self.vocabulary, dtype=np.float64)
        grams = normalize(counter.transform(words[there]).multiply(np.array(self.idf)).tocsr())
        coordinates = np.full((len(words), len(self.names)), np.nan)
        coordinates[there] = grams @ np.array(self.components).T
        return coordinates


_GRAMS: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (3, 4), "lowercase": True}

_CODERS: dict[str, Any] = {
    "number": NumberCoder,
    "category": CategoryCoder,
    "yes/no": CategoryCoder,
    "date": DateCoder,
    "text": TextCoder,
}


CODED = tuple(_CODERS)  # roles of columns that become coordinates


def learn_coder(values: Values, name: str, role: str, scaling: str) -> Coder:
    """How the column of this name and role becomes coordinates."""
    if scaling != "robust":
        return NumberCoder.learn_plain(values, name, standardize=scaling == "standard")
    coder: Coder = _CODERS[role].learn(values, name)
    if not isinstance(coder, CategoryCoder):  # whose mean is zero
        coder.mean = np.nanmean(coder.code(values, f"Column {name!r}"), axis=0).tolist()
    return coder


def coder_of(document: dict[str, Any]) -> Coder:
    """A coder from what `as_dict` wrote."""
    named, fields = {kind.__name__: kind for kind in _CODERS.values()}, dict(document)
    try:
        return named[fields.pop("coder")](**fields)
    except (KeyError, TypeError) as error:
        raise InvalidInputError(
            f"This does not describe how a column was prepared ({error}). Fit again, and use the "
            "files of that fit."
        ) from None
