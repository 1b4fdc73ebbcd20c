"""Which points and pairs to draw when all of them would be a blot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def thin_pairs(
    violated: NDArray[np.bool_], limit: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Positions of at most `limit` pairs: violated ones first, the rest drawn evenly."""
    if len(violated) <= limit:
        return np.arange(len(violated))
    # A random order, then a stable sort that brings the violated to the front.
    order = rng.permutation(len(violated))
    order = order[np.argsort(~violated[order], kind="stable")]
    return np.sort(order[:limit])


def thin_points(
    labels: NDArray[np.int64],
    keep: NDArray[np.int64],
    limit: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Positions of about `limit` points, the same share of each cluster, and all of `keep`."""
    n_points = len(labels)
    if n_points <= limit:
        return np.arange(n_points)
    chosen = np.zeros(n_points, dtype=bool)
    for k in np.unique(labels):
        members = np.flatnonzero(labels == k)
        share = -(-len(members) * limit // n_points)  # rounded up: no cluster disappears
        chosen[rng.permutation(members)[:share]] = True
    chosen[keep] = True
    return np.flatnonzero(chosen)
