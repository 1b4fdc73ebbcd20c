"""The hard cores of the exact assignment: construction, improvement, bounds, search."""

from smdeclust.assignment.dense.construct import construct
from smdeclust.assignment.dense.improve import swap_chains
from smdeclust.assignment.dense.solve import solve_core
from smdeclust.assignment.dense.types import CoreResult

__all__ = ["CoreResult", "construct", "solve_core", "swap_chains"]
