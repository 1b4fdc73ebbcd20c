"""How points are laid out so that kernels work on many at once."""

from __future__ import annotations

import numpy as np

from smdeclust.points.validation import read_only

# Groups side by side in memory, and features that a kernel takes at a time: measured.
LANES = 64
AT_ONCE = 4


def side_by_side(points: np.ndarray) -> np.ndarray:
    """Return the points as (blocks, features, LANES), filled up with zeros; read-only."""
    n_blocks, width = -(-len(points) // LANES), -(-points.shape[1] // AT_ONCE) * AT_ONCE
    lanes = np.zeros((n_blocks, width, LANES))
    for b in range(n_blocks):
        block = points[b * LANES : (b + 1) * LANES]
        lanes[b, : points.shape[1], : len(block)] = block.T
    return read_only(lanes)


def filled_up(weights: np.ndarray) -> np.ndarray:
    """Return the weights with zeros up to whole blocks of lanes; read-only."""
    padded = np.zeros(-(-len(weights) // LANES) * LANES)
    padded[: len(weights)] = weights
    return read_only(padded)
