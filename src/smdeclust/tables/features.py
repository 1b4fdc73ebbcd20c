"""TableFeatures: a table of any columns becomes coordinates for clustering."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import frugal, optional
from smdeclust.tables.coding import CODED, CategoryCoder, Coder, coder_of, learn_coder, some
from smdeclust.tables.roles import Guess, check_roles, guess_roles
from smdeclust.tables.values import Columns, Values

if TYPE_CHECKING:
    from pandas import DataFrame

_SCALINGS = ("robust", "standard", "none")
_NOT_USED = {
    "id": "names the rows; not used as a feature",
    "class": "compared with the clusters; not used as a feature",
    "weight": "weights the rows; not used as a feature",
    "left out": "not used",
}


class TableFeatures(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, categories, dates and text into coordinates.

    Each column gets a role, guessed from its name and values unless you set it. Numbers are
    centered at the median, divided by their spread, and softly clipped. A category becomes one
    coordinate for each value, scaled by its frequency. Dates become elapsed time and, if they favor
    a season, the time of year. Text is used only if you set this role or nothing else can be used.
    Missing values count as average. Ids, classes, weights and mostly empty columns are left out.

    Parameters
    ----------
    roles
        The roles of columns, by name, if the guesses are wrong: ``"number"``, ``"category"``,
        ``"yes/no"``, ``"date"``, ``"text"``, ``"id"``, ``"class"``, ``"weight"`` or ``"left out"``.
    scaling
        ``"robust"``, as described above. ``"standard"`` (mean 0, standard deviation 1) and
        ``"none"`` require columns of numbers without missing values.

    Attributes
    ----------
    roles_
        The role of each column.
    reasons_
        A sentence about why each column has its role.
    done_
        A sentence about how each column was converted.
    id_column_, class_column_, weight_column_
        The columns with these roles, or None. If there are several ids, the first with unique
        values.
    feature_names_in_, n_features_in_
        The columns of the table, and their number.

    Examples
    --------
    >>> import pandas as pd
    >>> from smdeclust import TableFeatures
    >>> table = pd.DataFrame({
    ...     "customer_id": ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"],
    ...     "age": [31, 45, 27, None, 52, 38, 41, 29],
    ...     "segment": ["retail", "online"] * 4,
    ... })
    >>> features = TableFeatures(roles={"segment": "category"}).fit(table)
    >>> features.roles_
    {'customer_id': 'id', 'age': 'number', 'segment': 'category'}
    >>> features.transform(table).shape
    (8, 2)
    """

    def __init__(self, roles: Mapping[str, str] | None = None, *, scaling: str = "robust") -> None:
        self.roles = roles
        self.scaling = scaling

    def fit(self, X: Any, y: Any = None, *, only: Sequence[str] | None = None) -> Self:
        """Give each column a role, and learn how to convert it.

        Parameters
        ----------
        X
            A data frame (of pandas, polars, or another library that converts to pandas) or an
            array.
        y
            Ignored.
        only
            The only columns to use as features. Other columns keep the roles id, class and weight,
            and are otherwise left out.
        """
        del y
        with frugal():
            self._fit(X, only)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, only: Sequence[str] | None = None
    ) -> np.ndarray:
        """Fit with the arguments of `fit`, and return the coordinates of the same table."""
        del y
        coded: list[np.ndarray] = []
        with frugal():
            columns = self._fit(X, only, coded)
            # (what has been joined is let go: a large table takes memory)
            return self._filled(columns, X, (coded.pop(0) for _ in range(len(coded))))

    def _fit(
        self, X: Any, only: Sequence[str] | None, coded: list[np.ndarray] | None = None
    ) -> Columns:
        """Learn every column, and add its coordinates to `coded`: each is read only once for both,
        which takes time where numbers and dates are text."""
        columns = self.fit_roles(X, only)
        for name, role in self.roles_.items():
            if role in CODED:
                self._learn(name, columns[name], coded, named=name in self._named)
        if not self._coders and self.scaling == "robust":
            for name in (name for name, role in self.roles_.items() if role == "text"):
                self._learn(name, columns[name], coded, named=True)
                self.reasons_[name] += "; no other column can be used"
        if not self._coders:
            listed = "; ".join(f"{name}: {role} ({self.reasons_[name]})"
                               for name, role in list(self.roles_.items())[:10])  # fmt: skip
            raise InvalidInputError(
                f"No column can be used as a feature: {listed}. Give one another role, such as "
                "number or category."
            )
        return columns

    def fit_roles(self, X: Any, only: Sequence[str] | None = None) -> Columns:
        """Give each column a role without learning to convert it, and return its values."""
        if self.scaling not in _SCALINGS:
            raise InvalidInputError(
                f"scaling is {self.scaling!r}, expected one of {', '.join(_SCALINGS)}."
            )
        frame = as_frame(X)
        if len(frame) == 0 or frame.shape[1] == 0:
            raise InvalidInputError(
                f"The table has {len(frame)} rows and {frame.shape[1]} columns, so there is "
                "nothing to learn from."
            )
        columns, names = Columns(frame), list(frame.columns)
        given = check_roles(self.roles, names)
        self._decimal = columns.decimal
        guesses = guess_roles(columns) | {
            name: Guess(role, "set by you") for name, role in given.items()
        }
        if only is not None:
            guesses = {
                name: _chosen(guess, columns[name], name in only) for name, guess in guesses.items()
            }
        self.roles_ = {name: guesses[name].role for name in names}
        self.reasons_ = {name: guesses[name].reason for name in names}
        self._named = {*given, *(only or ())}
        self.done_ = {name: _NOT_USED.get(role, "not used") for name, role in self.roles_.items()}
        self._coders: dict[str, Coder] = {}
        of_role = {role: [n for n in names if self.roles_[n] == role] for role in _NOT_USED}
        # Of several ids the first whose values are all different.
        different = {name: columns[name].column.is_unique for name in of_role["id"]}
        self.id_column_ = min(different, key=lambda name: not different[name], default=None)
        self.class_column_ = next(iter(of_role["class"]), None)
        self.weight_column_ = next(iter(of_role["weight"]), None)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return columns

    def _learn(
        self, name: str, values: Values, coded: list[np.ndarray] | None, *, named: bool
    ) -> None:
        role = self.roles_[name]
        if role == "text" and not named:
            self.done_[name] = "not used; to use it, give it the role text"
        elif not values.column.notna().any():
            self.done_[name] = "no values, so not used"
        elif self.scaling != "robust" and values.kind != "numbers" and role != "number":
            self.done_[name] = "not used: this scaling uses only numbers"
        else:
            self._coders[name] = coder = learn_coder(values, name, role, self.scaling)
            missing = int(values.column.isna().sum())
            filled = f"; {missing:,} missing, placed at the mean" if missing else ""
            self.done_[name] = coder.done + values.order + filled
            if coded is not None:
                coded.append(coder.code(values, f"Column {name!r}"))

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of the rows of a table with the same columns.

        Columns that are not used may be missing, and additional columns are ignored. A value of a
        category that was not in the fitted table counts as missing, with a warning.
        """
        with frugal():
            columns = self._used(X)
            return self._filled(columns, X, self._coded(columns, lambda coder: coder.code))

    def _filled(self, columns: Columns, X: Any, coded: Iterable[np.ndarray]) -> np.ndarray:
        """The coordinates of all columns, with means where values are missing."""
        found = self._joined(columns, coded)
        gaps = np.isnan(found)
        if gaps.any():
            said = [
                coder.unseen(columns[name], name)
                for name, coder in self._coders.items()
                if isinstance(coder, CategoryCoder)
            ]
            unknown = np.flatnonzero(gaps.all(axis=1))
            if len(unknown):
                frame = as_frame(X, names=list(self.feature_names_in_))
                ids = frame.get(self.id_column_, frame.index).to_numpy()[unknown]
                said.append(f"no value is known in these rows: {some(ids)}")
            if any(said):
                warnings.warn("; ".join(filter(None, said)), stacklevel=4)
            np.copyto(found, np.concatenate([c.mean for c in self._coders.values()]), where=gaps)
        return found

    def in_units(self, X: Any) -> np.ndarray:
        """Return the columns of `transform` in the units of the table.

        Missing numbers become the median, values of categories become 0 and 1, and dates become
        years.
        """
        with frugal():
            columns = self._used(X)
            return self._joined(columns, self._coded(columns, lambda coder: coder.units))

    def _used(self, X: Any) -> Columns:
        """The columns of a table that become coordinates."""
        check_is_fitted(self)
        frame = as_frame(X, names=list(self.feature_names_in_))
        missing = [name for name in self._coders if name not in frame.columns]
        if missing:
            raise InvalidInputError(
                f"The table has no column {missing[0]!r}, which was used as a "
                f"{self.roles_[missing[0]]} in fit. It has "
                f"{', '.join(map(str, list(frame.columns)[:20]))}."
            )
        day_first = {n: getattr(coder, "day_first", {}) for n, coder in self._coders.items()}
        return Columns(frame[list(self._coders)], self._decimal, day_first)

    def _coded(self, columns: Columns, way: Callable[[Coder], Any]) -> Iterator[np.ndarray]:
        for name, coder in self._coders.items():
            yield way(coder)(columns[name], f"Column {name!r}")

    def _joined(self, columns: Columns, coded: Iterable[np.ndarray]) -> np.ndarray:
        found, at = np.empty((len(columns.frame), len(self.get_feature_names_out()))), 0
        for block in coded:
            found[:, at : at + block.shape[1]] = block
            at += block.shape[1]
        return found

    def gaps(self, X: Any) -> np.ndarray:
        """Return a mask of the rows that have a missing value in a used column."""
        columns = self._used(X)
        return np.any([columns[name].column.isna() for name in self._coders], axis=0)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the coordinates: a column, or a column and one of its values."""
        del input_features
        check_is_fitted(self)
        names = [name for coder in self._coders.values() for name in coder.names]
        return np.array(names, dtype=object)

    @property
    def used_columns(self) -> list[str]:
        """Return the columns that became coordinates."""
        check_is_fitted(self)
        return list(self._coders)

    def columns_out(self) -> list[str]:
        """Return the column from which each coordinate comes."""
        check_is_fitted(self)
        return [name for name, coder in self._coders.items() for _ in coder.names]

    def describe(self) -> list[tuple[str, str, str, str]]:
        """Return the name, the role, the reason and the conversion of each column."""
        check_is_fitted(self)
        return [
            (name, role, self.reasons_[name], self.done_[name])
            for name, role in self.roles_.items()
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return everything that was learned, as a dict that can be written as JSON."""
        check_is_fitted(self)
        return {
            "columns": [
                {
                    "name": name, "role": role, "reason": why, "done": done,
                    "coding": self._coders[name].as_dict() if name in self._coders else None,
                }
                for name, role, why, done in self.describe()
            ],
            "id": self.id_column_,
            "class": self.class_column_,
            "weight": self.weight_column_,
            "decimal": self._decimal,
            "scaling": self.scaling,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "TableFeatures":
        """Return fitted features from the result of `as_dict`."""
        try:
            columns = {str(column["name"]): dict(column) for column in document["columns"]}
            roles, made_of, done = (
                {name: str(column[key]) for name, column in columns.items()}
                for key in ("role", "reason", "done")
            )
            made = cls(roles, scaling=str(document["scaling"]))
            made.roles_, made.reasons_, made.done_ = dict(roles), made_of, done
            coded = {name: column["coding"] for name, column in columns.items()}
            made._coders = {name: coder_of(how) for name, how in coded.items() if how}
            made.id_column_, made.class_column_ = document["id"], document["class"]
            made.weight_column_, made._decimal = document["weight"], str(document["decimal"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"This does not describe how a table was prepared ({error})."
            ) from None
        made.feature_names_in_ = np.array(list(made.roles_), dtype=object)
        made.n_features_in_ = len(made.roles_)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _chosen(guess: Guess, values: Values, wanted: bool) -> Guess:
    """The role of a column where the columns to use were named."""
    if not wanted:
        kept = guess.role in _NOT_USED
        return guess if kept else Guess("left out", "not among the columns to use")
    if guess.role in _NOT_USED:
        return Guess("number" if values.kind == "numbers" else "category", "set by you")
    return guess


def as_frame(X: Any, names: list[str] | None = None) -> "DataFrame":
    """Return a table as a pandas data frame in which every column has its own name, a string.

    If the table is an array, its columns are called `names` or, by default, x0, x1, ...
    """
    with optional("TableFeatures"):
        import pandas as pd
    if isinstance(X, pd.DataFrame):
        frame = X
    elif isinstance(X, pd.Series):
        frame = X.to_frame()
    elif hasattr(X, "columns") and hasattr(X, "to_dict") and not hasattr(X, "index"):
        # polars: to_pandas would need pyarrow
        frame = pd.DataFrame({name: X[name].to_list() for name in X.columns})
    elif hasattr(X, "to_pandas"):
        frame = X.to_pandas()
    else:
        array = np.asarray(X)
        if array.ndim != 2:
            raise InvalidInputError(
                f"Expected a table, got an object of type {type(X).__name__} and shape "
                f"{array.shape}. Pass a data frame, or an array with one row per point."
            )
        width = array.shape[1]
        fits = names is not None and len(names) == width
        frame = pd.DataFrame(array, columns=names if fits else [f"x{i}" for i in range(width)])
    columns = [str(name) for name in frame.columns]
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InvalidInputError(
            f"The table has two columns named {twice!r}. Give them different names."
        )
    return frame if columns == list(frame.columns) else frame.set_axis(columns, axis=1)
