"""What is given: pairs -> groups -> cannot-link graph -> Problem; and what comes out: Solution."""

from smdeclust.constraints.feasibility import Coloring, Verdict, find_coloring
from smdeclust.problem.core import Core
from smdeclust.problem.problem import Problem
from smdeclust.problem.solution import Solution

__all__ = ["Coloring", "Core", "Problem", "Solution", "Verdict", "find_coloring"]
