"""What all estimators share: validation, the problem, fitted attributes, predict, transform."""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import SimpleNamespace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, validate_data

from smdeclust.constraints import KINDS, Constraints
from smdeclust.constraints.given import all_known, check_order, known_of_new
from smdeclust.estimators.parameters import check_number, check_parameters
from smdeclust.estimators.soft import BrokenPair, SoftPrices, broken_pairs_of
from smdeclust.estimators.warm import Earlier, digest_of, new_numbers, renumber
from smdeclust.exceptions import InfeasibleConstraintsError, InvalidInputError
from smdeclust.memetic import State
from smdeclust.points import is_dask
from smdeclust.points.dask_blocks import lazy_predict, lazy_transform, least_squares, same_features
from smdeclust.points.sparse import squares_to
from smdeclust.points.validation import as_points, as_sparse_points, as_weights
from smdeclust.problem import Problem
from smdeclust.structure.bounds import SizeBounds
from smdeclust.structure.graph import SoftPairs

Fit = TypeVar("Fit", bound=Callable[..., Any])

# Attributes that a fit sets beside those whose names end in an underscore.
_STATE = ("_search", "_spread", "_elite", "_fitted_on", "_order", "_digest")


def deadline_after(seconds: float | None) -> float | None:
    """The moment of ``time.perf_counter()`` that is this many seconds away."""
    return None if seconds is None else time.perf_counter() + seconds


def _ids_of(X: Any, known: Any) -> Any:
    """The ids of the rows: of the constraints, or the index of a frame that is no integers."""
    ids, index = getattr(known, "ids", None), getattr(X, "index", None)
    if ids is None and getattr(getattr(index, "dtype", None), "kind", "i") not in "iu":
        ids = index
    return ids


def all_or_nothing(fit: Fit) -> Fit:
    """Make a ``fit`` that fails or is interrupted leave the estimator as it was, and one that ends
    leave nothing of an earlier one. While it runs, ``_last`` holds what the last fit had set."""

    @wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        last = {name: before[name] for name in before if name.endswith("_") or name in _STATE}
        for name in last:
            delattr(self, name)
        self._last = SimpleNamespace(**last)
        try:
            with log_shown(getattr(self, "verbose", 0)):
                fitted = fit(self, *args, **kwargs)
        except BaseException as error:
            vars(self).clear()
            vars(self).update(before)
            if isinstance(error, InfeasibleConstraintsError):
                X = args[0] if args else kwargs.get("X")
                named = error.by_id(_ids_of(X, kwargs.get("constraints")))
                if named is not error:
                    raise named from error
            raise
        del self._last
        return fitted

    return guarded  # type: ignore[return-value]


class _Seeds(threading.local):
    """Turns seeds into other ones; each thread makes its own once, which takes longer than all."""

    def __init__(self) -> None:
        self.state = np.random.RandomState(0)


_SEEDS = _Seeds()


def seed_of(model: Any) -> int:
    """A seed from the ``random_state`` of a model, as scikit-learn takes it, or a Generator."""
    given = model.random_state
    if isinstance(given, np.random.Generator):
        given = int(given.integers(2**31))
    if isinstance(given, (int, np.integer)):
        state = _SEEDS.state
        state.seed(given)
    else:
        state = check_random_state(given)
    return int(state.randint(np.iinfo(np.int32).max))


@contextmanager
def log_shown(verbose: Any) -> Iterator[None]:
    """Show the progress lines of the library meanwhile, if no logging is set up."""
    logger = logging.getLogger("smdeclust")
    if not verbose or logger.handlers or logging.getLogger().handlers:
        yield
        return
    handler, level = logging.StreamHandler(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class ConstrainedClusterer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator, ABC
):
    """The methods that all estimators of this package share."""

    n_clusters: int
    max_time: float | None
    random_state: Any

    # What else than hard pairs it can use.
    _knows_soft: ClassVar[bool] = False
    _knows_quotas: ClassVar[bool] = False

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        soft_must_link: Any = None,
        soft_cannot_link: Any = None,
        constraints: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster the rows of `X`.

        Parameters
        ----------
        X
            The points, as an (N, d) array. :class:`SMDEClust` also takes a scipy.sparse matrix, and
            a Dask array or data frame, for which ``labels_`` is a Dask array.
        y
            Ignored. If you know some labels, pass ``constraints=Constraints.from_labels(...)``.
        must_link, cannot_link
            Hard pairs: (m, 2) row positions.
        soft_must_link, soft_cannot_link
            Soft pairs ``(i, j)`` or ``(i, j, confidence)``, which may be broken at a price. The
            confidence is between 0.5 (no information) and 1 (hard), and 0.95 by default. Methods
            that support only hard pairs raise an error.
        constraints
            A :class:`~smdeclust.Constraints` object instead of the pairs above.
        sample_weight
            The (N,) non-negative weights of the points.
        """
        check_parameters(self)
        deadline = deadline_after(self.max_time)
        pairs = must_link, cannot_link, soft_must_link, soft_cannot_link
        bare = dict(zip(KINDS, pairs, strict=True))
        knows = {"soft": self._knows_soft, "quotas": self._knows_quotas}
        known = all_known(self, X, y, constraints, bare, **knows)
        return self._fit(X, known, sample_weight, deadline)

    @abstractmethod
    def _fit(self, X: Any, known: Constraints, weight: Any, deadline: float | None) -> Self:
        """Cluster, under what is known of the rows."""

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Fit the model and return ``labels_``."""
        return self.fit(X, y, **fit_params).labels_

    # Pairs of new rows are not what a splitter slices: scikit-learn routes them to fit alone.
    __metadata_request__predict: ClassVar[dict[str, str]] = {
        "constraints": UNUSED, "size_min": UNUSED, "size_max": UNUSED,
        "must_link": UNUSED, "cannot_link": UNUSED, "max_time": UNUSED,
    }  # fmt: skip

    def predict(
        self,
        X: Any,
        constraints: Constraints | None = None,
        size_min: Any = None,
        size_max: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        max_time: float | None = None,
    ) -> np.ndarray:
        """Assign new points to the clusters.

        Without constraints and sizes, each point gets its nearest center (`GuidedClustering`: the
        cluster that its views prefer). Otherwise, the result is the labels with the lowest
        objective that satisfy the constraints and sizes. Centers and earlier labels do not change.

        Parameters
        ----------
        X
            The new points, as an (n, d) array.
        constraints
            A :class:`~smdeclust.Constraints` object for the n new rows, or for all N + n rows: the
            N rows of the fit in their order, and then the new rows.
        size_min, size_max
            The smallest and largest number of new rows in a cluster: one number, or one for each
            cluster in the order of ``cluster_centers_``. The bounds of ``fit`` do not apply.
        must_link, cannot_link
            Pairs of row positions in `X`, instead of `constraints`.
        max_time
            The time limit in seconds. When it is reached, the best labels so far are returned, with
            a warning that they are not proven optimal.

        Raises
        ------
        InfeasibleConstraintsError
            No labels satisfy all pairs and sizes. The message names the contradiction.
        NoFeasibleSolutionError
            No such labels were found in time.
        """
        check_is_fitted(self, "cluster_centers_")
        bounds = SizeBounds.of(size_min, size_max, "points", len(self.cluster_centers_))
        known = known_of_new(X, constraints, must_link, cannot_link)
        if known is None and bounds is None:
            if is_dask(X) and self._by_centers:
                return lazy_predict(*self._lazily_in_distance(X))
            points = self._check_points(X, reset=False)
            return np.concatenate([costs.argmin(axis=1) for _, costs in self._costs(points)])
        check_number("max_time", max_time, low=0, optional=True)
        if is_dask(X):
            raise InvalidInputError(
                "predict with constraints or sizes needs points in memory, but X is a Dask "
                "collection."
            )
        from smdeclust.estimators.new_points import label_new

        costs = np.concatenate([c for _, c in self._costs(self._check_points(X, reset=False))])
        known = Constraints(n_points=len(costs)) if known is None else known
        check_order(X, known)
        old, prices = np.asarray(self.labels_), self._prices_beside_costs()
        return label_new(costs, old, known, prices, bounds, max_time)

    # Whether new points belong to their nearest centers.
    _by_centers: ClassVar[bool] = True

    def _costs(self, points: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """(n, K) what it costs to put new points into each cluster, block by block."""
        yield from squares_to(*self._in_distance(points))

    def _prices_beside_costs(self) -> SoftPrices:
        """Prices of soft pairs in the unit of the costs of new points."""
        return self.soft_prices_

    def transform(self, X: Any) -> np.ndarray:
        """Return the (n, K) distances from the points to the centers."""
        check_is_fitted(self, "cluster_centers_")
        if is_dask(X):
            return lazy_transform(*self._lazily_in_distance(X))
        points = self._in_distance(self._check_points(X, reset=False))
        return np.concatenate([np.sqrt(squares) for _, squares in squares_to(*points)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the negative sum of squared distances from points to their nearest centers."""
        check_is_fitted(self, "cluster_centers_")
        if is_dask(X):
            return -least_squares(*self._lazily_in_distance(X), sample_weight)
        points = self._check_points(X, reset=False)
        weight = as_weights(sample_weight, points.shape[0])
        squares = squares_to(*self._in_distance(points))
        least = np.concatenate([some.min(axis=1) for _, some in squares])
        return -float(least.sum() if weight is None else least @ weight)

    def _in_distance(self, points: Any) -> tuple[Any, np.ndarray]:
        """Points and centers in coordinates where the distance is Euclidean."""
        distance = getattr(self, "distance_", None)
        if distance is None:
            return points, self.cluster_centers_
        return distance.map_points(points), distance.map_centers(self.cluster_centers_, points)

    def _lazily_in_distance(self, X: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """The same of a Dask collection, and the names of its columns that are still to check."""
        names = getattr(self, "feature_names_in_", None)
        if getattr(self, "distance_", None) is None:
            return X, self.cluster_centers_, names
        return *self._in_distance(same_features(X, self.cluster_centers_, names)), None

    def _check_points(self, X: Any, *, reset: bool) -> Any:
        """Validate `X` as scikit-learn does, and say where a bad value is."""
        if reset and type(X) is np.ndarray and X.dtype.char in "df" and X.ndim == 2 and X.size:
            self._remember_features(X, X.shape[1])
            return as_points(X)  # (there are no names or types to look at)
        sparse = self.__sklearn_tags__().input_tags.sparse
        if issparse(X) and not sparse:
            raise InvalidInputError(
                f"X is sparse, but {type(self).__name__} needs a dense array: pass X.toarray(), "
                f"or use SMDEClust or BLPKMeans(init='random'), which keep it sparse."
            )
        return validated(self, X, reset=reset, sparse=sparse)

    def _build_problem(
        self,
        X: Any,
        known: Constraints,
        sample_weight: Any,
        deadline: float | None = None,
        storage: Any = None,
    ) -> Problem:
        """The problem; whether it can be solved is asked until the deadline, and half a second at
        least (it is a question of milliseconds, but for dense pairs and tight bounds)."""
        points = X if (lazy := is_dask(X)) else self._check_points(X, reset=True)
        names = ("size_min", "size_max", "size_by")
        sizes = {name: getattr(self, name) for name in names if hasattr(self, name)}
        until = np.inf if deadline is None else max(deadline, time.perf_counter() + 0.5)
        problem = Problem.build(
            points, self.n_clusters, known.must_link, known.cannot_link, sample_weight,
            storage=storage, quotas=known.quotas, deadline=until, valid=not lazy, **sizes,
        )  # fmt: skip
        if lazy:
            self._remember_features(X, problem.n_features)
        return problem

    def _remember_features(self, X: Any, n_features: int) -> None:
        """Set what scikit-learn's validation sets, for data that it cannot look at."""
        self.n_features_in_ = n_features
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _generator(self) -> np.random.Generator:
        """The source of randomness that ``random_state`` stands for."""
        if isinstance(self.random_state, np.random.Generator):
            return self.random_state
        return np.random.default_rng(seed_of(self))

    def _set_solution(
        self, problem: Problem, group_labels: np.ndarray, like: Earlier | None = None
    ) -> Self:
        """Set labels, centers and inertia; clusters are numbered by their centers, in
        lexicographic order, so that the same clustering always has the same labels, or like those
        of an earlier solution."""
        labels, centers, self.inertia_ = problem.points.describe(group_labels)
        self._digest = digest_of(problem.X)
        weight = problem.n_points if problem.sample_weight is None else problem.sample_weight.sum()
        spread = float(self.inertia_ / (weight * problem.n_features))
        self.soft_prices_ = SoftPrices(spread, getattr(self, "penalty", None))
        number = new_numbers(like, None if is_dask(labels) else labels, centers)
        self.labels_, order = renumber(labels, number), np.argsort(number)
        kind = problem.points.dtype
        self.cluster_centers_: np.ndarray = centers[order].astype(kind, copy=False)
        bounds, taken = problem.group_bounds, order
        if bounds is not None:
            held = problem.held(group_labels)
            taken = bounds.match(held)[order]
        if self._knows_quotas:
            self.quotas_ = [quota.describe(self.labels_, taken) for quota in problem.quotas]
        if bounds is not None and problem.bounds is not None and problem.has_sizes:
            sizes = held[0, order]
            self.cluster_sizes_ = sizes if problem.bounds.by_weight else sizes.astype(np.int64)
            self.size_bounds_ = np.column_stack([bounds.low[0], bounds.high[0]])[taken]
        return self

    def _weigh_soft_pairs(
        self,
        soft: SoftPairs | None,
        known: Constraints,
        problem: Problem | None = None,
        deadline: float | None = None,
    ) -> None:
        """Set what was minimized, and which soft pairs were broken; with a `problem` also what
        keeping each would have cost, as far as the deadline allows."""
        self.broken_: list[BrokenPair] = []
        if soft is not None:
            centers = self.cluster_centers_
            self.broken_ = broken_pairs_of(soft, known, self.labels_, centers, problem, deadline)
        self.objective_: float = self.inertia_ + sum(pair.price for pair in self.broken_)

    def _record_search(self, state: State) -> np.ndarray:
        """Set the attributes of a genetic search; returns the labels of the best solution."""
        assert state.best is not None
        self.n_iter_ = state.generation
        self.n_local_searches_ = state.n_local_searches
        self.n_local_iterations_ = state.n_local_iterations
        self.stop_reason_ = state.stop_reason
        self.history_ = state.history.arrays()
        return state.best.labels

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


def validated(model: Any, X: Any, *, reset: bool, sparse: bool) -> Any:
    """Points as scikit-learn and we want them, or an error that says where a bad value is."""
    try:
        X = validate_data(
            model,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            accept_sparse="csr" if sparse else False,
        )
    except (ValueError, TypeError) as error:
        place = _text_in(X)
        if place is None:
            raise
        name = type(model).__name__
        raise InvalidInputError(
            f"{place}, but {name} needs numbers. Prepare the table first: "
            f"make_pipeline(TableFeatures(), {name}(...)), or drop the column."
        ) from error
    return as_sparse_points(X) if issparse(X) else as_points(X)


def _text_in(X: Any) -> str | None:
    """Where a data frame has text that is no number, in words; None where it has none."""
    for name in getattr(X, "columns", ()):
        if getattr(getattr(X[name], "dtype", None), "kind", "O") in "biuf":
            continue
        for row, cell in enumerate(X[name]):
            try:
                float(cell)
            except (ValueError, TypeError):
                return f"Column {name!r} has {str(cell)!r} in row {row}"
    return None
