"""certify against enumeration: never above the optimum, and ends there whatever it starts from."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from smdeclust.exact import Certificate, certify, verify
from smdeclust.exceptions import InvalidInputError
from tests.exact.brute import all_costs, cost, random_problem

NONE = np.empty((0, 2), np.int64)


@pytest.mark.parametrize("seed", range(150))
def test_ends_at_the_enumerated_optimum_from_the_worst_start(seed: int) -> None:
    """From the worst feasible clustering, the proof ends at the enumerated optimum and verifies."""
    rng = np.random.default_rng(seed)
    X, k, must, cannot, weights = random_problem(rng, weighted=seed % 3 == 0)
    costs = all_costs(X, k, must, cannot, weights)
    optimum, worst = costs[0][0], costs[-1][1]
    pairs = {"must_link": must, "cannot_link": cannot, "sample_weight": weights}
    result = certify(X, worst, tol=1e-6, **pairs)
    scale = float(np.sum(X**2)) + 1e-12
    assert result.status == "optimal"
    assert result.upper_bound == pytest.approx(optimum, rel=2e-6, abs=1e-8 * scale)
    assert result.lower_bound <= optimum + 1e-12 * scale
    assert cost(X, result.labels, weights) == pytest.approx(result.upper_bound, abs=1e-9 * scale)
    verified = verify(X, result, **pairs)
    assert result.lower_bound <= verified.lower_bound <= optimum + 1e-12 * scale
    assert verified.optimal


@pytest.mark.parametrize("seed", range(60))
def test_bound_holds_without_time_to_finish(seed: int) -> None:
    """Stopped at once, the bound is below the optimum, the status says why, and it verifies."""
    rng = np.random.default_rng(1000 + seed)
    X, k, must, cannot, _ = random_problem(rng)
    costs = all_costs(X, k, must, cannot)
    result = certify(X, costs[-1][1], must_link=must, cannot_link=cannot, tol=0.0, max_time=0.0)
    assert result.lower_bound <= costs[0][0] + 1e-12
    assert result.status in {"optimal", "time_limit"}
    verify(X, result, must_link=must, cannot_link=cannot)


def test_keeps_the_given_labels_when_they_are_best() -> None:
    """Optimal labels come back as given, and not as an improvement."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 2))
    best = all_costs(X, 3, NONE, NONE)[0][1]
    result = certify(X, best)
    assert np.array_equal(result.labels, best)
    assert not result.improved


def test_branches_where_the_root_is_not_enough() -> None:
    """With cuts switched off by a tiny budget of rounds, the tree still ends at the optimum."""
    from smdeclust.exact.admm import Settings
    from smdeclust.exact.relaxation import PointData
    from smdeclust.exact.tree import Search

    rng = np.random.default_rng(5)
    X = rng.uniform(size=(10, 2))
    costs = all_costs(X, 3, NONE, NONE)
    data = PointData.build(X, 3, NONE, NONE)
    settings = Settings(cuts_per_group=0.0, max_rounds=4, patience=0.0)
    result = Search(
        data,
        lambda node, Y: costs[0][0],
        upper_bound=costs[0][0],
        target=lambda upper: upper * (1 - 1e-6),
        settings=settings,
    ).run()
    assert result.n_nodes > 1
    assert costs[0][0] * (1 - 1e-6) <= result.lower_bound <= costs[0][0] * (1 + 1e-9)


def test_the_tree_on_processes() -> None:
    """Two processes find the bound of one, and leave a proof as good."""
    from smdeclust.exact.admm import Settings
    from smdeclust.exact.block import bound_block
    from smdeclust.problem import Problem

    X = np.random.default_rng(5).uniform(size=(12, 2))
    problem = Problem.build(X, 3)
    labels = np.arange(12) % 3
    settings = Settings(cuts_per_group=0.0, max_rounds=4, patience=0.0)
    one, two = (bound_block(problem, labels, tol=1e-5, settings=settings, n_jobs=n) for n in (1, 2))
    assert two.n_nodes > 2
    assert two.upper_bound == pytest.approx(one.upper_bound)
    assert two.lower_bound == pytest.approx(one.lower_bound, rel=1e-4)
    certificate = Certificate(
        two.labels, 3, two.lower_bound, two.upper_bound, 0.0, "time_limit", 1e-4, proof=two.proof
    )
    assert verify(X, certificate, n_clusters=3).optimal


def test_processes_can_write_to_large_nodes() -> None:
    """Matrices above a megabyte reach the processes writable: joblib would map them from a file."""
    from smdeclust.exact.admm import Settings, cold_start
    from smdeclust.exact.block import Block
    from smdeclust.exact.relaxation import relax
    from smdeclust.exact.tree import Node, Search
    from smdeclust.problem import Problem

    X = np.random.default_rng(0).uniform(size=(380, 2))
    data = Block.of(Problem.build(X, 3), np.arange(380) % 3).data
    node = relax(data, NONE, NONE)
    assert node is not None
    assert cold_start(node).V.nbytes > 2**20
    search = Search(data, lambda *_: 1e9, 1e9, lambda f: f, np.inf, Settings(max_rounds=1), 2)
    search.deadline = time.perf_counter() + 5.0
    nodes = [Node(i, NONE, NONE, node, cold_start(node)) for i in range(2)]
    first, second = search._bound(nodes)
    assert min(first.iterations, second.iterations) > 0


def test_one_part_too_large_is_answered_at_once() -> None:
    """More groups than a proof is tried for: an estimate, a true bound, no exception."""
    X = np.random.default_rng(0).normal(size=(2500, 2))
    labels = (X[:, 0] > 0).astype(int)
    result = certify(X, labels, parts=1)
    verify(X, result, n_clusters=2)
    assert result.status == "too_large"
    assert "2500 groups" in result.message
    assert 0.0 < result.lower_bound <= result.upper_bound


def test_out_of_memory_is_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """Running out of memory gives a true bound and says so; the bound verifies."""

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(sys.modules["smdeclust.exact.block"], "Search", fail)
    X = np.random.default_rng(0).normal(size=(30, 4))
    labels = (X[:, 0] > 0).astype(int)
    result = certify(X, labels, must_link=[(0, 1)] if labels[0] == labels[1] else None)
    assert result.status == "memory_limit"
    assert 0.0 < result.lower_bound <= result.upper_bound
    verify(X, result, must_link=[(0, 1)] if labels[0] == labels[1] else None)


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_shift_and_scale_change_nothing(shift: float, scale: float) -> None:
    """The gap that is proven depends on the shape of the data, not on its units."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(8, 3)), rng.normal(size=(8, 3)) + 4.0])
    labels = np.repeat([0, 1], 8)
    moved = (X + shift) * scale
    result = certify(moved, labels, tol=1e-6)
    assert result.status == "optimal"
    verify(moved, result)


def test_more_columns_than_rows() -> None:
    """Wide data are rotated onto their span for the proof; it is checked on the data as given."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(9, 60)) + np.repeat(np.eye(3), 3, axis=0) @ rng.normal(size=(3, 60)) * 3
    cannot = np.array([[0, 1]])
    costs = all_costs(X, 3, NONE, cannot)
    result = certify(X, costs[-1][1], cannot_link=cannot, tol=1e-6)
    assert result.upper_bound == pytest.approx(costs[0][0], rel=2e-6)
    verify(X, result, cannot_link=cannot)


def test_all_points_equal() -> None:
    """A cost of zero is proven, not divided by."""
    X = np.ones((6, 2))
    result = certify(X, np.array([0, 0, 1, 1, 2, 2]))
    assert result.status == "optimal"
    assert result.gap == 0.0
    verify(X, result)


def test_labels_that_break_a_pair_are_refused() -> None:
    """Only a feasible clustering can be certified; the error counts what is broken."""
    X = np.arange(4.0)[:, None]
    with pytest.raises(InvalidInputError, match="1 must-links and 0 cannot-links"):
        certify(X, [0, 0, 1, 1], must_link=[(1, 2)])


def test_too_few_labels_are_refused() -> None:
    """One label per row."""
    with pytest.raises(InvalidInputError, match="labels"):
        certify(np.arange(4.0)[:, None], [0, 1])
