"""A fit in a learned distance: learn it, cluster in it, and tell the result in the data's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from smdeclust.constraints.pairs import as_pairs
from smdeclust.distance import kept_beyond_chance, split_pairs
from smdeclust.distance.learn import FEW_STARTS, N_STARTS
from smdeclust.distance.spread import is_sparse
from smdeclust.estimators.base import deadline_after
from smdeclust.estimators.given import given_pairs
from smdeclust.estimators.learned_distance import LearnedDistance, restricted, sample_rows
from smdeclust.estimators.quick_clusters import QuickClusters
from smdeclust.estimators.warm import Earlier
from smdeclust.exceptions import InvalidInputError
from smdeclust.local_search.limits import is_past
from smdeclust.points import is_dask
from smdeclust.points.choose import fits_contracted
from smdeclust.points.validation import as_weights
from smdeclust.problem import Problem

# Of a limit on time, what learning may take; the clustering gets the rest.
SHARE_OF_TIME = 0.5

# Starts of a clustering in Euclid's distance that is compared with a learned one.
PLAIN_STARTS = 6


@dataclass(frozen=True)
class Lesson:
    """What a distance is learned from: some rows, their pairs and weights, all validated."""

    points: Any
    rows: np.ndarray
    must_link: np.ndarray
    cannot_link: np.ndarray
    weight: np.ndarray | None
    n_clusters: int
    diagonal: bool
    deadline: float | None

    def learn(
        self,
        rng: np.random.Generator,
        must_link: np.ndarray,
        cannot_link: np.ndarray,
        n_starts: tuple[int, ...] = N_STARTS,
    ) -> LearnedDistance:
        """The distance that these pairs teach."""
        distance = LearnedDistance(self.n_clusters, diagonal=self.diagonal)
        known = self.points, must_link, cannot_link, self.weight
        return distance._learn(*known, rng, self.rows, self.deadline, n_starts)

    def plain_labels(
        self, rng: np.random.Generator, must_link: np.ndarray, cannot_link: np.ndarray
    ) -> np.ndarray:
        """Clusters in Euclid's distance under these pairs."""
        problem = Problem.build(self.points, self.n_clusters, must_link, cannot_link, self.weight)
        return QuickClusters(problem, rng, self.deadline)(self.points, None, PLAIN_STARTS)


def fit_in_distance(
    model: Any, X: Any, y: Any, sample_weight: Any, deadline: float | None, **pairs: Any
) -> Any:
    """Fit `model`, whose metric is not Euclid's."""
    bare = {name: value for name, value in pairs.items() if name != "constraints"}
    # Soft pairs are kept in mind by the clustering; only hard ones teach the distance.
    must, cannot, _ = given_pairs(model, X, y, pairs["constraints"], bare)
    points = _admit(model, X)
    state = check_random_state(model.random_state)
    seed = state.randint(np.iinfo(np.int32).max)
    # One source a step, so that "auto" is one of the others to the last digit.
    to_sample, to_learn, to_compare = np.random.default_rng(seed).spawn(3)
    lesson = _prepare(model, points, must, cannot, sample_weight, to_sample)
    model.held_out_ = None
    distance = None
    if model.metric != "auto" or _learned_keeps_more(model, lesson, to_compare):
        distance = lesson.learn(to_learn, lesson.must_link, lesson.cannot_link)
    mapped = points if distance is None else distance.map_points(points)
    earlier = model._earlier(_Shape(points, points.shape[0], points.shape[1], model.n_clusters))
    inner = _plain(model, deadline, state, _start(earlier, distance, points))
    inner.fit(mapped, y, sample_weight=sample_weight, **pairs)
    if distance is not None and earlier is None and _is_worse(inner, distance, lesson):
        # Then the criterion could rise: go on from the last round instead.
        second = _plain(model, deadline, state, _last_centers(distance, lesson))
        second.fit(mapped, y, sample_weight=sample_weight, **pairs)
        inner = min(inner, second, key=lambda one: one.inertia_)
    _take_over(model, inner, points, distance, sample_weight, earlier)
    if distance is not None:
        _finish_history(model, distance, lesson)
    return model


def _admit(model: Any, X: Any) -> Any:
    """The points, validated; small sparse ones become dense."""
    if is_dask(X):
        from smdeclust.points.dask_arrays import as_dask_array

        points = as_dask_array(X)
        model.n_features_in_ = points.shape[1]
        if hasattr(X, "columns"):
            model.feature_names_in_ = np.asarray(X.columns, dtype=object)
        elif hasattr(model, "feature_names_in_"):
            del model.feature_names_in_
    else:
        points = model._check_points(X, reset=True)
        if is_sparse(points) and fits_contracted(points.shape):
            points = points.toarray()
    if model.metric == "learned" and (is_sparse(points) or is_dask(points)):
        kind = "sparse and large" if is_sparse(points) else "a Dask collection"
        raise InvalidInputError(
            f'metric="learned" needs a dense array in memory, and X is {kind}. Use '
            f'metric="diagonal" (one weight for each column) or metric="auto".'
        )
    return points


def _prepare(
    model: Any, points: Any, must: Any, cannot: Any, sample_weight: Any, rng: np.random.Generator
) -> Lesson:
    """Choose the rows to learn from and bring them here."""
    n_points = points.shape[0]
    must = as_pairs(must, n_points, "must_link")
    cannot = as_pairs(cannot, n_points, "cannot_link")
    if is_dask(sample_weight):
        sample_weight = sample_weight.compute()
    weight = as_weights(sample_weight, n_points)
    rows = sample_rows(n_points, must, cannot, rng)
    elsewhere = is_sparse(points) or is_dask(points)
    if len(rows) < n_points:
        points = points[rows]
        must, cannot = restricted(must, rows, n_points), restricted(cannot, rows, n_points)
        weight = None if weight is None else weight[rows]
    if is_dask(points):
        points = np.asarray(points.compute(), dtype=np.float64)
    diagonal = model.metric == "diagonal" or elsewhere
    limit = None if model.max_time is None else SHARE_OF_TIME * model.max_time
    deadline = deadline_after(limit)
    return Lesson(points, rows, must, cannot, weight, model.n_clusters, diagonal, deadline)


def _learned_keeps_more(model: Any, lesson: Lesson, rng: np.random.Generator) -> bool:
    """Decide by pairs held out; sets ``held_out_``.

    Learned distances agree better with classes on nearly all data we know, so Euclid's must be
    better by more than chance: one standard error, the root of the number of pairs.
    """
    n_pairs = len(lesson.must_link) + len(lesson.cannot_link)
    if n_pairs == 0:
        return False  # nobody says that Euclid is wrong
    plain = learned = 0.0
    for fitted, held_out in split_pairs(lesson.must_link, lesson.cannot_link, rng):
        plain += kept_beyond_chance(lesson.plain_labels(rng, *fitted), *held_out)
        labels = lesson.learn(rng, *fitted, FEW_STARTS).labels_
        assert labels is not None
        learned += kept_beyond_chance(labels, *held_out)
        if is_past(lesson.deadline):
            break
    name = "diagonal" if lesson.diagonal else "learned"
    model.held_out_ = {"euclidean": float(plain / n_pairs), name: float(learned / n_pairs)}
    return bool(plain - learned <= np.sqrt(n_pairs))


@dataclass(frozen=True)
class _Shape:
    """As much of a problem as an earlier solution is compared with."""

    X: Any
    n_points: int
    n_features: int
    n_clusters: int


def _start(earlier: Earlier | None, distance: LearnedDistance | None, points: Any) -> Any:
    """An earlier solution as the clustering in the distance can use it."""
    if earlier is None or earlier.labels is not None:
        return None if earlier is None else earlier.labels
    if distance is None:
        return earlier.centers
    return distance.map_centers(earlier.centers, points)


def _last_centers(distance: LearnedDistance, lesson: Lesson) -> np.ndarray:
    """Centers of the last round of learning, in the distance."""
    assert distance.labels_ is not None
    mapped = distance.map_points(lesson.points)
    return _means(mapped, distance.labels_, lesson.weight, lesson.n_clusters)


def _is_worse(inner: Any, distance: LearnedDistance, lesson: Lesson) -> bool:
    """Whether the whole search ended above the last round of learning, on the same points."""
    labels, mapped = distance.labels_, distance.map_points(lesson.points)
    assert labels is not None
    if is_sparse(mapped) or is_dask(inner.labels_) or len(labels) < len(inner.labels_):
        return False
    gaps = mapped - _last_centers(distance, lesson)[labels]
    squares = np.einsum("ij,ij->i", gaps, gaps)
    total = squares.sum() if lesson.weight is None else squares @ lesson.weight
    return bool(inner.inertia_ > total * (1 + 1e-9))


def _plain(model: Any, deadline: float | None, state: np.random.RandomState, init: Any) -> Any:
    """The same estimator with Euclid's distance and the time that is left."""
    changes = {"metric": "euclidean", "warm_start": False, "init": init}
    settings = model.get_params(deep=False) | changes
    if deadline is not None:
        import time

        settings["max_time"] = max(0.0, deadline - time.perf_counter())
    if isinstance(model.random_state, np.random.RandomState):
        settings["random_state"] = state
    return type(model)(**settings)


def _take_over(
    model: Any,
    inner: Any,
    points: Any,
    distance: LearnedDistance | None,
    sample_weight: Any,
    earlier: Earlier | None,
) -> None:
    """Give `model` the result of `inner`, its centers in the units of the data."""
    own = {*model.get_params(deep=False), "n_features_in_", "feature_names_in_", "held_out_"}
    for name, value in vars(inner).items():
        if name not in own:
            setattr(model, name, value)
    model.metric_, model.distance_ = "euclidean", distance
    if distance is None:
        return
    model.metric_ = "diagonal" if distance.diagonal else "learned"
    model._elite = []  # they are in the coordinates of this distance, which the next one changes
    model.feature_weights_ = distance.feature_weights_
    if is_dask(points):
        model.cluster_centers_ = distance.inverse_transform(inner.cluster_centers_)
        return
    centers = _means(points, inner.labels_, sample_weight, len(inner.cluster_centers_))
    number = np.argsort(np.lexsort(centers.T[::-1]))
    if earlier is not None:
        number = earlier.numbers(inner.labels_, centers)
    model.labels_, model.cluster_centers_ = number[inner.labels_], centers[np.argsort(number)]


def _means(points: Any, labels: np.ndarray, sample_weight: Any, n_clusters: int) -> np.ndarray:
    """(K, d) weighted means of the clusters."""
    n_points = points.shape[0]
    weight = as_weights(sample_weight, n_points)
    weight = np.ones(n_points) if weight is None else weight
    totals = np.bincount(labels, weight, n_clusters)
    share = csr_array((weight / totals[labels], (labels, np.arange(n_points))))
    if is_sparse(points):
        return (share @ points).toarray()
    middle = points.mean(axis=0, dtype=np.float64)
    return share @ (points - middle) + middle


def _finish_history(model: Any, distance: LearnedDistance, lesson: Lesson) -> None:
    """Add the criterion of the last clustering, and show all of them in ``history_``."""
    labels = model.labels_
    chosen = labels[lesson.rows]
    if is_dask(chosen):
        chosen = chosen.compute()
    values = distance.history_["criterion"].tolist()
    values.append(distance.criterion(lesson.points, np.asarray(chosen)))
    distance._record(values)
    model.history_ = {**model.history_, "criterion": distance.history_["criterion"]}
