"""What is passed to a function: one rule for constraints, bare pairs and partial labels.

A `Constraints` is sliced with the data; bare pairs are positions in the rows that were passed.
"""

import warnings
from typing import Any

import numpy as np

from smdeclust.constraints.constraints import Constraints
from smdeclust.constraints.per_point import class_codes
from smdeclust.constraints.store import KINDS
from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.pairs import as_pairs


def all_known(
    asker: Any, X: Any, y: Any, constraints: Any, bare: dict[str, Any], **knows: bool
) -> Constraints:
    """Return what is known of the rows of `X`, as constraints or as `bare` pairs of row positions.

    `asker` is the estimator whose ``fit`` asks, or the name of a function; whether it can use
    ``soft`` pairs and ``quotas`` is what it `knows`.
    """
    if isinstance(y, Constraints):
        raise InvalidInputError(
            "Constraints were passed as y, which fit ignores. Pass them by name: "
            "fit(X, constraints=...)."
        )
    _mention_partial_labels(y)
    given = [name for name, value in bare.items() if value is not None]
    if constraints is None:
        _mention_index(X, given)
        constraints = Constraints(**bare, n_points=n_rows_of(X))
    elif given:
        raise InvalidInputError(
            f"constraints= and {given[0]}= were both given. Combine them: "
            f"constraints=constraints.add({given[0]}=...)."
        )
    _require_constraints(constraints)
    _check_points(X, constraints)
    known = constraints.hardened()
    _refuse(asker, known, **knows)
    return known


def _require_constraints(given: Any) -> None:
    if not isinstance(given, Constraints):
        raise InvalidInputError(
            f"constraints must be a smdeclust.Constraints, got {type(given).__name__}. Make one "
            f"with Constraints(must_link, cannot_link, n_points=len(X))."
        )


def _refuse(asker: Any, known: Constraints, *, soft: bool = False, quotas: bool = False) -> None:
    """Raise an error where something is known that `asker` cannot use."""
    name = asker if isinstance(asker, str) else type(asker).__name__
    if known.quotas and not quotas:
        instead = "Use SMDEClust or GuidedClustering, or constraints without them."
        if name in ("certify", "verify"):
            instead = (
                "Pass the pairs alone (must_link=constraints.must_link, cannot_link=...): quotas "
                "only rule clusterings out, so a bound without them is still valid."
            )
        raise InvalidInputError(
            f"{name} does not support quotas, but there are {len(known.quotas)}. {instead}"
        )
    if not soft and known.n_soft:
        raise InvalidInputError(
            f"{name} does not support soft pairs, but {known.n_soft} of the "
            f"constraints are soft. Use SMDEClust, GuidedClustering or PCCC, make them hard, or "
            f"drop them."
        )


def _mention_index(X: Any, given: list[str], stacklevel: int = 5) -> None:
    """Warn where pairs of row positions may have been meant as entries of an index of integers."""
    index: Any = getattr(X, "index", None)
    if not given or hasattr(index, "dask"):  # not in memory: nothing is computed for a warning
        return
    if getattr(getattr(index, "dtype", None), "kind", "none") not in ("i", "u"):
        return
    if not np.array_equal(index, np.arange(len(index))):
        warnings.warn(
            f"{given[0]}= are row positions from 0 to {len(index) - 1}, and X has another index of "
            f"integers (the first row is {index[0]}). If the pairs name entries of the index, pass "
            f"constraints=Constraints({given[0]}=..., ids=X.index).",
            UserWarning,
            stacklevel=stacklevel,
        )


def hard_pairs(
    asker: str, X: Any, constraints: Any, must_link: Any, cannot_link: Any
) -> tuple[Any, Any]:
    """Return the must-links and the cannot-links, bare ones as they are."""
    bare = {"must_link": must_link, "cannot_link": cannot_link}
    if constraints is None:
        _mention_index(X, [name for name, pairs in bare.items() if pairs is not None], 4)
        return must_link, cannot_link
    known = all_known(asker, X, None, constraints, bare)
    return known.must_link, known.cannot_link


def known_of_new(
    X: Any, constraints: Constraints | None, must_link: Any, cannot_link: Any
) -> Constraints | None:
    """Return what ``predict`` was given about new rows: constraints or bare pairs."""
    if constraints is not None:
        _require_constraints(constraints)
    if must_link is None and cannot_link is None:
        return constraints
    if constraints is not None:
        raise InvalidInputError("Pass constraints= or bare pairs, not both.")
    return Constraints(must_link, cannot_link, n_points=n_rows_of(X))


def _check_points(X: Any, constraints: Constraints) -> None:
    """Raise an error where the constraints are of other points than the rows of `X`."""
    n_rows = n_rows_of(X)
    if constraints.n_points is None:
        for kind in KINDS if n_rows is not None else ():
            as_pairs(getattr(constraints, kind), n_rows, kind)
        return
    if n_rows is not None and n_rows != constraints.n_points:
        raise InvalidInputError(
            f"The constraints are for {constraints.n_points} points, but X has {n_rows} rows. Take "
            f"the same rows of both: constraints[rows] and X[rows]."
        )
    check_order(X, constraints)


def check_order(X: Any, constraints: Constraints) -> None:
    """Raise an error where ids are the index of `X` in another order: they name other rows than
    they seem to. Of more ids than rows the last count (new rows come after old ones)."""
    index = getattr(X, "index", None)
    if constraints.ids is None or index is None or callable(index):
        return
    labels = index.tolist() if hasattr(index, "tolist") else list(index)
    ids = constraints.ids.tolist()[-len(labels) :]
    if labels != ids and len(labels) == len(ids) and set(labels) == set(ids):
        row = next(r for r, (a, b) in enumerate(zip(labels, ids, strict=True)) if a != b)
        raise InvalidInputError(
            f"Row {row} of X is {labels[row]!r}, but the constraints have {ids[row]!r} there: they "
            f"were made for the same points in another order. Make them with ids=X.index."
        )


def n_rows_of(X: Any) -> int | None:
    """Number of rows of `X` where it is known (Dask may not know it)."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) and isinstance(shape[0], int | np.integer):
        return int(shape[0])
    return len(X) if shape is None and hasattr(X, "__len__") else None


def _mention_partial_labels(y: Any) -> None:
    """Warn where `y` looks like partial labels, which ``fit`` does not use."""
    if y is None or getattr(y, "ndim", 1) != 1 or not hasattr(y, "__len__"):
        return
    if isinstance(y, np.ndarray) and y.dtype.kind in "biu" and not (y == -1).any():
        return
    try:
        codes = class_codes(y, "y")
    except (TypeError, InvalidInputError):  # not labels at all
        return
    if (codes < 0).any() and (codes >= 0).any():
        warnings.warn(
            "y holds classes and unknown entries (-1, None or NaN), and fit does not look at y. To "
            "use the known classes, pass constraints=Constraints.from_labels(y).",
            UserWarning,
            stacklevel=5,
        )
