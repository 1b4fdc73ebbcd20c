"""COP-KM (Wagstaff 2001): groups in random order, each to the nearest center still allowed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smdeclust.baselines.base import FromCenters, StrictBaseline, Task
from smdeclust.baselines.pck_means import search_by_placing
from smdeclust.estimators.parameters import documented
from smdeclust.problem import Solution

# A start ends after so many iterations in a row without a better solution: orders are drawn again,
# so one that does not help says little.
PATIENCE = 20


@documented
class COPKMeans(FromCenters, StrictBaseline):
    """COP-KM (Wagstaff 2001): k-means that places points greedily and breaks no constraint.

    Must-link groups are placed in random order, each at the nearest center whose cluster holds no
    cannot-linked group yet. There is no backtracking: a start fails where its first placement
    leaves a group without a cluster, which says nothing about whether a clustering exists. Where
    all starts fail, ``fit`` raises ``NoFeasibleSolutionError``. A start also ends after twenty
    iterations in a row without a better solution.
    """

    _failure = (
        "COP-KM failed in all of its {n} starts: it places groups one by one and never takes one "
        "back. That is no proof: a feasible clustering may well exist. Try more starts (n_init), "
        "or SMDEClust or BLPKMeans, whose assignment step is exact."
    )

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution | None:
        """Run one start; None where its first placement fails.

        A later placement that fails, or does not lower the objective, is an iteration without
        improvement: the best solution so far stays. `rng` draws the order of the groups again in
        every iteration.
        """
        graph = task.problem.graph.with_free(task.problem.n_groups)
        forbidden = graph.indptr, graph.indices, -np.array(graph.price)
        found = search_by_placing(task.problem, forbidden, centers, rng, self.max_iter, PATIENCE, 1)
        if found.objective == np.inf:
            return None
        return replace(found, objective=found.objective + task.problem.scatter)
