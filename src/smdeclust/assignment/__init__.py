"""Costs -> labels: exact (`assign`, one file per step), greedy, and the plain MILP."""

from smdeclust.assignment.bounded import assign
from smdeclust.assignment.exact import assign_groups, exact_assignment
from smdeclust.assignment.greedy import (
    GreedyAssignment,
    greedy_assignment,
    greedy_repair_assignment,
)
from smdeclust.assignment.milp import milp_assignment
from smdeclust.assignment.status import Assignment, Budget, Status

__all__ = [
    "Assignment",
    "Budget",
    "GreedyAssignment",
    "Status",
    "assign",
    "assign_groups",
    "exact_assignment",
    "greedy_assignment",
    "greedy_repair_assignment",
    "milp_assignment",
]
