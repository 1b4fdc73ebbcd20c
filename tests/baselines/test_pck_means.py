"""PCK-Means: what a pair costs, and when it pays to break it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust import PCKMeans
from smdeclust.baselines.pck_means import neighborhood_centers, search_by_placing
from smdeclust.baselines.pieces import cost_of_broken, signed_pairs
from smdeclust.problem import Problem
from smdeclust.structure.groups import contract

NONE = np.empty((0, 2), dtype=np.int64)
LINE = np.array([[0.0], [1.0], [10.0], [11.0], [4.0]])


@pytest.mark.parametrize(("w", "broken"), [(0.0, 1), (1.0, 1), (100.0, 0)])
def test_a_pair_is_kept_where_breaking_it_costs_more(w, broken):
    """Row 4 (at 4) is nearer to {0, 1} but must-linked to row 3 (at 11).

    Apart: clusters {0, 1, 4}, {10, 11}: f = 26/3 + 1/2 = 9.1667, plus w. Together: {0, 1},
    {10, 11, 4}: f = 1/2 + 86/3 = 29.1667. Break-even at w = 20.
    """
    model = PCKMeans(2, penalty=w, n_init=20, random_state=0).fit(LINE, must_link=[(3, 4)])
    assert model.n_violations_ == broken
    assert model.inertia_ == pytest.approx(29.0 + 1 / 6 if broken == 0 else 9.0 + 1 / 6)
    assert model.objective_ == pytest.approx(model.inertia_ + w * broken)


@pytest.mark.parametrize(("w", "together"), [([90.0, 1.0], True), ([1.0, 90.0], False)])
def test_weights_per_pair(w, together):
    """Of two contradicting pairs the more expensive one is kept; must-links come first in ``w``."""
    X = np.array([[0.0], [0.1], [5.0]])
    model = PCKMeans(2, penalty=w, n_init=20, random_state=0)
    model.fit(X, must_link=[(0, 2)], cannot_link=[(0, 2)])
    assert (model.labels_[0] == model.labels_[2]) == together
    assert model.n_violations_ == 1


@pytest.mark.parametrize("w", [15.0, [15.0, 3.0, 15.0]])
def test_a_repeated_pair_counts_once(w):
    """A pair listed three times, one of them reversed, costs what one costs, at its largest ``w``.

    As above the pair is worth 20: at 15 it is broken, and three times 15 would keep it.
    """
    model = PCKMeans(2, penalty=w, n_init=20, random_state=0)
    model.fit(LINE, must_link=[(3, 4), (4, 3), (3, 4)])
    assert model.n_violations_ == 1
    assert model.objective_ == pytest.approx(9.0 + 1 / 6 + 15.0)


def test_starts_from_the_largest_neighbourhoods():
    """Centers are the means of the largest must-link groups, then random points outside them."""
    X = np.arange(10.0)[:, None]
    problem = Problem.build(X, 3)
    links = contract(10, np.array([(0, 1), (1, 2), (5, 6)]), NONE)
    centers = neighborhood_centers(problem, links, np.random.default_rng(0)) + problem.offset
    assert centers[:2].ravel().tolist() == pytest.approx([1.0, 5.5])
    assert centers[2, 0] in {3.0, 4.0, 7.0, 8.0, 9.0}
    only_one = neighborhood_centers(Problem.build(X, 1), links, np.random.default_rng(0))
    assert only_one[0] + problem.offset == pytest.approx([1.0])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), w=st.floats(0, 5))
def test_objective_is_what_it_says(seed, w):
    """The objective of a solution is f plus the costs of the pairs that its labels break."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    ml, cl = rng.integers(0, 25, (8, 2)), rng.integers(0, 25, (8, 2))
    cl[:, 1] = np.where(cl[:, 0] == cl[:, 1], (cl[:, 1] + 1) % 25, cl[:, 1])
    problem = Problem.build(X, 3)
    pairs = signed_pairs(25, ml, cl, np.full(8, w), np.full(8, w))
    centers = neighborhood_centers(problem, contract(25, ml, NONE), rng)
    found = search_by_placing(problem, pairs, centers, rng, 50)
    f = problem.objective(found.labels)
    distinct_ml, distinct_cl = ({tuple(sorted(p)) for p in pairs.tolist()} for pairs in (ml, cl))
    n_broken = sum(found.labels[i] != found.labels[j] for i, j in distinct_ml)
    n_broken += sum(found.labels[i] == found.labels[j] for i, j in distinct_cl)
    assert found.objective == pytest.approx(f + w * n_broken)
    assert cost_of_broken(*pairs, found.labels) == pytest.approx(w * n_broken)


def test_dear_pairs_are_all_kept_where_they_can_be():
    """With a cost far above all distances, feasible pairs from classes are not broken."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2)) + 6 * np.repeat(np.eye(3, 2), 20, axis=0)
    truth = np.repeat(np.arange(3), 20)
    pairs = rng.integers(0, 60, (40, 2))
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    loops = pairs[:, 0] == pairs[:, 1]
    model = PCKMeans(3, penalty=1e4, random_state=0)
    model.fit(X, must_link=pairs[same & ~loops], cannot_link=pairs[~same])
    assert model.n_violations_ == 0
