"""ExactMSSC: scikit-learn's contract, and the enumerated optimum."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from smdeclust.estimators.exact import ExactMSSC
from smdeclust.exact import verify
from tests.exact.brute import all_costs, feasible, random_problem


@parametrize_with_checks([ExactMSSC(random_state=0)])
def test_scikit_learn_contract(estimator: ExactMSSC, check: object) -> None:
    """scikit-learn's own checks pass."""
    check(estimator)


@pytest.mark.parametrize("seed", range(20))
def test_fit_ends_at_the_optimum(seed: int) -> None:
    """Labels are feasible and cost the enumerated optimum; the certificate verifies."""
    rng = np.random.default_rng(500 + seed)
    X, k, must, cannot, weights = random_problem(rng, weighted=seed % 2 == 0)
    pairs = {"must_link": must, "cannot_link": cannot, "sample_weight": weights}
    model = ExactMSSC(k, tol=1e-6, random_state=0).fit(X, **pairs)
    optimum = all_costs(X, k, must, cannot, weights)[0][0]
    scale = float(np.sum(X**2))
    assert feasible(model.labels_, must, cannot)
    assert model.inertia_ == pytest.approx(optimum, rel=2e-6, abs=1e-8 * scale)
    assert model.lower_bound_ <= optimum + 1e-12 * scale
    assert model.status_ == "optimal"
    verify(X, model.certificate_, **pairs)


def test_rows_without_weight_cost_nothing() -> None:
    """The bound with weightless rows is that of the others, even where pairs run through them."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(9, 2))
    weights = np.array([1.0, 0, 2, 1, 0, 1, 1, 1, 1])
    pairs = {"must_link": [(0, 1), (1, 2)], "cannot_link": [(2, 3)], "sample_weight": weights}
    model = ExactMSSC(3, tol=1e-6, random_state=0).fit(X, **pairs)
    rows = np.flatnonzero(weights)
    costs = all_costs(X[rows], 3, np.array([[0, 1]]), np.array([[1, 2]]), weights[rows])
    assert model.inertia_ == pytest.approx(costs[0][0], rel=2e-6)
    assert model.labels_[0] == model.labels_[1] == model.labels_[2] != model.labels_[3]
    verify(X, model.certificate_, **pairs)
