"""What the check of feasibility finds is kept: colors, and labels within the bounds."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust import Constraints, SMDEClust
from smdeclust.assignment import Budget, assign_groups
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.problem import Problem
from smdeclust.structure import Structure
from smdeclust.structure.graph import PairGraph, SoftPairs


def crowded(n=120, k=6, m=1500, seed=0):
    """Cannot-links that leave little room, and the clustering that they were made from."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(n) % k)
    pairs = rng.integers(0, n, (8 * m, 2))
    return classes, pairs[classes[pairs[:, 0]] != classes[pairs[:, 1]]][:m]


def test_colors_are_looked_for_once(monkeypatch):
    """A structure colors its cannot-links when it is made; its graph, and parts of it, do not."""
    _, pairs = crowded()
    known = Structure.build(120, 6, None, pairs)
    assert known.coloring is not None
    assert (known.coloring[known.graph.ends] != known.coloring[known.graph.indices]).all()
    monkeypatch.setattr("smdeclust.structure.coloring.find_coloring", None)  # would fail if called
    assert known.graph.coloring(6) is not None
    half = known.graph.induced(np.arange(0, known.n_linked, 2))
    colors = half.coloring(6)
    assert (colors[half.ends] != colors[half.indices]).all()


@pytest.mark.parametrize("by", ["points", "weight"])
def test_sizes_leave_labels_behind(by):
    """Where room was found for everything, an assignment has labels however late it is."""
    classes, pairs = crowded(m=400)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, 120) if by == "weight" else None
    held = np.bincount(classes, weight, 6)
    slack = 0.1 * held if by == "weight" else 0.0
    known = Structure.build(
        120, 6, [(0, int(np.flatnonzero(classes == classes[0])[1]))], pairs, weight,
        size_min=held - slack, size_max=held + slack, size_by=by,
    )  # fmt: skip
    assert known.packing is not None
    assert known.holds(known.expand(known.packing))
    costs = known.group_costs(rng.random((120, 6)))
    labels, cost, bound = assign_groups(known, costs, budget=Budget(deadline=0.0))
    assert known.holds(known.expand(labels))
    assert bound <= cost


def test_labels_go_along_with_soft_pairs():
    """Soft pairs renumber the groups; the labels that keep sizes and quotas stay with the rows."""
    _, pairs = crowded(m=400)
    column = np.random.default_rng(2).random(120) < 0.4
    quotas = Constraints(n_points=120).quota(column, low=0.1, high=0.8, of="share").quotas
    known = Structure.build(120, 6, None, pairs, size_min=20, size_max=20, quotas=quotas)
    soft = SoftPairs(np.array([[0, 5]]), np.ones(1), np.array([[7, 9]]), np.ones(1))
    for again in (known, known.with_soft(soft), known.without("cannot_link", 3)):
        assert again.packing is not None
        assert again.holds(again.expand(again.packing))


def test_a_dense_fit_with_exact_sizes_has_labels_in_no_time():
    """Exact sizes and dense cannot-links: a fit without time returns labels that keep them."""
    classes, pairs = crowded(200, 5, 4000)
    X = np.random.default_rng(3).normal(size=(200, 2)) + classes[:, None]
    model = SMDEClust(5, size_min=40, size_max=40, max_time=0.0, random_state=0)
    labels = model.fit(X, cannot_link=pairs).labels_
    assert (np.bincount(labels) == 40).all()
    assert (labels[pairs[:, 0]] != labels[pairs[:, 1]]).all()


def test_components_have_their_pairs():
    """The components of a pair graph are its nodes, each once, and no pair joins two of them."""
    edges = np.array([[0, 3], [3, 5], [1, 2], [4, 6]])
    graph = PairGraph.from_edges(edges, np.full(4, np.inf), np.zeros(4, bool), 8)
    assert [part.tolist() for part in graph.components] == [[0, 3, 5], [1, 2], [4, 6], [7]]
    assert (graph.component_of[graph.ends] == graph.component_of[graph.indices]).all()


def test_nothing_is_explained_after_the_deadline():
    """Groups of three do not fit into clusters of four: said with time, left open without any."""
    X, must = np.arange(12.0)[:, None], [[i, i + j] for i in range(0, 12, 3) for j in (1, 2)]
    with pytest.raises(InfeasibleConstraintsError, match="packed"):
        Problem.build(X, 3, must_link=must, size_min=4, size_max=4)
    problem = Problem.build(X, 3, must_link=must, size_min=4, size_max=4, deadline=0.0)
    assert problem.packing is None
