"""Pairs and numbers as people give them -> validated arrays."""

from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError


def as_pairs(pairs: Any, n_points: int | None, name: str) -> np.ndarray:
    """Return `pairs` as an (m, 2) int64 array of row positions in ``[0, n_points)``.

    They are ``None``, an (m, 2) array, a two-column data frame, or any iterable of pairs;
    `n_points` is ``None`` where it is not known. Errors call them `name`.
    """
    if pairs is None:
        return np.empty((0, 2), dtype=np.int64)
    if not isinstance(pairs, np.ndarray):
        to_numpy = getattr(pairs, "to_numpy", None)
        try:
            pairs = to_numpy() if callable(to_numpy) else list(pairs)
        except TypeError:
            raise InvalidInputError(
                f"{name}: expected pairs of row positions, got {pairs!r}."
            ) from None
    try:
        array = np.asarray(pairs)
    except ValueError:
        raise InvalidInputError(
            f"{name}: every entry must be a pair of row positions, found entries of different "
            f"lengths ({_first_odd_entry(pairs)})."
        ) from None
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInputError(
            f"{name}: expected an (m, 2) array or a sequence of pairs of row positions, got an "
            f"array of shape {array.shape}."
        )
    integers = _as_integers(array, name)
    outside = (integers < 0) | (integers >= (np.inf if n_points is None else n_points))
    if outside.any():
        where = int(np.flatnonzero(outside.any(axis=1))[0])
        i, j = (int(v) for v in integers[where])
        span = "from 0" if n_points is None else f"0 to {n_points - 1}"
        raise InvalidInputError(
            f"{name}: pair {where} is ({i}, {j}), but rows are numbered {span}. (In "
            f"cross-validation, pass constraints=Constraints(..., n_points=len(X)): it is sliced "
            f"together with X.)"
        )
    return np.ascontiguousarray(integers)


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    below: float = np.inf,
    whole: bool = False,
    optional: bool = False,
) -> None:
    """Raise an error that names the parameter unless `value` is a number in [low, high], and less
    than `below`."""
    if optional and value is None:
        return
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    fits = isinstance(value, kinds) and not isinstance(value, bool)
    if not fits or not low <= value <= high or value >= below < np.inf:
        kind = "an integer" if whole else "a number"
        span = f" of at least {low:g}" if low > -np.inf else ""
        span += f" and at most {high:g}" if high < np.inf else ""
        span += f" and below {below:g}" if below < np.inf else ""
        raise InvalidInputError(
            f"{name} must be {kind}{span}{' or None' if optional else ''}, got {value!r}."
        )


def one_each(given: Any, n: int, name: str, what: str) -> np.ndarray:
    """(n,) numbers, from one for all or one each; errors name `what` they are for."""
    wanted = f"{name} must be one number or one for each of the {what}"
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{wanted}: {error}.") from None
    if values.shape not in ((), (n,)):
        got = f"{len(values)} numbers" if values.ndim == 1 else f"shape {values.shape}"
        raise InvalidInputError(f"{wanted}, got {got}.")
    return np.broadcast_to(values, (n,)).copy()


def in_words(values: Any) -> str:
    """A few numbers (infinite: any): one if all are the same, the first ones of many."""
    numbers = np.atleast_1d(np.asarray(values, dtype=float)).tolist()
    words = [f"{number:.15g}" if number.is_integer() else f"{number:g}" for number in numbers]
    some = ["any" if "inf" in word else word for word in words]
    if len(set(some)) == 1:
        return some[0]
    return ", ".join(some[:8]) + (", ..." if len(some) > 8 else "")


def broken_pairs(
    must_link: np.ndarray, cannot_link: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which must-links and which cannot-links these (N,) labels break."""
    return (
        labels[must_link[:, 0]] != labels[must_link[:, 1]],
        labels[cannot_link[:, 0]] == labels[cannot_link[:, 1]],
    )


def count_broken(
    must_link: np.ndarray, cannot_link: np.ndarray, labels: np.ndarray
) -> tuple[int, int]:
    """How many must-links and cannot-links labels break; (i, j) and (j, i) are the same pair."""
    apart, together = broken_pairs(must_link, cannot_link, labels)
    return count_distinct(must_link[apart]), count_distinct(cannot_link[together])


def count_distinct(pairs: np.ndarray) -> int:
    """Return how many different pairs there are; (i, j) and (j, i) are the same."""
    return len(np.unique(np.sort(pairs, axis=1), axis=0))


def merge_repeated(pairs: np.ndarray, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return every pair once, at the largest of the costs it is listed with."""
    distinct, which = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)
    largest = np.zeros(len(distinct))
    np.maximum.at(largest, which.ravel(), cost)
    return distinct.reshape(-1, 2), largest


def _as_integers(array: np.ndarray, name: str) -> np.ndarray:
    """Return `array` as int64, or say which pair is not made of whole numbers."""
    if array.dtype.kind in "iu":
        if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
            raise InvalidInputError(f"{name}: the numbers are too large to be row positions.")
        return array.astype(np.int64)
    if array.dtype.kind == "O":
        array = _numbers_from_objects(array, name)
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = np.isfinite(array) & (array == np.floor(array))
        if whole.all():
            # Too large to be a row of anything: kept large, and reported as out of range.
            return np.clip(array.astype(np.float64), -(2.0**53), 2.0**53).astype(np.int64)
        where = int(np.flatnonzero(~whole.all(axis=1))[0])
        raise InvalidInputError(
            f"{name}: pair {where} is {tuple(array[where].tolist())}; row positions must be whole "
            f"numbers."
        )
    raise InvalidInputError(
        f"{name}: row positions must be integers, got values of type {array.dtype} (first: "
        f"{array.flat[0]!r}). For ids, pass constraints=Constraints(..., ids=...)."
    )


def _numbers_from_objects(array: np.ndarray, name: str) -> np.ndarray:
    """Turn an object array of whole numbers into floats; reject anything else by position."""
    for where, value in enumerate(array.ravel()):
        is_number = isinstance(value, (int, float, np.integer, np.floating))
        if not is_number or isinstance(value, (bool, np.bool_)):
            raise InvalidInputError(
                f"{name}: pair {where // 2} holds {value!r}; row positions must be integers. For "
                f"ids, pass constraints=Constraints(..., ids=...)."
            )
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise InvalidInputError(f"{name}: row positions are too large.") from None


def _first_odd_entry(pairs: list[Any]) -> str:
    for where, entry in enumerate(pairs):
        try:
            if len(entry) != 2:
                return f"entry {where} is {entry!r}"
        except TypeError:
            return f"entry {where} is {entry!r}"
    return "no entry is a pair"
