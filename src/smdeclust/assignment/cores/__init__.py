"""The hard cores of the exact assignment: construction, improvement, bounds, search."""

from smdeclust.assignment.cores.construct import construct, swap_chains
from smdeclust.assignment.cores.instance import CoreResult
from smdeclust.assignment.cores.solve import solve_core

__all__ = ["CoreResult", "construct", "solve_core", "swap_chains"]
