"""Step 4 of the exact assignment for the hard cores: the optimal labels, and the proof."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from smdeclust.assignment.core.construct import construct, is_feasible
from smdeclust.assignment.core.improve import kempe_descent
from smdeclust.assignment.core.search import Budget, branch_and_cut
from smdeclust.assignment.core.types import (
    RELATIVE_TOLERANCE,
    BoolArray,
    CoreResult,
    FloatArray,
    IntArray,
)
from smdeclust.exceptions import InvalidInputError

# Largest costs between these are taken as they are.
SMALL, LARGE = 2.0**-6, 2.0**20


def solve_core(
    costs: FloatArray,
    indptr: IntArray,
    indices: IntArray,
    *,
    upper_labels: IntArray | None = None,
    max_nodes: int | None = None,
    max_pivots: int | None = None,
    max_time: float | None = None,
) -> CoreResult:
    """Cheapest labels of which no two adjacent nodes share one.

    Parameters
    ----------
    costs
        Cost of every (node, label), shape (n, K); infinity forbids.
    indptr, indices
        The symmetric cannot-link graph over the n nodes in CSR form.
    upper_labels
        Feasible labels to start from (ignored if they are not feasible).
    max_nodes, max_pivots, max_time
        Budget of the search tree (nodes, simplex pivots) and of the whole call (seconds), the
        latter two checked between linear programmes. What has been found by then comes back with
        a true lower bound.
    """
    started = time.monotonic()
    costs = np.ascontiguousarray(costs, dtype=np.float64)
    indptr = np.ascontiguousarray(indptr, dtype=np.int64)
    indices = np.ascontiguousarray(indices, dtype=np.int64)
    if costs.ndim != 2 or len(indptr) != len(costs) + 1:
        raise InvalidInputError(
            f"costs of shape {costs.shape} and indptr of length {len(indptr)} do not describe one "
            "graph; pass costs (n, K) and indptr (n + 1,)"
        )
    if np.isnan(costs).any() or np.isneginf(costs).any():
        raise InvalidInputError("costs must be numbers or +inf; found nan or -inf")
    n = len(costs)
    if n == 0:
        return CoreResult(np.zeros(0, np.int64), 0.0, 0.0, True, 0)
    size = float(np.abs(costs[np.isfinite(costs)]).max(initial=0.0))
    if size > 0 and not SMALL <= size <= LARGE:
        # The linear programmes have absolute tolerances. Powers of two round nothing.
        exponent = int(np.frexp(size)[1])
        scaled = solve_core(
            np.ldexp(costs, -exponent), indptr, indices, upper_labels=upper_labels,
            max_nodes=max_nodes, max_pivots=max_pivots, max_time=max_time,
        )  # fmt: skip
        cost, bound = np.ldexp([scaled.cost, scaled.bound], exponent)
        return replace(scaled, cost=float(cost), bound=float(bound))
    indices = _sorted_neighbours(indptr, indices)
    allowed = useful_labels(costs, np.diff(indptr))
    if not allowed.any(axis=1).all():
        return CoreResult(None, np.inf, np.inf, True, 0)

    rows = np.arange(n)
    labels, cost = _first_labels(costs, indptr, indices, upper_labels)
    cheapest = np.where(allowed, costs, np.inf).min(axis=1)
    bound = float(cheapest.sum())
    finite = np.where(allowed, np.abs(costs), 0.0)
    reference = costs[rows, labels] if labels is not None else finite.max(axis=1)
    tolerance = RELATIVE_TOLERANCE * max(float(np.abs(reference).sum()), float(finite.max()))
    if cost - bound <= tolerance:
        return CoreResult(labels, cost, cost, True, 0)
    if labels is not None:
        # A label whose regret alone exceeds the total regret of the incumbent cannot pay.
        allowed &= costs - cheapest[:, None] + bound < cost - tolerance

    budget = Budget()
    if max_nodes is not None:
        budget.max_nodes = max_nodes
    if max_pivots is not None:
        budget.max_pivots = max_pivots
    if max_time is not None:
        budget.deadline = started + max_time
    result = branch_and_cut(costs, allowed, indptr, indices, cost, tolerance, budget)
    if result.labels is not None:
        labels, cost = result.labels, float(costs[rows, result.labels].sum())
    bound = min(max(bound, result.bound), cost)
    proven = bound >= cost - tolerance
    if labels is None and result.bound == np.inf:
        return CoreResult(None, np.inf, np.inf, True, budget.nodes, budget.pivots)
    return CoreResult(labels, cost, cost if proven else bound, proven, budget.nodes, budget.pivots)


def solve_quickly(
    costs: FloatArray,
    indptr: IntArray,
    indices: IntArray,
    *,
    upper_labels: IntArray | None = None,
    max_nodes: int | None = None,
    max_pivots: int | None = None,
    max_time: float | None = None,
) -> CoreResult:
    """Good labels in milliseconds, with the bound that every node alone gives: no proof is tried.

    Takes what `solve_core` takes; the budget is not used.
    """
    labels, cost = _first_labels(costs, indptr, indices, upper_labels)
    bound = float(costs.min(axis=1).sum())
    return CoreResult(labels, cost, min(bound, cost), labels is not None and cost <= bound, 0)


def _first_labels(
    costs: FloatArray, indptr: IntArray, indices: IntArray, given: IntArray | None
) -> tuple[IntArray | None, float]:
    """The given labels, if they are feasible, or constructed ones; improved by Kempe chains."""
    labels: IntArray | None = None
    if given is not None:
        start = np.asarray(given, dtype=np.int64)
        if is_feasible(start, costs, indptr, indices):
            labels = kempe_descent(costs, indptr, indices, start)
    if labels is None:
        labels = construct(costs, indptr, indices)
    if labels is None:
        return None, np.inf
    return labels, float(costs[np.arange(len(costs)), labels].sum())


def useful_labels(costs: FloatArray, degree: IntArray) -> BoolArray:
    """The degree + 1 cheapest finite labels of every node: its neighbours cannot block them all."""
    n, n_labels = costs.shape
    order = np.argsort(costs, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(n_labels), (n, n_labels)), axis=1)
    return (rank <= degree[:, None]) & np.isfinite(costs)


def _sorted_neighbours(indptr: IntArray, indices: IntArray) -> IntArray:
    source = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    step = np.diff(indices)
    if (step[np.diff(source) == 0] > 0).all():
        return indices
    return indices[np.lexsort((indices, source))]
