"""Kempe chains: the deep local search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smdeclust import Problem
from smdeclust.assignment import exact_assignment
from smdeclust.local_search import local_search
from smdeclust.local_search.kempe import _gain_bound, _swap_gain, kempe_descent
from smdeclust.structure.coloring import kempe_chain


def random_case(seed):
    """A feasible random problem with weights, must-links and cannot-links, and feasible labels."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(6, 30)), int(rng.integers(1, 20)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, d))
    classes = np.r_[np.arange(k), rng.integers(k, size=n - k)]
    pairs = rng.integers(n, size=(int(rng.integers(0, 2 * n)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    must = pairs[same][: n // 4]
    weight = rng.uniform(0.5, 3.0, size=n)
    problem = Problem.build(X, k, must, pairs[~same], weight)
    return problem, problem.group_labels(classes)


def means(problem, labels):
    contracted = problem.contracted
    sums = np.zeros((problem.n_clusters, contracted.points.shape[1]))
    np.add.at(sums, labels, contracted.weights[:, None] * contracted.points)
    return sums / np.bincount(labels, contracted.weights, problem.n_clusters)[:, None]


def descend(problem, labels):
    contracted = problem.contracted
    labels, centers = labels.copy(), means(problem, labels)
    swaps = kempe_descent(
        contracted.points, contracted.weights, *contracted.graph.hard_part.arrays[:2],
        contracted.graph.soft_part.arrays, labels, centers,
        problem.objective(labels), (contracted.weights > 0)[None] * 1.0,
        np.ones((1, problem.n_clusters)), np.full((1, problem.n_clusters), np.inf),
    )  # fmt: skip
    return swaps, labels, centers


def chain_of(problem, labels, g, target):
    n = problem.n_linked
    chain = np.empty(n, np.int64)
    size = kempe_chain(
        g, target, labels, problem.cl_indptr, problem.cl_indices, np.zeros(n, np.int64), 1, chain
    )
    return chain[:size]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6))
def test_descent_keeps_every_promise(seed):
    """The objective falls with every descent that swaps, constraints hold, no cluster is emptied,
    and the centers stay the means."""
    problem, start = random_case(seed)
    swaps, labels, centers = descend(problem, start)
    assert problem.violations(problem.expand(labels))[1] == 0
    assert len(np.unique(labels)) == problem.n_clusters
    np.testing.assert_allclose(centers, means(problem, labels), atol=1e-9)
    before, after = problem.objective(start), problem.objective(labels)
    assert (after < before) if swaps else (after == before)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6))
def test_gain_equals_recomputation_and_stays_below_its_bound(seed):
    """For every chain: the predicted change is that of the recomputed objective; swapping keeps
    the cannot-links; the bound is one."""
    problem, labels = random_case(seed)
    contracted, centers = problem.contracted, means(problem, labels)
    total = np.bincount(labels, contracted.weights, problem.n_clusters)
    distances = ((contracted.points[:, None] - centers[None]) ** 2).sum(axis=2)
    shift = np.empty((2, centers.shape[1]))
    for g in range(problem.n_linked):
        a = labels[g]
        for b in set(range(problem.n_clusters)) - {a}:
            chain = chain_of(problem, labels, g, b)
            swapped = labels.copy()
            swapped[chain] = np.where(labels[chain] == a, b, a)
            assert problem.violations(problem.expand(swapped))[1] == 0
            if len(np.unique(swapped)) < problem.n_clusters:
                continue
            after = np.bincount(swapped, contracted.weights, problem.n_clusters)
            arguments = chain, contracted.points, contracted.weights, labels, a, b, centers
            gain = _swap_gain(*arguments, after[a], after[b], shift)
            real = problem.objective(labels) - problem.objective(swapped)
            assert gain == pytest.approx(real, abs=1e-8)
            bound = _gain_bound(
                chain, contracted.weights, labels, a, b, distances, after[a], after[b]
            )
            assert bound >= gain - 1e-9
    assert total.sum() == pytest.approx(contracted.weights.sum())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_no_chain_improves_afterwards(seed):
    """What the bookkeeping skips is not an improvement: all chains and lone moves are tried
    again by brute force."""
    problem, start = random_case(seed)
    _, labels, _ = descend(problem, start)
    f = problem.objective(labels)
    for g in range(problem.n_groups):
        for b in set(range(problem.n_clusters)) - {labels[g]}:
            chain = chain_of(problem, labels, g, b) if g < problem.n_linked else np.array([g])
            swapped = labels.copy()
            swapped[chain] = np.where(labels[chain] == labels[g], b, labels[g])
            if len(np.unique(swapped)) == problem.n_clusters:
                assert problem.objective(swapped) >= f * (1 - 1e-9)


def test_chain_is_the_component_between_two_clusters():
    """On a path 0-1-2-3-4 with labels 0 1 0 2 0 the chain of 0 towards 1 ends before 3."""
    X = np.arange(6.0)[:, None]
    links = [(0, 1), (1, 2), (2, 3), (3, 4)]
    problem = Problem.build(X, 3, cannot_link=links)
    labels = problem.group_labels(np.array([0, 1, 0, 2, 0, 1]))
    group = problem.group_of_point
    assert set(chain_of(problem, labels, group[0], 1)) == set(group[[0, 1, 2]])
    assert set(chain_of(problem, labels, group[4], 1)) == {group[4]}
    assert set(chain_of(problem, labels, group[3], 0)) == set(group[[2, 3, 4]])


def test_swap_that_lloyd_cannot_make():
    """Two cannot-linked points in each other's place: no single move is allowed, the chain is."""
    X = np.array([[0.0], [0.2], [10.0], [10.2], [0.1], [10.1]])
    problem = Problem.build(X, 2, cannot_link=[(4, 5)])
    labels = problem.group_labels(np.array([0, 0, 1, 1, 1, 0]))
    swaps, found, _ = descend(problem, labels)
    assert swaps >= 1
    assert problem.expand(found).tolist() == [0, 0, 1, 1, 0, 1]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
@example(4399)  # swaps that gain nothing, and a proof of the labels that they started from
def test_deep_is_at_least_as_good_and_ends_with_an_exact_assignment(seed):
    """From the same start deep is never worse than Lloyd, and is optimal for its own centers."""
    problem, labels = random_case(seed)
    start = means(problem, labels)
    shallow, deep = (local_search(problem, start, deep=deep) for deep in (False, True))
    assert deep.objective <= shallow.objective * (1 + 1e-12)
    exact = exact_assignment(problem, problem.centers(deep.labels))
    assert deep.objective <= exact.cost * (1 + 1e-9)
    assert deep.proven


@pytest.mark.parametrize("spread", [1.0, 1e-7, 1e7])
def test_rounding_is_no_gain(spread):
    """With as many clusters as groups the objective is 0 and swaps change nothing: it ends."""
    X = spread * np.array([[0.03381452], [-0.71603228], [1.75532128], [-0.94888558]])
    weight = np.array([0.35687614, 2.46494686, 1.85996056, 1.13644648])
    problem = Problem.build(X, 4, cannot_link=[(3, 1)], sample_weight=weight)
    found = local_search(problem, problem.enter(X[[2, 0, 3, 1]]), deep=True)
    assert found.objective == pytest.approx(0, abs=1e-12 * spread**2)
