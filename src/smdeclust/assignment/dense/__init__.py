"""The hard cores of the exact assignment: construction, improvement, bounds, search."""

from smdeclust.assignment.dense.construct import construct
from smdeclust.assignment.dense.improve import kempe_anneal, kempe_descent
from smdeclust.assignment.dense.solve import solve_core, solve_quickly
from smdeclust.assignment.dense.types import CoreResult

__all__ = [
    "CoreResult",
    "construct",
    "kempe_anneal",
    "kempe_descent",
    "solve_core",
    "solve_quickly",
]
