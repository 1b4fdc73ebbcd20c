"""BLP-KM (Baumann 2020): Lloyd whose assignment is solved exactly. It is our local search.

With our own exact step there is nothing to add; here is the same loop around the plain MILP.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment import milp_assignment
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.lloyd import LEAST_FALL
from smdeclust.problem import Problem, Solution


def milp_search(
    problem: Problem, centers: np.ndarray, *, solver: str, max_iter: int | None = None
) -> Solution:
    """Assign by the MILP and move centers in turn, until the objective does not fall.

    Parameters
    ----------
    problem
        The problem.
    centers
        (K, d) start, in the coordinates of the data.
    solver
        ``"highs"`` or ``"gurobi"``.
    max_iter
        Most iterations, or ``None``.
    """
    best: Solution | None = None
    n_done = 0
    while max_iter is None or n_done < max_iter:
        point_labels = milp_assignment(problem, centers, solver=solver).labels
        if point_labels is None:
            raise NoFeasibleSolutionError()
        n_done += 1
        labels = problem.group_labels(point_labels)
        objective = problem.objective(labels)
        if best is not None and not objective < best.objective * (1 - LEAST_FALL):
            break
        centers = problem.centers(labels)
        best = Solution(labels, centers, objective, n_done)
    assert best is not None
    return Solution(best.labels, problem.enter(best.centers), best.objective, n_done)
