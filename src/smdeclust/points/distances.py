"""Squared distances of points to centers, dense or sparse, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from smdeclust.points.sparse_rows import SparseRows

# Rows whose distances to all centers are held at once.
BLOCK = 4096


def squares_to(points: Any, centers: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield rows and their (n, K) squared distances; `points` are validated, dense or CSR."""
    centers = np.asarray(centers, dtype=np.float64)
    n_points = points.shape[0]
    blocks = [slice(start, min(start + BLOCK, n_points)) for start in range(0, n_points, BLOCK)]
    if not issparse(points):
        for block in blocks:
            yield block, cdist(points[block], centers, metric="sqeuclidean")
        return
    # Between the centers little cancels, wherever the data lie.
    rows = SparseRows(points, centers.mean(axis=0))
    there = rows.against(np.ascontiguousarray(centers - rows.offset))
    for block in blocks:
        yield block, rows.squares_against(there, block.start, block.stop)
