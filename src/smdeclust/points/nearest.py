"""Nearest centers of few points, compiled."""

from __future__ import annotations

from smdeclust.kernels import summing_kernel


@summing_kernel()
def nearest_squares(points, start, centers, labels):
    """Label the points from `start` on by their nearest center; writes `labels`. O(n K d)."""
    for g in range(start, len(points)):
        best, least = 0, 0.0
        for k in range(len(centers)):
            square = 0.0
            for j in range(points.shape[1]):
                gap = points[g, j] - centers[k, j]
                square += gap * gap
            if k == 0 or square < least:
                best, least = k, square
        labels[g] = best
