"""Step 4 of the exact assignment for the hard cores: the optimal labels, and the proof."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from smdeclust.assignment.cores.construct import construct, is_feasible, swap_chains
from smdeclust.assignment.cores.instance import (
    RELATIVE_TOLERANCE,
    BoolArray,
    CoreResult,
    FloatArray,
    Instance,
    IntArray,
)
from smdeclust.assignment.cores.search import branch_and_cut
from smdeclust.assignment.status import Budget
from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.graph import PairGraph
from smdeclust.structure.tabu import best_renaming

Coloring = Callable[[], "IntArray | None"]

# Largest regrets between these are taken as they are.
LEAST_SIZE, LARGEST_SIZE = 2.0**-6, 2.0**20
# Rounding of sums of costs.
RELATIVE_ROUNDING = 1e-15
# With a budget, no proof is begun where more labels than this are open: one linear program alone
# would take longer.
MOST_OPEN = 300_000


def solve_core(
    costs: FloatArray,
    graph: PairGraph,
    *,
    upper_labels: IntArray | None = None,
    coloring: Coloring | None = None,
    budget: Budget | None = None,
) -> CoreResult:
    """Cheapest labels that break no hard pair, broken soft pairs at their price.

    `costs` are (n, K), and infinity forbids. `upper_labels` are labels to start from (ignored if
    they are not feasible); `coloring` finds labels that keep all hard pairs, whatever they cost,
    and is asked where none are found otherwise. The proof charges the `budget` (``None``: no
    limit); what has been found by its end comes back with a true lower bound.
    """
    budget = Budget() if budget is None else budget
    costs = np.ascontiguousarray(costs, dtype=np.float64)
    if costs.ndim != 2 or graph.n_nodes != len(costs):
        raise InvalidInputError(
            f"costs of shape {costs.shape} and a graph of {graph.n_nodes} nodes do not match; "
            f"pass costs (n, K) for n nodes"
        )
    if np.isnan(costs).any() or np.isneginf(costs).any():
        raise InvalidInputError("costs must be numbers or +inf; found nan or -inf")
    n = len(costs)
    if n == 0:
        return CoreResult(np.zeros(0, np.int64), 0.0, 0.0, True)
    instance = Instance.of(costs, graph)
    # Only what a label costs above the cheapest one of its node matters.
    cheapest = instance.costs.min(axis=1)
    base = float(cheapest.sum())
    if base == np.inf:
        return CoreResult(None, np.inf, np.inf, True)
    rounding = RELATIVE_ROUNDING * float(np.abs(cheapest).sum())
    regrets = replace(instance, costs=instance.costs - cheapest[:, None])
    labels, regret = _first_labels(regrets, upper_labels, coloring, budget)
    if regret <= rounding or budget.is_spent():
        return _result(instance, labels, base, 0.0, rounding)
    allowed = useful_labels(instance)
    if labels is not None:
        # A label whose regret alone exceeds the total regret of the incumbent cannot pay.
        allowed &= regrets.costs < regret
    limited = min(budget.deadline, budget.max_nodes, budget.max_pivots) < np.inf
    if limited and np.count_nonzero(allowed) > MOST_OPEN:
        return _result(instance, labels, base, 0.0, rounding)
    # The linear programs have absolute tolerances. Powers of two round nothing.
    largest = float(np.where(allowed, regrets.costs, 0.0).max())
    fits = LEAST_SIZE <= largest <= LARGEST_SIZE or largest == 0
    exponent = 0 if fits else int(np.frexp(largest)[1])
    scaled = regrets.scaled(-exponent)
    value = float(np.ldexp(regret, -exponent)) if labels is not None else np.inf
    reference = np.where(allowed, scaled.costs, 0.0).max(axis=1).sum() if labels is None else value
    # A bound is a sum over the open labels, each term of which may be rounded.
    share = min(RELATIVE_TOLERANCE, np.finfo(float).eps * np.count_nonzero(allowed))
    tolerance = share * float(reference) + float(np.ldexp(rounding, -exponent))

    result = branch_and_cut(scaled, allowed, value, tolerance, budget)
    if result.labels is not None:
        labels = result.labels
        if regrets.cost(labels) < regret / 16 and not budget.is_spent():
            # The first labels were poor, and so was the tolerance taken from them: once more.
            return solve_core(costs, graph, upper_labels=labels, budget=budget)
    if labels is None and result.bound == np.inf:
        return CoreResult(None, np.inf, np.inf, True)
    bound = float(np.ldexp(max(0.0, result.bound), exponent))
    return _result(instance, labels, base, bound, float(np.ldexp(tolerance, exponent)))


def _result(
    instance: Instance, labels: IntArray | None, base: float, regret: float, tolerance: float
) -> CoreResult:
    """These labels, and the proof that no labels cost less than `regret` above `base`."""
    if labels is None:
        return CoreResult(None, np.inf, base + regret, False)
    cost = instance.cost(labels)
    proven = regret >= cost - base - tolerance
    return CoreResult(labels, cost, cost if proven else min(base + regret, cost), proven)


def _first_labels(
    instance: Instance, given: IntArray | None, coloring: Coloring | None, budget: Budget
) -> tuple[IntArray | None, float]:
    """The given labels, if they are feasible, or constructed ones; improved by Kempe chains."""
    costs, graph = np.ascontiguousarray(instance.costs[: instance.n_nodes]), instance.pairs
    labels: IntArray | None = None
    if given is not None and is_feasible(given, costs, graph):
        labels = swap_chains(costs, graph, given, budget)
    if labels is None:
        labels = construct(costs, graph, max_repair_moves=0, budget=budget)
    if labels is None and coloring is not None:
        colors = coloring()
        if colors is not None:
            renamed = best_renaming(costs, colors)
            if is_feasible(renamed, costs, graph):
                labels = swap_chains(costs, graph, renamed, budget)
    if labels is None:
        labels = construct(costs, graph, budget=budget)
    return labels, np.inf if labels is None else instance.cost(labels)


def useful_labels(instance: Instance) -> BoolArray:
    """The labels that can matter, of nodes and soft pairs.

    A node needs its D + 1 cheapest finite labels: D neighbors cannot block or price them all. One
    with a soft must-link may follow its neighbor to any label.
    """
    n, n_labels = instance.costs.shape
    cannot = instance.ends[~instance.together].ravel()
    degree = np.diff(instance.hard[0]) + np.bincount(cannot, minlength=n)
    degree[instance.ends[instance.together].ravel()] = n_labels
    degree[instance.n_nodes :] = n_labels
    order = np.argsort(instance.costs, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(n_labels), (n, n_labels)), axis=1)
    return (rank <= degree[:, None]) & np.isfinite(instance.costs)
