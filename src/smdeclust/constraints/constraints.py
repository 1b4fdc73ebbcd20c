"""Constraints: what people know about their points, as one immutable object."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from smdeclust.constraints.check import Check, judge
from smdeclust.constraints.per_point import (
    Column,
    all_pairs_within,
    class_codes,
    codes_of_groups,
    members_of,
)
from smdeclust.constraints.quota import as_quotas
from smdeclust.constraints.rows import (
    among,
    as_ids,
    as_list,
    as_rows,
    restrict,
    row_of,
    rows_among,
    rows_of_pairs,
    same_points,
    split_soft,
)
from smdeclust.constraints.store import ARRAYS, KINDS, NO_PAIRS, SOFT, Store
from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.pairs import as_pairs, check_number
from smdeclust.structure.quotas import Quota

# How files of each ending are written.
FORMAT_OF_ENDING = {".json": "json", ".csv": "csv", ".txt": "links", ".links": "links"}


def format_of(path: Any) -> str:
    """The format of a file to be written, by its ending."""
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending not in FORMAT_OF_ENDING:
        raise InvalidInputError(
            f"{path}: pass a format (format='json', 'csv' or 'links'), or end the name in "
            f"{', '.join(FORMAT_OF_ENDING)}."
        )
    return FORMAT_OF_ENDING[ending]


class Constraints(Store):
    """Everything that you know about the points: pairs, labels, groups and quotas.

    The object is immutable: ``add``, ``drop``, ``|``, ``-`` and ``[rows]`` return new objects.
    Contradictory pairs are accepted, and ``check`` finds them. ``len`` is the number of points, so
    that scikit-learn can slice the object together with the data.

    Parameters
    ----------
    must_link, cannot_link
        Hard pairs: an (m, 2) array, a table with two columns, or any iterable of pairs. They
        contain ids if `ids` is given, and row positions otherwise.
    soft_must_link, soft_cannot_link
        Soft pairs: ``(i, j)`` or ``(i, j, confidence)``. The confidence is the probability that the
        pair is right, from 0.5 (no information) to 1 (a hard pair). The default is 0.95.
    soft_must_link_confidence, soft_cannot_link_confidence
        The confidences, if they are not in the pairs: one number, or one for each pair.
    soft_must_link_price, soft_cannot_link_price
        The prices of the pairs in units of the objective, instead of confidences.
    ids
        The unique id of each point: a column or the index of a data frame, or any sequence.
    n_points
        The number of points, if there are no ids. Constraints without a number of points cannot be
        sliced.
    by_row
        Whether pairs are row positions although there are `ids`.
    files, origins
        Where the pairs come from: the files and, for each kind of pair, an (m, 3) array with the
        number of the file and the lines of the two rows.

    Attributes
    ----------
    must_link, cannot_link, soft_must_link, soft_cannot_link
        The pairs as (m, 2) arrays of row positions.
    soft_must_link_confidence, soft_cannot_link_confidence
        The confidences. They are NaN for pairs with a price.
    soft_must_link_price, soft_cannot_link_price
        The prices. They are NaN for pairs with a confidence.
    quotas
        The bounds that :meth:`quota` has added.
    ids, n_points
        The (N,) ids and the number of points, or ``None``.

    Examples
    --------
    >>> from smdeclust import Constraints
    >>> known = Constraints(must_link=[("ann", "bob")], ids=["ann", "bob", "cid", "dan"])
    >>> known = known.add(cannot_link=[("ann", "cid")])
    >>> known
    Constraints of 4 points with ids: 1 must-link, 1 cannot-link
    >>> known[[0, 2]].cannot_link
    array([[0, 1]])
    """

    def __init__(
        self,
        must_link: Any = None,
        cannot_link: Any = None,
        soft_must_link: Any = None,
        soft_cannot_link: Any = None,
        soft_must_link_confidence: Any = None,
        soft_cannot_link_confidence: Any = None,
        *,
        soft_must_link_price: Any = None,
        soft_cannot_link_price: Any = None,
        ids: Any = None,
        n_points: int | None = None,
        by_row: bool = False,
        files: tuple[str, ...] = (),
        origins: Mapping[str, np.ndarray] | None = None,
        columns: tuple[Column, ...] = (),
        quotas: tuple[Quota, ...] = (),
    ) -> None:
        ids = None if ids is None else as_ids(ids)
        check_number("n_points", n_points, low=0, whole=True, optional=True)
        if ids is not None:
            if n_points not in (None, len(ids)):
                raise InvalidInputError(f"There are {len(ids)} ids for {n_points} points.")
            n_points = len(ids)
        n_points = None if n_points is None else int(n_points)
        names = None if ids is None or by_row else _row_of_id(ids)
        given: tuple[tuple[Any, ...], ...] = (
            (must_link,),
            (cannot_link,),
            (soft_must_link, soft_must_link_confidence, soft_must_link_price),
            (soft_cannot_link, soft_cannot_link_confidence, soft_cannot_link_price),
        )
        fields: dict[str, Any] = dict(NO_PAIRS)
        for kind, said in zip(KINDS, given, strict=True):
            if all(each is None for each in said):
                continue
            pairs, *strengths = split_soft(said[0], said[1], said[2], kind) if said[1:] else said
            if names is None:
                rows = as_pairs(pairs, n_points, kind)
            else:
                rows = rows_of_pairs(pairs, names, kind)
            fields |= zip(ARRAYS[kind], (rows, *strengths), strict=True)
        origins = dict(origins or {})
        for kind, origin in origins.items():
            if origin.shape != (len(fields[kind]), 3):
                raise InvalidInputError(f"The origins of {kind} do not fit its pairs.")
        self._set(
            **fields, ids=ids, n_points=n_points, files=files, origins=origins, columns=columns,
            quotas=tuple(quotas),
        )  # fmt: skip

    @classmethod
    def from_labels(cls, labels: Any, *, ids: Any = None) -> Constraints:
        """Make pairs from the labels of some points.

        Points with the same label must be in the same cluster, and points with different labels
        must be in different clusters.

        Parameters
        ----------
        labels
            One label for each point. -1, ``None``, NaN and text that stands for a missing value
            (such as "", "-", "?" or "n/a") mean that the label is unknown.
        ids
            The id of each point, if you want to add pairs by id later.
        """
        codes = class_codes(labels, "labels")
        return cls._of_column(Column(codes, apart=True), ids)

    @classmethod
    def from_groups(
        cls, groups: Any, *, kind: str = "must_link", ids: Any = None, n_points: int | None = None
    ) -> Constraints:
        """Make pairs from groups of points that all belong together, or all in different clusters.

        Parameters
        ----------
        groups
            One entry for each point, where equal entries form a group and missing ones (see
            `from_labels`) do not, or a list of groups of ids or row positions.
        kind
            ``"must_link"`` if the points of a group belong together, or ``"cannot_link"`` if no two
            of them do (for example, faces in one photo).
        ids, n_points
            As in the constructor. A list of groups needs one of them.
        """
        if kind not in KINDS[:2]:
            raise InvalidInputError(f"kind is {kind!r}, expected 'must_link' or 'cannot_link'.")
        entries = as_list(groups)
        sized = ids is not None or n_points is not None
        per_point = entries and (
            isinstance(entries[0], str) or not isinstance(entries[0], Iterable)
        )
        if per_point or not (entries or sized):
            codes = class_codes(groups, "groups")
            if n_points is not None and n_points != len(codes):
                raise InvalidInputError(
                    f"groups has {len(codes)} entries, one per point, but n_points={n_points}."
                )
            lists = members_of(codes)
        elif not sized:
            raise InvalidInputError(
                "A list of groups does not say how many points there are: pass n_points= (groups "
                "by row position) or ids= (groups by id)."
            )
        else:
            empty = cls(ids=ids, n_points=n_points)
            lists = empty._rows_of(entries)
            codes = codes_of_groups(lists, len(empty))
        if kind == "must_link":
            return cls._of_column(Column(codes, apart=False), ids)
        return cls(cannot_link=all_pairs_within(lists), ids=ids, n_points=len(codes), by_row=True)

    @classmethod
    def read(
        cls,
        path: Any,
        *,
        ids: Any = None,
        n_points: int | None = None,
        by_row: bool = False,
        **options: Any,
    ) -> Constraints:
        """Read pairs and quotas from one or more files of any supported format.

        Parameters
        ----------
        path
            A file, or a list of files whose pairs are combined.
        ids, n_points, by_row
            As in the constructor. With `ids`, the files contain ids unless `by_row` is true.
        options
            ``format``, ``kind``, ``index_base`` and ``must_link_sign`` of
            :func:`smdeclust.io.read_constraints`.
        """
        from smdeclust.io import read_constraints  # a room above: see pyproject.toml

        if ids is not None:
            empty = cls(ids=ids, n_points=n_points)
            ids, n_points = empty.ids, empty.n_points
        names = None if by_row else ids
        found = read_constraints(path, n_points=n_points, ids=names, **options)
        return found._with(ids=ids, n_points=n_points)

    def write(self, path: Any, *, format: str | None = None, by_row: bool = False) -> None:
        """Write the pairs to a file: ``json``, ``csv`` or ``links``, as the extension says.

        If there are ids, the file contains ids unless `by_row` is true. Only ``json`` can store
        quotas.
        """
        from smdeclust.io import write_constraints

        written = self._with(ids=None) if by_row else self
        write_constraints(written, path, format or format_of(path))

    def add(self, must_link: Any = None, cannot_link: Any = None, **more: Any) -> Constraints:
        """Return a copy with additional pairs.

        Parameters
        ----------
        must_link, cannot_link
            Hard pairs, as in the constructor.
        more
            ``soft_must_link``, ``soft_cannot_link``, their confidences or prices, and ``by_row``.
        """
        return self | Constraints(
            must_link, cannot_link, ids=self.ids, n_points=self.n_points, **more
        )

    def quota(
        self,
        column: Any,
        low: Any = None,
        high: Any = None,
        *,
        of: str | None = None,
        name: str | None = None,
    ) -> Constraints:
        """Return a copy with a bound on what each cluster contains.

        Parameters
        ----------
        column
            One value for each point. Text and True/False values are counted, and numbers are
            summed. Missing values are not counted unless `low` or `high` names them, but a share is
            always a share of all points in the cluster.
        low, high
            The smallest and largest amount in each cluster: a number, or a dict with a number for
            each value that has a bound. Whole numbers are counts, and fractions are shares of the
            cluster. A list of K numbers (or ``None``) has one for each cluster. Entries at the same
            position in all lists, including `size_min`, apply to one cluster, which `fit` chooses.
        of
            What the numbers mean, if this is ambiguous: ``"count"``, ``"share"``, ``"sum"`` or
            ``"mean"``.
        name
            The name of the column in messages. By default, the name of the data frame's column.

        Examples
        --------
        >>> from smdeclust import Constraints
        >>> Constraints(n_points=4).quota(["f", "m", "f", "m"], low=0.4, high=0.6, name="gender")
        Constraints of 4 points: 2 quotas
        """
        more = as_quotas(column, low, high, of, name, self.n_points, self.ids)
        n_points = len(more[0].counts) if more else self.n_points
        return self._with(n_points=n_points, quotas=(*self.quotas, *more))

    def drop(self, must_link: Any = None, cannot_link: Any = None, **more: Any) -> Constraints:
        """Return a copy without some pairs.

        The arguments are those of :meth:`add`, but soft pairs have no confidences or prices.
        """
        gone = Constraints(must_link, cannot_link, ids=self.ids, n_points=self.n_points, **more)
        for kind in KINDS:
            missing = gone.named(kind, ~among(getattr(gone, kind), getattr(self, kind)))
            if missing:
                raise InvalidInputError(f"{kind}: {missing[0]} is not among these pairs.")
        return self - gone

    def __or__(self, other: Constraints) -> Constraints:
        """Union: the pairs of both, each once."""
        if not isinstance(other, Constraints):
            return NotImplemented
        ids, n_points = same_points(self, other)
        fields: dict[str, Any] = {}
        origins: dict[str, np.ndarray] = {}
        shift = len(self.files)
        for kind in KINDS:
            mine, theirs = self._entries(kind), other._entries(kind)
            new = ~rows_among(theirs, mine)
            for name in ARRAYS[kind]:
                fields[name] = np.concatenate([getattr(self, name), getattr(other, name)[new]])
            if self.origins or other.origins:
                later = other._origin(kind)[new]
                later[later[:, 0] >= 0, 0] += shift
                origins[kind] = np.concatenate([self._origin(kind), later])
        more = [q for q in other.quotas if not any(q.same(mine) for mine in self.quotas)]
        return self._with(
            **fields, ids=ids, n_points=n_points, files=self.files + other.files, origins=origins,
            columns=self.columns + other.columns, quotas=(*self.quotas, *more),
        )  # fmt: skip

    __add__ = __or__

    def __sub__(self, other: Constraints) -> Constraints:
        """Subtract: these without the pairs of the other, whatever their confidences."""
        if not isinstance(other, Constraints):
            return NotImplemented
        same_points(self, other)
        return self.keep({k: ~among(getattr(self, k), getattr(other, k)) for k in KINDS})

    def __eq__(self, other: object) -> bool:
        """Compare: the same points, pairs and quotas; order and direction do not matter."""
        if not isinstance(other, Constraints):
            return NotImplemented
        mine, theirs = (None if some.ids is None else some.ids.tolist() for some in (self, other))
        if self.n_points != other.n_points or mine != theirs:
            return False
        for kind in KINDS:
            pairs, others = self._entries(kind), other._entries(kind)
            if not (rows_among(pairs, others).all() and rows_among(others, pairs).all()):
                return False
        return len(self.quotas) == len(other.quotas) and all(
            any(quota.same(another) for another in other.quotas) for quota in self.quotas
        )

    __hash__ = None  # type: ignore[assignment]
    __iter__ = None  # a sequence to scikit-learn's indexing, but no list of anything

    def __getitem__(self, rows: Any) -> Constraints:
        """Restrict to some rows: the pairs with both ends among them, renumbered.

        Rows are integers (none twice), a slice or a boolean mask.
        """
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]  # how scikit-learn asks
        chosen = as_rows(rows, self.n_points)
        pairs, masks = {}, {}
        for kind in KINDS:
            pairs[kind], masks[kind] = restrict(getattr(self, kind), chosen)
        some = self.keep(masks)._with(
            **pairs,
            ids=None if self.ids is None else self.ids[chosen],
            n_points=len(chosen),
            columns=(),
            quotas=tuple(quota.take(chosen) for quota in self.quotas),
        )
        for column in self.columns:  # chains through rows that are gone
            some = some | Constraints._of_column(column.take(chosen), None)
        return some

    def hardened(self) -> Constraints:
        """Return a copy in which soft pairs with confidence 1 or an infinite price are hard."""
        if not self.n_soft:
            return self
        masks, hard = {}, {}
        for kind in SOFT:
            pairs, confidence, price = (getattr(self, name) for name in ARRAYS[kind])
            sure = (confidence == 1) | np.isposinf(price)
            masks[kind], hard[kind.removeprefix("soft_")] = ~sure, pairs[sure]
        if not any(map(len, hard.values())):
            return self
        more = Constraints(**hard, ids=self.ids, n_points=self.n_points, by_row=True)
        return self.keep(masks) | more

    def hard_only(self) -> Constraints:
        """Return a copy with only the hard pairs."""
        return self.keep({kind: np.zeros(len(getattr(self, kind)), bool) for kind in SOFT})

    def all_as_hard(self) -> Constraints:
        """Return a copy in which all pairs are hard: the hard pairs, and then the soft ones."""
        fields: dict[str, Any] = {}
        origins: dict[str, np.ndarray] = {}
        for hard, soft in zip(KINDS, SOFT, strict=False):
            fields[hard] = np.concatenate([getattr(self, hard), getattr(self, soft)])
            if self.origins:
                origins[hard] = np.concatenate([self._origin(hard), self._origin(soft)])
        return self.hard_only()._with(**fields, origins=origins)

    def check(self, n_clusters: int, *, soft: bool = False, max_time: float = 30.0) -> Check:
        """Check whether K clusters can satisfy all pairs and, if not, find out what to drop.

        Parameters
        ----------
        n_clusters
            The number of clusters, K.
        soft
            Whether to treat soft pairs as hard. The repair then drops pairs of low confidence
            first. By default, soft pairs are ignored.
        max_time
            The time limit in seconds. If it is reached, the result says what is not proven.
        """
        return judge(self, n_clusters, soft=soft, max_time=max_time)

    def _rows_of(self, groups: list[Any]) -> list[np.ndarray]:
        """Rows of groups that are written as ids, or checked rows."""
        if self.ids is None:
            return [as_rows(group, self.n_points) for group in groups]
        rows, named = _row_of_id(self.ids), enumerate(map(as_list, groups))
        found = [[row_of(name, rows, f"groups: group {g}") for name in names] for g, names in named]
        return [np.array(group, dtype=np.int64) for group in found]

    @classmethod
    def _of_column(cls, column: Column, ids: Any) -> Constraints:
        together, apart = column.pairs()
        n_points = len(column.codes)
        return cls(together, apart, ids=ids, n_points=n_points, by_row=True, columns=(column,))


def _row_of_id(ids: np.ndarray) -> dict[Any, int]:
    return {value: row for row, value in enumerate(ids.tolist())}
