"""The exact assignment step: centers -> cheapest feasible labels, no cluster empty.

The solver is `assign`: it takes costs, never points. Its steps are one file each: `active_set`,
`components` (with `elimination` and `cores`), `bounded`. Here points become costs; `compiled` does
so as far as it goes for small dense points.
"""

from typing import Any

import numpy as np

from smdeclust.assignment.bounded import assign, assign_bounded
from smdeclust.assignment.compiled import assign_compiled
from smdeclust.assignment.status import INFEASIBLE, SOLVED, Assignment, Budget, Status
from smdeclust.exceptions import InvalidInputError
from smdeclust.points.centers import costs_of
from smdeclust.points.choose import TOO_MANY_TO_COPY
from smdeclust.points.validation import LARGEST
from smdeclust.problem import Contracted, Problem
from smdeclust.structure import Structure
from smdeclust.structure.bounds import Bounds


def exact_assignment(
    problem: Problem,
    centers: Any,
    *,
    upper_labels: Any = None,
    max_time: float | None = None,
    max_nodes: int | None = None,
) -> Assignment:
    """Assign all points to given centers at the lowest cost that the constraints allow.

    Parameters
    ----------
    problem
        The points and constraints.
    centers
        The (K, d) centers.
    upper_labels
        (N,) labels that satisfy all constraints, if you know any. They shorten long proofs.
    max_time, max_nodes
        Limits on the proof, in seconds and in branch-and-bound nodes. If one is reached, the best
        labels so far are returned, with a valid lower bound.

    Returns
    -------
    Assignment
        The labels, their cost, a lower bound, and the status.
    """
    centers = as_centers(centers, problem)
    upper = None if upper_labels is None else as_group_labels(upper_labels, problem, "upper_labels")
    for name, limit in (("max_time", max_time), ("max_nodes", max_nodes)):
        if limit is not None and not limit >= 0:
            raise InvalidInputError(f"{name} must be None or not negative, got {limit!r}.")
    budget = Budget.of(max_time=max_time, max_nodes=max_nodes)
    contracted, within = problem.contracted, problem.enter(centers)
    if problem.group_bounds is None:
        labels, cost, bound = assign_points(contracted, within, upper, budget)
    else:
        every = np.arange(problem.n_groups)
        costs = costs_of(contracted.points, contracted.weights, every, within)
        labels, cost, bound = assign_groups(problem, costs, upper, budget)
    if labels is None:
        status = Status.INFEASIBLE if bound == np.inf else Status.UNKNOWN
        return Assignment(None, np.inf, bound + problem.constant, status, budget.nodes)
    return Assignment(
        labels=problem.expand(labels),
        cost=cost + problem.constant,
        bound=bound + problem.constant,
        status=Status.OPTIMAL if bound >= cost else Status.FEASIBLE,
        nodes=budget.nodes,
    )


def assign_groups(
    known: Structure,
    costs: np.ndarray,
    upper: np.ndarray | None = None,
    budget: Budget | None = None,
) -> tuple[np.ndarray | None, float, float]:
    """Find labels of all groups with the lowest sum of costs and prices of broken soft pairs.

    `costs` has the shape (G, K). The result is that of ``assign``. It does not include the prices
    of soft pairs that every clustering breaks.
    """
    bounds = known.group_bounds or Bounds.none_empty(known.weights, np.zeros(known.n_clusters))
    return assign(costs, known.graph, bounds, upper, budget)


def bound_prices(
    known: Structure, costs: np.ndarray, labels: np.ndarray, budget: Budget
) -> np.ndarray:
    """(B, K) prices of the bounds on clusters, where these (G,) labels are the cheapest.

    Where a price is positive, one more than `high` would save that much at these (G, K) costs (at
    most); where it is negative, one less than `low` would.
    """
    bounds = known.group_bounds
    assert bounds is not None
    taken = bounds.with_order(bounds.match(bounds.held(labels)))
    return assign_bounded(costs, known.graph, taken, labels, budget).prices


def assign_points(
    contracted: Contracted,
    centers: np.ndarray,
    upper: np.ndarray | None = None,
    budget: Budget | None = None,
) -> tuple[np.ndarray | None, float, float]:
    """Assign contracted points: labels (or ``None``), cost and bound, without scatter."""
    weights, (k, d), begun = contracted.weights, centers.shape, None
    # Many points are copied only where a table of their costs would be larger.
    if contracted.points.size < TOO_MANY_TO_COPY or d <= k:
        status, labels, cost, begun = assign_compiled(contracted, centers)
        if status == INFEASIBLE:
            return None, np.inf, np.inf
        if status == SOLVED and np.bincount(labels[weights > 0], minlength=k).all():
            return labels, cost, cost
    costs = costs_of(contracted.points, weights, np.arange(len(weights)), centers)
    return assign(costs, contracted.graph, contracted.none_empty, upper, budget, begun)


def as_centers(centers: Any, problem: Problem) -> np.ndarray:
    """Return `centers` as a (K, d) float64 array, or say what is wrong with them."""
    try:
        array = np.asarray(centers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"centers must be a table of numbers: {error}.") from None
    expected = (problem.n_clusters, problem.n_features)
    if array.shape != expected:
        raise InvalidInputError(f"centers must have shape {expected}, got {array.shape}.")
    if not np.isfinite(array).all():
        raise InvalidInputError("centers must be finite.")
    if np.abs(array).max() > LARGEST:
        raise InvalidInputError(
            f"centers must not exceed {LARGEST:g} in size: squared distances would overflow."
        )
    return np.ascontiguousarray(array)


def as_group_labels(labels: Any, problem: Problem, name: str) -> np.ndarray:
    """Return (N,) labels of points as (G,) labels of groups, or say what is wrong with them."""
    array = np.asarray(labels)
    if array.shape != (problem.n_points,):
        raise InvalidInputError(
            f"{name} must have one label per point, shape ({problem.n_points},), got {array.shape}."
        )
    if array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= problem.n_clusters:
        raise InvalidInputError(
            f"{name} must be whole numbers from 0 to {problem.n_clusters - 1}, the clusters."
        )
    groups = problem.group_labels(array)
    split = np.flatnonzero(problem.expand(groups) != array)
    if len(split):
        raise InvalidInputError(
            f"{name} must keep must-linked points together: row {int(split[0])} is not in "
            f"the same cluster as the rest of its group."
        )
    return groups
