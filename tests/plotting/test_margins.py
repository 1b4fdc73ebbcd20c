"""Claims about margins and their picture."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import plot_margins, point_margins


def test_margins_by_hand() -> None:
    """At the own center 1, half way 0, at the other center -1."""
    centers = [[0.0], [10.0]]
    margin = point_margins([[0.0], [5.0], [10.0], [8.0]], [0, 0, 0, 1], centers)
    np.testing.assert_allclose(margin, [1, 0, -1, 0.75])


def test_margins_match_a_plain_loop() -> None:
    """The chunked computation agrees with the definition, point by point, across chunks."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(5000, 3)) + 1e6, rng.integers(0, 4, 5000)
    margin = point_margins(X, labels)
    centers = np.array([X[labels == k].mean(axis=0) for k in range(4)])
    for i in range(0, 5000, 97):
        d = np.linalg.norm(X[i] - centers, axis=1)
        a, b = d[labels[i]], np.delete(d, labels[i]).min()
        assert margin[i] == pytest.approx((b - a) / max(a, b), abs=1e-6)


def test_one_cluster_and_coinciding_centers() -> None:
    """No other center: margin 1. Two centers in one place with the point on them: 0."""
    assert (point_margins([[1.0], [2.0]], [7, 7]) == 1).all()
    assert point_margins([[1.0], [1.0]], [0, 1]).tolist() == [0, 0]


def test_labels_beyond_centers_are_explained() -> None:
    """A label without a row of centers is an error that says so."""
    with pytest.raises(InvalidInputError, match="row k of centers"):
        point_margins([[1.0], [2.0]], [0, 2], [[1.0], [2.0]])


def test_picture_counts_points_nearer_to_another_center(blobs) -> None:
    """The legend counts the negative margins; without any there is no such entry."""
    X, labels = blobs
    assert len(plot_margins(X, labels).get_legend().get_texts()) == 1
    moved = labels.copy()
    moved[:2] = 1
    texts = [t.get_text() for t in plot_margins(X, moved).get_legend().get_texts()]
    assert any(t.startswith("2 points closer") for t in texts)


@pytest.mark.parametrize("n_clusters", [1, 2, 30, 120])
def test_picture_for_any_number_of_clusters(n_clusters: int) -> None:
    """Draws from one cluster to 120, and the cluster names do not overlap."""
    rng = np.random.default_rng(0)
    labels = np.arange(600) % n_clusters
    ax = plot_margins(rng.normal(size=(600, 2)), labels)
    ax.figure.canvas.draw()
    boxes = [t.get_window_extent() for t in ax.get_yticklabels() if t.get_text()]
    boxes.sort(key=lambda box: box.y0)
    assert all(a.y1 <= b.y0 + 2 for a, b in pairwise(boxes))
