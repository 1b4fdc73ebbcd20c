"""The cannot-link graph between groups, as symmetric compressed sparse rows."""

from __future__ import annotations

import numpy as np


def cannot_link_graph(edges: np.ndarray, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(indptr, indices)`` of the undirected graph with these `edges`, each kept once.

    Rows are sorted; `edges` is (m, 2) and has no loops. O(m log m).
    """
    both = np.concatenate([edges, edges[:, ::-1]]) if len(edges) else np.empty((0, 2), np.int64)
    keys = np.unique(both[:, 0] * np.int64(max(n_nodes, 1)) + both[:, 1])
    source, indices = np.divmod(keys, max(n_nodes, 1))
    indptr = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=n_nodes), out=indptr[1:])
    return indptr, indices.astype(np.int64)
