"""The neighbor graph: classes that spread along it."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust import Constraints, GuidedClustering
from smdeclust.views.graph import Links, Neighbors, spread_classes


@pytest.fixture(scope="module")
def lines():
    """Two long lines, closer to each other than their ends are, and two known points of each."""
    at = np.linspace(0, 30, 120)
    X = np.concatenate([np.stack([at, 0 * at], 1), np.stack([at, 0 * at + 3], 1)])
    y = np.repeat([0, 1], 120)
    partial = np.full(240, -1)
    partial[[0, 60, 120, 200]] = [0, 0, 1, 1]
    return X + np.random.default_rng(0).normal(0, 0.05, X.shape), y, partial


def test_classes_spread_along_the_graph(lines):
    """Every point gets the class of its line; shares sum to 1."""
    X, y, partial = lines
    reached = spread_classes(Neighbors.of(X).graph, Links.of(Constraints.from_labels(partial)), 2)
    np.testing.assert_allclose(reached.sum(axis=1), 1.0)
    same = reached.argmax(axis=1) == reached.argmax(axis=1)[0]
    np.testing.assert_array_equal(same, y == 0)


def test_pairs_that_are_no_classes_do_not_spread(lines):
    """Fewer classes than clusters, more of them, or classes that nothing tells apart."""
    X, _, partial = lines
    graph = Neighbors.of(X).graph
    assert spread_classes(graph, Links.of(Constraints.from_labels(partial)), 3) is None
    loose = Constraints([(0, 60), (120, 200)], n_points=240)
    assert spread_classes(graph, Links.of(loose), 2) is None
    assert spread_classes(graph, Links.of(Constraints(n_points=240)), 1) is None


def test_a_few_labels_are_enough_for_long_classes(lines):
    """The graph shows the lines, whatever else the views see, and the labels hold."""
    X, y, partial = lines
    known = Constraints.from_labels(partial)
    labels = GuidedClustering(2, views="graph", random_state=0).fit(X, constraints=known).labels_
    np.testing.assert_array_equal(labels == labels[0], y == 0)


def test_edges_count_by_common_neighbors():
    """A bridge between two crowds holds less, against the edges inside, than its length says."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(0, 1, (40, 2)) + [5, 0]])
    side = np.repeat([False, True], 40)

    def bridges(graph):
        edges = graph.tocoo()
        across = side[edges.row] != side[edges.col]
        return edges.data[across].sum() / edges.data.sum()

    common = Neighbors.of(X, 15).graph
    assert (common.data > 0).all()
    assert (common.data <= 1).all()
    assert abs(common - common.T).max() == 0
    assert 0 < bridges(common) < bridges(Neighbors.of(X).graph)
