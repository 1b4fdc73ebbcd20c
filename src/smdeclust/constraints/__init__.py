"""What people know: Constraints; must-link groups, the cannot-link graph, conflicts."""

from smdeclust.constraints.knowledge import KINDS, Constraints

__all__ = ["KINDS", "Constraints"]
