"""Made data: mixtures of spherical Gaussians, and pairs drawn from known classes."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smdeclust.constraints.per_point import class_codes
from smdeclust.datasets.catalog import Dataset, first_seen_codes, set3_name
from smdeclust.exceptions import InvalidInputError
from smdeclust.io import Constraints
from smdeclust.structure.pairs import check_number

_MAX_PAIRS = 50_000_000


def make_synthetic(
    n: int,
    k: int,
    *,
    n_features: int = 2,
    cluster_std: float = 10.0,
    standardize: bool = True,
    random_state: Any = 24,
) -> Dataset:
    """Generate overlapping spherical Gaussians, like set 3 of the paper.

    The centers are uniform in a box of side 20. With the default arguments, the result is identical
    to the published data.

    Parameters
    ----------
    n
        The number of points.
    k
        The number of Gaussians. The points are divided among them as evenly as possible.
    n_features
        The number of columns.
    cluster_std
        The standard deviation of each Gaussian, before scaling.
    standardize
        Whether to scale the columns to mean 0 and standard deviation 1.
    random_state
        A seed, a ``numpy.random.RandomState`` or None.

    Returns
    -------
    Dataset
        The points, and the number of the Gaussian of each point.
    """
    from sklearn.datasets import make_blobs

    for name, value in (("n", n), ("k", k), ("n_features", n_features)):
        check_number(name, value, low=1, whole=True)
    if k > n:
        raise InvalidInputError(f"k is {k}, more than the {n} points. Make at least k points.")
    check_number("cluster_std", cluster_std, low=1e-300, high=1e300)
    how: Any = {"centers": k, "cluster_std": cluster_std, "random_state": random_state}
    X, component = make_blobs(n, n_features, **how)
    if standardize:
        from sklearn.preprocessing import StandardScaler

        X = StandardScaler().fit_transform(X)
    return Dataset(set3_name(n, k), X, first_seen_codes(component), k, "make_synthetic")


def make_constraints(
    y: ArrayLike, n_constraints: int, *, random_state: int | np.random.RandomState = 24
) -> Constraints:
    """Draw random pairs of points, and make them must-links or cannot-links by their classes.

    This is the method by which the pairs of sets 2 and 3 of the paper were drawn. It sorts the
    pairs before it keeps the first ones, so pairs of early rows are more likely.

    Parameters
    ----------
    y
        The class of each point, or -1, None or NaN. Points without a class are in no pair.
    n_constraints
        The number of different pairs.
    random_state
        A seed or a generator.
    """
    classes, known = _as_classes(y)
    n_points = len(known)
    check_number("n_constraints", n_constraints, low=0, whole=True)
    n_all = n_points * (n_points - 1) // 2
    if n_constraints > n_all:
        raise InvalidInputError(
            f"n_constraints is {n_constraints}, but {n_points} points of known class make 0 to "
            f"{n_all} pairs."
        )
    if n_constraints > _MAX_PAIRS:
        raise InvalidInputError(f"n_constraints is {n_constraints}, more than {_MAX_PAIRS}.")
    legacy = random_state
    if not isinstance(legacy, np.random.RandomState):
        check_number("random_state", legacy, low=0, high=2**32 - 1, whole=True)
        legacy = np.random.RandomState(legacy)
    pairs = np.empty((0, 2), dtype=np.int64)
    while len(pairs) < n_constraints:
        first = legacy.randint(0, n_points, size=n_constraints)
        second = legacy.randint(0, n_points, size=n_constraints)
        drawn = np.stack([np.minimum(first, second), np.maximum(first, second)], axis=1)
        drawn = drawn[drawn[:, 0] != drawn[:, 1]]
        pairs = np.unique(np.concatenate([pairs, drawn]), axis=0)
    return _by_class(known[pairs[:n_constraints]], classes)


def make_constraints_from_labels(
    y: ArrayLike, fraction: float, *, random_state: int | np.random.Generator = 24
) -> Constraints:
    """Choose a random fraction of the points, and make pairs of all of them by their classes.

    Parameters
    ----------
    y
        The class of each point, or -1, None or NaN. Points without a class are in no pair.
    fraction
        The fraction of the points with a class to choose, in [0, 1]. It is rounded up.
    random_state
        A seed or a generator.
    """
    classes, known = _as_classes(y)
    check_number("fraction", fraction, low=0, high=1)
    # 0.1 * 30 is a little above 3 in floating point, and is 3 all the same
    n_labelled = math.ceil(round(fraction * len(known), 9))
    if n_labelled * (n_labelled - 1) // 2 > _MAX_PAIRS:
        raise InvalidInputError(
            f"{n_labelled} labeled points make more than {_MAX_PAIRS} pairs. Label fewer."
        )
    rng = random_state
    if not isinstance(rng, np.random.Generator):
        check_number("random_state", rng, low=0, high=2**32 - 1, whole=True)
        rng = np.random.default_rng(rng)
    labelled = known[np.sort(rng.permutation(len(known))[:n_labelled])]
    first, second = np.triu_indices(n_labelled, k=1)
    return _by_class(np.stack([labelled[first], labelled[second]], axis=1), classes)


def _by_class(pairs: NDArray[np.int64], classes: NDArray[np.int64]) -> Constraints:
    together = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return Constraints(
        must_link=pairs[together], cannot_link=pairs[~together], n_points=len(classes)
    )


def _as_classes(y: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of each point's class, and the rows whose class is known."""
    if np.ndim(y) != 1:
        raise InvalidInputError(f"y has shape {np.shape(y)}, expected one class per point.")
    classes = class_codes(y, "y")
    return classes, np.flatnonzero(classes >= 0)
