"""The example of mixed groups: the exchange method under pairs, sizes and quotas."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest

from smdeclust import Constraints
from smdeclust.structure import Structure

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mixed_groups.py"
mixed_groups = runpy.run_path(str(EXAMPLE))["mixed_groups"]


@pytest.mark.parametrize("seed", range(6))
def test_least_difference_by_enumeration(seed):
    """Everything holds, and no labels that hold have a smaller sum of squares between groups."""
    rng = np.random.default_rng(seed)
    n, k = (8, 2) if seed % 2 else (7, 3)
    X = rng.normal(size=(n, 2))
    known = Constraints([(0, 1)], [(2, 3)], n_points=n)
    known = known.quota(list("abababab")[:n], {"a": 1}, name="kind")
    sizes = {"size_min": 2, "size_max": [n - 2 * (k - 1)] * k}
    labels, value = mixed_groups(X, k, known, seed=seed, **sizes)
    structure = Structure.build(
        n, k, known.must_link, known.cannot_link, quotas=known.quotas, **sizes
    )
    assert structure.holds(labels)
    every = [np.array(each) for each in itertools.product(range(k), repeat=n)]
    expected = min(between(X, each, k) for each in every if structure.holds(each))
    assert value == pytest.approx(between(X, labels, k), abs=1e-9)
    assert value == pytest.approx(expected, abs=1e-9)


def between(X: np.ndarray, labels: np.ndarray, k: int) -> float:
    """The sum of squares between groups."""
    means = [X[labels == g].mean(axis=0) for g in range(k)]
    return float(
        sum((labels == g).sum() * ((means[g] - X.mean(axis=0)) ** 2).sum() for g in range(k))
    )


def test_soft_pairs_are_rejected():
    """What the method cannot honor is not dropped in silence."""
    known = Constraints(soft_must_link=[(0, 1)], n_points=4)
    with pytest.raises(ValueError, match="does not accept soft pairs"):
        mixed_groups(np.zeros((4, 1)), 2, known)
