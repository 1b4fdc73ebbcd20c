"""What people know, contracted once: groups, edges with prices, bounds; and why it cannot be."""

from smdeclust.structure.coloring import Coloring, Verdict, find_coloring
from smdeclust.structure.graph import PairGraph, SoftPairs
from smdeclust.structure.groups import Coupling, contract

__all__ = [
    "Coloring",
    "Coupling",
    "PairGraph",
    "SoftPairs",
    "Verdict",
    "contract",
    "find_coloring",
]
