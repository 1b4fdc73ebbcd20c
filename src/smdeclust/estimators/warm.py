"""An earlier solution: where a fit may start from, and whose cluster numbers it keeps."""

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from smdeclust.constraints.per_point import class_codes
from smdeclust.constraints.rows import among
from smdeclust.distance import is_sparse
from smdeclust.exceptions import InvalidInputError
from smdeclust.points import is_dask
from smdeclust.points.centers import cluster_means
from smdeclust.structure.pairs import count_broken

# Parameters that a solution does not depend on once it is found.
_NO_PART = ("warm_start", "init", "random_state", "verbose", "callback", "max_time", "device")

# Why a search may have ended before its time.
CUT_OFF = ("max_time", "callback")


@dataclass(frozen=True, eq=False)
class Earlier:
    """An earlier solution."""

    centers: np.ndarray  # (K, d), in the order of the cluster numbers
    labels: np.ndarray | None = None  # (N,) -1 where unknown; None where they are of other points
    others: tuple[np.ndarray, ...] = ()  # centers of other good solutions of the same fit
    settled: bool = True  # whether its search came to its own end


def new_numbers(
    earlier: Earlier | None, labels: np.ndarray | None, centers: np.ndarray
) -> np.ndarray:
    """Return the number that each cluster gets: by its center, in lexicographic order; or that of
    the earlier cluster which shares most points with it, or (labels unknown) is nearest."""
    if earlier is None:
        return np.argsort(np.lexsort(centers.T[::-1]))
    squares = cdist(centers, earlier.centers, "sqeuclidean")
    cost = squares / max(float(squares.max()), 1e-300)
    if labels is not None and earlier.labels is not None:
        known = earlier.labels >= 0
        common = np.zeros_like(cost)
        np.add.at(common, (labels[known], earlier.labels[known]), 1.0)
        cost = 0.5 * cost / len(cost) - common  # distances only where counts are equal
    return linear_sum_assignment(cost)[1]


def renumber(labels: Any, number: np.ndarray) -> Any:
    """Labels k become ``number[k]``; a Dask array stays one."""
    if is_dask(labels):
        return labels.map_blocks(_look_up, number, dtype=number.dtype)
    return number[labels]


def _look_up(labels: np.ndarray, number: np.ndarray) -> np.ndarray:
    return np.asarray(number[labels])


def as_earlier(init: Any, problem: Any) -> Earlier:
    """Return what `init` stands for: (N,) labels of the points, -1 where unknown; (K, d) centers;
    or an estimator with ``cluster_centers_``."""
    if hasattr(init, "cluster_centers_"):
        centers = np.asarray(init.cluster_centers_, dtype=np.float64)
        labels = getattr(init, "labels_", None)
        if getattr(init, "_digest", None) != digest_of(problem.X) or is_dask(problem.X):
            labels = None  # as many rows may be other rows
        others = [c for c in getattr(init, "_elite", []) if c.shape == centers.shape]
        settled = getattr(init, "stop_reason_", None) not in CUT_OFF
        return _checked(Earlier(centers, labels, tuple(others), settled), problem)
    if hasattr(init, "fit"):
        raise InvalidInputError(
            "init is a model that is not fitted (scikit-learn's clone returns an unfitted model). "
            "Pass its labels_ or cluster_centers_ instead."
        )
    array = np.asarray(init.to_numpy() if hasattr(init, "to_numpy") else init)
    if isinstance(init, str) or array.ndim not in (1, 2):
        raise InvalidInputError(
            f"init must be labels of the points, centers, a fitted model or None, got {init!r}."
        )
    if array.ndim == 2:
        try:
            centers = array.astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidInputError("init: centers must be numbers.") from None
        return _checked(Earlier(centers), problem)
    if len(array) != problem.n_points:
        raise InvalidInputError(f"init has {len(array)} labels, but X has {problem.n_points} rows.")
    if is_dask(problem.X):
        raise InvalidInputError("init: for a Dask collection give centers or a fitted model.")
    labels = _as_numbers(array)
    return _checked(Earlier(cluster_means(problem.X, labels), labels), problem)


def _as_numbers(labels: np.ndarray) -> np.ndarray:
    """Labels as cluster numbers; numbers 0 to K - 1 stay what they are."""
    codes = class_codes(labels, "init")
    if labels.dtype.kind not in "iu":
        return codes
    return np.where(codes >= 0, np.searchsorted(np.unique(labels[codes >= 0]), labels), -1)


def _checked(earlier: Earlier, problem: Any) -> Earlier:
    shape = earlier.centers.shape
    if shape != (problem.n_clusters, problem.n_features):
        raise InvalidInputError(
            f"init is a clustering into {shape[0]} clusters of points with {shape[1]} features; "
            f"n_clusters={problem.n_clusters}, and X has {problem.n_features} features."
        )
    if not np.isfinite(earlier.centers).all():
        raise InvalidInputError("init: centers must be finite numbers.")
    return earlier


def digest_of(X: Any) -> str:
    """A few characters by which an array or sparse matrix is known again; none of Dask's."""
    if is_dask(X):
        return ""
    state = hashlib.blake2b(repr(X.shape).encode(), digest_size=16)
    for array in (X.data, X.indices, X.indptr) if is_sparse(X) else (X,):
        state.update(f"{array.shape} {array.dtype.str}".encode())
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()


@dataclass(frozen=True, eq=False)
class FittedOn:
    """What a solution was found for: points and parameters as digests, and the pairs."""

    digest: tuple[str, ...]
    must_link: np.ndarray
    cannot_link: np.ndarray

    @classmethod
    def of(cls, estimator: Any, problem: Any) -> Self:
        """Remember points, weights, parameters and pairs."""
        settings = {k: v for k, v in estimator.get_params(deep=False).items() if k not in _NO_PART}
        weight = "" if problem.sample_weight is None else digest_of(problem.sample_weight)
        digest = repr(sorted(settings.items())), digest_of(problem.X), weight
        return cls(digest, problem.must_link, problem.cannot_link)

    def still_solved_by(self, labels: np.ndarray, before: "FittedOn") -> bool:
        """Whether a solution of `before` is one of this as well: the same points, no pair less,
        and none that the labels break. (More pairs never allow a lower objective.)"""
        return (
            self.digest == before.digest
            and bool(among(before.must_link, self.must_link).all())
            and bool(among(before.cannot_link, self.cannot_link).all())
            and not sum(count_broken(self.must_link, self.cannot_link, labels))
        )
