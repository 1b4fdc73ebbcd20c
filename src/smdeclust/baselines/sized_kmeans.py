"""Constrained k-means (Bradley, Bennett & Demiriz 2000): clusters of bounded sizes, no pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.baselines.base import FromCenters, Sized, SoftBaseline, Task, beginning
from smdeclust.estimators.parameters import documented
from smdeclust.local_search import local_search
from smdeclust.problem import Solution


@documented
class SizedKMeans(FromCenters, Sized, SoftBaseline):
    """Constrained k-means (Bradley, Bennett & Demiriz 2000): clusters of bounded sizes, no pairs.

    Points are assigned to the centers at the least cost that keeps the sizes, then centers move to
    the means, until the objective does not fall; the best of several starts is kept. The paper
    solves each assignment as a minimum cost flow over all N x K arcs and has smallest sizes only;
    largest sizes are as in the package ``k-means-constrained``. Here the same assignment is found
    by one price a cluster. K different bounds belong to given clusters in the paper; here each
    cluster takes one of them, whichever is cheapest.
    """

    _attributes = {  # noqa: RUF012
        "labels_": "(N,) cluster of each point; all bounds on sizes hold, pairs play no part.",
    }

    init: Any = beginning("k-means++")

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution:
        return local_search(task.problem, centers, max_iter=self.max_iter, deadline=task.deadline)
