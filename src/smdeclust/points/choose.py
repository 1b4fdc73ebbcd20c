"""Which storage points get: the one place that looks at what they are and how many."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from smdeclust.exceptions import InvalidInputError
from smdeclust.points.arrays import BlockPoints, DensePoints
from smdeclust.points.stored import Points
from smdeclust.structure.groups import Coupling

# Numbers in X from which on it is not copied (32 MiB in float64).
TOO_MANY_TO_COPY = 2**22

# data, coupling, weights -> storage
Storage = Callable[[Any, Coupling, "np.ndarray | None"], Points]


def fits_contracted(shape: tuple[int, ...]) -> bool:
    """Whether points of this shape are few enough for a dense copy (32 MiB in float64)."""
    return shape[0] * shape[1] < TOO_MANY_TO_COPY


def store(
    X: Any, coupling: Coupling, sample_weight: np.ndarray | None, storage: str | Storage | None
) -> Points:
    """The storage for points that :func:`admit` gave.

    `storage` is ``"dense"``, ``"blocks"``, ``"sparse"``, ``"torch"`` (or ``"torch:cuda"``, and so
    on), a function of the other three, or ``None``: what suits them.
    """
    if callable(storage):
        return storage(X, coupling, sample_weight)
    is_sparse: bool = issparse(X)
    if storage == "sparse":
        X = csr_array(X)
    elif is_sparse and (storage or fits_contracted(X.shape)):  # no larger than the means
        X = X.toarray()
    return _named(storage or _suits(X, coupling))(X, coupling, sample_weight)


def _suits(X: Any, coupling: Coupling) -> str:
    if issparse(X):
        return "sparse"
    if not isinstance(X, np.ndarray):
        raise InvalidInputError("X is a Dask collection: its storage needs a cluster.")
    # Where d > G the contracted copy is smaller than the data.
    large = X.size >= TOO_MANY_TO_COPY and X.shape[1] <= coupling.n_groups
    return "blocks" if large else "dense"


def _named(name: str) -> Storage:
    if name == "dense":
        return DensePoints
    if name == "blocks":
        return BlockPoints
    if name == "sparse":
        from smdeclust.points.sparse import SparsePoints

        return SparsePoints
    if name.split(":")[0] == "torch":
        from smdeclust.points.torch_points import TorchPoints

        device = name.partition(":")[2] or "cpu"
        return partial(TorchPoints, device=device)
    raise InvalidInputError(
        f"storage must be dense, blocks, sparse or torch, or a function; got {name!r}."
    )
