"""The data sets of the paper's Table 1: names, sizes, constraint configurations, and digests.

A digest shows whether a data set is the published one. It depends on the numbers and not on the
file, so it is the same for the original archive, for a copy in another layout, and for generated
data. The digests of the paper's data are in ``digests.json``. There is none for the matrix of
``gene``, so only its size is checked.
"""

import difflib
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import Constraints

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Dataset:
    """The points and classes of a data set.

    Attributes
    ----------
    name
        The name, as in ``list_datasets``.
    X
        The (n, d) points, scaled as in the paper's experiments.
    y
        The class of each point, from 0, or None if it is unknown.
    n_clusters
        The number of clusters in the paper.
    source
        The file or address from which the data were read.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64] | None
    n_clusters: int
    source: str


@dataclass(frozen=True)
class DatasetInfo:
    """The description of a data set, without its points.

    Attributes
    ----------
    name
        The name.
    set
        The number of its set in the paper's Table 1: 1, 2 or 3.
    n_points, n_features, n_clusters
        The numbers of points, columns and clusters.
    configurations
        The names of its configurations of pairs, for ``load_constraints``.
    """

    name: str
    set: int
    n_points: int
    n_features: int
    n_clusters: int
    configurations: tuple[str, ...]


# name: N, d, K, and the two numbers of pairs of its configurations
_SET1 = {
    "iris": (150, 4, 3, (50, 100)),
    "wine": (178, 13, 3, (50, 100)),
    "connectionist": (208, 60, 2, (50, 100)),
    "seeds": (210, 7, 3, (50, 100)),
    "glass": (214, 9, 6, (50, 100)),
    "accent": (329, 12, 6, (100, 150)),
    "ecoli": (336, 7, 8, (100, 150)),
    "ECG5000": (500, 140, 5, (150, 250)),
    "computers": (500, 720, 2, (150, 250)),
    "gene": (801, 20531, 5, (200, 400)),
}
_SET2 = {
    "banana": (5300, 2, 2),
    "letter": (20000, 16, 26),
    "shuttle": (57999, 9, 7),
    "cifar10": (60000, 3072, 10),
    "mnist": (70000, 784, 10),
}
SET2_SIZES = (100, 200, 500, 1000)
SET3_POINTS = (500, 1000, 2000, 5000, 10000, 20000)
SET3_CLUSTERS = (2, 20, 100)
SET3_SIZES = (100, 200, 500, 1000, 2000, 5000, 10000)


def _set1_configurations(sizes: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(
        f"ml_{n_must}_cl_{n_cannot}_{number}"
        for size in sizes
        for n_must, n_cannot in ((size, 0), (0, size), (size // 2, size // 2))
        for number in range(5)
    )


def set3_name(n_points: int, n_clusters: int) -> str:
    """Return the name of a data set of the third set."""
    return f"n{n_points}_k{n_clusters}"


def _build() -> dict[str, DatasetInfo]:
    infos = [
        DatasetInfo(name, 1, n, d, k, _set1_configurations(sizes))
        for name, (n, d, k, sizes) in _SET1.items()
    ]
    infos += [
        DatasetInfo(name, 2, n, d, k, tuple(map(str, SET2_SIZES)))
        for name, (n, d, k) in _SET2.items()
    ]
    infos += [
        DatasetInfo(set3_name(n, k), 3, n, 2, k, tuple(map(str, SET3_SIZES)))
        for n in SET3_POINTS
        for k in SET3_CLUSTERS
    ]
    return {info.name: info for info in infos}


_CATALOG = _build()


def list_datasets(set: int | None = None) -> list[DatasetInfo]:
    """Describe all data sets of the paper, or only those of set 1, 2 or 3."""
    if set not in (None, 1, 2, 3):
        raise InvalidInputError(f"set is {set!r}, expected 1, 2, 3 or None for all.")
    return [info for info in _CATALOG.values() if set in (None, info.set)]


def find_dataset(name: object, set: int | None = None) -> DatasetInfo:
    """Return the entry of a data set, or raise an error that lists all names."""
    names = [info.name for info in list_datasets(set)]
    if name in names:
        return _CATALOG[str(name)]
    close = difflib.get_close_matches(str(name), names, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    place = "" if set is None else f" in set {set}"
    raise InvalidInputError(
        f"There is no data set {name!r}{place}. {hint}Choose one of {', '.join(names)}."
    )


@cache
def known_digests() -> dict[str, str]:
    """Return the digests by keys as ``iris/X``, ``iris/y``, ``iris/constraints/ml_50_cl_0_0``."""
    file = resources.files("smdeclust.datasets").joinpath("digests.json")
    return json.loads(file.read_text("utf-8"))


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
    return np.argsort(np.argsort(first))[inverse]
