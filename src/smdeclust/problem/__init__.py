"""What is given: pairs and points -> Problem; and what comes out: Solution."""

from smdeclust.problem.problem import Contracted, Problem, Solution
from smdeclust.structure.coloring import Coloring, Verdict, find_coloring

__all__ = ["Coloring", "Contracted", "Problem", "Solution", "Verdict", "find_coloring"]
