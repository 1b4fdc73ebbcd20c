"""What people know: Constraints; must-link groups, the pair graph, conflicts."""

from smdeclust.constraints.check import Check
from smdeclust.constraints.constraints import Constraints
from smdeclust.constraints.store import KINDS
from smdeclust.structure.graph import PairGraph

__all__ = ["KINDS", "Check", "Constraints", "PairGraph"]
