"""Which free points a problem in memory has, if they are worked on block by block."""

from __future__ import annotations

from typing import Any

from smdeclust.points.array_points import ArrayPoints
from smdeclust.problem import Problem


def free_points(problem: Problem) -> Any:
    """The free points of a problem, or ``None`` where it is small."""
    if not problem.is_large:
        return None
    from smdeclust.points.sparse_problem import SparseProblem

    if isinstance(problem, SparseProblem):
        from smdeclust.points.sparse_points import SparsePoints

        return SparsePoints(problem)
    return ArrayPoints(problem)
