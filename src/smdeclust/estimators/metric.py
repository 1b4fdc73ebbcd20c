"""A fit in a learned distance: learn it, cluster in it, report in the units of the data."""

import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from smdeclust.constraints import Constraints
from smdeclust.distance import FEW_STARTS, N_STARTS, is_sparse
from smdeclust.estimators.base import deadline_after, seed_of
from smdeclust.estimators.learned_distance import LearnedDistance, some_rows
from smdeclust.estimators.warm import Earlier, digest_of, new_numbers
from smdeclust.exceptions import InvalidInputError
from smdeclust.local_search.state import is_past
from smdeclust.points import is_dask
from smdeclust.points.centers import cluster_means
from smdeclust.points.choose import fits_contracted
from smdeclust.points.validation import as_dask_array, as_weights
from smdeclust.views import HeldOut, folds, kept_as_hard

# Of a limit on time, what learning may take; the clustering gets the rest.
SHARE_OF_TIME = 0.5

# A search that is good enough to compare distances, and to see which soft pairs can be kept.
QUICK = {"max_populations": 1, "population_size": 6, "max_generations": 1}
NO_SIZES = {"size_min": None, "size_max": None}


@dataclass(frozen=True)
class Lesson:
    """What a distance is learned from: some rows, what is known of them, and their weights."""

    model: Any
    points: Any
    known: Constraints
    weight: np.ndarray | None
    rows: np.ndarray
    diagonal: bool
    deadline: float | None

    @classmethod
    def of(
        cls, model: Any, points: Any, known: Constraints, weight: Any, rng: np.random.Generator
    ) -> Self:
        """Choose the rows to learn from and bring them here."""
        diagonal = model.metric == "diagonal" or is_sparse(points) or is_dask(points)
        points, known, weight, rows = some_rows(points, known, weight, rng)
        if is_dask(points):
            points = np.asarray(points.compute(), dtype=np.float64)
        limit = None if model.max_time is None else SHARE_OF_TIME * model.max_time
        return cls(model, points, known, weight, rows, diagonal, deadline_after(limit))

    def learn(
        self,
        rng: np.random.Generator,
        known: Constraints,
        n_starts: tuple[int, ...] = N_STARTS,
        plain: np.ndarray | None = None,
    ) -> LearnedDistance:
        """The distance that hard pairs teach, and those soft ones that `plain` labels keep."""
        if known.n_soft:
            known = kept_as_hard(known, self.plain_labels(rng, known) if plain is None else plain)
        distance = LearnedDistance(self.model.n_clusters, diagonal=self.diagonal)
        given = self.points, known, self.weight, self.rows
        return distance._learn(*given, rng, self.deadline, n_starts)

    def plain_labels(self, rng: np.random.Generator, known: Constraints) -> np.ndarray:
        """Clusters in the Euclidean distance under these pairs."""
        quick = _euclidean(
            self.model,
            self.deadline,
            **NO_SIZES,
            callback=None,
            search=self.model._search.replace(**QUICK),
            random_state=int(rng.integers(2**31)),
        )
        quick.fit(self.points, constraints=known, sample_weight=self.weight)
        return np.asarray(quick.labels_)


def fit_in_distance(
    model: Any, X: Any, known: Constraints, sample_weight: Any, deadline: float | None
) -> Any:
    """Fit `model`, whose metric is not the Euclidean one."""
    points = _admit(model, X)
    seed = seed_of(model)
    # One source a step, so that "auto" is one of the others to the last digit.
    to_sample, to_learn, to_compare = np.random.default_rng(seed).spawn(3)
    lesson = Lesson.of(model, points, known, sample_weight, to_sample)
    model.held_out_ = None
    distance = None
    if lesson.known and (model.metric != "auto" or _learned_keeps_more(model, lesson, to_compare)):
        distance = lesson.learn(to_learn, lesson.known)
    mapped = points if distance is None else distance.map_points(points)
    n_points, n_features = points.shape
    shape = {"n_points": n_points, "n_features": n_features, "n_clusters": model.n_clusters}
    earlier = model._earlier(SimpleNamespace(X=points, **shape))
    init = None if earlier is None else earlier.labels
    if earlier is not None and init is None:
        centers = earlier.centers
        init = centers if distance is None else distance.map_centers(centers, points)
    inner = _euclidean(model, deadline, init=init)
    inner.fit(mapped, constraints=known, sample_weight=sample_weight)
    _take_over(model, inner, points, distance, sample_weight, earlier)
    if distance is not None:
        model.history_ = {**model.history_, "criterion": distance.history_["criterion"]}
    elif not lesson.known and model.metric != "auto":
        model.notes_ = [
            *model.notes_,
            "No distance was learned, because there are no pairs to learn it from: the clusters "
            "are those of the Euclidean distance.",
        ]
    return model


def _admit(model: Any, X: Any) -> Any:
    """The points, validated; small sparse ones become dense."""
    if is_dask(X):
        points = as_dask_array(X)
        model._remember_features(X, points.shape[1])
    else:
        points = model._check_points(X, reset=True)
        if is_sparse(points) and fits_contracted(points.shape):
            points = points.toarray()
    if model.metric == "learned" and (is_sparse(points) or is_dask(points)):
        kind = "sparse and large" if is_sparse(points) else "a Dask collection"
        raise InvalidInputError(
            f'metric="learned" needs a dense array in memory, but X is {kind}. Use '
            f'metric="diagonal" (one weight for each column) or metric="auto".'
        )
    return points


def _learned_keeps_more(model: Any, lesson: Lesson, rng: np.random.Generator) -> bool:
    """Decide by pairs held out; sets ``held_out_``.

    Learned distances agree better with classes on nearly all data we know, so the Euclidean one
    must be better by more than chance: one standard error of the difference, pair by pair.
    """
    name = "diagonal" if lesson.diagonal else "learned"
    held_out = HeldOut()
    for fold in folds(lesson.known, rng):
        plain = lesson.plain_labels(rng, fold.known)
        learned = plain
        if fold.known:
            distance = lesson.learn(rng, fold.known, FEW_STARTS, plain)
            learned = plain if distance.labels_ is None else distance.labels_
        held_out.add(fold, {"euclidean": plain, name: learned})
        if is_past(lesson.deadline):
            break
    if held_out.n_pairs == 0:
        return True
    model.held_out_ = {one: held_out.skill(one) for one in ("euclidean", name)}
    lead, error = held_out.lead("euclidean", name)
    return lead <= error


def _euclidean(model: Any, deadline: float | None, **changes: Any) -> Any:
    """The same estimator with the Euclidean distance and the time that is left."""
    settings = model._settings() | {"metric": "euclidean", "warm_start": False, "init": None}
    if deadline is not None:
        settings["max_time"] = max(0.0, deadline - time.perf_counter())
    return type(model)(**(settings | changes))


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
    model._digest = digest_of(points)
    model._elite = []  # they are in the coordinates of this distance, which the next one changes
    model.feature_weights_ = distance.feature_weights_
    if is_dask(points):
        model.cluster_centers_ = distance.inverse_transform(inner.cluster_centers_)
        return
    weight = as_weights(sample_weight, points.shape[0])
    centers = cluster_means(points, inner.labels_, weight=weight)
    number = new_numbers(earlier, inner.labels_, centers)
    order = np.argsort(number)
    model.labels_, model.cluster_centers_ = number[inner.labels_], centers[order]
    for name in ("cluster_sizes_", "size_bounds_", "size_prices_"):
        if hasattr(inner, name):
            setattr(model, name, getattr(inner, name)[order])
    if hasattr(inner, "quotas_"):
        model.quotas_ = [
            {name: v[order] if isinstance(v, np.ndarray) else v for name, v in quota.items()}
            for quota in inner.quotas_
        ]
