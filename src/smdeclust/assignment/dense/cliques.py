"""Separation for the hard cores: cliques of one label that an LP solution breaks."""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.dense.types import BoolArray, FloatArray, IntArray
from smdeclust.kernels import kernel

#: Values closer than this to 0 or 1 count as integral.
INTEGRALITY = 1e-6


@kernel()
def has_edge(indptr: IntArray, indices: IntArray, u: int, v: int) -> bool:
    """Binary search of v among the (sorted) neighbors of u."""
    low = indptr[u]
    high = indptr[u + 1]
    while low < high:
        mid = (low + high) // 2
        if indices[mid] < v:
            low = mid + 1
        else:
            high = mid
    return low < indptr[u + 1] and indices[low] == v


@kernel()
def violated_cliques(
    x: FloatArray,
    allowed: BoolArray,
    indptr: IntArray,
    indices: IntArray,
    min_violation: float,
    capacity: int,
) -> tuple[IntArray, IntArray, IntArray]:
    """Maximal cliques whose mass in one label exceeds one, grown greedily from every edge.

    Returns the cliques as (starts, nodes, label per clique). `indices` must be sorted per node.
    Growth prefers large x; nodes outside the support, which cost the LP nothing, come last and
    make the inequality maximal among the allowed labels.
    """
    n, n_labels = x.shape
    starts = np.zeros(capacity + 1, np.int64)
    nodes = np.empty(64 * capacity + n, np.int64)
    labels = np.empty(capacity, np.int64)
    count = 0
    position = np.full(n, -1, np.int64)
    support = np.empty(n, np.int64)
    members = np.empty(n, np.int64)
    for k in range(n_labels):
        size = 0
        for v in range(n):
            if x[v, k] > 1e-9:
                support[size] = v
                size += 1
        if size < 2:
            continue
        values = np.empty(size)
        for i in range(size):
            values[i] = -x[support[i], k]
        order = np.argsort(values, kind="mergesort")
        local = np.empty(size, np.int64)
        for i in range(size):
            local[i] = support[order[i]]
            position[local[i]] = i
        # Sparse upper triangle only: the support of one label can be thousands of nodes.
        for i in range(size):
            v = local[i]
            covered = np.zeros(size, np.bool_)
            for e in range(indptr[v], indptr[v + 1]):
                j = position[indices[e]]
                if j <= i or covered[j]:
                    continue
                if count == capacity or starts[count] + n > len(nodes):
                    break
                members[0] = v
                members[1] = local[j]
                m = 2
                total = x[v, k] + x[local[j], k]
                # A node of the clique with few neighbors bounds the candidates.
                for f in range(indptr[v], indptr[v + 1]):
                    q = position[indices[f]]
                    if q > i and q != j:
                        u = local[q]
                        adjacent = True
                        for t in range(1, m):
                            if not has_edge(indptr, indices, u, members[t]):
                                adjacent = False
                                break
                        if adjacent:
                            members[m] = u
                            m += 1
                            total += x[u, k]
                if total <= 1.0 + min_violation:
                    continue
                for t in range(1, m):
                    covered[position[members[t]]] = True
                for f in range(indptr[v], indptr[v + 1]):
                    u = indices[f]
                    if position[u] >= 0 or not allowed[u, k]:
                        continue
                    adjacent = True
                    for t in range(1, m):
                        if not has_edge(indptr, indices, u, members[t]):
                            adjacent = False
                            break
                    if adjacent:
                        members[m] = u
                        m += 1
                begin = starts[count]
                for t in range(m):
                    nodes[begin + t] = members[t]
                labels[count] = k
                count += 1
                starts[count] = begin + m
        for i in range(size):
            position[local[i]] = -1
    return starts[: count + 1], nodes[: starts[count]], labels[:count]
