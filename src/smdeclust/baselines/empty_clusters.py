"""No cluster stays empty: the worst served group moves there, alone, where it breaks no pair."""

from __future__ import annotations

import numpy as np

from smdeclust.kernels import kernel


@kernel()
def fill_empty_clusters(points, weights, labels, centers):
    """Move groups of crowded clusters to the empty ones; changes `labels` and `centers`.

    Returns how many moved. O(K + (number of empty clusters) G d).
    """
    n_clusters, n_features = centers.shape
    counts = np.zeros(n_clusters, np.int64)
    for g in range(len(points)):
        if weights[g] > 0:
            counts[labels[g]] += 1
    moved = 0
    for k in range(n_clusters):
        if counts[k] > 0:
            continue
        worst, farthest = -1, -1.0
        for g in range(len(points)):
            if weights[g] <= 0 or counts[labels[g]] < 2:
                continue
            square = 0.0
            for j in range(n_features):
                gap = points[g, j] - centers[labels[g], j]
                square += gap * gap
            if weights[g] * square > farthest:
                worst, farthest = g, weights[g] * square
        counts[labels[worst]] -= 1
        counts[k] = 1
        labels[worst] = k
        centers[k] = points[worst]
        moved += 1
    return moved
