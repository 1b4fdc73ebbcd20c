"""Pairs -> groups -> graph -> Problem, and explained infeasibility."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust import InfeasibleConstraintsError, InvalidInputError
from smdeclust.problem import Problem, Verdict, find_coloring
from smdeclust.structure.graph import cannot_link_graph

RNG = np.random.default_rng(0)


def build(n=8, k=2, d=2, **pairs):
    return Problem.build(np.random.default_rng(1).normal(size=(n, d)), k, **pairs)


def test_groups_are_the_components_of_the_must_links():
    """Points joined by must-links share a group; linked groups come first."""
    problem = build(must_link=[(5, 6), (6, 7), (2, 3)], cannot_link=[(7, 0)])
    of_point = problem.group_of_point
    assert of_point[5] == of_point[6] == of_point[7]
    assert of_point[2] == of_point[3]
    assert problem.n_groups == 5
    assert problem.n_linked == 2
    assert set(of_point[[0, 5]]) == {0, 1}


def test_repeated_reversed_and_self_pairs_change_nothing():
    """A pair counts once however often and in whatever order it is given; a self must-link is
    harmless."""
    once = build(must_link=[(0, 1)], cannot_link=[(2, 3)])
    often = build(must_link=[(0, 1), (1, 0), (4, 4)] * 300, cannot_link=[(2, 3), (3, 2)] * 300)
    np.testing.assert_array_equal(once.group_of_point, often.group_of_point)
    np.testing.assert_array_equal(once.cl_indices, often.cl_indices)


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1), (2, 3)],
        ((0, 1), (2, 3)),
        np.array([[0, 1], [2, 3]], dtype=np.uint8),
        np.array([[0.0, 1.0], [2.0, 3.0]]),
        pd.DataFrame({"a": [0, 2], "b": [1, 3]}),
        {(0, 1), (2, 3)},
        iter([(0, 1), (2, 3)]),
    ],
)
def test_pairs_come_in_many_forms(pairs):
    """Lists, tuples, arrays, frames, sets and iterators of pairs all mean the same."""
    assert sorted(build(must_link=pairs).must_link.tolist()) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("nothing", [None, [], np.empty((0, 2)), pd.DataFrame({"a": [], "b": []})])
def test_no_pairs_is_fine(nothing):
    """Absent and empty constraints mean none."""
    assert build(must_link=nothing, cannot_link=nothing).n_groups == 8


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([(0, 8)], "pair 0 is (0, 8), but rows are numbered 0 to 7"),
        ([(0, 1), (-1, 2)], "pair 1 is (-1, 2)"),
        ([(0, 1.5)], "whole numbers"),
        ([(0, float("nan"))], "whole numbers"),
        ([(0, 1, 2)], "shape (1, 3)"),
        ([0, 1], "shape (2,)"),
        ([(0, 1), (2,)], "entry 1 is (2,)"),
        ([("a", "b")], "must be integers"),
        ([(0, None)], "holds None"),
        ([(True, False)], "must be integers"),
        ([(0, 10**30)], "rows are numbered"),
        (5, "expected pairs of row positions, got 5"),
    ],
)
def test_bad_pairs_are_named(pairs, says):
    """An unusable pair is an error that says which one and why."""
    with pytest.raises(InvalidInputError) as error:
        build(cannot_link=pairs)
    assert any(part in str(error.value) for part in says.split("|"))
    assert "cannot_link" in str(error.value)


@pytest.mark.parametrize(
    ("X", "says"),
    [
        ([[0.0, np.nan], [1, 2], [3, 4]], "row 0, column 1"),
        ([[0.0, 1], [1, np.inf], [3, 4]], "infinity (row 1, column 1)"),
        ([0.0, 1.0], "2 dimensions"),
        (np.empty((0, 2)), "empty"),
        ([["a", "b"], ["c", "d"]], "table of numbers"),
        ([[1e200, 0], [0, 0], [1, 1]], "Rescale"),
    ],
)
def test_bad_points_are_named(X, says):
    """Unusable data are an error that says where."""
    with pytest.raises(InvalidInputError) as error:
        Problem.build(X, 2)
    assert says in str(error.value)


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", None, True])
def test_bad_number_of_clusters(k):
    """K must be a positive whole number."""
    with pytest.raises(InvalidInputError, match="n_clusters"):
        build(k=k)


def test_more_clusters_than_points():
    """K > N is an error that names both."""
    with pytest.raises(InvalidInputError, match=r"n_clusters=9 .* n_samples=8"):
        build(k=9)


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        ([1, 2], "one for each of the 8 points, got 2 numbers"),
        ([-1] + [1] * 7, "sample_weight[0] is -1"),
        ([0] * 8, "zero everywhere"),
        (["x"] * 8, "one for each of the 8 points: could not convert"),
        ([np.nan] + [1] * 7, "sample_weight[0] is nan"),
    ],
)
def test_bad_weights_are_named(weight, says):
    """Unusable weights are an error that says where."""
    with pytest.raises(InvalidInputError) as error:
        build(sample_weight=weight)
    assert says in str(error.value)


def test_self_cannot_link_is_a_contradiction():
    """No point can be apart from itself."""
    with pytest.raises(InfeasibleConstraintsError) as error:
        build(cannot_link=[(0, 1), (3, 3)])
    assert error.value.reason == "self_cannot_link"
    assert error.value.details == {"pair": (3, 3), "position": 1}


def test_must_link_path_explains_a_contradiction():
    """A cannot-link inside a group is explained by the must-links that join its ends."""
    with pytest.raises(InfeasibleConstraintsError) as error:
        build(must_link=[(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)], cannot_link=[(6, 7), (3, 0)])
    assert error.value.reason == "must_link_path"
    assert error.value.details["pair"] == (3, 0)
    assert error.value.details["path"] == [3, 4, 0]
    copy = pickle.loads(pickle.dumps(error.value))
    assert copy.details == error.value.details


def test_clique_explains_too_few_clusters():
    """Four mutually cannot-linked groups need four clusters."""
    pairs = list(itertools.combinations([0, 2, 4, 6], 2))
    with pytest.raises(InfeasibleConstraintsError) as error:
        build(k=3, must_link=[(0, 1)], cannot_link=pairs)
    assert error.value.reason == "clique"
    assert sorted(error.value.details["rows"]) == [0, 2, 4, 6]
    assert build(k=4, must_link=[(0, 1)], cannot_link=pairs).n_linked == 4


def test_odd_cycle_needs_three_clusters():
    """A cycle of five cannot-links has no two-colouring; the rows of the cycle are the witness."""
    cycle = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
    with pytest.raises(InfeasibleConstraintsError) as error:
        build(k=2, cannot_link=cycle)
    assert error.value.reason == "no_coloring"
    assert sorted(error.value.details["rows"]) == [0, 1, 2, 3, 4]
    build(k=3, cannot_link=cycle)


def test_too_few_groups():
    """Must-links may leave fewer groups than clusters."""
    with pytest.raises(InfeasibleConstraintsError) as error:
        build(n=4, k=3, must_link=[(0, 1), (1, 2)])
    assert error.value.reason == "too_few_groups"
    assert error.value.details == {"n_groups": 2, "n_clusters": 3}


def test_a_million_must_links_in_a_chain():
    """Neither recursion nor quadratic work: a chain of a million points is one group, and a
    contradiction at its ends is explained."""
    n = 1_000_000
    chain = np.column_stack([np.arange(n - 2), np.arange(1, n - 1)])
    X = np.zeros((n, 1))
    X[-1] = 1
    assert Problem.build(X, 2, must_link=chain).n_groups == 2
    with pytest.raises(InfeasibleConstraintsError) as error:
        Problem.build(X, 2, must_link=chain, cannot_link=[(0, n - 2)])
    assert len(error.value.details["path"]) == n - 1


def _colorable(n, edges, k):
    return any(
        all(colors[i] != colors[j] for i, j in edges)
        for colors in itertools.product(range(k), repeat=n)
    )


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_coloring_agrees_with_enumeration(seed):
    """find_coloring says feasible exactly when some colouring of all possible ones is proper, and
    a witness of infeasibility is itself infeasible."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    edges = [e for e in itertools.combinations(range(n), 2) if rng.random() < 0.6]
    graph = cannot_link_graph(np.array(edges, dtype=np.int64).reshape(-1, 2), n)
    result = find_coloring(*graph, k)
    assert (result.verdict is Verdict.FEASIBLE) == _colorable(n, edges, k)
    if result.witness is not None:
        number = {int(v): i for i, v in enumerate(result.witness)}
        inside = [(number[i], number[j]) for i, j in edges if i in number and j in number]
        assert not _colorable(len(number), inside, k)
        if result.is_clique:
            assert len(inside) == len(number) * (len(number) - 1) // 2


def test_coloring_gives_up_within_its_budget():
    """Where the budget ends first the verdict is unknown, never a guess."""
    rng = np.random.default_rng(3)
    edges = np.array([e for e in itertools.combinations(range(60), 2) if rng.random() < 0.5])
    graph = cannot_link_graph(edges, 60)
    assert find_coloring(*graph, 9, budget=10).verdict is Verdict.UNKNOWN


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_contraction_keeps_the_objective(seed):
    """The objective over groups equals the sum of squares over points, weights, shifts and
    rotations onto the span included."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(3, 15)), int(rng.integers(1, 20)), 2
    X = rng.normal(size=(n, d)) * rng.choice([1e-3, 1.0, 1e3]) + rng.choice([0.0, 1e3])
    weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.5 else None
    classes = rng.permutation(np.arange(n) % k)
    pairs = rng.integers(0, n, (n // 2, 2))
    pairs = pairs[classes[pairs[:, 0]] == classes[pairs[:, 1]]]
    problem = Problem.build(X, k, must_link=pairs, sample_weight=weight)
    w = np.ones(n) if weight is None else weight
    direct = 0.0
    for c in range(k):
        rows = classes == c
        center = np.average(X[rows], axis=0, weights=w[rows])
        direct += float((w[rows] * ((X[rows] - center) ** 2).sum(axis=1)).sum())
        np.testing.assert_allclose(
            problem.centers(problem.group_labels(classes))[c], center, rtol=1e-9, atol=1e-9
        )
    groups = problem.group_labels(classes)
    assert problem.objective(groups) == pytest.approx(direct, rel=1e-9)
    np.testing.assert_array_equal(problem.expand(groups), classes)
    # distances to any center are the same in the coordinates of the kernels
    centers = rng.normal(size=(3, d)) * np.std(X)
    contracted = problem.contracted
    inside = ((contracted.points[:, None] - problem.enter(centers)[None]) ** 2).sum(axis=2)
    outside = ((problem.means + problem.offset)[:, None] - centers[None]) ** 2
    np.testing.assert_allclose(inside, outside.sum(axis=2), rtol=1e-7, atol=1e-9)


def test_a_problem_is_frozen():
    """Neither attributes nor arrays can be changed, and the caller's array is not frozen."""
    X = np.random.default_rng(0).normal(size=(6, 2))
    problem = Problem.build(X, 2)
    with pytest.raises(AttributeError):
        problem.n_clusters = 3
    with pytest.raises(ValueError, match="read-only"):
        problem.X[0, 0] = 1
    X[0, 0] = 5.0


def test_points_are_not_copied():
    """float32 and float64 data stay where they are."""
    for dtype in (np.float32, np.float64):
        X = np.ones((10, 3), dtype=dtype)
        X[0] = 0
        assert np.shares_memory(Problem.build(X, 2).X, X)


def test_weightless_points():
    """A free point of no weight takes part without weight; a linked one is an error."""
    weight = [0, 1, 1, 1, 1, 1, 1, 1]
    assert build(sample_weight=weight).weights.sum() == 7
    with pytest.raises(InvalidInputError, match="row 0 has a cannot-link but no weight"):
        build(sample_weight=weight, cannot_link=[(0, 1)])
    with pytest.raises(InfeasibleConstraintsError, match="have a positive weight"):
        build(n=3, k=3, sample_weight=[0, 1, 1])


def test_a_pair_listed_again_is_broken_once():
    """Broken pairs are counted by pair, not by line: (i, j), (j, i) and (i, j) are one."""
    problem = Problem.build(
        np.arange(8.0).reshape(4, 2),
        2,
        must_link=[(0, 1), (1, 0), (0, 0)],
        cannot_link=[(1, 2), (1, 2), (2, 1), (0, 3)],
    )
    assert problem.violations(np.array([0, 1, 1, 0])) == (1, 2)
    assert problem.violations(np.array([0, 0, 1, 1])) == (0, 0)


def test_the_packing_is_in_the_order_of_the_bounds():
    """Bounds that differ by cluster: the labels that show them possible keep them as they stand."""
    must = [(0, 1), (2, 3), (4, 5), (5, 6)]
    problem = Problem.build(np.eye(7), 2, must, size_min=[4, 3], size_max=[4, 3])
    assert problem.group_bounds.held(problem.packing).tolist() == [[4, 3]]
