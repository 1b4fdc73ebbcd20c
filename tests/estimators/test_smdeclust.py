"""SMDEClust as its users meet it."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from smdeclust import InvalidInputError, Problem, SMDEClust

IRIS = load_iris(return_X_y=True)
PAIRS = {"must_link": [(0, 1), (1, 60), (100, 101)], "cannot_link": [(0, 100), (50, 149), (2, 3)]}
VARIANTS = ["S-MDE", "SM-MDE", "SG-MDE", "SMG-MDE"]


@pytest.fixture(scope="module")
def model():
    return SMDEClust(3, random_state=0).fit(IRIS[0], **PAIRS)


def test_every_constraint_holds(model):
    """labels_ break nothing, and inertia_ and cluster_centers_ are those of the labels."""
    X, labels = IRIS[0], model.labels_
    problem = Problem.build(X, 3, **PAIRS)
    assert problem.violations(labels) == (0, 0)
    for k in range(3):
        np.testing.assert_allclose(model.cluster_centers_[k], X[labels == k].mean(axis=0))
    direct = ((X - model.cluster_centers_[labels]) ** 2).sum()
    assert model.inertia_ == pytest.approx(direct)


def test_fitted_attributes(model):
    """What the documentation promises is there, and the history ends where the run did."""
    assert model.n_iter_ >= 0
    assert model.n_local_searches_ >= 20
    assert model.n_local_iterations_ >= model.n_local_searches_
    assert model.n_unproven_ == 0
    assert isinstance(model.stop_reason_, str)
    lengths = {len(values) for values in model.history_.values()}
    assert len(lengths) == 1
    assert model.history_["best"][-1] == pytest.approx(model.inertia_)
    assert (np.diff(model.history_["best"]) <= 1e-9).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_paper_variants(variant):
    """Each of the paper's variants fits, feasibly."""
    model = SMDEClust.from_paper(variant, n_clusters=3, random_state=1).fit(IRIS[0], **PAIRS)
    assert Problem.build(IRIS[0], 3, **PAIRS).violations(model.labels_) == (0, 0)
    assert model.search.local_search == "lloyd"
    assert model.search.tol == 1e-4


def test_paper_settings_can_be_overridden():
    """from_paper takes overrides and rejects unknown variants."""
    model = SMDEClust.from_paper("SM-MDE", n_clusters=4, population_size=10, max_generations=10)
    search = model.search
    assert (search.population_size, search.max_generations, search.assignment) == (10, 10, "exact")
    with pytest.raises(InvalidInputError, match="variant must be one of"):
        SMDEClust.from_paper("X", n_clusters=2)


@pytest.mark.parametrize("variant", ["default", *VARIANTS])
def test_same_seed_same_result(variant):
    """Twice the same seed, on one thread or many, gives the same labels and history."""
    model = SMDEClust(3, random_state=7)
    if variant != "default":
        model = SMDEClust.from_paper(variant, n_clusters=3, random_state=7)
    one = clone(model).fit(IRIS[0], **PAIRS)
    with threadpool_limits(1):
        two = clone(model).fit(IRIS[0], **PAIRS)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.history_["best"], two.history_["best"])


def test_no_constraints_is_mdeclust():
    """Without pairs the result is at least as good as the best of many k-means runs."""
    X = IRIS[0]
    ours = SMDEClust(3, random_state=0).fit(X)
    theirs = KMeans(3, n_init=50, random_state=0, tol=0).fit(X)
    assert ours.inertia_ <= theirs.inertia_ * (1 + 1e-12)


def test_predict_transform_score(model):
    """New points go to the nearest center."""
    X = IRIS[0]
    distances = model.transform(X)
    np.testing.assert_allclose(
        distances, np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2)
    )
    np.testing.assert_array_equal(model.predict(X), distances.argmin(axis=1))
    assert model.score(X) == pytest.approx(-(distances.min(axis=1) ** 2).sum())
    assert list(model.get_feature_names_out()) == ["smdeclust0", "smdeclust1", "smdeclust2"]


def test_clone_pickle_pipeline(model):
    """It travels: clone, pickle, and a pipeline with constraints passed by step name."""
    assert clone(model).get_params() == model.get_params()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.labels_, model.labels_)
    pipeline = make_pipeline(StandardScaler(), SMDEClust(3, random_state=0))
    labels = pipeline.fit_predict(
        IRIS[0], smdeclust__must_link=[(0, 149)], smdeclust__cannot_link=[(0, 1)]
    )
    assert labels[0] == labels[149] != labels[1]


def test_max_time_returns_the_best_so_far():
    """With no time at all there is still a feasible answer."""
    model = SMDEClust(3, max_time=0.0, random_state=0).fit(IRIS[0], **PAIRS)
    assert model.stop_reason_ == "max_time"
    assert Problem.build(IRIS[0], 3, **PAIRS).violations(model.labels_) == (0, 0)


def test_interrupted_runs_leave_nothing():
    """Ctrl-C in the middle of a run passes through and sets no fitted attribute."""

    def interrupt(state):
        if state.n_local_searches == 5:
            raise KeyboardInterrupt

    model = SMDEClust(3, random_state=0, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(IRIS[0], **PAIRS)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_an_interrupted_refit_keeps_the_old_model():
    """What was fitted before still predicts after a second fit on other columns is cut short."""

    def interrupt(state):
        raise KeyboardInterrupt

    X = IRIS[0]
    model = SMDEClust(3, random_state=0).fit(X[:, :2])
    before = model.predict(X[:, :2])
    model.set_params(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(X[:, :2]), before)


def test_max_time_reaches_into_a_local_search():
    """With no time left a local search ends after an iteration, and not when it has converged."""
    X = np.random.default_rng(0).normal(size=(60_000, 5))
    model = SMDEClust(20, random_state=0, max_time=0.0).fit(X, cannot_link=[(0, 1)])
    assert model.n_local_searches_ == 1
    assert model.n_local_iterations_ <= 20


def test_callback_sees_every_local_search():
    """The callback is called once a local search, with the best so far never rising."""
    seen = []
    model = SMDEClust(3, random_state=0, callback=lambda s: seen.append(s.best.objective))
    model.fit(IRIS[0])
    assert len(seen) == model.n_local_searches_


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"assignment": "fast"}, "assignment must be one of"),
        ({"local_search": "x"}, "local_search must be one of"),
        ({"population_size": 3}, "population_size must be an integer of at least 4"),
        ({"alpha": 2}, "alpha must be a number of at least 0 and at most 1"),
        ({"max_time": -1}, "max_time"),
        ({"scale_factor": (0.8, 0.5)}, "scale_factor"),
        ({"max_generations": 1.5}, "max_generations"),
        ({"scale_factor": 0}, "scale_factor"),
        ({"mutation": "no"}, "mutation must be True or False"),
        ({"callback": 3}, "callback must be callable"),
    ],
)
def test_bad_parameters_are_named(parameters, says):
    """A parameter out of range is an error that names it."""
    with pytest.raises(InvalidInputError, match=says):
        SMDEClust(3, **parameters).fit(IRIS[0])


X1 = np.random.default_rng(0).normal(size=(24, 3))


@pytest.mark.parametrize(
    ("X", "k"),
    [
        (X1 + 1e8, 3),
        (X1 * 1e-8, 3),
        (X1 * 1e8, 3),
        (np.repeat(X1[:4], 6, axis=0), 4),
        (np.ones((24, 3)), 5),
        (X1[:, :1], 3),
        (np.random.default_rng(0).normal(size=(24, 100)), 3),
        (X1, 1),
        (X1, 24),
        (X1.astype(np.float32), 3),
        ((X1 * 10).astype(int), 3),
        (np.asfortranarray(X1), 3),
    ],
)
def test_shapes_and_scales(X, k):
    """Data of every scale and shape: feasible, no cluster empty, inertia as recomputed."""
    cannot = [(0, 1), (2, 3)] if k > 1 else None
    must = [(4, 5)] if k < 24 else None
    model = SMDEClust(k, random_state=0, population_size=6, max_no_improvement=20)
    model.fit(X, must_link=must, cannot_link=cannot)
    assert len(np.unique(model.labels_)) == k
    assert Problem.build(X, k, must, cannot).violations(model.labels_) == (0, 0)
    exact = np.asarray(X, dtype=np.float64)
    direct = sum(
        ((exact[model.labels_ == c] - exact[model.labels_ == c].mean(axis=0)) ** 2).sum()
        for c in range(k)
    )
    spread = float(np.ptp(exact - exact.mean(axis=0))) ** 2
    assert model.inertia_ == pytest.approx(direct, rel=1e-6, abs=1e-9 * spread)


def test_scale_does_not_change_the_answer():
    """The default looks at relative gains, so scaled data give the same clusters."""
    plain = SMDEClust(4, random_state=3).fit(X1, cannot_link=[(0, 1)])
    tiny = SMDEClust(4, random_state=3).fit(X1 * 2.0**-30, cannot_link=[(0, 1)])
    np.testing.assert_array_equal(plain.labels_, tiny.labels_)


def test_k_equals_the_number_of_groups():
    """As many clusters as must-link groups leaves one clustering: the groups."""
    must = [(i, i + 12) for i in range(12)]
    model = SMDEClust(12, random_state=0).fit(X1, must_link=must)
    np.testing.assert_array_equal(model.labels_[:12], model.labels_[12:])


@pytest.mark.parametrize("seconds", [None, 5.0])
def test_the_limit_on_time_is_also_for_asking_whether_a_problem_can_be_solved(seconds, monkeypatch):
    """Problem.build gets the deadline of the fit, and at least half a second."""
    given = []
    build = Problem.build

    def record(*args, deadline, **more):
        given.append(deadline)
        return build(*args, deadline=deadline, **more)

    monkeypatch.setattr(Problem, "build", record)
    before = time.perf_counter()
    for limit in (seconds, 0.0):
        SMDEClust(2, search="quick", max_time=limit, random_state=0).fit(np.arange(8.0)[:, None])
    first, second = given
    assert first == np.inf if seconds is None else before + 5 <= first <= time.perf_counter() + 5
    assert before + 0.5 <= second <= time.perf_counter() + 0.5
