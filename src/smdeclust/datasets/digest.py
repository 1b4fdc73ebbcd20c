"""Digests of parsed content, which show whether a data set is the published one.

A digest is taken of the numbers and not of the file: the same for the original archive, a copy laid
out again, or data made by the published rule. Those of the paper's data are in ``digests.json``.
There is none for the matrix of ``gene``, of which only the size is checked.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from smdeclust.io import Constraints

_ROWS_AT_ONCE = 4096


@cache
def known_digests() -> dict[str, str]:
    """Return the digests by keys as ``iris/X``, ``iris/y``, ``iris/constraints/ml_50_cl_0_0``."""
    text = resources.files("smdeclust.datasets").joinpath("digests.json").read_text("utf-8")
    digests: dict[str, str] = json.loads(text)
    return digests


def digest_points(points: NDArray[np.generic]) -> str:
    """Return the digest of points: their shape and their values as float64."""
    return _digest("<f8", points)


def digest_classes(y: NDArray[np.generic]) -> str:
    """Return the digest of a partition; how its classes are named does not matter."""
    return _digest("<i8", first_seen_codes(y))


def digest_pairs(constraints: Constraints) -> str:
    """Return the digest of hard pairs, in their order."""
    return _digest("<i8", constraints.must_link, constraints.cannot_link)


def _digest(kind: str, *arrays: NDArray[np.generic]) -> str:
    state = hashlib.blake2b(digest_size=16)
    for array in arrays:
        state.update(repr(array.shape).encode())
        for start in range(0, len(array), _ROWS_AT_ONCE):
            state.update(np.ascontiguousarray(array[start : start + _ROWS_AT_ONCE], kind).data)
    return state.hexdigest()


def first_seen_codes(y: NDArray[np.generic]) -> NDArray[np.int64]:
    """Number classes from 0 in the order in which they first occur."""
    _, first, inverse = np.unique(y, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
