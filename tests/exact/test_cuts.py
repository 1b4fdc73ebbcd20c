"""Cuts: valid for every clustering, found where violated, and projected onto."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust.exact import cuts as cutting
from tests.exact.brute import partitions


def peng_wei(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Z of a clustering: one over the cluster's weight for rows together, else zero."""
    together = labels[:, None] == labels[None, :]
    return together / (together @ weights)[:, None]


def value(cut: np.ndarray, Z: np.ndarray) -> float:
    """Slack of a cut, written out from its definition."""
    i, members = cut[0], [j for j in cut[1:] if j >= 0]
    pairs = sum(Z[a, b] for n, a in enumerate(members) for b in members[n + 1 :])
    return float(Z[i, i] - sum(Z[i, j] for j in members) + pairs)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_every_cut_holds_for_every_clustering(seed: int) -> None:
    """No cut that separation returns, for any matrix whatever, cuts off a clustering."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    A = rng.uniform(size=(n, n))
    none = np.empty((0, cutting.WIDTH), np.int64)
    apart = np.zeros((n, n), bool)
    found = cutting.new_cuts(A + A.T, apart, none, limit=1000, min_violation=0.0)
    weights = rng.uniform(0.5, 3.0, n)
    for k in range(1, n + 1):
        for labels in partitions(n, k):
            Z = peng_wei(labels, weights)
            assert all(value(cut, Z) >= -1e-12 for cut in found)


def test_found_cuts_are_violated_and_new() -> None:
    """Separation returns violated cuts only, none twice, none that is known already."""
    rng = np.random.default_rng(1)
    A = rng.uniform(size=(12, 12))
    A = A + A.T
    apart = np.zeros((12, 12), bool)
    none = np.empty((0, cutting.WIDTH), np.int64)
    first = cutting.new_cuts(A, apart, none, limit=20, min_violation=1e-3)
    second = cutting.new_cuts(A, apart, first, limit=1000, min_violation=1e-3)
    rows = [tuple(cut) for cut in np.vstack([first, second])]
    assert len(rows) == len(set(rows)) > 20
    assert all(value(np.array(cut), A) < 0 for cut in rows)


def test_threads_and_a_sample_find_the_same_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads change nothing; the sample only leaves out what would not have been kept."""
    rng = np.random.default_rng(2)
    n = 60
    A = rng.uniform(size=(n, n)) ** 4
    A = A + A.T + np.diag(rng.uniform(1.0, 2.0, n))
    apart = np.zeros((n, n), bool)
    none = np.empty((0, cutting.WIDTH), np.int64)
    found = {}
    for n_threads in (1, 2, 3):
        options = {"limit": 5 * n, "min_violation": 1e-3, "n_threads": n_threads}
        found[n_threads] = cutting.new_cuts(A, apart, none, **options)
        monkeypatch.setattr(cutting, "MANY", 1)
        sampled = cutting.new_cuts(A, apart, none, **options)
        monkeypatch.undo()
        known = {tuple(cut) for cut in found[n_threads]}
        assert len({tuple(cut) for cut in sampled} & known) > 0.9 * len(known)
    np.testing.assert_array_equal(found[1], found[2])
    np.testing.assert_array_equal(found[1], found[3])


@pytest.mark.parametrize("seed", range(5))
def test_step_projects_onto_signs_and_cuts(seed: int) -> None:
    """With many sweeps the V-step is the projection: feasible, and optimal by its multipliers."""
    rng = np.random.default_rng(seed)
    n = 10
    root = np.sqrt(rng.uniform(0.5, 3.0, n))
    T = rng.normal(size=(n, n))
    T = T + T.T
    apart = np.zeros((n, n), bool)
    apart[0, 1] = apart[1, 0] = True
    none = np.empty((0, cutting.WIDTH), np.int64)
    Z = np.maximum(T, 0) / np.outer(root, root)
    cuts = cutting.new_cuts(Z, apart, none, limit=40, min_violation=1e-3)
    norms = cutting.squared_norms(cuts, root, apart)
    mu, V, U, W = np.zeros(len(cuts)), np.zeros((n, n)), np.zeros((n, n)), np.empty((n, n))
    cutting.signs_and_cuts_step(T, 1.0, apart, cuts, norms, root, 3000, 0.0, np.inf, mu, V, U, W)
    assert np.all(V >= 0)
    assert V[0, 1] == 0.0
    assert np.all(cutting.slacks(V, cuts, root) >= -1e-6)
    # Optimality: T - V = -(Lambda + B' mu), Lambda >= 0 off the cannot-links, complementary.
    Lambda = V - T - cutting.combined(cuts, mu, root)
    assert np.all(Lambda[~apart] >= -1e-9)
    assert abs(np.sum(Lambda * V)) < 1e-6
    assert abs(float(mu @ np.array([value(c, V / np.outer(root, root)) for c in cuts]))) < 1e-5
