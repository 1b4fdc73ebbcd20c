"""Long tails: columns in which few points are far out still say who is near."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from smdeclust import GuidedClustering
from smdeclust.datasets import make_constraints
from smdeclust.views.scene import Tempered


@pytest.fixture
def heavy() -> tuple[np.ndarray, np.ndarray]:
    """Two classes along a column with tails, beside columns with tails and nothing else."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.standard_t(1.5, (200, 5))
    X[:, 0] = np.exp(1.5 * rng.standard_normal(200) + 3.0 * y)
    return X, y


def test_columns_keep_order_middle_and_deviation(heavy: tuple[np.ndarray, np.ndarray]) -> None:
    """What is far out comes nearer, nobody changes places, and each column counts as before."""
    X, _ = heavy
    tempered = Tempered.of(X, np.ones(len(X)))
    Y = tempered.map(X)
    assert (Y.argsort(axis=0) == X.argsort(axis=0)).all()
    assert Y.std(axis=0) == pytest.approx(X.std(axis=0))
    z = (X - tempered.middle) / tempered.unit
    assert (np.abs(Y) <= 3 * tempered.factor).all()
    assert np.abs(z).max() > 10


def test_weights_are_copies() -> None:
    """A point of weight 3 counts as three points, one of weight 0 not at all."""
    X = np.random.default_rng(1).normal(size=(30, 2))
    weight = np.arange(30) % 4
    one = Tempered.of(X, weight.astype(float))
    many = np.repeat(X, weight, axis=0)
    other = Tempered.of(many, np.ones(len(many)))
    assert one.map(X) == pytest.approx(other.map(X))


def test_columns_that_hardly_vary() -> None:
    """A constant column stays one; a column that is mostly 0 is measured by its deviation."""
    X = np.zeros((50, 2))
    X[:3, 1] = 5.0
    Y = Tempered.of(X, np.ones(50)).map(X)
    assert np.isfinite(Y).all()
    assert (Y[:, 0] == 0).all()
    assert Y[0, 1] > Y[10, 1]


def test_classes_behind_tails_are_found(heavy: tuple[np.ndarray, np.ndarray]) -> None:
    """Few pairs are enough although the points as given are ruled by what is far out."""
    X, y = heavy
    known = make_constraints(y, 50, random_state=0)
    pairs = {"must_link": known.must_link, "cannot_link": known.cannot_link}
    model = GuidedClustering(2, random_state=0).fit(X, **pairs)
    found = {name: adjusted_rand_score(y, view.labels) for name, view in model.views_.items()}
    assert found["learned"] > found["given"] + 0.3
    assert adjusted_rand_score(y, model.labels_) > found["given"] + 0.3
    again = (model.predict(X) == model.labels_).mean()
    assert again > 0.8


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_repeated_rows_and_mirrored_columns(repeats):
    """Rows given several times, and columns with the other sign, are bent in the same way."""
    X = np.arange(20.0)[:, None]
    once, other = (Tempered.of(each, np.ones(len(each))) for each in (X, -np.repeat(X, repeats, 0)))
    np.testing.assert_allclose(other.map(-X), -once.map(X), atol=1e-12)
