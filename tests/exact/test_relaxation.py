"""The relaxation: valid for clusterings, bounded below by any multipliers, equal to SCS's value."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.exact.admm import Settings, cold_start, safe_bound, solve
from smdeclust.exact.relaxation import PointData, relax
from smdeclust.exact.tree import child_state
from smdeclust.exact.verify_tree import close as merge_groups
from tests.exact.brute import all_costs, partitions, random_problem

NONE = np.empty((0, 2), np.int64)


@pytest.mark.parametrize("seed", range(200))
def test_any_multipliers_bound_the_optimum(seed: int) -> None:
    """Random admissible multipliers, free on cannot-links, give a bound below the optimum."""
    rng = np.random.default_rng(seed)
    X, k, must, cannot, weights = random_problem(rng, weighted=seed % 2 == 0)
    optimum = all_costs(X, k, must, cannot, weights)[0][0]
    node = relax(PointData.build(X, k, must, cannot, weights), NONE, NONE)
    assert node is not None
    Lambda = rng.exponential(size=(node.n_groups, node.n_groups)) * rng.choice([0.0, 0.01, 0.3])
    Lambda = np.where(node.apart, rng.normal(size=Lambda.shape), Lambda)
    bound = safe_bound(node, -(Lambda + Lambda.T), 1.0)
    assert bound <= optimum + 1e-10 * (1 + abs(optimum))


@pytest.mark.parametrize("seed", range(40))
def test_children_start_from_valid_multipliers(seed: int) -> None:
    """A child started from its parent's state has a bound below its own optimum, at once."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2))
    k = int(rng.integers(2, 5))
    data = PointData.build(X, k, NONE, NONE)
    node = relax(data, NONE, NONE)
    assert node is not None
    outcome = solve(node, cold_start(node), target=np.inf, settings=Settings(max_rounds=4))
    pair = rng.choice(8, 2, replace=False)[None, :]
    for together, apart in ((pair, NONE), (NONE, pair)):
        child = relax(data, together, apart)
        if child is None:
            continue
        state = child_state(node, child, outcome.state)
        optimum = all_costs(X, k, together, apart)[0][0]
        assert safe_bound(child, state.U, state.rho) <= optimum + 1e-9


def test_two_clusters_contract_the_enemy_of_an_enemy() -> None:
    """With K = 2, rows apart from a common row are joined; a contradiction is found."""
    cannot = np.array([[0, 1], [1, 2], [2, 3]])
    groups = merge_groups(5, NONE, cannot, 2)
    assert groups is not None
    assert groups[0] == groups[2] != groups[1] == groups[3]
    assert groups[4] not in (groups[0], groups[1])
    assert len(np.unique(merge_groups(5, NONE, cannot, 3))) == 5
    assert merge_groups(3, NONE, np.array([[0, 1], [1, 2], [0, 2]]), 2) is None


def test_objective_of_every_clustering() -> None:
    """constant + scale <cost, Y> is the cost of the clustering, and Y satisfies the relaxation."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(6, 2)) + 5.0, rng.uniform(0.5, 2.0, 6)
    data = PointData.build(X, 3, NONE, NONE, weights)
    node = relax(data, NONE, NONE)
    assert node is not None
    from tests.exact.brute import cost

    for labels in partitions(6, 3):
        onehot = (labels[node.group_of_point.argsort()][:, None] == np.arange(3)).astype(float)
        Q = node.sqrt_weights[:, None] * onehot
        Q /= np.linalg.norm(Q, axis=0)
        Y = Q @ Q.T
        assert np.allclose(Y @ node.unit, node.unit)
        value = node.constant + node.scale * np.sum(node.cost * Y)
        assert value == pytest.approx(cost(X, labels, weights))


def scs_value(node: object) -> float:
    """Value of the relaxation without cuts by SCS, on the lower triangle of Y."""
    scs = pytest.importorskip("scs", reason="SCS is not installed: pip install scs")
    from scipy.sparse import csc_matrix, identity, vstack

    n = node.n_groups
    index = {}
    for j in range(n):
        for i in range(j, n):
            index[i, j] = len(index)
    size = len(index)
    off = np.array([1.0 if i == j else np.sqrt(2.0) for i, j in index])
    # Variables: entries of Y below the diagonal; equalities first, then signs, then the cone.
    rows, columns, values, right = [], [], [], []

    def put(row: int, i: int, j: int, value: float) -> None:
        rows.append(row)
        columns.append(index[max(i, j), min(i, j)])
        values.append(value)

    count = 0
    for i in range(n):
        for j in range(n):
            put(count, i, j, float(node.unit[j]))
        right.append(float(node.unit[i]))
        count += 1
    for i in range(n):
        put(count, i, i, 1.0)
    right.append(float(node.n_clusters))
    count += 1
    for i, j in zip(*np.nonzero(np.triu(node.apart)), strict=True):
        put(count, i, j, 1.0)
        right.append(0.0)
        count += 1
    equal = csc_matrix((values, (rows, columns)), shape=(count, size))
    scaled = csc_matrix((off, (np.arange(size), np.arange(size))), shape=(size, size))
    A = vstack([equal, -identity(size), -scaled]).tocsc()
    b = np.concatenate([right, np.zeros(2 * size)])
    c = np.array([node.cost[i, j] * (1.0 if i == j else 2.0) for i, j in index])
    solver = scs.SCS(
        {"A": A, "b": b, "c": c},
        {"z": count, "l": size, "s": [n]},
        eps_abs=1e-7,
        eps_rel=1e-7,
        max_iters=20000,
        verbose=False,
    )
    return node.constant + node.scale * solver.solve()["info"]["pobj"]


@pytest.mark.parametrize("n", [25, 40])
def test_root_value_agrees_with_scs(n: int) -> None:
    """Without cuts, the bound converges to the value that another conic solver finds."""
    pytest.importorskip("scs", reason="SCS is not installed: pip install scs")
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    cannot = rng.choice(n, (6, 2), replace=False) if n >= 12 else NONE
    node = relax(PointData.build(X, 4, NONE, cannot), NONE, NONE)
    assert node is not None
    settings = Settings(cuts_per_group=0.0, max_rounds=60, patience=1e12)
    outcome = solve(node, cold_start(node), target=np.inf, settings=settings)
    value = scs_value(node)
    assert outcome.bound <= value * (1 + 1e-5)
    assert outcome.bound == pytest.approx(value, rel=1e-3)
