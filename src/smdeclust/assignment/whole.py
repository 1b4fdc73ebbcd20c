"""The last resort of step 5: all coupled groups and the fillers of clusters at once.

Where several empty clusters compete for groups of one dense component, branching on single moves
has weak bounds. Branch and cut sees them together: one more row of the linear program for each
cluster that would be empty. Only the linked groups and, for each cluster, its K cheapest free
groups take part: more fillers are never needed.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.dense import solve_core
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph


def assign_whole(
    costs: np.ndarray,
    graph: PairGraph,
    bounds: Bounds,
    upper: np.ndarray | None = None,
    budget: Budget | None = None,
) -> tuple[np.ndarray | None, float, float]:
    """Label all groups, no cluster empty: returns labels (or ``None``), cost and lower bound."""
    n_linked, n_clusters = graph.n_nodes, costs.shape[1]
    labels = costs.argmin(axis=1)
    free = np.flatnonzero(bounds.counts[0][n_linked:] > 0) + n_linked
    nodes = np.concatenate([np.arange(n_linked), free[cheapest_to_move(costs[free])]])
    aside = np.ones(len(costs), dtype=bool)
    aside[nodes] = False
    base = float(costs[aside].min(axis=1).sum())
    held = np.bincount(labels[aside], bounds.counts[0][aside], minlength=n_clusters)
    result = solve_core(
        costs[nodes],
        graph.with_free(len(nodes)),
        need=held + bounds.filled[0] == 0,
        counts=bounds.counts[0][nodes] > 0,
        upper_labels=None if upper is None else upper[nodes],
        budget=budget,
    )
    if result.labels is None:
        return None, np.inf, base + result.bound
    labels[nodes] = result.labels
    return labels, base + result.cost, base + result.bound


def cheapest_to_move(costs: np.ndarray) -> np.ndarray:
    """The rows among the K cheapest to move to some cluster, by regret: no others fill clusters.

    Of K rows that are cheaper for a cluster than its filler, one is needed nowhere else.
    """
    k = costs.shape[1]
    if len(costs) <= k:
        return np.arange(len(costs))
    regrets = costs - costs.min(axis=1, keepdims=True)
    return np.unique(np.argpartition(regrets, k - 1, axis=0)[:k])
