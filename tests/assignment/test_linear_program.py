"""The linear programs of dense cores: warm and cold agree; no second HiGHS is loaded."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.assignment.cores import linear_program, solve_core
from smdeclust.assignment.cores.linear_program import (
    NO_SOLUTION,
    OPTIMAL,
    LinearProgram,
    WarmProgram,
    warm_start_works,
)
from smdeclust.assignment.status import Budget
from smdeclust.structure.graph import PairGraph, cannot_link_graph


def dense_core(rng):
    n, k = 14, 4
    edges = np.array([(i, j) for i in range(n) for j in range(i) if rng.random() < 0.35])
    return rng.random((n, k)), PairGraph.hard(*cannot_link_graph(edges, n))


def test_the_warm_start_works_with_this_scipy():
    assert warm_start_works()


@pytest.mark.parametrize("program", [WarmProgram, LinearProgram])
def test_a_program_grows_shrinks_and_may_become_infeasible(program):
    lp = program()
    lp.add_columns(np.array([1.0, 2.0, 0.5]), np.full(3, np.inf))
    lp.add_rows(np.ones(1), np.ones(1), np.array([0, 3]), np.arange(3), np.ones(3))
    lp.make_basic(np.array([2]), 1)
    assert lp.solve(Budget()) == OPTIMAL
    assert np.allclose(lp.x, [0, 0, 1])
    lp.add_rows(
        np.full(2, -np.inf), np.array([0.25, 9.0]), np.array([0, 1, 3]), np.array([2, 0, 1]),
        np.ones(3),
    )  # fmt: skip
    assert lp.solve(Budget()) == OPTIMAL
    assert np.allclose(lp.x, [0.75, 0, 0.25])
    assert np.allclose(lp.row_dual, [1.0, -0.5, 0.0])
    assert lp.slack_rows().tolist() == [False, False, True]
    lp.drop_rows(lp.slack_rows())
    lp.set_upper(np.array([0]), np.zeros(1))
    assert lp.solve(Budget()) == OPTIMAL
    assert np.allclose(lp.x, [0, 0.75, 0.25])
    lp.set_upper(np.array([0, 1]), np.zeros(2))
    assert lp.solve(Budget()) == NO_SOLUTION


def test_cores_have_the_same_optimum_without_the_private_module(monkeypatch):
    rng = np.random.default_rng(0)
    cores = [dense_core(rng) for _ in range(20)]
    warm = [solve_core(*core) for core in cores]
    monkeypatch.setattr(linear_program, "warm_start_works", lambda: False)
    cold = [solve_core(*core) for core in cores]
    assert [r.proven for r in warm] == [r.proven for r in cold]
    assert np.allclose([r.cost for r in warm], [r.cost for r in cold], rtol=1e-12)


def test_a_changed_private_module_is_noticed(monkeypatch):
    def broken(self, *args):
        raise TypeError("changed")

    monkeypatch.setattr(WarmProgram, "add_rows", broken)
    warm_start_works.cache_clear()
    try:
        assert not warm_start_works()
        assert isinstance(linear_program.linear_program(), LinearProgram)
    finally:
        monkeypatch.undo()
        warm_start_works.cache_clear()
