"""The last resort for first labels, if prices and programs found none in time."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph
from smdeclust.structure.tabu import tabu_repair

# Moves of a search.
MOST_MOVES = 50_000


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
    unit = np.abs(bounds.counts).mean(axis=1, keepdims=True)
    unit = np.where(unit > 0, unit, 1.0)  # what a group counts in each bound

    def search(start: np.ndarray) -> np.ndarray | None:
        found = np.array(start, dtype=np.int64)
        within = (
            np.ascontiguousarray((bounds.counts / unit).T), (bounds.low - bounds.slack) / unit,
            (bounds.high + bounds.slack) / unit, bounds.held(found) / unit,
        )  # fmt: skip
        done = tabu_repair(costs, hard.arrays, found, most_moves, deadline, within)
        return found if done and bounds.hold(found) else None

    found = None
    if (labels[hard.ends] == labels[hard.indices]).any():
        colors = hard.coloring(costs.shape[1], deadline)
        if colors is not None:
            colored = np.array(labels)
            colored[:n_linked] = best_renaming(costs[:n_linked], colors)
            found = search(colored)
    return search(labels) if found is None else found


def best_renaming(costs: np.ndarray, coloring: np.ndarray) -> np.ndarray:
    """The colors of a coloring matched to labels at the least cost: names do not matter to it."""
    k = costs.shape[1]
    table = np.zeros((k, k))
    largest = float(np.abs(costs[np.isfinite(costs)]).max(initial=1.0))
    np.add.at(table, coloring, np.where(np.isfinite(costs), costs, len(costs) * largest))
    return linear_sum_assignment(table)[1].astype(np.int64)[coloring]
