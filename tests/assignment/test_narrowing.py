"""Labels that cannot be optimal: what `narrow` forbids, and what components with cycles cost."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from smdeclust.assignment import assign
from smdeclust.assignment.narrowing import narrow
from smdeclust.constraints import PairGraph
from tests.fuzz import (
    disagreement_of_scales,
    disagreement_of_soft,
    random_scales,
    random_soft,
)


def random_component(rng, soft: bool, n: int = 7, k: int = 4):
    """Costs of n nodes, dense pairs between them, and all labellings with their costs."""
    edges = np.array([(i, j) for i in range(n) for j in range(i) if rng.random() < 0.6])
    price, together = np.full(len(edges), np.inf), np.zeros(len(edges), dtype=bool)
    if soft:
        price = np.where(rng.random(len(edges)) < 0.4, np.inf, rng.random(len(edges)))
        together = np.isfinite(price) & (rng.random(len(edges)) < 0.5)
    costs = rng.integers(0, 4, (n, k)) * 1.0 if rng.random() < 0.5 else rng.random((n, k))
    every = np.array(list(itertools.product(range(k), repeat=n)))
    totals = costs[np.arange(n), every].sum(axis=1)
    for (i, j), p, same in zip(edges, price, together, strict=True):
        totals[(every[:, i] == every[:, j]) != same] += p
    return costs, PairGraph.from_edges(edges, price, together, n), every, totals


@pytest.mark.parametrize("soft", [False, True])
def test_an_optimal_labelling_is_never_forbidden(soft):
    """Every labelling of the least cost, ties included, keeps all its labels."""
    rng = np.random.default_rng(4)
    n_forbidden = 0
    for _ in range(60):
        costs, graph, every, totals = random_component(rng, soft)
        if totals.min() == np.inf:
            continue
        left, n = costs.copy(), len(costs)
        everybody, local = np.ones(n, dtype=bool), np.empty(n, dtype=np.int64)
        narrow(np.arange(n), left, graph.arrays, everybody, local)
        best = every[totals <= totals.min() * (1 + 1e-14)]
        assert np.isfinite(left[np.arange(n), best]).all()
        n_forbidden += np.isinf(left).sum()
    assert n_forbidden > 60


def test_components_with_cycles_cost_what_enumeration_says():
    """Whatever way a component takes, the labels are optimal."""
    rng = np.random.default_rng(5)
    for soft in (False, True) * 40:
        costs, graph, _, totals = random_component(rng, soft, n=int(rng.integers(4, 8)))
        _, cost, bound = assign(costs, graph, None)
        assert cost == bound
        assert cost == pytest.approx(totals.min(), rel=1e-12)


def test_small_differences_beside_large_costs_are_seen():
    """A dense core is solved to the rounding of its sums, not to 1e-12 of them."""
    assert disagreement_of_scales(random_scales(np.random.default_rng((99, 8155)))) is None


def test_labels_found_where_a_part_is_closed_are_kept():
    """Branch and cut closes a part at its root with the labels it found on the way there."""
    assert disagreement_of_soft(random_soft(np.random.default_rng((12, 18589)))) is None
