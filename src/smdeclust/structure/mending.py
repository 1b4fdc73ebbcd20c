"""Labels that keep every hard pair and every bound, whatever they cost: a tabu search.

The last way to first labels, where prices and programs found none in their time. A move gives a
group another label; what counts is by how much bounds and pairs are broken, then the cost.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import linear_sum_assignment

from smdeclust.kernels import kernel
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph

# Moves of a search, and labels that are looked at between two looks at the clock.
MOST_MOVES = 50_000
LOOKS_AT_ONCE = 20_000_000


def mend(
    costs: np.ndarray,
    graph: PairGraph,
    bounds: Bounds,
    labels: np.ndarray,
    deadline: float = np.inf,
    most_moves: int = MOST_MOVES,
) -> np.ndarray | None:
    """Labels near to these that keep the hard pairs and the bounds; ``None`` where none are found.

    Where pairs are broken, it begins from colors that keep them, matched to the clusters at the
    least cost. Infinite costs forbid. Deterministic, but for the time that is left.
    """
    if len(costs) == 0 or bounds.any_order:
        return None
    hard, n_linked = graph.hard_part, graph.n_nodes
    found = None
    if (labels[hard.ends] == labels[hard.indices]).any():
        colors = hard.coloring(costs.shape[1], deadline)
        if colors is not None:
            colored = np.array(labels)
            colored[:n_linked] = best_renaming(costs[:n_linked], colors)
            found = _search(costs, hard, bounds, colored, deadline, most_moves)
    if found is None:
        found = _search(costs, hard, bounds, labels, deadline, most_moves)
    return found


def best_renaming(costs: np.ndarray, coloring: np.ndarray) -> np.ndarray:
    """The colors of a coloring matched to labels at the least cost: names do not matter to it."""
    k = costs.shape[1]
    table = np.zeros((k, k))
    largest = float(np.abs(costs[np.isfinite(costs)]).max(initial=1.0))
    np.add.at(table, coloring, np.where(np.isfinite(costs), costs, len(costs) * largest))
    return linear_sum_assignment(table)[1].astype(np.int64)[coloring]


def _search(
    costs: np.ndarray,
    graph: PairGraph,
    bounds: Bounds,
    labels: np.ndarray,
    deadline: float,
    most_moves: int,
) -> np.ndarray | None:
    """The tabu search from these labels."""
    n, k = costs.shape
    indptr, indices = graph.arrays[:2]
    unit = np.abs(bounds.counts).mean(axis=1, keepdims=True)
    unit = np.where(unit > 0, unit, 1.0)
    labels = np.array(labels, dtype=np.int64)
    held = bounds.held(labels) / unit
    low, high = (bounds.low - bounds.slack) / unit, (bounds.high + bounds.slack) / unit
    counts = np.ascontiguousarray((bounds.counts / unit).T)
    conflicts = np.zeros((graph.n_nodes, k), dtype=np.int64)
    source = np.repeat(np.arange(graph.n_nodes), np.diff(indptr))
    np.add.at(conflicts, (source, labels[indices]), 1)
    tabu = np.zeros((n, k), dtype=np.int64)
    step = max(1, LOOKS_AT_ONCE // (n * k * len(counts[0])))
    for begin in range(0, most_moves, step):
        end = min(begin + step, most_moves)
        if _moves(costs, indptr, indices, counts, low, high, held, conflicts, tabu, labels,
                  begin, end):  # fmt: skip
            return labels if bounds.hold(labels) else None
        if time.perf_counter() >= deadline:
            break
    return None


@kernel()
def beyond(low, high, value):
    """By how much a sum is outside of its bounds."""
    return max(low - value, 0.0) + max(value - high, 0.0)


@kernel()
def _moves(costs, indptr, indices, counts, low, high, held, conflicts, tabu, labels, begin, end):
    """Make the moves from `begin` to `end`; returns whether nothing is broken any more.

    Changes everything from `held` to `labels`. O(G K B) a move.
    """
    n, k = costs.shape
    n_bounds = len(low)
    least = np.inf
    for move in range(begin, end):
        broken = 0.0
        for g in range(len(conflicts)):
            broken += 0.5 * conflicts[g, labels[g]]
        for b in range(n_bounds):
            for j in range(k):
                broken += beyond(low[b, j], high[b, j], held[b, j])
        if broken <= 0.0:
            return True
        least = min(least, broken)
        best_g, best_k, best_change, best_loss = -1, -1, np.inf, np.inf
        for g in range(n):
            a = labels[g]
            # What leaving changes is the same for every new label.
            leaving = -conflicts[g, a] if g < len(conflicts) else 0.0
            for b in range(n_bounds):
                now = held[b, a]
                leaving += beyond(low[b, a], high[b, a], now - counts[g, b])
                leaving -= beyond(low[b, a], high[b, a], now)
            for j in range(k):
                if j == a or costs[g, j] == np.inf:
                    continue
                change = leaving + (conflicts[g, j] if g < len(conflicts) else 0.0)
                if change > best_change:
                    continue
                for b in range(n_bounds):
                    now = held[b, j]
                    change += beyond(low[b, j], high[b, j], now + counts[g, b])
                    change -= beyond(low[b, j], high[b, j], now)
                if change > best_change or (tabu[g, j] > move and broken + change >= least):
                    continue
                loss = costs[g, j] - costs[g, a]
                if change < best_change or loss < best_loss:
                    best_g, best_k, best_change, best_loss = g, j, change, loss
        if best_g < 0:
            continue
        g, a = best_g, labels[best_g]
        labels[g] = best_k
        tabu[g, a] = move + 5 + (move * 7919) % 11
        for b in range(n_bounds):
            held[b, a] -= counts[g, b]
            held[b, best_k] += counts[g, b]
        if g < len(conflicts):
            for e in range(indptr[g], indptr[g + 1]):
                conflicts[indices[e], a] -= 1
                conflicts[indices[e], best_k] += 1
    return False
