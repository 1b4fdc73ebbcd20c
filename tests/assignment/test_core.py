"""The core solver against brute force and HiGHS."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust.assignment import Budget
from smdeclust.assignment.cores import construct, solve_core, swap_chains
from smdeclust.constraints import PairGraph
from smdeclust.exceptions import InvalidInputError


def random_graph(n, density, rng):
    """A symmetric CSR graph in which every pair is an edge with the given probability."""
    upper = np.triu(rng.random((n, n)) < density, 1)
    adjacent = upper | upper.T
    indptr = np.concatenate(([0], np.cumsum(adjacent.sum(axis=1)))).astype(np.int64)
    return indptr, np.nonzero(adjacent)[1].astype(np.int64)


def edges_of(indptr, indices):
    """Each edge once."""
    source = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return [(u, v) for u, v in zip(source, indices, strict=True) if u < v]


def brute_force(costs, indptr, indices):
    """The cheapest feasible cost by enumeration; infinity if there is none."""
    n, n_labels = costs.shape
    edges = edges_of(indptr, indices)
    best = np.inf
    for labels in itertools.product(range(n_labels), repeat=n):
        if all(labels[u] != labels[v] for u, v in edges):
            best = min(best, sum(costs[v, k] for v, k in enumerate(labels)))
    return best


def highs_optimum(costs, indptr, indices):
    """The cheapest feasible cost by the plain integer programme; infinity if there is none."""
    import highspy

    n, n_labels = costs.shape
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("mip_rel_gap", 0.0)
    x = [[model.addBinary(obj=float(costs[v, k])) for k in range(n_labels)] for v in range(n)]
    for v in range(n):
        model.addConstr(sum(x[v][k] for k in range(n_labels)) == 1)
    for u, v in edges_of(indptr, indices):
        for k in range(n_labels):
            model.addConstr(x[u][k] + x[v][k] <= 1)
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return np.inf
    return model.getInfo().objective_function_value


def cost_of(costs, labels):
    return costs[np.arange(len(labels)), labels].sum()


def assert_feasible(costs, indptr, indices, labels):
    assert np.isfinite(costs[np.arange(len(labels)), labels]).all()
    assert not (np.repeat(labels, np.diff(indptr)) == labels[indices]).any()


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 7),
    n_labels=st.integers(1, 4),
    density=st.sampled_from([0.2, 0.5, 0.8, 1.0]),
    forbidden=st.sampled_from([0.0, 0.2, 0.5]),
    integral=st.booleans(),
)
def test_agrees_with_brute_force(seed, n, n_labels, density, forbidden, integral):
    """On tiny cases, ties, forbidden labels and infeasible ones included, the answer is optimal."""
    rng = np.random.default_rng(seed)
    indptr, indices = random_graph(n, density, rng)
    costs = (
        rng.integers(0, 4, (n, n_labels)).astype(float) if integral else rng.random((n, n_labels))
    )
    costs[rng.random(costs.shape) < forbidden] = np.inf
    best = brute_force(costs, indptr, indices)
    result = solve_core(costs, PairGraph.hard(indptr, indices))
    assert result.proven
    if best == np.inf:
        assert result.labels is None
        assert result.cost == result.bound == np.inf
    else:
        assert_feasible(costs, indptr, indices, result.labels)
        assert result.cost == pytest.approx(best, rel=1e-12, abs=1e-12)
        assert result.bound == result.cost


@pytest.mark.parametrize("seed", range(24))
def test_agrees_with_highs(seed):
    """On dense random cases of 15 to 25 nodes the cost is that of the plain integer programme."""
    rng = np.random.default_rng(seed)
    n, n_labels = int(rng.integers(15, 26)), 3 + seed % 4
    indptr, indices = random_graph(n, 0.15 + 0.1 * (seed % 4), rng)
    costs = (
        rng.random((n, n_labels)) if seed % 2 else rng.integers(0, 5, (n, n_labels)).astype(float)
    )
    best = highs_optimum(costs, indptr, indices)
    result = solve_core(costs, PairGraph.hard(indptr, indices))
    assert result.proven
    assert result.cost == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_clique_of_groups_is_an_assignment_problem(seed):
    """On a complete graph the optimum is that of the linear assignment problem."""
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(seed)
    n, n_labels = 12, 12 + seed % 3
    indptr, indices = random_graph(n, 1.1, rng)
    costs = rng.random((n, n_labels))
    rows, columns = linear_sum_assignment(costs)
    assert solve_core(costs, PairGraph.hard(indptr, indices)).cost == pytest.approx(
        costs[rows, columns].sum()
    )


def hard_instance(seed, n=60, n_labels=8, density=0.2):
    """Points in the plane with random centers: neighbours compete for the same labels."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    weight = rng.integers(1, 6, n)
    centers = points[rng.choice(n, n_labels, replace=False)]
    costs = weight[:, None] * ((points[:, None] - centers[None]) ** 2).sum(axis=2)
    return costs, *random_graph(n, density, rng)


@functools.cache
def solved(seed):
    """A hard instance and its proven optimum."""
    costs, indptr, indices = hard_instance(seed)
    optimum = solve_core(costs, PairGraph.hard(indptr, indices))
    assert optimum.proven
    return costs, indptr, indices, optimum


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("budget", [{"max_nodes": 0}, {"max_nodes": 1}, {"max_time": 0.0}])
def test_bounds_hold_under_a_tiny_budget(seed, budget):
    """Bound <= optimum <= cost, however early the search is stopped."""
    costs, indptr, indices, optimum = solved(seed)
    early = solve_core(costs, PairGraph.hard(indptr, indices), budget=Budget.of(**budget))
    assert_feasible(costs, indptr, indices, early.labels)
    assert early.bound <= optimum.cost * (1 + 1e-12)
    assert early.cost >= optimum.cost * (1 - 1e-12)
    assert early.cost == pytest.approx(cost_of(costs, early.labels))
    if early.proven:
        assert early.cost == pytest.approx(optimum.cost)


@pytest.mark.parametrize("seed", range(6))
def test_warm_start_never_worsens(seed):
    """From given labels the result never costs more, also without any budget, and is optimal."""
    costs, indptr, indices, optimum = solved(seed)
    first = construct(costs, PairGraph.hard(indptr, indices), descent=False)
    early = solve_core(
        costs, PairGraph.hard(indptr, indices), upper_labels=first, budget=Budget.of(max_time=0.0)
    )
    assert early.cost <= cost_of(costs, first)
    warm = solve_core(costs, PairGraph.hard(indptr, indices), upper_labels=first)
    again = solve_core(costs, PairGraph.hard(indptr, indices), upper_labels=optimum.labels)
    assert warm.proven
    assert again.proven
    assert warm.cost == pytest.approx(optimum.cost, rel=1e-12)
    assert again.cost == pytest.approx(optimum.cost, rel=1e-12)


def test_infeasible_warm_start_is_ignored():
    """Labels that break an edge do not become the answer."""
    costs, indptr, indices = hard_instance(0)
    wrong = np.zeros(len(costs), dtype=np.int64)
    result = solve_core(costs, PairGraph.hard(indptr, indices), upper_labels=wrong)
    assert_feasible(costs, indptr, indices, result.labels)
    assert result.cost == pytest.approx(solve_core(costs, PairGraph.hard(indptr, indices)).cost)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), density=st.sampled_from([0.05, 0.2, 0.4]))
def test_heuristics_stay_feasible_and_never_worsen(seed, density):
    """construct and swap_chains keep every edge; the second costs no more than the first."""
    rng = np.random.default_rng(seed)
    n, n_labels = int(rng.integers(2, 40)), int(rng.integers(2, 8))
    indptr, indices = random_graph(n, density, rng)
    costs = rng.random((n, n_labels))
    costs[rng.random(costs.shape) < 0.1] = np.inf
    built = construct(costs, PairGraph.hard(indptr, indices), descent=False)
    if built is None:
        return
    down = swap_chains(costs, PairGraph.hard(indptr, indices), built)
    for labels in (built, down):
        assert_feasible(costs, indptr, indices, labels)
    assert cost_of(costs, down) <= cost_of(costs, built) + 1e-12


def test_construct_repairs_tight_colorings():
    """Where only few colourings exist, construct finds one: a planted dense 5-partite graph."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 5, 80)
    upper = np.triu((rng.random((80, 80)) < 0.6) & (truth[:, None] != truth[None]), 1)
    adjacent = upper | upper.T
    indptr = np.concatenate(([0], np.cumsum(adjacent.sum(axis=1)))).astype(np.int64)
    indices = np.nonzero(adjacent)[1].astype(np.int64)
    costs = rng.random((80, 5))
    assert_feasible(costs, indptr, indices, construct(costs, PairGraph.hard(indptr, indices)))


def test_inputs_stay_untouched_and_runs_repeat():
    """Two calls give the same labels, and neither changes its inputs."""
    costs, indptr, indices = hard_instance(5)
    copies = costs.copy(), indptr.copy(), indices.copy()
    budgets = Budget(), Budget()
    first, second = (
        solve_core(costs, PairGraph.hard(indptr, indices), budget=budget) for budget in budgets
    )
    np.testing.assert_array_equal(first.labels, second.labels)
    assert budgets[0] == budgets[1]
    for now, before in zip((costs, indptr, indices), copies, strict=True):
        np.testing.assert_array_equal(now, before)


def test_unsorted_neighbours_are_accepted():
    """The order of a node's neighbours does not matter."""
    costs, indptr, indices = hard_instance(2, n=30)
    shuffled = indices.copy()
    for v in range(30):
        shuffled[indptr[v] : indptr[v + 1]] = shuffled[indptr[v] : indptr[v + 1]][::-1]
    assert (
        solve_core(costs, PairGraph.hard(indptr, shuffled)).cost
        == solve_core(costs, PairGraph.hard(indptr, indices)).cost
    )


def test_degenerate_shapes():
    """No node costs nothing; no edge means the cheapest labels; nan and bad shapes are refused."""
    none = np.zeros(0, np.int64)
    assert solve_core(np.zeros((0, 3)), PairGraph.hard(np.zeros(1, np.int64), none)).cost == 0.0
    costs = np.array([[1.0, 2.0], [3.0, 0.5]])
    free = solve_core(costs, PairGraph.hard(np.zeros(3, np.int64), none))
    assert free.proven
    assert free.labels.tolist() == [0, 1]
    with pytest.raises(InvalidInputError, match="nan"):
        solve_core(np.array([[np.nan, 1.0]]), PairGraph.hard(np.zeros(2, np.int64), none))
    with pytest.raises(InvalidInputError, match="shape"):
        solve_core(costs, PairGraph.hard(np.zeros(2, np.int64), none))


@pytest.mark.parametrize("exponent", [-200, -40, 40, 200])
def test_the_size_of_costs_does_not_matter(exponent):
    """Costs times a power of two give the same labels, and cost and bound times that power."""
    rng = np.random.default_rng(5)
    costs = rng.random((30, 4))
    indptr, indices = random_graph(30, 0.12, rng)
    here = solve_core(costs, PairGraph.hard(indptr, indices))
    there = solve_core(np.ldexp(costs, exponent), PairGraph.hard(indptr, indices))
    assert here.proven
    assert there.proven
    np.testing.assert_array_equal(here.labels, there.labels)
    assert there.cost == np.ldexp(here.cost, exponent)
    assert there.bound == np.ldexp(here.bound, exponent)
