"""The criterion, the frame and the alternation, without estimators where possible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from smdeclust.distance import CLUSTERS, DIAGONAL, FULL, MAX_DIRECTIONS, Frame, learn


def naive_scatter(points, labels, weights):
    total = np.zeros((points.shape[1], points.shape[1]))
    for k in np.unique(labels):
        rows = labels == k
        if weights[rows].sum() > 0:
            mean = np.average(points[rows], axis=0, weights=weights[rows])
            for x, w in zip(points[rows], weights[rows], strict=True):
                total += w * np.outer(x - mean, x - mean)
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 12))
def test_scatter(seed, n_features, n_points):
    """Both forms of the scatter are the sum over points, dense, weighted and sparse."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, n_features)).round(1) * (rng.random(n_features) > 0.2)
    labels = rng.integers(0, 3, n_points)
    weights = rng.integers(0, 3, n_points).astype(float)
    expected = naive_scatter(points, labels, weights)
    np.testing.assert_allclose(FULL.within(points, labels, weights), expected, atol=1e-9)
    np.testing.assert_allclose(
        DIAGONAL.within(points, labels, weights), np.diag(expected), atol=1e-9
    )
    np.testing.assert_allclose(
        DIAGONAL.within(csr_array(points), labels, weights), np.diag(expected), atol=1e-9
    )


def test_root_whitens():
    """After the root, the scatter is the identity, in the full form and in the diagonal one."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    labels, weights = rng.integers(0, 3, 50), np.ones(50)
    full = FULL.apply(points, FULL.root(FULL.within(points, labels, weights)))
    np.testing.assert_allclose(FULL.within(full, labels, weights), np.eye(4), atol=1e-9)
    single = DIAGONAL.apply(points, DIAGONAL.root(DIAGONAL.within(points, labels, weights)))
    np.testing.assert_allclose(DIAGONAL.within(single, labels, weights), np.ones(4))


@pytest.mark.parametrize("rotate", [True, False])
def test_frame_forgets_units(rotate):
    """Scaling and shifting columns changes no coordinate."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    other = X * [1e-3, 1.0, 1e5] + [7.0, -1e3, 1e7]
    huge = Frame.of(X * [1e-90, 1e77, 1e130], np.ones(40), rotate=rotate)
    expected = Frame.of(X, np.ones(40), rotate=rotate).enter(X)
    np.testing.assert_allclose(huge.enter(X * [1e-90, 1e77, 1e130]), expected, rtol=1e-6)
    here, there = (Frame.of(points, np.ones(40), rotate=rotate) for points in (X, other))
    np.testing.assert_allclose(there.enter(other), here.enter(X), rtol=1e-6, atol=1e-6)


def test_frame_of_odd_columns():
    """Constant columns count nothing; a column of rare large values is not blown up."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=300), np.full(300, 1e6 / 3), np.zeros(300)])
    X[:2, 2] = 1.0
    frame = Frame.of(X, np.ones(300), rotate=True)
    assert frame.factor[1] == 0
    sizes = np.std(frame.enter(X), axis=0)
    assert sizes[2] < 0.6 * sizes[0]
    sparse = Frame.of(csr_array(X), np.ones(300), rotate=False)
    np.testing.assert_allclose(sparse.factor[[0, 2]], frame.factor[[0, 2]], rtol=1e-6)


@pytest.mark.parametrize("shape", [(30, 150), (300, 200), (4, 129)])
def test_leading_directions(shape):
    """Many columns: few orthonormal directions, and between points of few rows nothing is lost."""
    X = np.random.default_rng(3).normal(size=shape)
    frame = Frame.of(X, np.ones(len(X)), rotate=True)
    n_directions = frame.basis.shape[1]
    assert n_directions <= min(MAX_DIRECTIONS, *shape)
    np.testing.assert_allclose(frame.basis.T @ frame.basis, np.eye(n_directions), atol=1e-8)
    if len(X) <= MAX_DIRECTIONS:
        here, there = frame.enter(X), (X - frame.mean) * frame.factor
        gaps = np.linalg.norm(here[0] - here[1]), np.linalg.norm(there[0] - there[1])
        assert gaps[0] == pytest.approx(gaps[1])


@pytest.mark.parametrize("spread", [FULL, DIAGONAL])
def test_criterion_falls(spread):
    """The recorded criterion falls, and its last value is that of the labels."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3)) + 3 * rng.integers(0, 3, 60)[:, None]

    def lloyd(points, labels, n_starts):
        labels = rng.integers(0, 3, 60) if labels is None else labels
        for _ in range(20):
            centers = np.stack(
                [points[labels == k].mean(axis=0) if (labels == k).any() else points[k]
                 for k in range(3)]
            )  # fmt: skip
            labels = ((points[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        return labels

    learned = learn(X, np.arange(60), np.ones(60), spread, lloyd, n_columns=3)
    assert (np.diff(learned.criterion) < 0).all()
    inside = spread.within(X, learned.labels, np.ones(60))
    scatter = learned.target + CLUSTERS * 3 / 60 * inside
    assert learned.criterion[-1] == pytest.approx(60 * spread.log_det(scatter))


def test_first_distance_is_that_of_the_groups():
    """Without clusters, directions that vary inside must-link groups shrink, others do not."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=80), np.repeat(rng.normal(size=40), 2)])
    learned = learn(X, np.repeat(np.arange(40), 2), np.ones(80), FULL, None, n_columns=2)
    lengths = (learned.root**2).sum(axis=0)
    assert lengths[1] > 20 * lengths[0]
    assert learned.labels is None


def test_must_links_are_never_forgotten():
    """Whatever the clusters say, the scatter inside must-link groups stays in the distance."""
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.normal(size=200) * 5, rng.integers(0, 2, 200) * 4.0])
    X[:, 1] += rng.normal(size=200) * 0.3
    groups = np.arange(200)
    for side in (0, 1):  # pairs across the first column, inside the classes of the second
        rows = np.flatnonzero((X[:, 1] > 2) == side)[:80]
        groups[rows] = np.repeat(rows[::2], 2)
    halves = (X[:, 0] > 0).astype(int)  # the wrong clusters, round after round
    learned = learn(
        X, np.unique(groups, return_inverse=True)[1], np.ones(200), FULL,
        lambda points, labels, n_starts: halves, n_columns=2,
    )  # fmt: skip
    lengths = (learned.root**2).sum(axis=0)
    assert lengths[1] > 5 * lengths[0]
