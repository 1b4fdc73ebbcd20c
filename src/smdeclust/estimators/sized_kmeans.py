"""SizedKMeans: k-means under bounds on cluster sizes as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.baselines.initialization import INITIALIZATIONS
from smdeclust.baselines.multi_start import Attempt
from smdeclust.estimators.base import check_choice
from smdeclust.estimators.multi_start import MultiStartClusterer
from smdeclust.estimators.rival import SoftRival
from smdeclust.local_search import local_search
from smdeclust.problem import Problem


class SizedKMeans(SoftRival, MultiStartClusterer):
    """Constrained k-means (Bradley, Bennett & Demiriz 2000): clusters of bounded sizes, no pairs.

    Points are assigned to the centers at the least cost that keeps the sizes, then centers move to
    the means, until the objective does not fall; the best of several starts is kept. The paper
    solves each assignment as a minimum cost flow over all N x K arcs and has smallest sizes only;
    largest sizes are as in the package ``k-means-constrained``. Here the same assignment is found
    by one price a cluster. K different bounds belong to given clusters in the paper; here each
    cluster takes one of them, whichever is cheapest.

    Parameters
    ----------
    n_clusters
        K.
    size_min, size_max
        Least and largest size of a cluster: a number for all of them, or K numbers; ``None``: no
        bound.
    size_by
        What sizes count: ``"points"``, or ``"weight"`` for sums of ``sample_weight``.
    init
        ``"k-means++"`` or ``"random"`` points.
    n_init
        Starts; the best is kept.
    max_iter
        Most iterations of one start.
    max_time
        No start begins after so many seconds.
    random_state
        Seed, ``RandomState`` or ``None``. The same seed gives the same result.
    verbose
        1: log one line per start.

    Attributes
    ----------
    labels_
        (N,) cluster of each point; all bounds on sizes hold, pairs play no part.
    cluster_centers_
        (K, d) means of the clusters, in lexicographic order.
    inertia_
        Sum of (weighted) squared distances of the points to the centers of their clusters.
    cluster_sizes_, size_bounds_
        With bounds: the (K,) sizes of the clusters, and the (K, 2) bounds that each took.
    n_violations_
        Broken pairs, of those given to ``fit``.
    n_iter_
        Iterations of the best start.
    n_local_searches_, n_local_iterations_
        Starts made, and the iterations of all of them.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        size_min: Any = None,
        size_max: Any = None,
        size_by: str = "points",
        init: str = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        max_time: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.size_min = size_min
        self.size_max = size_max
        self.size_by = size_by
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

    def _solve(
        self, problem: Problem, together: np.ndarray, apart: np.ndarray, deadline: float | None
    ) -> np.ndarray:
        initialize = INITIALIZATIONS[self.init](problem)

        def attempt(rng: np.random.Generator) -> Attempt:
            start = initialize(rng)
            found = local_search(problem, start, max_iter=self.max_iter, deadline=deadline)
            return Attempt(found, found.n_iterations)

        best = self._best_start(attempt, deadline)
        assert best is not None
        return best.labels

    def _check_parameters(self) -> None:
        self._check_starts()
        check_choice("init", self.init, tuple(INITIALIZATIONS))
