"""The relaxation of a core: every row is valid, every bound is true."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.assignment import Budget
from smdeclust.assignment.cores import construct, solve_core
from smdeclust.assignment.cores.cuts import violated_cliques, violated_odd_cycles
from smdeclust.assignment.cores.instance import Instance
from smdeclust.assignment.cores.relaxation import LinearRelaxation
from smdeclust.assignment.cores.solve import useful_labels
from smdeclust.constraints import PairGraph


def planar_instance(seed, n=50, n_labels=8, density=0.1):
    """Points in the plane, a few hubs, random centers: cliques, wheels and odd cycles all occur."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    centers = points[rng.choice(n, n_labels, replace=False)]
    costs = rng.integers(1, 6, n)[:, None] * ((points[:, None] - centers) ** 2).sum(axis=2)
    chance = np.full(n, density)
    chance[: n // 10] = 0.3
    upper = np.triu(rng.random((n, n)) < np.maximum(chance[:, None], chance[None]), 1)
    adjacent = upper | upper.T
    indptr = np.concatenate(([0], np.cumsum(adjacent.sum(axis=1)))).astype(np.int64)
    return costs, indptr, np.nonzero(adjacent)[1].astype(np.int64)


def instance_of(costs, indptr, indices):
    return Instance.of(costs, PairGraph.hard(indptr, indices))


def feasible_labelings(costs, indptr, indices, rng, count=40):
    """Varied feasible labels: the answers of `construct` to random costs."""
    found = (
        construct(rng.random(costs.shape), PairGraph.hard(indptr, indices)) for _ in range(count)
    )
    return [labels for labels in found if labels is not None]


@pytest.mark.parametrize("seed", range(5))
def test_rows_hold_for_all_feasible_labels(seed):
    """No clique row, lifted odd-cycle row or bound cuts off a feasible labelling."""
    costs, indptr, indices = planar_instance(seed)
    allowed = np.ones(costs.shape, dtype=bool)
    witnesses = feasible_labelings(costs, indptr, indices, np.random.default_rng(seed))
    best = solve_core(costs, PairGraph.hard(indptr, indices), budget=Budget.of(max_nodes=20))
    assert best.labels is not None
    witnesses.append(best.labels)
    lp = LinearRelaxation(instance_of(costs, indptr, indices), allowed)
    for _ in range(30):
        starts, nodes, labels, coefficients, rhs = violated_odd_cycles(
            lp.x, allowed, indptr, indices, 1e-3, 1000
        )
        for chosen in witnesses:
            taken = coefficients * (chosen[nodes] == labels)
            if len(rhs):
                assert (np.add.reduceat(taken, starts[:-1]) <= rhs).all()
        starts, nodes, labels = violated_cliques(lp.x, allowed, indptr, indices, 1e-6, 4000)
        for chosen in witnesses:
            taken = (chosen[nodes] == np.repeat(labels, np.diff(starts))).astype(int)
            if len(labels):
                assert (np.add.reduceat(taken, starts[:-1]) <= 1).all()
        if lp.separate(cycles=True) == 0:
            break
        assert lp.solve(Budget())
        lp.purge_if_long()
        bound, _ = lp.reduced_costs()
        assert bound <= best.cost * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_reduced_costs_bound_every_label(seed):
    """The bound plus the reduced costs of a labelling never exceeds what the labelling costs."""
    costs, indptr, indices = planar_instance(seed)
    lp = LinearRelaxation(instance_of(costs, indptr, indices), np.ones(costs.shape, dtype=bool))
    while lp.separate(cycles=False):
        assert lp.solve(Budget())
        if lp.n_cuts > 400:
            break
    bound, reduced = lp.reduced_costs()
    rows = np.arange(len(costs))
    for labels in feasible_labelings(costs, indptr, indices, np.random.default_rng(seed), 10):
        cost = costs[rows, labels].sum()
        assert bound + reduced[rows, labels].sum() <= cost * (1 + 1e-12)


def test_useful_labels_keep_degree_plus_one():
    """A node keeps its degree + 1 cheapest finite labels, ties to the first."""
    costs = np.array([[3.0, 1.0, 2.0, 1.0], [0.0, np.inf, 5.0, 5.0]])
    edge = np.array([0, 1, 2]), np.array([1, 0])
    kept = useful_labels(instance_of(costs, *edge))
    assert kept.tolist() == [[False, True, False, True], [True, False, True, False]]


def test_rows_contradict_each_other_without_any_open_label():
    """Nodes with one label each that may not share it: there is no solution, and that is known."""
    costs, edge = np.zeros((2, 2)), (np.array([0, 1, 2]), np.array([1, 0]))
    lp = LinearRelaxation(instance_of(costs, *edge), np.array([[True, False]] * 2))
    assert lp.separate(cycles=False) == 1
    assert not lp.solve(Budget())
    assert not lp.feasible


def test_a_closed_key_leaves_the_rest_of_one_to_the_other_labels():
    """Closing the cheapest label of a node moves it, opening it again moves it back."""
    costs = np.array([[0.0, 1.0, 3.0], [0.0, 2.0, 3.0]])
    lp = LinearRelaxation(
        instance_of(costs, np.array([0, 1, 2]), np.array([1, 0])), np.ones((2, 3), dtype=bool)
    )
    open_labels = np.ones((2, 3), dtype=bool)
    for closed, bound in ((False, 1.0), (True, 2.0), (False, 1.0)):
        open_labels[1, 0] = not closed
        lp.restrict(open_labels)
        while lp.separate(cycles=False):
            assert lp.solve(Budget())
        assert lp.solve(Budget())
        assert lp.reduced_costs()[0] == pytest.approx(bound)
        np.testing.assert_allclose(lp.x.sum(axis=1), 1.0)
