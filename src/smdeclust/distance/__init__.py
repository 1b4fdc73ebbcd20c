"""Pairs teach the distance: must-links and clusters show which directions of the data matter.

One criterion, N log det(M + c W + v T): M is the scatter inside must-link groups, W that inside
the clusters, worth a few points per column, and T a target that keeps directions of few data in
check. For fixed labels the best distance whitens by M + c W + v T; for a fixed distance the best
labels are those of our ordinary problem in the whitened coordinates. Each half-step lowers the
criterion. (With W alone, Friedman and Rubin's criterion, deeper searches find lower values far from
what the pairs say; must-links that are never forgotten prevent it.)
"""

from smdeclust.distance.frame import Frame
from smdeclust.distance.learn import DIAGONAL, FULL, Cluster, Learned, Spread, learn

__all__ = [
    "DIAGONAL",
    "FULL",
    "Cluster",
    "Frame",
    "Learned",
    "Spread",
    "learn",
]
