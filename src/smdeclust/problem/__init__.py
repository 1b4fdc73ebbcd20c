"""What is given: pairs and points -> Problem; and what comes out: Solution."""

from smdeclust.problem.contracted import Contracted
from smdeclust.problem.problem import Problem
from smdeclust.problem.solution import Solution
from smdeclust.structure.coloring import Coloring, Verdict, find_coloring

__all__ = ["Coloring", "Contracted", "Problem", "Solution", "Verdict", "find_coloring"]
