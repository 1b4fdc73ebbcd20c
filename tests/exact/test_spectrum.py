"""Spectral tools: projections against their definitions, sums against full decompositions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from smdeclust.exact.spectrum import FantopeProjector, capped_simplex, sum_of_smallest


@settings(deadline=None)
@given(
    values=hnp.arrays(float, st.integers(2, 12), elements=st.floats(-5, 5)),
    share=st.floats(0.05, 0.95),
)
def test_capped_simplex_meets_its_total(values: np.ndarray, share: float) -> None:
    """The result lies in the box, sums to the total, and is the clipped shift it says."""
    total = share * len(values)
    g, theta = capped_simplex(values, total)
    assert np.all((g >= 0) & (g <= 1))
    assert g.sum() == pytest.approx(total, abs=1e-9)
    assert np.allclose(g, np.clip(values - theta, 0, 1))


def random_unit(rng: np.random.Generator, n: int) -> np.ndarray:
    """A positive unit vector."""
    weights = rng.uniform(0.5, 2.0, n)
    return np.sqrt(weights / weights.sum())


@pytest.mark.parametrize("n", [3, 20, 90])
def test_projection_is_the_nearest_point(n: int) -> None:
    """The projection is in the set, and no other point of the set is nearer."""
    rng = np.random.default_rng(n)
    unit, k = random_unit(rng, n), min(4, n)
    T = rng.normal(size=(n, n))
    T = T + T.T
    Y = FantopeProjector(unit, k)(T)
    assert np.allclose(Y @ unit, unit)
    assert np.trace(Y) == pytest.approx(k)
    eigenvalues = np.linalg.eigvalsh(Y)
    assert eigenvalues[0] > -1e-9
    assert eigenvalues[-1] < 1 + 1e-9
    for _ in range(20):
        basis, _ = np.linalg.qr(np.column_stack([unit, rng.normal(size=(n, k - 1))]))
        other = basis @ basis.T
        assert np.sum((T - Y) * (other - Y)) <= 1e-8 * n


def test_filtered_projection_follows_a_moving_matrix() -> None:
    """Started from its last basis, the projection stays close to the one by LAPACK."""
    rng = np.random.default_rng(0)
    n, k = 120, 4
    unit = random_unit(rng, n)
    T = rng.normal(size=(n, n)) / np.sqrt(n)
    T = T + T.T
    T += 3 * np.outer(T[0], T[0])
    project = FantopeProjector(unit, k)
    for _ in range(30):
        noise = rng.normal(size=(n, n)) / n
        T = T + 0.02 * (noise + noise.T)
        Y = project(T)
        exact = FantopeProjector(unit, k, use_filter=False)(T)
        assert np.linalg.norm(Y - exact) < 0.05 * np.linalg.norm(exact)
    assert project.filter_calls > 0


@pytest.mark.parametrize("n", [2, 7, 60])
def test_sum_of_smallest_is_a_lower_bound(n: int) -> None:
    """The value is below, and close to, the one of the compressed matrix."""
    rng = np.random.default_rng(n)
    unit = random_unit(rng, n)
    M = rng.normal(size=(n, n))
    M = M + M.T
    complement = np.linalg.svd(unit[None, :])[2][1:]
    inside = np.linalg.eigvalsh(complement @ M @ complement.T)
    for count in range(min(n, 4)):
        exact = unit @ M @ unit + inside[:count].sum()
        assert exact - 1e-9 <= sum_of_smallest(M, unit, count) <= exact + 1e-12
