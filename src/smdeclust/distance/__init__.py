"""Pairs teach the distance: must-links and clusters show which directions of the data matter.

One criterion, Friedman and Rubin's: N log det(W + v T), where W is the scatter inside the clusters
and T a target that keeps directions of few data in check. For fixed labels the best distance
whitens by W + v T; for a fixed distance the best labels are those of our ordinary problem in the
whitened coordinates. Each half-step lowers the criterion.
"""

from smdeclust.distance.frame import Frame
from smdeclust.distance.held_out import kept_beyond_chance, split_pairs
from smdeclust.distance.learn import Cluster, Learned, learn
from smdeclust.distance.spread import DIAGONAL, FULL, Spread

__all__ = [
    "DIAGONAL",
    "FULL",
    "Cluster",
    "Frame",
    "Learned",
    "Spread",
    "kept_beyond_chance",
    "learn",
    "split_pairs",
]
