"""Instances by name: the paper's data sets, and stand-ins that need no download."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from smdeclust.datasets import (
    Dataset,
    load_constraints,
    load_set1,
    load_set2,
    load_set3,
    make_constraints,
)
from smdeclust.datasets.catalog import find_dataset
from smdeclust.datasets.loaders import is_local
from smdeclust.io import Constraints
from smdeclust.paper.plan import NO_PAIRS

# scikit-learn's copies stand in for the paper's where those are absent; the pairs are made by the
# rule of the second and third set.
STAND_INS = {"iris": "sklearn-iris", "wine": "sklearn-wine"}


@dataclass(frozen=True, eq=False)
class Instance:
    """A clustering problem: points, number of clusters, pairs, and classes if they are known."""

    X: NDArray[np.float64]
    n_clusters: int
    must_link: NDArray[np.int64]
    cannot_link: NDArray[np.int64]
    y: NDArray[np.int64] | None = None


def paper_instance(name: str, configuration: str) -> Instance:
    """An instance of the paper's data sets."""
    dataset = load_points(name)
    pairs = Constraints() if configuration == NO_PAIRS else load_constraints(name, configuration)
    return Instance(dataset.X, dataset.n_clusters, pairs.must_link, pairs.cannot_link, dataset.y)


# One data set a process is kept: runs come data set by data set, and the largest fill memory.
@lru_cache(maxsize=1)
def load_points(name: str) -> Dataset:
    """A data set of the paper."""
    info = find_dataset(name)
    if info.set == 3:
        return load_set3(info.n_points, info.n_clusters)
    return (load_set1 if info.set == 1 else load_set2)(name)


def stand_in(name: str, configuration: str) -> Instance:
    """Iris or wine of scikit-learn, with as many pairs as `configuration` says."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name.removeprefix('sklearn-')}")(return_X_y=True)
    X, y = np.ascontiguousarray(X, dtype=np.float64), y.astype(np.int64)
    pairs = Constraints() if configuration == NO_PAIRS else make_constraints(y, int(configuration))
    return Instance(X, int(y.max()) + 1, pairs.must_link, pairs.cannot_link, y)


def is_at_hand(name: str) -> bool:
    """Whether a data set of the paper can be had without a download."""
    info = find_dataset(name)
    return info.set == 3 or is_local(info)  # the third set is made here
