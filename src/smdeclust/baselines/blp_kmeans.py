"""k-means whose assignment is solved exactly, as in our local search: BLP-KM (Baumann 2020) under
pairs, and constrained k-means (Bradley, Bennett & Demiriz 2000) with sizes alone.

The same loop can also run around the plain MILP.
"""

from typing import Any

import numpy as np

from smdeclust.assignment import milp_assignment
from smdeclust.baselines.base import (
    FromCenters,
    Sized,
    SoftBaseline,
    StrictBaseline,
    Task,
    beginning,
)
from smdeclust.baselines.pieces import alternate
from smdeclust.estimators.parameters import DEPRECATED, choice, current, documented, former
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search import PROOF_PIVOTS, local_search
from smdeclust.problem import Solution


@documented
class BLPKMeans(FromCenters, Sized, StrictBaseline):
    """BLP-KM (Baumann 2020): k-means with exact assignments that satisfy all pairs.

    A start ends at the first iteration that does not lower the objective. The best start is
    returned.
    """

    _attributes = {  # noqa: RUF012
        "n_unproven_": "1 if the labels are not proven optimal for the centers, and 0 if they are.",
        "proven_": "Whether the labels are proven optimal for the centers.",
    }

    solver: str = choice(
        "structured",
        ("structured", "highs", "gurobi"),
        'The solver for assignments: ``"structured"`` (that of this package, by far the fastest),\n'
        '``"highs"`` or ``"gurobi"`` (which needs the extra ``gurobi``).',
    )
    assignment: str = former("solver")

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution:
        solver = current(self, "solver")
        if solver == "structured":
            limits: dict[str, Any] = {"proof_pivots": PROOF_PIVOTS, "deadline": task.deadline}
            return local_search(task.problem, centers, max_iter=self.max_iter, **limits)
        problem = task.problem

        def step(centers: np.ndarray) -> Solution:
            outside = problem.points.leave(centers)
            found = milp_assignment(problem, outside, solver=solver).labels
            if found is None:
                raise NoFeasibleSolutionError()
            labels = problem.group_labels(found)
            means = problem.enter(problem.centers(labels))
            return Solution(labels, means, problem.objective(labels))

        return alternate(step, centers, self.max_iter, task.deadline)

    def _describe(self, best: Solution) -> None:
        self.n_unproven_, self.proven_ = int(not best.proven), best.proven

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        ours = {self.solver, self.assignment} <= {"structured", DEPRECATED}
        tags.input_tags.sparse = ours and isinstance(self.init, str) and self.init == "random"
        return tags


@documented
class SizedKMeans(FromCenters, Sized, SoftBaseline):
    """Constrained k-means (Bradley, Bennett and Demiriz 2000): size bounds, but no pairs.

    In each iteration, points are assigned to the centers at the lowest cost that the sizes
    allow, and the centers move to the means. The paper bounds sizes only from below. Upper bounds
    are as in the package ``k-means-constrained``. If there are K different bounds, each cluster
    gets the one with the lowest cost, whereas the paper gives each cluster its own.
    """

    _attributes = {  # noqa: RUF012
        "labels_": "The (N,) clusters of the points. Pairs are ignored.",
    }

    init: Any = beginning("k-means++")

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution:
        return local_search(task.problem, centers, max_iter=self.max_iter, deadline=task.deadline)
