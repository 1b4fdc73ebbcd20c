"""Every rival behaves as scikit-learn expects, with no constraints and with bad input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from smdeclust import (
    CVQE,
    DILS,
    LCVQE,
    PCCC,
    BLPKMeans,
    COPKMeans,
    HGMeans,
    InfeasibleConstraintsError,
    InvalidInputError,
    KempeSwapKMeans,
    NonsmoothClustering,
    PCKMeans,
    RepetitiveBB,
    SizedKMeans,
    SoftHGMeans,
    VNSClustering,
)

# scikit-learn compares runs on weighted points with runs on repeated ones. They draw other starts,
# so they agree only where both end at the optimum: searches here are long enough for its fifteen
# points.
RIVALS = [
    COPKMeans(n_init=100),
    BLPKMeans(n_init=100),
    PCKMeans(n_init=100),
    PCCC(n_init=100),
    SoftHGMeans(max_generations=2),
    CVQE(n_init=100),
    LCVQE(n_init=100),
    DILS(max_evaluations=2000),
    HGMeans(max_no_improvement=200),
    SizedKMeans(n_init=100),
    KempeSwapKMeans(n_init=100, n_perturbations=1),
    NonsmoothClustering(),
    RepetitiveBB(max_nodes=20_000),
    VNSClustering(max_no_improvement=60),
]
STRICT = [COPKMeans, BLPKMeans, PCCC, KempeSwapKMeans]


@parametrize_with_checks(RIVALS)
def test_scikit_learn_checks(estimator, check):
    """scikit-learn's own checks pass."""
    check(estimator)


@pytest.mark.parametrize("rival", RIVALS, ids=lambda r: type(r).__name__)
class TestEveryRival:
    """What holds for all of them."""

    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(60, 3)) + 3 * rng.integers(0, 3, (60, 1))
        return X, [(0, 1), (2, 3), (3, 4)], [(0, 5), (5, 6), (7, 8)]

    def test_same_seed_same_result(self, rival, data):
        """The same seed gives the same labels, to the last one."""
        X, ml, cl = data
        first = rival.set_params(random_state=3).fit(X, must_link=ml, cannot_link=cl)
        labels = first.labels_.copy()
        again = rival.fit(X, must_link=ml, cannot_link=cl)
        assert np.array_equal(labels, again.labels_)

    def test_inertia_is_that_of_the_labels(self, rival, data):
        """``inertia_`` and ``cluster_centers_`` are those of ``labels_``, from their definition."""
        X, ml, cl = data
        model = rival.set_params(random_state=0).fit(X, must_link=ml, cannot_link=cl)
        means = np.array([X[model.labels_ == k].mean(axis=0) for k in range(3)])
        np.testing.assert_allclose(model.cluster_centers_, means)
        expected = ((X - means[model.labels_]) ** 2).sum()
        assert model.inertia_ == pytest.approx(expected, rel=1e-12)

    def test_every_cluster_is_used(self, rival):
        """No cluster is empty, even where many points coincide."""
        X = np.repeat([[0.0], [1.0]], [20, 3], axis=0)
        X[-1] = 1.5
        for seed in range(5):
            model = rival.set_params(random_state=seed).fit(X)
            assert len(np.unique(model.labels_)) == 3
        rival.set_params(random_state=None)

    @pytest.mark.parametrize(
        ("pairs", "error", "words"),
        [
            ({"must_link": [(0, 99)]}, InvalidInputError, "must_link: pair 0 is"),
            ({"cannot_link": [(0, 1, 2)]}, InvalidInputError, "cannot_link"),
            ({"cannot_link": [(4, 4)]}, InfeasibleConstraintsError, "from itself"),
        ],
    )
    def test_bad_pairs(self, rival, data, pairs, error, words):
        """Pairs that cannot be used get the errors of the engine."""
        with pytest.raises(error, match=words):
            rival.fit(data[0], **pairs)

    def test_bad_points_and_clusters(self, rival, data):
        """NaN and too many clusters are named."""
        X = data[0].copy()
        with pytest.raises(InvalidInputError, match="n_clusters=61"):
            rival.set_params(n_clusters=61).fit(X)
        rival.set_params(n_clusters=3)
        X[7, 1] = np.nan
        with pytest.raises(InvalidInputError, match=r"row 7, column 1"):
            rival.fit(X)


@pytest.mark.parametrize("method", STRICT)
def test_strict_methods_explain_contradictions(method):
    """A cannot-link inside a must-link group is explained before any start."""
    X = np.arange(6.0)[:, None]
    with pytest.raises(InfeasibleConstraintsError, match="must-links join them"):
        method(2).fit(X, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])


@pytest.mark.parametrize("method", STRICT)
@pytest.mark.parametrize("seed", range(5))
def test_strict_methods_break_nothing(method, seed):
    """Labels satisfy every must-link and every cannot-link."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2))
    truth = rng.integers(0, 4, 80)
    pairs = rng.integers(0, 80, (60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    model = method(4, random_state=seed).fit(X, must_link=pairs[same], cannot_link=pairs[~same])
    together = model.labels_[pairs[:, 0]] == model.labels_[pairs[:, 1]]
    assert np.array_equal(together, same)


BAD_PARAMETERS = [
    ("n_init", 0),
    ("max_iter", 0),
    ("max_iter", 1.5),
    ("max_time", -1),
    ("init", "best"),
    ("solver", "fast"),
    ("penalty", -1.0),
    ("penalty", [1.0, 2.0]),
    ("q", 0),
    ("confidence", 0),
    ("confidence", 1.5),
    ("population_size", 1),
    ("variance_floor", 0),
    ("inherit", 2),
    ("max_evaluations", 0),
    ("max_nodes", 0),
    ("largest_population", 5),
    ("n_perturbations", -1),
    ("max_no_improvement", 0),
]


@pytest.mark.parametrize(
    ("method", "parameter", "value"),
    [
        (type(rival), parameter, value)
        for rival in RIVALS
        for parameter, value in BAD_PARAMETERS
        if parameter in rival.get_params()
    ],
)
def test_bad_parameters(method, parameter, value):
    """A parameter out of range is named."""
    with pytest.raises(InvalidInputError, match=parameter):
        method(2, **{parameter: value}).fit(np.arange(8.0)[:, None], must_link=[(0, 1)])


@pytest.mark.parametrize(
    ("method", "old", "new", "value"),
    [
        (PCKMeans, "w", "penalty", 0.25),
        (SoftHGMeans, "accuracy", "confidence", 0.8),
        (BLPKMeans, "assignment", "solver", "highs"),
    ],
)
def test_former_names_work_with_a_warning(method, old, new, value):
    """A parameter under its former name means the same, and says its new name."""
    rng = np.random.default_rng(0)
    X, pairs = rng.normal(size=(20, 2)), {"must_link": [(0, 1), (2, 3)], "cannot_link": [(4, 5)]}
    with pytest.warns(FutureWarning, match=f"{old} is now {new}"):
        before = method(3, random_state=0, **{old: value}).fit(X, **pairs)
    after = method(3, random_state=0, **{new: value}).fit(X, **pairs)
    assert np.array_equal(before.labels_, after.labels_)


@pytest.mark.parametrize("method", [COPKMeans, BLPKMeans, PCCC, CVQE, KempeSwapKMeans, SizedKMeans])
def test_starts_from_given_centers(method):
    """init takes an earlier solution everywhere: centers, labels, or a fitted model."""
    X = np.concatenate([np.zeros((5, 1)), np.ones((5, 1)), np.full((5, 1), 9.0)])
    X += 0.01 * np.arange(15)[:, None]
    first = method(3, init=[[0.0], [1.0], [9.0]], n_init=1, random_state=0).fit(X)
    for earlier in (first, first.labels_):
        again = method(3, init=earlier, n_init=1, random_state=1).fit(X)
        assert np.array_equal(again.labels_, np.repeat([0, 1, 2], 5))
    with pytest.raises(InvalidInputError, match="init"):
        method(3, init=np.zeros((2, 1))).fit(X)


def test_documentation_is_complete():
    """Every parameter and every attribute that a fit sets stands in the docstring."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    for rival in RIVALS:
        text = type(rival).__doc__
        assert text.index("Parameters\n----------") < text.index("Attributes\n----------")
        model = rival.set_params(random_state=0).fit(X)
        fitted = [name for name in vars(model) if name.endswith("_")]
        for name in [*model.get_params(), *fitted]:
            assert name in text or name == "n_features_in_", (type(rival).__name__, name)


def test_former_place_works_with_a_warning():
    """Names of 0.2.0 that have moved are still there; others are not."""
    import smdeclust.estimators as former

    for rival in RIVALS:
        name = type(rival).__name__
        with pytest.warns(FutureWarning, match=f"is now smdeclust.baselines.{name}"):
            assert getattr(former, name) is type(rival)
    with pytest.raises(AttributeError):
        _ = former.NoSuchThing
