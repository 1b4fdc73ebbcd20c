"""Pairs as they were read: must-links, cannot-links, soft ones, and where each was written."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError

KINDS = ("must_link", "cannot_link", "soft_must_link", "soft_cannot_link")


def _no_pairs() -> NDArray[np.int64]:
    return np.empty((0, 2), dtype=np.int64)


def _no_confidences() -> NDArray[np.float64]:
    return np.empty(0, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Constraints:
    """Pairs of row positions (0-based), hard and soft.

    Pairs stand in the order of the files, repetitions and contradictions included: it is the
    problem's task to judge them, and ``where`` tells in which line each was written.

    Attributes
    ----------
    must_link, cannot_link
        Hard pairs, shape (m, 2).
    soft_must_link, soft_cannot_link
        Soft pairs, shape (m, 2).
    soft_must_link_confidence, soft_cannot_link_confidence
        Confidence of each soft pair, in (0, 1].
    files
        The files that were read, in order.
    origins
        For each of the four kinds an (m, 3) array: index of the file, line of the first row, line
        of the second row (the same line where a pair stands in one line; lines count from 1).
        A kind is absent where the pairs were not read from files.
    """

    must_link: NDArray[np.int64] = field(default_factory=_no_pairs)
    cannot_link: NDArray[np.int64] = field(default_factory=_no_pairs)
    soft_must_link: NDArray[np.int64] = field(default_factory=_no_pairs)
    soft_cannot_link: NDArray[np.int64] = field(default_factory=_no_pairs)
    soft_must_link_confidence: NDArray[np.float64] = field(default_factory=_no_confidences)
    soft_cannot_link_confidence: NDArray[np.float64] = field(default_factory=_no_confidences)
    files: tuple[str, ...] = ()
    origins: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in KINDS:
            object.__setattr__(self, kind, _as_pairs(getattr(self, kind), kind))
        for kind in KINDS[2:]:
            name = f"{kind}_confidence"
            pairs = getattr(self, kind)
            object.__setattr__(self, name, _as_confidences(getattr(self, name), len(pairs), name))
        for kind, origin in self.origins.items():
            if origin.shape != (len(getattr(self, kind)), 3):
                raise InvalidInputError(f"The origins of {kind} do not fit its pairs.")

    @property
    def n_pairs(self) -> int:
        """Number of pairs of all four kinds."""
        return sum(len(getattr(self, kind)) for kind in KINDS)

    def where(self, kind: str, index: int) -> str:
        """Say where a pair was written, as in ``pairs.txt, line 12``.

        Parameters
        ----------
        kind
            One of ``must_link``, ``cannot_link``, ``soft_must_link``, ``soft_cannot_link``.
        index
            Position of the pair in the array of that kind.
        """
        if kind not in KINDS:
            raise InvalidInputError(f"{kind!r} is no kind of pair, expected one of {list(KINDS)}.")
        if kind not in self.origins:
            return f"{kind} pair {index}"
        file, first, second = self.origins[kind][index].tolist()
        lines = f"line {first}" if first == second else f"lines {first} and {second}"
        return f"{self.files[file]}, {lines}"


def _as_pairs(value: object, name: str) -> NDArray[np.int64]:
    try:
        pairs = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"{name} is not a list of pairs: {error}.") from error
    if pairs.size == 0:
        pairs = _no_pairs()
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise InvalidInputError(
            f"{name} has shape {pairs.shape} and type {pairs.dtype}, expected an (m, 2) array of "
            "row positions (whole numbers from 0)."
        )
    if np.any(pairs < 0) or np.any(pairs > np.iinfo(np.int64).max):
        raise InvalidInputError(f"{name} holds a row position below 0 or too large.")
    pairs = np.array(pairs, dtype=np.int64, order="C")
    pairs.flags.writeable = False
    return pairs


def _as_confidences(value: object, n_pairs: int, name: str) -> NDArray[np.float64]:
    try:
        confidences = np.array(value, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{name} is not a list of numbers: {error}.") from error
    if confidences.shape != (n_pairs,):
        raise InvalidInputError(
            f"{name} has shape {confidences.shape}, expected one number for each of the "
            f"{n_pairs} soft pairs."
        )
    if not np.all((confidences > 0) & (confidences <= 1)):
        raise InvalidInputError(f"{name} holds a number outside (0, 1].")
    confidences.flags.writeable = False
    return confidences


def merge(parts: list[Constraints]) -> Constraints:
    """Join constraints of several files, in order."""
    if len(parts) == 1:
        return parts[0]
    files: list[str] = []
    origins: dict[str, list[NDArray[np.int64]]] = {kind: [] for kind in KINDS}
    for part in parts:
        for kind in KINDS:
            shift = np.array([len(files), 0, 0], dtype=np.int64)
            origins[kind].append(part.origins[kind] + shift)
        files.extend(part.files)
    names = [*KINDS, *(f"{kind}_confidence" for kind in KINDS[2:])]
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Constraints(
        **arrays,
        files=tuple(files),
        origins={kind: np.concatenate(rows) for kind, rows in origins.items()},
    )
