"""Dask collections as people give them -> arrays of whole rows that can be trusted."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from smdeclust.exceptions import InvalidInputError


def is_dask(X: Any) -> bool:
    """Whether `X` is a Dask collection; imports nothing to find out."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def as_dask_array(X: Any) -> Any:
    """A Dask array or data frame with chunks of whole rows of known number, none of them empty."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if getattr(X, "ndim", 0) != 2:
        raise InvalidInputError("X must have 2 dimensions (points, features).")
    if issparse(getattr(X, "_meta", None)):
        raise InvalidInputError(
            "X is a Dask array of sparse blocks; make them dense "
            "(X.map_blocks(lambda block: block.toarray())), or pass one CSR matrix in memory."
        )
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise InvalidInputError(
            "X has chunks of unknown size, so row positions are not known. Call "
            "X.compute_chunk_sizes() first."
        )
    if 0 in X.shape:
        raise InvalidInputError(f"X is empty: shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise InvalidInputError(f"X must be a table of real numbers, got {X.dtype}.")
    X = X.rechunk({1: -1})
    kept = np.flatnonzero(X.chunks[0])
    return X if len(kept) == len(X.chunks[0]) else X.blocks[kept]


def renumber(labels: Any, number: np.ndarray) -> Any:
    """Labels k become ``number[k]``; a Dask array stays one."""
    if is_dask(labels):
        return labels.map_blocks(_look_up, number, dtype=number.dtype)
    return number[labels]


def _look_up(labels: np.ndarray, number: np.ndarray) -> np.ndarray:
    return np.asarray(number[labels])
