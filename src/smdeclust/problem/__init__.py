"""What is given: pairs and points -> Problem; and what comes out: Solution."""

from smdeclust.constraints.feasibility import Coloring, Verdict, find_coloring
from smdeclust.problem.contracted import Contracted
from smdeclust.problem.problem import Problem
from smdeclust.problem.solution import Solution

__all__ = ["Coloring", "Contracted", "Problem", "Solution", "Verdict", "find_coloring"]
