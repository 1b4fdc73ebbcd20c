"""Claims about the constraint graph and its layout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from smdeclust.plotting import plot_constraint_graph
from smdeclust.plotting.constraint_graph import _choose_groups, _group_graph, lay_out

NO_PAIRS = np.empty((0, 2), dtype=np.int64)


def _title(ax) -> str:
    return ax.get_legend().get_title().get_text()


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(0, 80), st.integers(0, 2**32 - 1))
def test_nodes_do_not_overlap(n: int, m: int, seed: int) -> None:
    """Whatever the graph and the radii, no two nodes cover one another."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, (m, 2))
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    radii = rng.uniform(1, 4, n)
    places = lay_out(edges, radii, 1.5)
    assert np.isfinite(places).all()
    distance = squareform(pdist(places)) + np.diag(np.full(n, np.inf))
    assert (distance >= 0.98 * (radii[:, None] + radii[None, :])).all()


def test_layout_is_reproducible_and_keeps_a_path_straight() -> None:
    """Same input, same places; a path is stretched out by its hop counts."""
    edges = np.array([[i, i + 1] for i in range(9)])
    first, second = (lay_out(edges, np.ones(10), 1.5, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    steps = np.linalg.norm(np.diff(first, axis=0), axis=1)
    assert np.linalg.norm(first[-1] - first[0]) > 0.9 * steps.sum()


def test_groups_and_edges_by_hand() -> None:
    """Must-links merge, repeated cannot-links count once, points in no pair stay out."""
    must = np.array([[0, 1], [1, 2], [3, 4]])
    cannot = np.array([[0, 3], [2, 4], [4, 5]])
    graph = _group_graph(8, must, cannot, None)
    assert sorted(graph.sizes.tolist()) == [1, 2, 3]
    assert len(graph.edges) == 2
    assert graph.n_alone == 2
    assert not graph.broken_group.any()
    assert not graph.broken_edge.any()


def test_violations_by_hand() -> None:
    """A split group, a joined cannot-link and a contradicted group are all marked."""
    must, cannot = np.array([[0, 1], [2, 3]]), np.array([[0, 4], [2, 3], [4, 5]])
    graph = _group_graph(6, must, cannot, np.array([0, 1, 2, 2, 0, 1]))
    assert graph.broken_group.sum() == 2  # {0, 1} is split, {2, 3} must be together and apart
    assert graph.broken_edge.tolist().count(True) == 1  # 0 and 4 share cluster 0
    ax = plot_constraint_graph(6, must_link=must, cannot_link=cannot, labels=[0, 1, 2, 2, 0, 1])
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    assert {"broken cannot-link", "broken must-link group"} <= set(texts)


def test_group_takes_the_cluster_of_its_points() -> None:
    """The cluster shown for a group is the label of its members."""
    rng = np.random.default_rng(0)
    labels = rng.integers(5, 9, 50)
    must = np.array([(i, j) for i in range(50) for j in range(i) if labels[i] == labels[j]])[::7]
    graph = _group_graph(50, must, NO_PAIRS, labels)
    for size, cluster in zip(graph.sizes, graph.cluster, strict=True):
        assert size <= (labels == graph.names[cluster]).sum()
    assert not graph.broken_group.any()


def test_large_graphs_are_thinned_to_whole_components() -> None:
    """Of many small components some are drawn, none in part; violated ones are among them."""
    cannot = np.arange(2000).reshape(-1, 2)
    labels = np.arange(2000)
    labels[1999] = labels[1998]
    graph = _group_graph(2000, NO_PAIRS, cannot, labels)
    shown = set(_choose_groups(graph, 101).tolist())
    assert len(shown) == 100
    assert all((a in shown) == (b in shown) for a, b in graph.edges.tolist())
    assert set(graph.edges[graph.broken_edge].ravel().tolist()) <= shown
    ax = plot_constraint_graph(2000, cannot_link=cannot, max_groups=100)
    assert "100 of 2,000 groups" in _title(ax)


def test_one_large_component_is_cut_to_its_busiest_groups() -> None:
    """A star of a thousand leaves keeps its hub."""
    cannot = np.column_stack([np.zeros(1000, dtype=int), np.arange(1, 1001)])
    ax = plot_constraint_graph(1001, cannot_link=cannot, max_groups=50)
    ax.figure.canvas.draw()
    assert "50 of 1,001 groups" in _title(ax)
    assert "1,000 cannot-links" in _title(ax)


@pytest.mark.parametrize("pairs", [{}, {"must_link": [(0, 1)]}, {"cannot_link": [(0, 1)]}])
def test_few_or_no_pairs(pairs: dict) -> None:
    """Nothing, one must-link and one cannot-link are drawn without complaint."""
    ax = plot_constraint_graph(5, **pairs, labels=np.arange(5))
    ax.figure.canvas.draw()
    assert ("5 points in no pair" in _title(ax)) == (not pairs)
