"""Every estimator obeys scikit-learn's own rules."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from smdeclust import SMDEClust


@parametrize_with_checks(
    [
        SMDEClust(population_size=6, max_no_improvement=30, random_state=0),
        SMDEClust.from_paper("SMG-MDE", n_clusters=3, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    """scikit-learn's check of this name passes."""
    check(estimator)
