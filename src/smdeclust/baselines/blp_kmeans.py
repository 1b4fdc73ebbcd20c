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
    """BLP-KM (Baumann 2020): multi-start k-means with an exact assignment step.

    A start ends at the first iteration that does not lower the objective.
    """

    _attributes = {  # noqa: RUF012
        "n_unproven_": "Whether the last assignment of the returned solution lacks a proof of\n"
        "optimality (1 or 0), as it may on dense cannot-links.",
        "proven_": "Whether that assignment is proven optimal.",
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
    """Constrained k-means (Bradley, Bennett & Demiriz 2000): clusters of bounded sizes, no pairs.

    Points are assigned to the centers at the lowest cost that keeps the sizes, then centers move to
    the means, until the objective stops falling; the best of several starts is kept. The paper
    solves each assignment as a minimum-cost flow over all N x K arcs and bounds sizes only from
    below; upper bounds are as in the package ``k-means-constrained``. Here the same assignment is
    found with one price per cluster. In the paper, K different bounds belong to given clusters;
    here each cluster takes one of them, whichever is cheapest.
    """

    _attributes = {  # noqa: RUF012
        "labels_": "(N,) cluster of each point; all bounds on sizes hold, pairs are ignored.",
    }

    init: Any = beginning("k-means++")

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution:
        return local_search(task.problem, centers, max_iter=self.max_iter, deadline=task.deadline)
