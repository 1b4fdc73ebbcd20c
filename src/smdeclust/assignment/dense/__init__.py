"""The hard cores of the exact assignment: construction, improvement, bounds, search."""

from smdeclust.assignment.dense.construct import construct
from smdeclust.assignment.dense.improve import kempe_descent
from smdeclust.assignment.dense.solve import solve_core
from smdeclust.assignment.dense.types import CoreResult

__all__ = ["CoreResult", "construct", "kempe_descent", "solve_core"]
