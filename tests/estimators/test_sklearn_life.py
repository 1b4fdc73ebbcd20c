"""Knowledge stays with its points wherever scikit-learn takes them."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from smdeclust import (
    PCCC,
    BLPKMeans,
    Constraints,
    COPKMeans,
    ExactMSSC,
    InvalidInputError,
    PCKMeans,
    SMDEClust,
    SoftHGMeans,
)

X, Y = make_blobs(60, centers=4, random_state=3)
RNG = np.random.default_rng(0)
DRAWN = RNG.choice(60, (40, 2))
DRAWN = DRAWN[DRAWN[:, 0] != DRAWN[:, 1]]
TRUE = Y[DRAWN[:, 0]] == Y[DRAWN[:, 1]]
MUST, CANNOT = DRAWN[TRUE], DRAWN[~TRUE]
KNOWN = Constraints(MUST, CANNOT, n_points=60)
FOLDS = KFold(3, shuffle=True, random_state=0)


class Spy(SMDEClust):
    """Remembers what its fits were given."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None, *, must_link=None, cannot_link=None, constraints=None):
        type(self).seen.append((np.asarray(X), constraints))
        return super().fit(
            X, y, must_link=must_link, cannot_link=cannot_link, constraints=constraints
        )


def quick(**more):
    return SMDEClust(max_populations=1, max_no_improvement=5, random_state=0, **more)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize(
    "estimator",
    [
        quick(n_clusters=4),
        BLPKMeans(4, n_init=2, random_state=0),
        COPKMeans(4, n_init=5, random_state=0),
        ExactMSSC(4, max_time=2, random_state=0),
        PCCC(4, n_init=2, random_state=0),
        PCKMeans(4, n_init=2, random_state=0),
        SoftHGMeans(4, max_generations=2, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator_takes_constraints(estimator):
    """constraints= gives what must_link= and cannot_link= give; both together are an error."""
    one = clone(estimator).fit(X, must_link=MUST, cannot_link=CANNOT)
    two = clone(estimator).fit(X, constraints=KNOWN)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    with pytest.raises(InvalidInputError, match="constraints= and must_link= were both given"):
        clone(estimator).fit(X, must_link=MUST, constraints=KNOWN)
    with pytest.raises(InvalidInputError, match=r"for 60 points, but X has 59 rows.*constraints\["):
        clone(estimator).fit(X[1:], constraints=KNOWN)
    with pytest.raises(InvalidInputError, match="must be a smdeclust.Constraints, got list"):
        clone(estimator).fit(X, constraints=MUST.tolist())


def test_soft_pairs_go_where_they_are_known():
    """PCCC uses confidences; who cannot says so; confidence 1 is hard everywhere."""
    soft = KNOWN.add(soft_must_link=[(0, 1, 0.7)])
    bare = PCCC(4, n_init=2, random_state=0).fit(
        X,
        must_link=MUST,
        cannot_link=CANNOT,
        soft_must_link=[(0, 1)],
        must_link_confidence=[0.7],
    )
    ours = PCCC(4, n_init=2, random_state=0).fit(X, constraints=soft)
    assert ours.objective_ == bare.objective_
    with pytest.raises(InvalidInputError, match="COPKMeans does not support soft pairs"):
        COPKMeans(4).fit(X, constraints=soft)
    sure = Constraints(soft_must_link=[(0, 1, 1.0)], n_points=60)
    labels = COPKMeans(4, random_state=0).fit_predict(X, constraints=sure)
    assert labels[0] == labels[1]


def test_scikit_learn_slices_it():
    """Its own indexing gives the pairs inside, by integers, masks and slices."""
    rows = np.array([5, 3, 40, 41])
    assert _safe_indexing(KNOWN, rows) == KNOWN[rows]
    assert _safe_indexing(KNOWN, rows.tolist()) == KNOWN[rows]
    assert _safe_indexing(KNOWN, np.arange(60) < 20) == KNOWN[:20]
    assert _safe_indexing(KNOWN, slice(0, 20)) == KNOWN[:20]


def check_seen(n_fits):
    """Every fit had the pairs of its rows, and every one of them is true."""
    assert len(Spy.seen) == n_fits
    for rows, constraints in Spy.seen:
        position = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
        assert constraints == KNOWN[position]
        classes = Y[position]
        assert (classes[constraints.must_link[:, 0]] == classes[constraints.must_link[:, 1]]).all()
        apart = constraints.cannot_link
        assert (classes[apart[:, 0]] != classes[apart[:, 1]]).all()


def spy():
    Spy.seen = []
    return Spy(4, max_populations=1, max_no_improvement=5, random_state=0)


def test_cross_validate_slices_it():
    """cross_validate without routing."""
    cross_validate(spy(), X, Y, cv=FOLDS, params={"constraints": KNOWN}, error_score="raise")
    check_seen(3)


def test_cross_validate_routes_it(routing):
    """cross_validate with routing, after set_fit_request(constraints=True)."""
    model = spy().set_fit_request(constraints=True)
    cross_validate(model, X, Y, cv=FOLDS, params={"constraints": KNOWN}, error_score="raise")
    check_seen(3)


def test_grid_search_slices_it():
    """GridSearchCV over n_clusters: folds see their pairs, the refit sees all."""
    search = GridSearchCV(spy(), {"n_clusters": [3, 4]}, cv=FOLDS, error_score="raise")
    search.fit(X, constraints=KNOWN)
    check_seen(7)
    assert Spy.seen[-1][1] == KNOWN


def test_pipeline_in_a_grid_search(routing):
    """A routed pipeline in a grid search works; unrequested metadata is refused by name."""
    model = make_pipeline(StandardScaler(), quick().set_fit_request(constraints=True))
    search = GridSearchCV(model, {"smdeclust__n_clusters": [3, 4]}, cv=FOLDS, error_score="raise")
    search.fit(X, constraints=KNOWN)
    labels = search.best_estimator_[-1].labels_
    assert (labels[MUST[:, 0]] == labels[MUST[:, 1]]).all()
    assert model.fit_predict(X, constraints=KNOWN).shape == (60,)
    assert model.fit_transform(X, constraints=KNOWN).shape == (60, 3)
    with pytest.raises(Exception, match="constraints"):
        make_pipeline(StandardScaler(), quick()).fit(X, constraints=KNOWN)


def test_pipeline_without_routing():
    """Without routing the step's name goes in front, through a grid search too."""
    model = make_pipeline(StandardScaler(), quick(n_clusters=4))
    model.fit(X, smdeclust__constraints=KNOWN)
    search = GridSearchCV(model, {"smdeclust__n_clusters": [4, 5]}, cv=FOLDS, error_score="raise")
    search.fit(X, smdeclust__constraints=KNOWN)
    assert cross_val_predict(model, X, cv=FOLDS, params={"smdeclust__constraints": KNOWN}).shape


@pytest.mark.parametrize("routed", [False, True])
def test_bare_pairs_in_folds(routed):
    """Pairs that name rows outside of a fold get an error that says what to pass instead; with
    routing, no fold gets any without a request."""
    with sklearn.config_context(enable_metadata_routing=routed):
        model = quick(n_clusters=4)
        few = [(0, 59)]
        words = "has not been explicitly set|requested" if routed else r"constraints=Constraints\("
        for call in (
            lambda: cross_validate(
                model, X, cv=FOLDS, params={"must_link": few}, error_score="raise"
            ),
            lambda: cross_val_predict(model, X, cv=FOLDS, params={"must_link": few}),
            lambda: GridSearchCV(model, {"n_clusters": [4]}, cv=FOLDS, error_score="raise").fit(
                X, must_link=few
            ),
            lambda: learning_curve(
                model, X, Y, cv=FOLDS, params={"must_link": few}, error_score="raise"
            ),
        ):
            with pytest.raises(Exception, match=words):
                call()


def test_bare_pairs_where_they_are_right():
    """All rows in order, and pairs that somebody's own estimator makes of the fold, are fine."""
    every = np.arange(60)
    model = quick(n_clusters=4)
    cross_validate(model, X, cv=[(every, every)], params={"must_link": MUST}, error_score="raise")

    namespace = {"__name__": "own", "SMDEClust": SMDEClust}
    exec(
        "class Own(SMDEClust):\n"
        "    def fit(self, X, y=None):\n"
        "        return super().fit(X, must_link=[(0, 1)])\n",
        namespace,
    )
    own = namespace["Own"](4, max_populations=1, max_no_improvement=5, random_state=0)
    cross_validate(own, X, cv=FOLDS, error_score="raise")


def test_unsized_constraints_in_folds_are_refused():
    """Without n_points they cannot be sliced, and that is said."""
    unsized = Constraints(MUST, CANNOT)
    quick(n_clusters=4).fit(X, constraints=unsized)
    with pytest.raises(InvalidInputError, match="n_points= or ids="):
        cross_validate(
            quick(n_clusters=4), X, cv=FOLDS, params={"constraints": unsized}, error_score="raise"
        )


def test_exact_in_folds():
    """An estimator that fits another one inside works in folds too."""
    model = ExactMSSC(4, max_time=1, random_state=0)
    cross_validate(model, X, cv=FOLDS, params={"constraints": KNOWN}, error_score="raise")


def test_tables():
    """Ids from a pandas index go with the table, also through folds; another order is refused."""
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"p{i}" for i in range(60)])
    pairs = [(f"p{i}", f"p{j}") for i, j in MUST]
    known = Constraints(pairs, ids=frame.index)
    model = quick(n_clusters=4).set_output(transform="pandas").fit(frame, constraints=known)
    assert model.transform(frame).index.equals(frame.index)
    cross_validate(model, frame, cv=FOLDS, params={"constraints": known}, error_score="raise")
    with pytest.raises(InvalidInputError, match="in another order"):
        quick(n_clusters=4).fit(frame.iloc[::-1], constraints=known)
    some = frame.index[[3, 50, 20]]
    rows = [3, 50, 20]
    assert known[rows] == Constraints([p for p in pairs if set(p) <= set(some)], ids=some)


def test_polars():
    """Polars tables in folds."""
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "name": [f"p{i}" for i in range(60)]})
    known = Constraints([(f"p{i}", f"p{j}") for i, j in MUST], ids=frame["name"])
    table = frame.select("a", "b")
    model = quick(n_clusters=4).set_output(transform="polars").fit(table, constraints=known)
    assert isinstance(model.transform(table), pl.DataFrame)
    cross_validate(model, table, cv=FOLDS, params={"constraints": known}, error_score="raise")


@pytest.mark.parametrize(
    "y", [np.where(Y > 1, -1, Y), np.where(Y > 1, np.nan, Y), [None if c > 1 else c for c in Y]]
)
def test_partial_labels_are_not_ignored_without_a_word(y):
    """fit(X, y) with unknown entries warns and names from_labels; complete labels do not."""
    with pytest.warns(UserWarning, match=r"Constraints.from_labels\(y\)"):
        quick(n_clusters=4).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        quick(n_clusters=4).fit(X, Y)
        quick(n_clusters=4).fit(X, Y.astype(float))
        labels = quick(n_clusters=4).fit_predict(X, constraints=Constraints.from_labels(y))
    assert len(set(labels[Y == 0])) == len(set(labels[Y == 1])) == 1
    assert labels[Y == 0][0] != labels[Y == 1][0]
