"""Views: ways of seeing the points, judged by held-out pairs and labels."""

from smdeclust.views.classes import Classes
from smdeclust.views.consensus import Guided, guide
from smdeclust.views.graph import NeighborGraph
from smdeclust.views.held_out import Fold, HeldOut, folds, held_out_score
from smdeclust.views.parts import Parts
from smdeclust.views.scene import AsGiven, Learned, Scene, Seen, View, kept_as_hard

__all__ = [
    "AsGiven",
    "Classes",
    "Fold",
    "Guided",
    "HeldOut",
    "Learned",
    "NeighborGraph",
    "Parts",
    "Scene",
    "Seen",
    "View",
    "folds",
    "guide",
    "held_out_score",
    "kept_as_hard",
]
