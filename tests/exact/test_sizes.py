"""Sizes in the relaxation: bounds of size-bounded clusterings, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from smdeclust.estimators.exact import ExactMSSC
from smdeclust.exact import InvalidCertificateError, certify, verify
from smdeclust.exceptions import InvalidInputError
from tests.exact.brute import all_costs, random_problem


@pytest.mark.parametrize("seed", range(60))
def test_ends_at_the_best_clustering_of_these_sizes(seed: int) -> None:
    """The bound is at most the enumerated optimum, reaches it, and verifies."""
    rng = np.random.default_rng(400 + seed)
    X, k, must, cannot, _ = random_problem(rng)
    every = all_costs(X, k, must, cannot)
    counts = np.bincount(every[rng.integers(len(every))][1], minlength=k)
    low = int(counts.min()) if seed % 3 else None
    high = int(counts.max()) if seed % 2 else None
    fits = [
        (cost, labels)
        for cost, labels in every
        if np.bincount(labels).min() >= (low or 0) and np.bincount(labels).max() <= (high or 99)
    ]
    optimum, labels = fits[0]
    problem = {"must_link": must, "cannot_link": cannot, "size_min": low, "size_max": high}
    result = certify(X, labels, tol=1e-6, **problem)
    assert result.lower_bound <= optimum * (1 + 1e-12)
    assert result.status == "optimal"
    found = verify(X, result, n_clusters=k, **problem)
    assert found.lower_bound <= optimum * (1 + 1e-12)


def test_iris_in_three_equal_clusters() -> None:
    """The published optimum of 50/50/50 is proven; without the sizes the claim falls."""
    X, _ = load_iris(return_X_y=True)
    sizes = {"size_min": 50, "size_max": 50}
    model = ExactMSSC(3, random_state=0, **sizes).fit(X)
    result = model.certificate_
    assert model.status_ == "optimal"
    assert np.bincount(model.labels_).tolist() == [50, 50, 50]
    assert result.upper_bound == pytest.approx(81.2778, abs=1e-4)
    assert verify(X, result, n_clusters=3, **sizes).optimal
    with pytest.raises(InvalidCertificateError):
        verify(X, result, n_clusters=3)
    with pytest.raises(InvalidCertificateError):
        verify(X, result, n_clusters=3, size_min=51)


def test_labels_of_other_sizes_are_refused() -> None:
    """Only a clustering of these sizes can be certified."""
    with pytest.raises(InvalidInputError, match="size_max"):
        certify(np.arange(4.0)[:, None], [0, 0, 0, 1], size_max=2)
