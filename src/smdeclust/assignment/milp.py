"""The assignment step as the paper writes it: a plain binary linear programme, point by point.

Slow and independent of everything else here; the tests and comparisons judge by it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint
from scipy.sparse import coo_array, vstack
from scipy.spatial.distance import cdist

from smdeclust.assignment.exact import as_centers
from smdeclust.assignment.highs import solve_milp
from smdeclust.assignment.status import Assignment, Status
from smdeclust.exceptions import InvalidInputError
from smdeclust.problem import Problem

# Solutions whose regrets sum to less than this share of the largest one are looked for again.
SHARP = 16.0
MOST_ROUNDS = 5


def milp_assignment(
    problem: Problem, centers: Any, *, solver: str = "highs", max_time: float | None = None
) -> Assignment:
    """Solve problem (4) of the paper with N x K binaries, to a gap of zero.

    Parameters
    ----------
    problem, centers
        As for :func:`exact_assignment`.
    solver
        ``"highs"``, or ``"gurobi"`` if the extra ``smdeclust[gurobi]`` is installed.
    max_time
        Seconds, or ``None`` for no limit.
    """
    array = as_centers(centers, problem)
    distances = cdist(problem.X.astype(np.float64), array, metric="sqeuclidean")
    if problem.sample_weight is not None:
        distances = distances * problem.sample_weight[:, None]
    if solver == "highs":
        return _solve_highs(problem, distances, max_time)
    if solver == "gurobi":
        return _solve_gurobi(problem, distances, max_time)
    raise InvalidInputError(f"solver must be 'highs' or 'gurobi', got {solver!r}.")


def constraint_rows(problem: Problem) -> list[tuple[coo_array, float, float]]:
    """The rows of the feasible set X and L: (matrix, lower, upper) over x[i, k] at i K + k."""
    n, k = problem.n_points, problem.n_clusters
    point, cluster = np.divmod(np.arange(n * k), k)
    ones = np.ones(n * k)
    filling = ones if problem.sample_weight is None else (problem.sample_weight > 0)[point] * 1.0
    columns = np.arange(n * k)
    rows = [
        (coo_array((ones, (point, columns)), shape=(n, n * k)), 1.0, 1.0),
        (coo_array((filling, (cluster, columns)), shape=(k, n * k)), 1.0, np.inf),
    ]
    rows += _size_rows(problem) + _soft_rows(problem)
    for pairs, sign, low, high in (
        (problem.must_link, -1.0, 0.0, 0.0),
        (problem.cannot_link, 1.0, -np.inf, 1.0),
    ):
        if len(pairs):
            m = len(pairs)
            first = (pairs[:, :1] * k + np.arange(k)).ravel()
            second = (pairs[:, 1:] * k + np.arange(k)).ravel()
            at = np.arange(m * k)
            values = np.concatenate([np.ones(m * k), np.full(m * k, sign)])
            where = (np.concatenate([at, at]), np.concatenate([first, second]))
            rows.append((coo_array((values, where), shape=(m * k, n * k)), low, high))
    return rows


def _size_rows(problem: Problem) -> list[tuple[coo_array, float, float]]:
    """Sizes of clusters against bounds; where these differ, z[k, j] says who takes which."""
    bounds = problem.bounds
    if bounds is None:
        return []
    n, k = problem.n_points, problem.n_clusters
    point, cluster = np.divmod(np.arange(n * k), k)
    size = np.ones(n * k)
    if bounds.by_weight and problem.sample_weight is not None:
        size = problem.sample_weight[point]
    taker, taken = np.divmod(np.arange(k * k), k)
    at = n * k + np.arange(k * k)
    width = n * k + k * k
    one = np.ones(k * k)
    total = float(size.sum()) / k
    high = np.minimum(bounds.high, total)  # infinity is no coefficient
    rows = []
    for limit, low_high in ((bounds.low, (0.0, np.inf)), (high, (-np.inf, 0.0))):
        values = np.concatenate([size, -limit[taken]])
        where = (np.concatenate([cluster, taker]), np.concatenate([np.arange(n * k), at]))
        rows.append((coo_array((values, where), shape=(k, width)), *low_high))
    for who in (taker, taken):
        rows.append((coo_array((one, (who, at)), shape=(k, width)), 1.0, 1.0))
    return rows


def _soft_rows(problem: Problem) -> list[tuple[coo_array, float, float]]:
    """z[m] is 1 where soft pair m is broken; they come last.

    A must-link: z >= x[i, k] - x[j, k] for all k. A cannot-link: z >= x[i, k] + x[j, k] - 1.
    """
    soft, k = problem.soft, problem.n_clusters
    if soft is None:
        return []
    m, begin = len(soft), problem.n_points * k + (0 if problem.bounds is None else k * k)
    at = np.arange(m * k)
    first, second = (soft.pairs.T[:, :, None] * k + np.arange(k)).reshape(2, -1)
    sign = np.repeat(np.where(np.arange(m) < len(soft.must_link), -1.0, 1.0), k)
    values = np.concatenate([np.ones(m * k), sign, -np.ones(m * k)])
    where = np.tile(at, 3), np.concatenate([first, second, begin + at // k])
    rows = coo_array((values, where), shape=(m * k, begin + m)).tocsr()
    n_must = len(soft.must_link) * k
    # Repeated entries, of pairs of a row with itself, add up.
    parts = ((rows[:n_must], 0.0), (rows[n_must:], 1.0))
    return [(part.tocoo(), -np.inf, most) for part, most in parts if part.shape[0]]


def _solve_highs(problem: Problem, distances: np.ndarray, max_time: float | None) -> Assignment:
    rows = constraint_rows(problem)
    width = max(m.shape[1] for m, _, _ in rows)
    matrix = vstack([_widened(m, width) for m, _, _ in rows]).tocsr()
    low = np.concatenate([np.full(m.shape[0], a) for m, a, _ in rows])
    high = np.concatenate([np.full(m.shape[0], b) for m, _, b in rows])
    deadline = np.inf if max_time is None else time.perf_counter() + max_time
    regrets = distances - distances.min(axis=1, keepdims=True)
    # What each variable costs: regrets of labels, nothing for orders of bounds, prices of pairs.
    prices = np.empty(0) if problem.soft is None else problem.soft.price
    charges = np.zeros(width)
    charges[: distances.size] = regrets.ravel()
    charges[width - len(prices) :] = prices
    found: Assignment | None = None
    ceiling, nodes = np.inf, 0
    for _ in range(MOST_ROUNDS):
        # HiGHS ends at an absolute gap of 1e-6, whatever the scale: hand it regrets of a known
        # scale, without those that alone cost more than a solution known already.
        allowed = charges <= ceiling
        largest = float(charges[allowed].max())
        scale = 1e5 / largest if largest > 0 else 1.0
        options: Any = {"mip_rel_gap": 0.0}
        if max_time is not None:
            options["time_limit"] = max(0.0, deadline - time.perf_counter())
        result = solve_milp(
            np.where(allowed, charges, 0.0) * scale,
            integrality=np.ones(width, dtype=np.int8),
            bounds=Bounds(0, allowed.astype(float)),
            constraints=LinearConstraint(matrix, low, high),
            options=options,
        )
        nodes += int(result.mip_node_count or 0)
        if result.status == 2 and found is None:
            return Assignment(None, np.inf, np.inf, Status.INFEASIBLE)
        bound = -np.inf
        if result.mip_dual_bound is not None:
            bound = float(result.mip_dual_bound) / scale + float(distances.min(axis=1).sum())
        if result.x is None:
            return found or Assignment(None, np.inf, bound, Status.UNKNOWN)
        labels = result.x[: distances.size].reshape(distances.shape).argmax(axis=1)
        broken = 0.0 if problem.soft is None else float(prices[problem.soft.broken(labels)].sum())
        regret = float(regrets[np.arange(len(labels)), labels].sum()) + broken
        sharp = largest <= SHARP * regret or regret == 0.0
        found = _read(labels, distances, broken, bound, result.status == 0 and sharp, nodes)
        if result.status != 0 or sharp:
            break
        ceiling = regret
    assert found is not None
    return found


def _solve_gurobi(problem: Problem, distances: np.ndarray, max_time: float | None) -> Assignment:
    try:
        import gurobipy
    except ImportError:
        raise InvalidInputError(
            "solver='gurobi' needs gurobipy: pip install 'smdeclust[gurobi]', or use 'highs'."
        ) from None
    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        model.Params.MIPGap = 0.0
        if max_time is not None:
            model.Params.TimeLimit = max_time
        parts = constraint_rows(problem)
        width = max(matrix.shape[1] for matrix, _, _ in parts)
        cost = np.zeros(width)
        cost[: distances.size] = distances.ravel()
        if problem.soft is not None:
            cost[width - len(problem.soft) :] = problem.soft.price
        x: Any = model.addMVar(width, obj=cost, vtype="B")
        for matrix, low, high in parts:
            rows: Any = _widened(matrix, width).tocsr()
            product = rows @ x
            if low == high:
                model.addConstr(product == low)
            elif np.isinf(high):
                model.addConstr(product >= low)
            else:
                model.addConstr(product <= high)
        model.optimize()
        if model.Status in (gurobipy.GRB.INFEASIBLE, gurobipy.GRB.INF_OR_UNBD):
            return Assignment(None, np.inf, np.inf, Status.INFEASIBLE)
        if model.SolCount == 0:
            return Assignment(None, np.inf, float(model.ObjBound), Status.UNKNOWN)
        labels = x.X[: distances.size].reshape(distances.shape).argmax(axis=1)
        proven = model.Status == gurobipy.GRB.OPTIMAL
        soft = problem.soft
        broken = 0.0 if soft is None else float(soft.price[soft.broken(labels)].sum())
        bound = float(model.ObjBound)
        return _read(labels, distances, broken, bound, proven, int(model.NodeCount))


def _widened(matrix: coo_array, width: int) -> coo_array:
    """The same rows with columns of zeros on the right."""
    return coo_array((matrix.data, matrix.coords), shape=(matrix.shape[0], width))


def _read(
    labels: np.ndarray,
    distances: np.ndarray,
    broken: float,
    bound: float,
    proven: bool,
    nodes: int,
) -> Assignment:
    cost = float(distances[np.arange(len(labels)), labels].sum()) + broken
    status = Status.OPTIMAL if proven else Status.FEASIBLE
    return Assignment(labels, cost, cost if proven else min(bound, cost), status, nodes)
