"""BLP-KM (Baumann 2020): k-means whose assignment is solved exactly. It is our local search.

With our own exact step there is nothing to add; here is the same loop around the plain MILP, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.assignment import milp_assignment
from smdeclust.baselines.base import FromCenters, Sized, StrictBaseline, Task
from smdeclust.estimators.parameters import DEPRECATED, choice, current, documented, former
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search import PROOF_PIVOTS, local_search
from smdeclust.local_search.lloyd import LEAST_FALL
from smdeclust.problem import Problem, Solution


@documented
class BLPKMeans(FromCenters, Sized, StrictBaseline):
    """BLP-KM (Baumann 2020): k-means whose assignment step is solved exactly, in a multi-start.

    A start ends at the first iteration that does not lower the objective.
    """

    _attributes = {  # noqa: RUF012
        "n_unproven_": "Whether the last assignment of the returned solution lacks a proof of\n"
        "optimality (1 or 0), as it may on dense cannot-links.",
        "proven_": "Whether it has one.",
    }

    solver: str = choice(
        "structured",
        ("structured", "highs", "gurobi"),
        'How the assignment is solved: ``"structured"`` (our own, by far the fastest), or as the\n'
        'plain binary program by ``"highs"`` or ``"gurobi"`` (needs the extra of that name).',
    )
    assignment: str = former("solver")

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution:
        solver = current(self, "solver")
        if solver == "structured":
            limits: dict[str, Any] = {"proof_pivots": PROOF_PIVOTS, "deadline": task.deadline}
            return local_search(task.problem, centers, max_iter=self.max_iter, **limits)
        outside = task.problem.contracted.leave(centers)
        return milp_search(task.problem, outside, solver=solver, max_iter=self.max_iter)

    def _describe(self, best: Solution) -> None:
        self.n_unproven_, self.proven_ = int(not best.proven), best.proven

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        ours = {self.solver, self.assignment} <= {"structured", DEPRECATED}
        tags.input_tags.sparse = ours and isinstance(self.init, str) and self.init == "random"
        return tags


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
