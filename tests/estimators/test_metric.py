"""metric= and LearnedDistance as their users meet them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from smdeclust import Constraints, InvalidInputError, LearnedDistance, Problem, SMDEClust
from smdeclust.estimators import learned_distance
from smdeclust.estimators import metric as metric_module

QUICK = {"max_populations": 1, "population_size": 5, "max_generations": 3, "random_state": 0}
METRICS = ["diagonal", "learned", "auto"]


def draw_pairs(y, n_pairs, seed=0):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, len(y), (4 * n_pairs, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    pairs = rng.permutation(pairs)[:n_pairs]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


@pytest.fixture(scope="module")
def stretched():
    """Three clusters along a direction that hardly varies, hidden by two that vary much."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = np.column_stack([rng.normal(size=150) * 9, rng.normal(size=150) * 9, y * 3.0])
    X[:, 2] += rng.normal(size=150) * 0.3
    return X @ np.linalg.qr(rng.normal(size=(3, 3)))[0], y, draw_pairs(y, 60)


def known_exceptions(estimator):
    """Weights as repetitions give one criterion, but other random starts: on fifteen points without
    clusters these end at different places. (test_weights_are_repetitions has no random part.)"""
    if getattr(estimator, "n_clusters", None) is None:
        return {}
    why = "random starts differ, and noise has many local optima"
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in kinds}


@parametrize_with_checks(
    [
        LearnedDistance(2, random_state=0),
        LearnedDistance(random_state=0),
        LearnedDistance(diagonal=True, random_state=0),
        SMDEClust(**{**QUICK, "metric": "learned"}),
    ],
    expected_failed_checks=known_exceptions,
)
def test_scikit_learn_checks(estimator, check):
    """scikit-learn's check of this name passes."""
    check(estimator)


def test_learned_finds_what_euclid_misses(stretched):
    """Where large directions hide the clusters, pairs show the small one that matters."""
    X, y, pairs = stretched
    scores = {
        metric: adjusted_rand_score(y, SMDEClust(3, metric=metric, **QUICK).fit(X, **pairs).labels_)
        for metric in ("euclidean", "learned", "auto")
    }
    assert scores["euclidean"] < 0.6
    assert scores["learned"] > 0.97
    assert scores["auto"] == scores["learned"]


@pytest.mark.parametrize("metric", METRICS)
def test_a_fit_is_consistent(stretched, metric):
    """Pairs hold; centers are means in the data's units; inertia, transform and predict agree."""
    X, _, pairs = stretched
    model = SMDEClust(3, metric=metric, **QUICK).fit(X, **pairs)
    assert Problem.build(X, 3, **pairs).violations(model.labels_) == (0, 0)
    for k in range(3):
        np.testing.assert_allclose(model.cluster_centers_[k], X[model.labels_ == k].mean(axis=0))
    assert (np.lexsort(model.cluster_centers_.T[::-1]) == np.arange(3)).all()
    distances = model.transform(X)
    own = distances[np.arange(len(X)), model.labels_]
    assert model.inertia_ == pytest.approx((own**2).sum())
    np.testing.assert_array_equal(model.predict(X), distances.argmin(axis=1))
    assert model.score(X) == pytest.approx(-(distances.min(axis=1) ** 2).sum())
    assert model.metric_ == ("learned" if metric == "auto" else metric)
    assert model.feature_weights_.mean() == pytest.approx(1.0)
    criterion = model.history_["criterion"]
    assert (np.diff(criterion) <= 1e-9 * np.abs(criterion[1:])).all()
    again = SMDEClust(3, metric=metric, **QUICK).fit(X, **pairs)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.inertia_ == model.inertia_


@pytest.mark.parametrize("metric", ["diagonal", "learned"])
def test_units_do_not_matter(stretched, metric):
    """The same clusters whatever the columns are measured in."""
    X, _, pairs = stretched
    here = SMDEClust(3, metric=metric, **QUICK).fit(X, **pairs)
    there = SMDEClust(3, metric=metric, **QUICK).fit(X * [1e-4, 1.0, 1e6] + 5.0, **pairs)
    assert adjusted_rand_score(here.labels_, there.labels_) == 1.0
    np.testing.assert_allclose(here.feature_weights_, there.feature_weights_, rtol=1e-4)


def test_auto_where_euclid_is_right():
    """One large column tells all: auto is as good as Euclid, and says what was held out."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 160)
    X = rng.normal(size=(160, 150)) * 0.01
    X[:, 0] = y * 10 + rng.normal(size=160)
    model = SMDEClust(2, metric="auto", **QUICK).fit(X, **draw_pairs(y, 120))
    assert adjusted_rand_score(y, model.labels_) > 0.98
    assert set(model.held_out_) == {"euclidean", "learned"}


def test_auto_without_pairs_is_euclid():
    """Nothing is held out where there is nothing: the paper's distance."""
    X = load_iris().data
    model = SMDEClust(3, metric="auto", **QUICK).fit(X)
    assert model.metric_ == "euclidean"
    assert model.distance_ is None
    plain = SMDEClust(3, **QUICK).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).normal(size=(12, 40)),
        np.column_stack([np.arange(20.0), np.ones(20), np.arange(20.0) ** 2, np.arange(20.0)]),
        np.column_stack([np.arange(20) * 1e-9, np.random.default_rng(1).normal(size=20) * 1e9]),
        np.ones((8, 3)),
    ],
    ids=["more columns than points", "constant and duplicate", "scales", "all the same"],
)
def test_odd_data(metric, X):
    """Data without a proper covariance give a result that keeps the pairs."""
    pairs = {"must_link": [(0, 1), (1, 5)], "cannot_link": [(0, 3)]}
    model = SMDEClust(2, metric=metric, **QUICK).fit(X, **pairs)
    assert model.labels_[0] == model.labels_[1] == model.labels_[5] != model.labels_[3]
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.inertia_)


def test_weights_are_repetitions(stretched):
    """A point of weight two teaches what two points would."""
    X, _, pairs = stretched
    weight = np.ones(len(X))
    weight[:50] = 2
    rows = np.concatenate([np.arange(len(X)), np.arange(50)])
    same = np.column_stack([np.arange(50), len(X) + np.arange(50)])
    twice = np.concatenate([pairs["must_link"], same])
    one = LearnedDistance().fit(X, must_link=pairs["must_link"], sample_weight=weight)
    two = LearnedDistance().fit(X[rows], must_link=twice)
    np.testing.assert_allclose(one.mean_, two.mean_)
    np.testing.assert_allclose(one.feature_weights_, two.feature_weights_)


def test_transformer(stretched):
    """fit, transform and its inverse; components_ are the map; a pipeline takes the pairs."""
    X, y, pairs = stretched
    distance = LearnedDistance(3, random_state=0).fit(X, **pairs)
    Z = distance.transform(X)
    np.testing.assert_allclose(Z, (X - distance.mean_) @ distance.components_.T, atol=1e-9)
    np.testing.assert_allclose(distance.inverse_transform(Z), X, atol=1e-6)
    assert list(distance.get_feature_names_out())[:1] == ["learneddistance0"]
    pipe = make_pipeline(LearnedDistance(3, random_state=0), KMeans(3, random_state=0, n_init=5))
    pipe.fit(X, **{f"learneddistance__{name}": value for name, value in pairs.items()})
    assert adjusted_rand_score(y, pipe.predict(X)) > 0.97
    known = Constraints(**pairs, n_points=len(X))
    other = LearnedDistance(3, random_state=0).fit(X, constraints=known)
    np.testing.assert_array_equal(other.components_, distance.components_)


def test_low_rank_map():
    """More than 128 columns: at most 128 directions, and the way back is finite."""
    X = np.random.default_rng(2).normal(size=(200, 150))
    distance = LearnedDistance(2, random_state=0).fit(X, must_link=[(0, 1), (2, 3)])
    assert distance.components_.shape == (128, 150)
    assert distance.transform(X).shape == (200, 128)
    assert np.isfinite(distance.inverse_transform(distance.transform(X))).all()


def test_sparse(monkeypatch):
    """Small sparse data are dense to us; large ones are kept, with one weight per column."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.random((60, 30)) * (rng.random((60, 30)) < 0.3)
    X[:, :4] += 3 * y[:, None]
    X, pairs = csr_array(X), {"must_link": [(0, 2), (1, 3)], "cannot_link": [(0, 1)]}
    dense = SMDEClust(2, metric="diagonal", **QUICK).fit(X.toarray(), **pairs)
    small = SMDEClust(2, metric="learned", **QUICK).fit(X, **pairs)
    assert small.metric_ == "learned"
    monkeypatch.setattr(metric_module, "fits_contracted", lambda shape: False)
    large = SMDEClust(2, metric="diagonal", **QUICK).fit(csr_array(X), **pairs)
    np.testing.assert_allclose(large.feature_weights_, dense.feature_weights_, rtol=1e-5)
    np.testing.assert_allclose(large.cluster_centers_, dense.cluster_centers_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(large.predict(X), dense.predict(X.toarray()))
    assert SMDEClust(2, metric="auto", **QUICK).fit(X, **pairs).metric_ in ("euclidean", "diagonal")
    with pytest.raises(InvalidInputError, match='metric="diagonal"'):
        SMDEClust(2, metric="learned", **QUICK).fit(X, **pairs)
    with pytest.raises(InvalidInputError, match="diagonal=True"):
        LearnedDistance(2).fit(X)


def test_dask(stretched):
    """A Dask collection learns one weight per column from rows that are fetched."""
    da = pytest.importorskip("dask.array")
    X, _, pairs = stretched
    lazy = da.from_array(X, chunks=(50, 3))
    model = SMDEClust(3, metric="diagonal", **QUICK).fit(lazy, **pairs)
    here = SMDEClust(3, metric="diagonal", **QUICK).fit(X, **pairs)
    np.testing.assert_allclose(model.feature_weights_, here.feature_weights_)
    labels = model.labels_.compute()
    assert Problem.build(X, 3, **pairs).violations(labels) == (0, 0)
    for k in range(3):
        np.testing.assert_allclose(model.cluster_centers_[k], X[labels == k].mean(axis=0))
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))
    np.testing.assert_allclose(model.transform(lazy).compute(), model.transform(X))
    assert model.score(lazy) == pytest.approx(model.score(X))
    with pytest.raises(InvalidInputError, match="Dask"):
        SMDEClust(3, metric="learned", **QUICK).fit(lazy, **pairs)


def test_learns_from_some_rows_of_many(stretched, monkeypatch):
    """Beyond a number of rows it learns from a sample that holds the pairs first."""
    X, y, pairs = stretched
    monkeypatch.setattr(learned_distance, "MAX_ROWS", 80)
    model = SMDEClust(3, metric="learned", **QUICK).fit(X, **pairs)
    assert len(model.distance_.rows_) == 80
    assert Problem.build(X, 3, **pairs).violations(model.labels_) == (0, 0)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_limits_and_errors(stretched):
    """A limit on time holds for learning too; an unknown metric is named, and cosine explained."""
    X, _, pairs = stretched
    model = SMDEClust(3, metric="auto", max_time=0.0, random_state=0).fit(X, **pairs)
    assert Problem.build(X, 3, **pairs).violations(model.labels_) == (0, 0)
    with pytest.raises(InvalidInputError, match="metric must be one of"):
        SMDEClust(3, metric="manhattan").fit(X)
    with pytest.raises(InvalidInputError, match="Normalizer"):
        SMDEClust(3, metric="cosine").fit(X)


@pytest.mark.parametrize("metric", ["learned", "diagonal"])
def test_without_pairs_nothing_is_learned(metric):
    """No pairs teach nothing: the clusters are those of the data as given, and a note says so."""
    X = load_iris().data
    model = SMDEClust(3, metric=metric, **QUICK).fit(X)
    assert model.metric_ == "euclidean"
    assert "no pairs" in " ".join(model.notes_)
    np.testing.assert_array_equal(model.labels_, SMDEClust(3, **QUICK).fit(X).labels_)
    distance = LearnedDistance(3, diagonal=metric == "diagonal").fit(X)
    np.testing.assert_allclose(distance.transform(X), X - X.mean(axis=0))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("unit", [1e77, 1e-90])
def test_extreme_units(stretched, metric, unit):
    """Units far from 1 change nothing."""
    X, _, pairs = stretched
    here = SMDEClust(3, metric=metric, **QUICK).fit(X, **pairs)
    there = SMDEClust(3, metric=metric, **QUICK).fit(X * unit, **pairs)
    assert adjusted_rand_score(here.labels_, there.labels_) == 1.0
    np.testing.assert_allclose(there.feature_weights_, here.feature_weights_, rtol=1e-5)


@pytest.mark.parametrize("metric", ["learned", "diagonal"])
def test_sizes_are_in_the_order_of_the_labels(stretched, metric):
    """Sizes and bounds of clusters go with their numbers, also where a distance renumbers them."""
    X, _, pairs = stretched
    for seed in range(4):
        turned = X @ np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
        model = SMDEClust(3, metric=metric, size_min=[5, 10, 50], **QUICK).fit(turned, **pairs)
        np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(model.labels_))
        assert (model.size_bounds_[:, 0] <= model.cluster_sizes_).all()


def test_soft_pairs_teach(stretched):
    """Soft pairs alone teach the distance, although some are wrong."""
    X, y, _ = stretched
    pairs = draw_pairs(y, 150)
    wrong = np.random.default_rng(0).random(150) < 0.1
    both = np.concatenate([pairs["must_link"], pairs["cannot_link"]])
    together = (np.arange(150) < len(pairs["must_link"])) ^ wrong
    soft = {"soft_must_link": both[together].tolist(), "soft_cannot_link": both[~together].tolist()}
    scores = [
        adjusted_rand_score(y, SMDEClust(3, metric=metric, **QUICK).fit(X, **soft).labels_)
        for metric in ("euclidean", "learned", "auto")
    ]
    assert scores[1] > scores[0] + 0.2
    assert scores[2] > scores[0] + 0.2


def test_a_generator_as_random_state():
    """Seeds of every kind that scikit-learn and numpy have."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    for model in (SMDEClust(2, metric="learned", search="quick"), LearnedDistance(2)):
        model.set_params(random_state=np.random.default_rng(1))
        model.fit(X, must_link=[(0, 1)], cannot_link=[(0, 2)])
