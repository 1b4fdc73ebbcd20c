"""What `Constraints` store: frozen arrays, how they are shown, and how they are sliced."""

from collections.abc import Mapping
from html import escape
from typing import Any, Self

import numpy as np

from smdeclust.constraints.per_point import Column
from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.quotas import Quota

KINDS = ("must_link", "cannot_link", "soft_must_link", "soft_cannot_link")
SOFT = KINDS[2:]
# Names of the arrays that have an entry for each pair of a kind.
ARRAYS: dict[str, tuple[str, ...]] = {kind: (kind,) for kind in KINDS[:2]}
ARRAYS |= {kind: (kind, f"{kind}_confidence", f"{kind}_price") for kind in SOFT}
NO_PAIRS: dict[str, np.ndarray] = {kind: np.empty((0, 2), dtype=np.int64) for kind in KINDS}
NO_PAIRS |= {name: np.empty(0) for kind in SOFT for name in ARRAYS[kind][1:]}
_WORDS = {kind: kind.replace("_link", "-link").replace("_", " ") for kind in KINDS}
_SHOWN = 5  # pairs of each kind in a notebook


class Store:
    """Pairs of four kinds by row, with what belongs to each; nothing of it changes."""

    must_link: np.ndarray
    cannot_link: np.ndarray
    soft_must_link: np.ndarray
    soft_cannot_link: np.ndarray
    soft_must_link_confidence: np.ndarray
    soft_cannot_link_confidence: np.ndarray
    soft_must_link_price: np.ndarray
    soft_cannot_link_price: np.ndarray
    ids: np.ndarray | None
    n_points: int | None
    files: tuple[str, ...]
    origins: dict[str, np.ndarray]
    columns: tuple[Column, ...]
    quotas: tuple[Quota, ...]

    def __len__(self) -> int:
        """The number of points."""
        if self.n_points is None:
            raise InvalidInputError(
                "The number of points of these constraints is not known, so they cannot be sliced "
                "(by cross-validation, for example). Create them with n_points= or ids=."
            )
        return self.n_points

    @property
    def shape(self) -> tuple[int]:
        """``(n_points,)``: what scikit-learn checks before it slices."""
        return (len(self),)

    def __bool__(self) -> bool:
        """Whether there is any pair."""
        return self.n_pairs > 0

    @property
    def n_pairs(self) -> int:
        """Number of pairs of all four kinds."""
        return sum(len(getattr(self, kind)) for kind in KINDS)

    @property
    def n_soft(self) -> int:
        """Number of soft pairs."""
        return sum(len(getattr(self, kind)) for kind in SOFT)

    def keep(self, masks: Mapping[str, np.ndarray]) -> Self:
        """Return the pairs that boolean masks select; a kind without a mask keeps all its pairs."""
        chosen = {kind: masks.get(kind, slice(None)) for kind in KINDS}
        fields = {
            name: getattr(self, name)[chosen[kind]] for kind in KINDS for name in ARRAYS[kind]
        }
        origins = {kind: origin[chosen[kind]] for kind, origin in self.origins.items()}
        whole = all(len(fields[kind]) == len(getattr(self, kind)) for kind in KINDS[:2])
        # What remains of a class is no longer a class.
        columns = self.columns if whole else ()
        return self._with(**fields, origins=origins, columns=columns)

    def named(self, kind: str, some: Any = slice(None)) -> list[tuple[Any, Any]]:
        """Return the pairs of a kind (or some of them) as ids, or as rows if there are no ids."""
        pairs = getattr(self, kind)[some]
        if self.ids is None:
            return [(i, j) for i, j in pairs.tolist()]
        return [(self.ids[i], self.ids[j]) for i, j in pairs.tolist()]

    def in_words(self, must_link: Any, cannot_link: Any) -> list[str]:
        """Return hard pairs, by position, as ``must-link 3 - 7``."""
        must, cannot = self.named("must_link", must_link), self.named("cannot_link", cannot_link)
        words = [f"must-link {i} - {j}" for i, j in must]
        return words + [f"cannot-link {i} - {j}" for i, j in cannot]

    def where(self, kind: str, index: int) -> str:
        """Return where a pair, given by kind and position, was written (``pairs.txt, line 12``)."""
        if kind not in KINDS:
            raise InvalidInputError(f"{kind!r} is not one of {list(KINDS)}.")
        file, first, second = self._origin(kind)[index].tolist()
        if file < 0:
            return f"{kind} pair {index}"
        lines = f"line {first}" if first == second else f"lines {first} and {second}"
        return f"{self.files[file]}, {lines}"

    def __repr__(self) -> str:
        """One line: how many points, how many pairs of each kind."""
        counts = [
            f"{n:,} {word}{'' if n == 1 else 's'}"
            for kind, word in _WORDS.items()
            if (n := len(getattr(self, kind)))
        ]
        n_quotas = len(self.quotas)
        if n_quotas:
            counts.append(f"{n_quotas} quota{'' if n_quotas == 1 else 's'}")
        size = self.n_points
        points = "" if size is None else f" of {size:,} point{'' if size == 1 else 's'}"
        ids = "" if self.ids is None else " with ids"
        return f"Constraints{points}{ids}: {', '.join(counts) or 'no pairs'}"

    def _repr_html_(self) -> str:
        """A small table: each kind, how many, the first few pairs."""
        lines = []
        for kind, word in _WORDS.items():
            pairs = getattr(self, kind)
            if len(pairs) == 0:
                continue
            few = self.named(kind, slice(_SHOWN))
            shown = ", ".join(f"{escape(str(i))} – {escape(str(j))}" for i, j in few)
            more = ", …" if len(pairs) > _SHOWN else ""
            lines.append(f"<tr><td>{word}s</td><td>{len(pairs):,}</td><td>{shown}{more}</td></tr>")
        head = escape(repr(self))
        body = "".join(lines) or "<tr><td colspan='3'>no pairs</td></tr>"
        titles = "<tr><th>kind</th><th>pairs</th><th>first ones</th></tr>"
        return f"<table><caption>{head}</caption>{titles}{body}</table>"

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Constraints cannot change: use add, drop or |, not .{name} = ...")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("Constraints cannot change.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), {name: getattr(self, name) for name in FIELDS})

    def _origin(self, kind: str) -> np.ndarray:
        if kind in self.origins:
            return self.origins[kind]
        return np.full((len(getattr(self, kind)), 3), -1, dtype=np.int64)

    def _entries(self, kind: str) -> np.ndarray:
        """Pairs the smaller row first, with confidence and price: what makes two of them equal."""
        pairs = np.sort(getattr(self, kind), axis=1)
        if kind not in SOFT:
            return pairs
        strength = [getattr(self, f"{kind}_{name}") for name in ("confidence", "price")]
        return np.column_stack([pairs, *np.nan_to_num(strength, nan=-1.0, posinf=np.inf)])

    def _with(self, **changes: Any) -> Self:
        """The same with some fields changed; nothing is checked."""
        new = object.__new__(type(self))
        new._set(**({name: getattr(self, name) for name in FIELDS} | changes))
        return new

    def _set(self, **fields: Any) -> None:
        for name in FIELDS:
            value = fields[name]
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
            object.__setattr__(self, name, value)


FIELDS = tuple(Store.__annotations__)


def _restored(of: type[Store], fields: dict[str, Any]) -> Store:
    new = object.__new__(of)
    new._set(**({"quotas": ()} | fields))  # of an earlier version
    return new
