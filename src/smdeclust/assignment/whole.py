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

from smdeclust.assignment.distances import linked_costs, nearest_centers
from smdeclust.problem import Core


def assign_whole(
    core: Core,
    centers: np.ndarray,
    max_time: float | None,
    spare: np.ndarray | None = None,
    max_nodes: int | None = None,
) -> tuple[np.ndarray | None, float, float]:
    """Label all groups, no cluster empty: returns labels (or ``None``), cost and lower bound.

    `spare` counts, for each cluster, groups elsewhere that fill it already.
    """
    n_clusters = len(centers)
    centers_t = np.ascontiguousarray(centers.T)
    labels = np.empty(len(core.points), dtype=np.int64)
    base = nearest_centers(core.points, core.weights, core.n_linked, centers, centers_t, labels)
    nodes = np.concatenate([np.arange(core.n_linked), _fillers(core, centers, centers_t)])
    costs = np.empty((len(nodes), n_clusters))
    points = np.ascontiguousarray(core.points[nodes])
    weights = core.weights[nodes]
    linked_costs(points, weights, len(nodes), centers, centers_t, costs)
    base -= float(costs[core.n_linked :].min(axis=1).sum())  # fillers are counted below

    # HiGHS ends at an absolute gap of 1e-6, whatever the scale: hand it regrets of a known scale.
    regrets = costs - costs.min(axis=1, keepdims=True)
    largest = float(regrets.max())
    scale = 1e5 / largest if largest > 0 else 1.0
    options: Any = {"mip_rel_gap": 0.0}
    if max_time is not None:
        options["time_limit"] = max_time
    if max_nodes is not None:
        options["node_limit"] = max_nodes
    result = milp(
        (regrets * scale).ravel(),
        integrality=np.ones(regrets.size, dtype=np.int8),
        bounds=Bounds(0, 1),
        constraints=_rows(core, len(nodes), n_clusters, spare),
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


def _fillers(core: Core, centers: np.ndarray, centers_t: np.ndarray) -> np.ndarray:
    """The free groups among the K cheapest to move to some cluster (by regret)."""
    free = np.flatnonzero(core.weights[core.n_linked :] > 0) + core.n_linked
    k = len(centers)
    if len(free) <= k:
        return free
    costs = np.empty((len(free), k))
    points = np.ascontiguousarray(core.points[free])
    linked_costs(points, core.weights[free], len(free), centers, centers_t, costs)
    regrets = costs - costs.min(axis=1, keepdims=True)
    return free[np.unique(np.argpartition(regrets, k - 1, axis=0)[:k])]


def _rows(core: Core, n_nodes: int, k: int, spare: np.ndarray | None) -> LinearConstraint:
    """One label a node, a node for every label, no cannot-linked nodes on one label."""
    size = n_nodes * k
    node, label = np.divmod(np.arange(size), k)
    ones = np.ones(size)
    blocks = [
        coo_array((ones, (node, np.arange(size))), shape=(n_nodes, size)),
        coo_array((ones, (label, np.arange(size))), shape=(k, size)),
    ]
    source = np.repeat(np.arange(core.n_linked), np.diff(core.indptr))
    once = source < core.indices
    m = int(np.count_nonzero(once))
    if m:
        ends = [(v[once][:, None] * k + np.arange(k)).ravel() for v in (source, core.indices)]
        at = np.tile(np.arange(m * k), 2)
        shape = (m * k, size)
        blocks.append(coo_array((np.ones(2 * m * k), (at, np.concatenate(ends))), shape=shape))
    filled = np.zeros(k) if spare is None else np.minimum(spare, 1)
    low = np.concatenate([np.ones(n_nodes), 1.0 - filled, np.full(m * k, -np.inf)])
    high = np.concatenate([np.ones(n_nodes), np.full(k, np.inf), np.ones(m * k)])
    return LinearConstraint(vstack(blocks).tocsr(), low, high)
