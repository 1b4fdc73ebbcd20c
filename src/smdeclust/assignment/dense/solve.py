"""Step 4 of the exact assignment for the hard cores: the optimal labels, and the proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.dense.construct import construct, is_feasible
from smdeclust.assignment.dense.improve import kempe_descent
from smdeclust.assignment.dense.search import branch_and_cut
from smdeclust.assignment.dense.types import (
    RELATIVE_TOLERANCE,
    BoolArray,
    CoreResult,
    FloatArray,
    IntArray,
)
from smdeclust.exceptions import InvalidInputError

# Largest regrets between these are taken as they are.
SMALL, LARGE = 2.0**-6, 2.0**20
# Rounding of sums of costs.
RELATIVE_ROUNDING = 1e-15


def solve_core(
    costs: FloatArray,
    indptr: IntArray,
    indices: IntArray,
    *,
    upper_labels: IntArray | None = None,
    budget: Budget | None = None,
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
    budget
        What the proof may cost; it is charged. What has been found by then comes back with a true
        lower bound. ``None``: no limit.
    """
    budget = Budget() if budget is None else budget
    spent_before = budget.nodes, budget.pivots
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
    indices = _sorted_neighbours(indptr, indices)
    allowed = useful_labels(costs, np.diff(indptr))
    if not allowed.any(axis=1).all():
        return CoreResult(None, np.inf, np.inf, True, 0)

    # Only what a label costs above the cheapest one of its node matters.
    cheapest = np.where(allowed, costs, np.inf).min(axis=1)
    base = float(cheapest.sum())
    rounding = RELATIVE_ROUNDING * float(np.abs(cheapest).sum())
    regrets = costs - cheapest[:, None]
    labels, regret = _first_labels(regrets, indptr, indices, upper_labels)
    if regret <= rounding:
        return _told(costs, labels, base, 0.0, rounding, 0, 0)
    if labels is not None:
        # A label whose regret alone exceeds the total regret of the incumbent cannot pay.
        allowed &= regrets < regret
    # The linear programmes have absolute tolerances. Powers of two round nothing.
    largest = float(np.where(allowed, regrets, 0.0).max())
    exponent = 0 if SMALL <= largest <= LARGE or largest == 0 else int(np.frexp(largest)[1])
    scaled = np.ldexp(regrets, -exponent)
    value = float(np.ldexp(regret, -exponent)) if labels is not None else np.inf
    reference = np.where(allowed, scaled, 0.0).max(axis=1).sum() if labels is None else value
    tolerance = RELATIVE_TOLERANCE * float(reference) + float(np.ldexp(rounding, -exponent))

    result = branch_and_cut(scaled, allowed, indptr, indices, value, tolerance, budget)
    if result.labels is not None:
        labels = result.labels
        found = float(regrets[np.arange(n), labels].sum())
        if found < regret / 16 and not budget.is_spent():
            # The first labels were poor, and so was the tolerance taken from them: once more.
            again = solve_core(costs, indptr, indices, upper_labels=labels, budget=budget)
            return replace(
                again,
                nodes=budget.nodes - spent_before[0],
                pivots=budget.pivots - spent_before[1],
            )
    spent = budget.nodes - spent_before[0], budget.pivots - spent_before[1]
    if labels is None and result.bound == np.inf:
        return CoreResult(None, np.inf, np.inf, True, *spent)
    bound = float(np.ldexp(max(0.0, result.bound), exponent))
    return _told(costs, labels, base, bound, float(np.ldexp(tolerance, exponent)), *spent)


def _told(
    costs: FloatArray,
    labels: IntArray | None,
    base: float,
    regret: float,
    tolerance: float,
    nodes: int,
    pivots: int,
) -> CoreResult:
    """The result: these labels, and no labels cost less than `regret` above `base`."""
    if labels is None:
        return CoreResult(None, np.inf, base + regret, False, nodes, pivots)
    cost = float(costs[np.arange(len(costs)), labels].sum())
    above = cost - base
    proven = regret >= above - tolerance
    bound = cost if proven else min(base + regret, cost)
    return CoreResult(labels, cost, bound, proven, nodes, pivots)


def solve_quickly(
    costs: FloatArray,
    indptr: IntArray,
    indices: IntArray,
    *,
    upper_labels: IntArray | None = None,
    budget: Budget | None = None,
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
