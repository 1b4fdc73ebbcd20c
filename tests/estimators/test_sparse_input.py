"""Sparse points in every method: kept as they are, or refused with what to do instead."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.utils import get_tags

import smdeclust
from smdeclust import baselines, estimators

METHODS = [
    name
    for name in sorted({*estimators.__all__, *baselines.__all__})
    if hasattr(getattr(smdeclust, name, None), "fit_predict")
]


@pytest.mark.parametrize("name", METHODS)
def test_sparse_points_work_or_are_refused(name: str) -> None:
    """A method that says it takes sparse points gives the result of the dense ones."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[X < 0] = 0
    model = getattr(smdeclust, name)(2, random_state=0)
    if not get_tags(model).input_tags.sparse:
        with pytest.raises(smdeclust.InvalidInputError, match=r"X\.toarray\(\), or use SMDEClust"):
            model.fit(csr_array(X))
        return
    pairs = {"must_link": [(0, 1)], "cannot_link": [(0, 2)]}
    dense = model.fit(X, **pairs).inertia_
    assert model.fit(csr_array(X), **pairs).inertia_ == pytest.approx(dense, rel=1e-12)
    np.testing.assert_array_equal(model.predict(csr_array(X)), model.predict(X))


def test_sparse_points_are_kept() -> None:
    """`SMDEClust` and `BLPKMeans` take them; other starts or solvers of the latter do not."""
    assert {
        name for name in METHODS if get_tags(getattr(smdeclust, name)(2)).input_tags.sparse
    } == {
        "SMDEClust",
        "BLPKMeans",
    }
    assert not get_tags(smdeclust.BLPKMeans(2, init="k-means++")).input_tags.sparse
