"""Points and pairs for tests of the storages."""

from __future__ import annotations

import numpy as np


def made(n=3000, d=5, k=6, seed=0, dtype=np.float64, shift=0.0):
    """Overlapping classes, and pairs that agree with them: X, K, must-links, cannot-links."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, k, n)
    X = (rng.normal(size=(k, d)) * 3)[classes] + rng.normal(size=(n, d)) + shift
    pairs = rng.integers(0, n, (400, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return X.astype(dtype), k, pairs[same], pairs[~same]


def far_blobs(apart, n=600, d=2, k=6, seed=0):
    """Six round clusters, three of them far away."""
    rng = np.random.default_rng(seed)
    middles = 6.0 * rng.normal(size=(k, d))
    middles[k // 2 :] += apart
    classes = np.arange(n) % k
    return middles[classes] + rng.normal(size=(n, d)), classes
