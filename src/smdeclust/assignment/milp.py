"""The assignment step as the paper writes it: a plain binary linear program, point by point.

Slow and independent of everything else here; the tests and comparisons judge by it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import Bounds as VariableBounds
from scipy.optimize import LinearConstraint
from scipy.sparse import coo_array, vstack
from scipy.spatial.distance import cdist

from smdeclust.assignment.exact import as_centers
from smdeclust.assignment.highs import solve_milp
from smdeclust.assignment.status import Assignment, Status
from smdeclust.exceptions import InvalidInputError
from smdeclust.problem import Problem
from smdeclust.structure.bounds import Bounds, Rows

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


def constraint_rows(problem: Problem) -> tuple[list[Rows], int]:
    """The rows of the feasible set X and L, (matrix, lower, upper) over x[i, k] at i K + k, and
    the number of columns: which cluster takes which bounds comes next, broken soft pairs last."""
    n, k = problem.n_points, problem.n_clusters
    point, cluster = np.divmod(np.arange(n * k), k)
    ones = np.ones(n * k)
    filling = ones if problem.sample_weight is None else (problem.sample_weight > 0)[point] * 1.0
    columns = np.arange(n * k)
    bounds = _bounds_on_points(problem)
    n_soft = 0 if problem.soft is None else len(problem.soft)
    width = n * k + n_soft + (k * k if bounds is not None and bounds.any_order else 0)
    rows: list[Rows] = [
        (coo_array((ones, (point, columns)), shape=(n, width)), np.ones(n), np.ones(n)),
        (
            coo_array((filling, (cluster, columns)), shape=(k, width)),
            np.ones(k),
            np.full(k, np.inf),
        ),
    ]
    if bounds is not None:
        rows += bounds.rows(point, cluster, width)
    must, cannot = problem.must_link, problem.cannot_link
    rows += _pair_rows(must, -1.0, 0.0, k, width) + _pair_rows(cannot, 1.0, 1.0, k, width)
    if problem.soft is not None:
        # z is 1 where a pair is broken: z >= x[i, k] - x[j, k] for all k of a must-link, and
        # z >= x[i, k] + x[j, k] - 1 of a cannot-link.
        must, cannot = problem.soft.must_link, problem.soft.cannot_link
        first = width - n_soft
        rows += _pair_rows(must, -1.0, 0.0, k, width, first)
        rows += _pair_rows(cannot, 1.0, 1.0, k, width, first + len(must))
    return rows, width


def _bounds_on_points(problem: Problem) -> Bounds | None:
    """The bounds on clusters with what each point counts."""
    bounds, k = problem.bounds, problem.n_clusters
    if bounds is None:
        return None
    ones = np.ones(problem.n_points)
    weights = problem.sample_weight if bounds.by_weight else None
    sums = [(ones if weights is None else weights, bounds.low, bounds.high)]
    for quota in problem.quotas:
        sums += [(c, np.full(k, least), np.full(k, most)) for c, least, most in quota.sums()]
    counted, low, high = (np.array(each) for each in zip(*sums, strict=True))
    return Bounds.of(counted, low, high, any_order=True)


def _pair_rows(
    pairs: np.ndarray, sign: float, most: float, k: int, width: int, broken: int | None = None
) -> list[Rows]:
    """x[i, k] + sign x[j, k] <= most for all k, unless z at column `broken` and on allows it.

    Hard must-links are equations.
    """
    m = len(pairs)
    if m == 0:
        return []
    first, second = (pairs.T[:, :, None] * k + np.arange(k)).reshape(2, -1)
    at = np.arange(m * k)
    values, where = [np.ones(m * k), np.full(m * k, sign)], [first, second]
    if broken is not None:
        values.append(-np.ones(m * k))
        where.append(broken + at // k)
    places = np.tile(at, len(where)), np.concatenate(where)
    matrix = coo_array((np.concatenate(values), places), shape=(m * k, width))
    low = 0.0 if sign < 0 and broken is None else -np.inf
    return [(matrix, np.full(m * k, low), np.full(m * k, most))]


def _solve_highs(problem: Problem, distances: np.ndarray, max_time: float | None) -> Assignment:
    rows, width = constraint_rows(problem)
    matrix = vstack([matrix for matrix, _, _ in rows]).tocsr()
    low, high = (np.concatenate([row[side] for row in rows]) for side in (1, 2))
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
            bounds=VariableBounds(0, allowed.astype(float)),
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
        parts, width = constraint_rows(problem)
        cost = np.zeros(width)
        cost[: distances.size] = distances.ravel()
        if problem.soft is not None:
            cost[width - len(problem.soft) :] = problem.soft.price
        x: Any = model.addMVar(width, obj=cost, vtype="B")
        for matrix, low, high in parts:
            rows: Any = matrix.tocsr()
            below, above = np.isfinite(low), np.isfinite(high)
            if below.any():
                model.addConstr(rows[below] @ x >= low[below])
            if above.any():
                model.addConstr(rows[above] @ x <= high[above])
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
