"""What people know: Constraints; must-link groups, the pair graph, conflicts."""

from smdeclust.constraints.check import Check
from smdeclust.constraints.graph import PairGraph
from smdeclust.constraints.knowledge import Constraints
from smdeclust.constraints.store import KINDS

__all__ = ["KINDS", "Check", "Constraints", "PairGraph"]
