"""BLP-KM (Baumann 2020): k-means whose assignment is solved exactly. It is our local search.

With our own exact step there is nothing to add; here is the same loop around the plain MILP, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.assignment import milp_assignment
from smdeclust.baselines.base import FromCenters, Sized, StrictBaseline, Task
from smdeclust.baselines.pieces import alternate
from smdeclust.estimators.parameters import DEPRECATED, choice, current, documented, former
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search import PROOF_PIVOTS, local_search
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
        return milp_search(task.problem, centers, solver, self.max_iter, task.deadline)

    def _describe(self, best: Solution) -> None:
        self.n_unproven_, self.proven_ = int(not best.proven), best.proven

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        ours = {self.solver, self.assignment} <= {"structured", DEPRECATED}
        tags.input_tags.sparse = ours and isinstance(self.init, str) and self.init == "random"
        return tags


def milp_search(
    problem: Problem, centers: np.ndarray, solver: str, max_iter: int, deadline: float | None
) -> Solution:
    """The same loop around the plain MILP, from (K, d') centers."""

    def step(centers: np.ndarray) -> Solution:
        outside = problem.points.leave(centers)
        point_labels = milp_assignment(problem, outside, solver=solver).labels
        if point_labels is None:
            raise NoFeasibleSolutionError()
        labels = problem.group_labels(point_labels)
        return Solution(labels, problem.enter(problem.centers(labels)), problem.objective(labels))

    return alternate(step, centers, max_iter, deadline)
