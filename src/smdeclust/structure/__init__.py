"""What people know, contracted once: groups, priced edges, bounds; and why it is infeasible."""

from smdeclust.structure.coloring import Coloring, Verdict, find_coloring
from smdeclust.structure.graph import PairGraph, SoftPairs
from smdeclust.structure.groups import Coupling, contract
from smdeclust.structure.structure import Structure

__all__ = [
    "Coloring",
    "Coupling",
    "PairGraph",
    "SoftPairs",
    "Structure",
    "Verdict",
    "contract",
    "find_coloring",
]
