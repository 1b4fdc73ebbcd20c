"""The last resort of step 5: all coupled groups and the fillers of clusters in one small MILP.

Where several empty clusters compete for groups of one dense component, branching on single moves
has weak bounds. The linear relaxation sees them together. Only the linked groups and, for each
cluster, its K cheapest free groups take part: more fillers are never needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, vstack

from smdeclust.assignment.sizes_of import Sizes
from smdeclust.constraints.graph import PairGraph


def assign_whole(
    costs: np.ndarray,
    graph: PairGraph,
    sizes: Sizes,
    max_time: float,
    max_nodes: int | None = None,
) -> tuple[np.ndarray | None, float, float]:
    """Label all groups, no cluster empty: returns labels (or ``None``), cost and lower bound."""
    n_linked, n_clusters = graph.n_nodes, costs.shape[1]
    labels = costs.argmin(axis=1)
    free = np.flatnonzero(sizes.of_group[n_linked:] > 0) + n_linked
    fillers = free[cheapest_to_move(costs[free])]
    nodes = np.concatenate([np.arange(n_linked), fillers])
    aside = np.ones(len(costs), dtype=bool)
    aside[nodes] = False
    base = float(costs[aside].min(axis=1).sum())
    filled = sizes.filled + np.bincount(
        labels[aside], sizes.of_group[aside], minlength=n_clusters
    ).astype(np.int64)
    costs = costs[nodes]

    # HiGHS ends at an absolute gap of 1e-6, whatever the scale: hand it regrets of a known scale.
    regrets = costs - costs.min(axis=1, keepdims=True)
    largest = float(regrets.max())
    scale = 1e5 / largest if largest > 0 else 1.0
    options: Any = {"mip_rel_gap": 0.0}
    if max_time < np.inf:
        options["time_limit"] = max_time
    if max_nodes is not None:
        options["node_limit"] = max_nodes
    result = milp(
        (regrets * scale).ravel(),
        integrality=np.ones(regrets.size, dtype=np.int8),
        bounds=Bounds(0, 1),
        constraints=_rows(graph, len(nodes), n_clusters, filled, sizes.of_group[nodes]),
        options=options,
    )
    if result.status == 2:
        return None, np.inf, np.inf
    bound = base + float(costs.min(axis=1).sum())
    bound += float(result.mip_dual_bound or 0.0) / scale
    if result.x is None:
        return None, np.inf, bound
    chosen = result.x.reshape(regrets.shape).argmax(axis=1)
    labels[nodes] = chosen
    cost = base + float(costs[np.arange(len(nodes)), chosen].sum())
    return labels, cost, cost if result.status == 0 else min(bound, cost)


def cheapest_to_move(costs: np.ndarray) -> np.ndarray:
    """The rows among the K cheapest to move to some cluster, by regret: no others fill clusters.

    Of K rows that are cheaper for a cluster than its filler, one is needed nowhere else.
    """
    k = costs.shape[1]
    if len(costs) <= k:
        return np.arange(len(costs))
    regrets = costs - costs.min(axis=1, keepdims=True)
    return np.unique(np.argpartition(regrets, k - 1, axis=0)[:k])


def _rows(
    graph: PairGraph, n_nodes: int, k: int, filled: np.ndarray, counts: np.ndarray
) -> LinearConstraint:
    """One label a node, a node for every label, no cannot-linked nodes on one label."""
    size = n_nodes * k
    node, label = np.divmod(np.arange(size), k)
    blocks = [
        coo_array((np.ones(size), (node, np.arange(size))), shape=(n_nodes, size)),
        coo_array((counts[node] * 1.0, (label, np.arange(size))), shape=(k, size)),
    ]
    source, indices = graph.ends, graph.indices
    once = source < indices
    m = int(np.count_nonzero(once))
    if m:
        ends = [(v[once][:, None] * k + np.arange(k)).ravel() for v in (source, indices)]
        at = np.tile(np.arange(m * k), 2)
        shape = (m * k, size)
        blocks.append(coo_array((np.ones(2 * m * k), (at, np.concatenate(ends))), shape=shape))
    low = np.concatenate([np.ones(n_nodes), 1.0 - np.minimum(filled, 1), np.full(m * k, -np.inf)])
    high = np.concatenate([np.ones(n_nodes), np.full(k, np.inf), np.ones(m * k)])
    return LinearConstraint(vstack(blocks).tocsr(), low, high)
