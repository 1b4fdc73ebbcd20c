"""Centers -> labels: exact (the design's steps, one file each), greedy, and the plain MILP."""

from smdeclust.assignment.exact import exact_assignment
from smdeclust.assignment.greedy import GreedyAssignment, greedy_assignment
from smdeclust.assignment.greedy_repair import greedy_repair_assignment
from smdeclust.assignment.milp import milp_assignment
from smdeclust.assignment.status import Assignment, Status

__all__ = [
    "Assignment",
    "GreedyAssignment",
    "Status",
    "exact_assignment",
    "greedy_assignment",
    "greedy_repair_assignment",
    "milp_assignment",
]
