"""The hard cores of the exact assignment: construction, improvement, bounds, search."""

from smdeclust.assignment.core.construct import construct
from smdeclust.assignment.core.improve import kempe_anneal, kempe_descent
from smdeclust.assignment.core.solve import solve_core, solve_quickly
from smdeclust.assignment.core.types import CoreResult

__all__ = [
    "CoreResult",
    "construct",
    "kempe_anneal",
    "kempe_descent",
    "solve_core",
    "solve_quickly",
]
