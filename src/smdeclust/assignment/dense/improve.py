"""Feasible labellings made cheaper by Kempe chains: plain descent, and annealing.

Swapping the two labels on a connected component of the subgraph of two labels (a Kempe chain)
keeps a labelling feasible, whatever the graph. A chain of one node is the usual relabelling.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smdeclust.assignment.dense.types import AnyArray, FloatArray, IntArray


@njit(cache=True)
def _chain(
    costs: FloatArray,
    indptr: IntArray,
    indices: IntArray,
    labels: IntArray,
    start: int,
    target: int,
    stamp: int,
    mark: IntArray,
    members: IntArray,
) -> tuple[int, float]:
    """Walk the chain of `start` towards `target`: members OUT, mark OUT; its size and change."""
    source = labels[start]
    members[0] = start
    size = 1
    mark[start] = stamp
    change = costs[start, target] - costs[start, source]
    i = 0
    while i < size:
        u = members[i]
        i += 1
        wanted = target if labels[u] == source else source
        for j in range(indptr[u], indptr[u + 1]):
            w = indices[j]
            if labels[w] == wanted and mark[w] != stamp:
                mark[w] = stamp
                members[size] = w
                size += 1
                if wanted == target:
                    change += costs[w, source] - costs[w, target]
                else:
                    change += costs[w, target] - costs[w, source]
    return size, change


@njit(cache=True)
def _descend(
    costs: FloatArray, indptr: IntArray, indices: IntArray, labels: IntArray, tolerance: float
) -> int:
    """Swap improving chains until none is left; `labels` changes in place. Returns the swaps."""
    n, n_labels = costs.shape
    mark = np.zeros(n, np.int64)
    members = np.empty(n, np.int64)
    stamp = 0
    swaps = 0
    since_change = 0
    v = 0
    while since_change < n and n > 0:
        since_change += 1
        for target in range(n_labels):
            source = labels[v]
            # A chain can only pay if one of its nodes gains; walking every node's own chains
            # towards cheaper labels therefore misses none.
            if target == source or costs[v, target] >= costs[v, source]:
                continue
            stamp += 1
            size, change = _chain(costs, indptr, indices, labels, v, target, stamp, mark, members)
            if change < -tolerance:
                for i in range(size):
                    u = members[i]
                    labels[u] = target if labels[u] == source else source
                swaps += 1
                since_change = 0
        v += 1
        if v == n:
            v = 0
    return swaps


@njit(cache=True)
def _uniform(state: AnyArray) -> float:
    """Next number in [0, 1) of a xorshift generator; state (one uint64) IN, OUT."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True)
def _anneal(
    costs: FloatArray,
    indptr: IntArray,
    indices: IntArray,
    labels: IntArray,
    candidates: IntArray,
    n_candidates: IntArray,
    steps: int,
    hot: float,
    cold: float,
    seed: int,
) -> IntArray:
    """Anneal by random chains towards candidate labels; returns the best labelling met."""
    n = len(labels)
    labels = labels.copy()
    best = labels.copy()
    cost = 0.0
    best_cost = 0.0
    mark = np.zeros(n, np.int64)
    members = np.empty(n, np.int64)
    cooling = (cold / hot) ** (100.0 / steps)
    temperature = hot
    # A local generator: numba's global one belongs to the caller.
    state = np.array([seed * 2654435761 + 88172645463325252], np.uint64)
    for step in range(1, steps + 1):
        if step % 100 == 0:
            temperature *= cooling
        v = int(_uniform(state) * n)
        target = candidates[v, int(_uniform(state) * n_candidates[v])]
        source = labels[v]
        if target == source:
            continue
        size, change = _chain(costs, indptr, indices, labels, v, target, step, mark, members)
        if change <= 0.0 or _uniform(state) < np.exp(-change / temperature):
            cost += change
            for i in range(size):
                u = members[i]
                labels[u] = target if labels[u] == source else source
            if cost < best_cost - 1e-12 * hot:
                best_cost = cost
                best[:] = labels
    return best


def kempe_descent(
    costs: FloatArray, indptr: IntArray, indices: IntArray, labels: IntArray
) -> IntArray:
    """Swap Kempe chains of a feasible labelling while the cost falls; returns new labels."""
    labels = np.array(labels, dtype=np.int64)
    finite = np.where(np.isfinite(costs), np.abs(costs), 0.0)
    tolerance = 1e-13 * float(finite.max(axis=1, initial=0.0).sum())
    _descend(costs, indptr, indices, labels, tolerance)
    return labels


def kempe_anneal(
    costs: FloatArray,
    indptr: IntArray,
    indices: IntArray,
    labels: IntArray,
    *,
    steps: int = 50_000,
    seed: int = 1,
) -> IntArray:
    """Anneal a feasible labelling by Kempe chains, then descend. Never worse than `labels`.

    Only the labels that can matter are drawn: for a node of degree delta its delta + 1 cheapest,
    and none dearer than the whole regret of `labels`.
    """
    n, n_labels = costs.shape
    if n == 0 or n_labels < 2:
        return labels.copy()
    regret = costs - costs.min(axis=1, keepdims=True)
    total = float(regret[np.arange(n), labels].sum())
    if total <= 0.0:
        return labels.copy()
    order = np.argsort(regret, axis=1, kind="stable")
    useful = (regret <= total).sum(axis=1)
    n_candidates = np.maximum(np.minimum(useful, np.diff(indptr) + 1), 1).astype(np.int64)
    # The typical price of a second choice sets the scale of the temperatures.
    second = np.partition(regret, 1, axis=1)[:, 1]
    second = second[np.isfinite(second)]
    scale = float(np.median(second)) if len(second) else 0.0
    if scale <= 0.0:
        scale = total / n
    best = _anneal(
        costs,
        indptr,
        indices,
        labels,
        np.ascontiguousarray(order),
        n_candidates,
        steps,
        scale,
        scale / 200.0,
        seed,
    )
    best = kempe_descent(costs, indptr, indices, best)
    rows = np.arange(n)
    if costs[rows, best].sum() > costs[rows, labels].sum():
        return labels.copy()
    return best
