"""The assignment step as the paper writes it: a plain binary linear program, point by point.

Slow and independent of everything else here; tests and comparisons use it as the reference.
"""

import time
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.assignment.exact import as_centers
from smdeclust.assignment.status import Assignment, Status
from smdeclust.exceptions import InvalidInputError
from smdeclust.problem import Problem
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.label_program import SHARP, LabelProgram
from smdeclust.structure.quotas import bounds_of

MOST_ROUNDS = 5


def milp_assignment(
    problem: Problem, centers: Any, *, solver: str = "highs", max_time: float | None = None
) -> Assignment:
    """Solve the assignment as a binary program with N x K variables, to a gap of zero.

    Parameters
    ----------
    problem, centers
        As for :func:`exact_assignment`.
    solver
        ``"highs"``, or ``"gurobi"`` if the extra ``smdeclust[gurobi]`` is installed.
    max_time
        The time limit in seconds.
    """
    array = as_centers(centers, problem)
    distances = cdist(problem.X.astype(np.float64), array, metric="sqeuclidean")
    distances *= problem.point_weights[:, None]
    if solver == "highs":
        return _solve_highs(problem, distances, max_time)
    if solver == "gurobi":
        return _solve_gurobi(problem, distances, max_time)
    raise InvalidInputError(f"solver must be 'highs' or 'gurobi', got {solver!r}.")


def label_program(problem: Problem) -> tuple[LabelProgram, np.ndarray]:
    """The feasible set X and L over x[i, k] at i K + k, and the columns of broken soft pairs."""
    n, k = problem.n_points, problem.n_clusters
    program = LabelProgram(np.ones((n, k), dtype=bool))
    program.add_bounds(Bounds.none_empty(problem.point_weights, np.zeros(k)))
    if problem.bounds is not None:  # with what each point counts
        sizes = problem.point_weights if problem.bounds.by_weight else np.ones(n)
        program.add_bounds(bounds_of(problem.bounds, sizes, problem.quotas, np.arange(n)))
    kinds: list[tuple[np.ndarray, Any, bool]] = [
        (problem.must_link, np.inf, True),
        (problem.cannot_link, np.inf, False),
    ]
    broken = [np.empty(0, np.int64)]
    if problem.soft is not None:
        soft = problem.soft
        kinds += [(soft.must_link, soft.must_price, True),
                  (soft.cannot_link, soft.cannot_price, False)]  # fmt: skip
    for pairs, price, together in kinds:
        every = np.broadcast_to(price, len(pairs)), np.full(len(pairs), together)
        broken.append(program.add_pairs(pairs, *every))
    return program, np.concatenate(broken)


def _solve_highs(problem: Problem, distances: np.ndarray, max_time: float | None) -> Assignment:
    program, pairs = label_program(problem)
    deadline = np.inf if max_time is None else time.perf_counter() + max_time
    regrets = distances - distances.min(axis=1, keepdims=True)
    # What each variable costs: regrets of labels, nothing for orders of bounds, prices of pairs.
    prices = np.empty(0) if problem.soft is None else problem.soft.price
    charges = np.zeros(program.n_columns)
    charges[: distances.size] = regrets.ravel()
    charges[pairs] = prices
    found: Assignment | None = None
    ceiling, nodes = np.inf, 0
    for _ in range(MOST_ROUNDS):
        # HiGHS ends at an absolute gap of 1e-6, whatever the scale: hand it regrets of a known
        # scale, without those that alone cost more than a solution known already.
        allowed = charges <= ceiling
        largest = float(charges[allowed].max())
        scale = 1e5 / largest if largest > 0 else 1.0
        result = program.solve(
            np.where(allowed, charges, 0.0) * scale,
            upper=allowed.astype(float),
            max_time=deadline - time.perf_counter(),
        )
        nodes += int(result.mip_node_count or 0)
        if result.status == 2 and found is None:
            return Assignment(None, np.inf, np.inf, Status.INFEASIBLE)
        bound = -np.inf
        if result.mip_dual_bound is not None:
            bound = float(result.mip_dual_bound) / scale + float(distances.min(axis=1).sum())
        if result.x is None:
            return found or Assignment(None, np.inf, bound, Status.UNKNOWN)
        labels = program.labels(result.x)
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
        program, pairs = label_program(problem)
        cost = np.zeros(program.n_columns)
        cost[: distances.size] = distances.ravel()
        if problem.soft is not None:
            cost[pairs] = problem.soft.price
        x: Any = model.addMVar(program.n_columns, obj=cost, vtype="B")
        rows, low, high = program.rows()
        below, above = np.isfinite(low), np.isfinite(high)
        model.addConstr(rows[below] @ x >= low[below])
        model.addConstr(rows[above] @ x <= high[above])
        model.optimize()
        if model.Status in (gurobipy.GRB.INFEASIBLE, gurobipy.GRB.INF_OR_UNBD):
            return Assignment(None, np.inf, np.inf, Status.INFEASIBLE)
        if model.SolCount == 0:
            return Assignment(None, np.inf, float(model.ObjBound), Status.UNKNOWN)
        labels = program.labels(x.X)
        proven = model.Status == gurobipy.GRB.OPTIMAL
        soft = problem.soft
        broken = 0.0 if soft is None else float(soft.price[soft.broken(labels)].sum())
        bound = float(model.ObjBound)
        return _read(labels, distances, broken, bound, proven, int(model.NodeCount))


def _read(
    labels: np.ndarray, distances: np.ndarray, broken: float, bound: float, proven: bool, nodes: int
) -> Assignment:
    cost = float(distances[np.arange(len(labels)), labels].sum()) + broken
    status = Status.OPTIMAL if proven else Status.FEASIBLE
    return Assignment(labels, cost, cost if proven else min(bound, cost), status, nodes)
