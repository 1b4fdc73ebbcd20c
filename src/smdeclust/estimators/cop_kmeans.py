"""COPKMeans: COP-KM as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.baselines.cop_kmeans import cop_kmeans
from smdeclust.baselines.initialization import INITIALIZATIONS
from smdeclust.baselines.multi_start import Attempt
from smdeclust.estimators.base import check_choice
from smdeclust.estimators.multi_start import MultiStartClusterer
from smdeclust.estimators.rival import StrictRival
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.problem import Problem


class COPKMeans(StrictRival, MultiStartClusterer):
    """COP-KM (Wagstaff 2001): k-means that places points greedily and breaks no constraint.

    Must-link groups are placed in random order, each at the nearest center whose cluster holds no
    cannot-linked group yet. There is no backtracking: a start fails where its first placement
    leaves a group without a cluster, which says nothing about whether a clustering exists. Where
    all starts fail, ``fit`` raises ``NoFeasibleSolutionError``.

    Parameters
    ----------
    n_clusters
        K.
    init
        ``"random"`` points or ``"k-means++"``.
    n_init
        Starts; the best of those that do not fail is kept.
    max_iter
        Most iterations of one start; it also ends after twenty in a row without a better solution.
    max_time
        No start begins after so many seconds.
    random_state
        Seed, ``RandomState`` or ``None``. The same seed gives the same result.
    verbose
        1: log one line per start.

    Attributes
    ----------
    labels_
        (N,) cluster of each point; all constraints hold.
    cluster_centers_
        (K, d) means of the clusters, in lexicographic order.
    inertia_
        Sum of (weighted) squared distances of the points to the centers of their clusters.
    n_iter_
        Iterations of the best start.
    n_local_searches_, n_local_iterations_
        Starts made, and the iterations of all of them.
    n_failed_starts_
        Starts that failed.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        init: str = "random",
        n_init: int = 10,
        max_iter: int = 300,
        max_time: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, problem: Problem, deadline: float | None) -> np.ndarray:
        initialize = INITIALIZATIONS[self.init](problem)

        def attempt(rng: np.random.Generator) -> Attempt:
            return cop_kmeans(problem, initialize(rng), rng, self.max_iter)

        best = self._best_start(attempt, deadline)
        if best is None:
            raise NoFeasibleSolutionError(
                f"COP-KM failed in all of its {self.n_local_searches_} starts: it places groups "
                f"one by one and never takes one back. That is no proof: a feasible clustering may "
                f"well exist. Try more starts (n_init), or SMDEClust or BLPKMeans, whose "
                f"assignment step is exact."
            )
        return best.labels

    def _check_parameters(self) -> None:
        self._check_starts()
        check_choice("init", self.init, tuple(INITIALIZATIONS))
