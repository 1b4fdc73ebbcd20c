"""BLPKMeans: BLP-KM as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.baselines.blp_kmeans import milp_search
from smdeclust.baselines.initialization import INITIALIZATIONS
from smdeclust.baselines.multi_start import Attempt
from smdeclust.estimators.base import check_choice
from smdeclust.estimators.multi_start import MultiStartClusterer
from smdeclust.estimators.rival import StrictRival
from smdeclust.local_search import PROOF_PIVOTS, local_search
from smdeclust.problem import Problem, Solution


class BLPKMeans(StrictRival, MultiStartClusterer):
    """BLP-KM (Baumann 2020): k-means whose assignment step is solved exactly, in a multi-start.

    Parameters
    ----------
    n_clusters
        K.
    size_min, size_max
        Least and largest size of a cluster: a number for all of them, or K numbers, of which each
        cluster takes one (which one is part of the optimisation); ``None``: no bound.
    size_by
        What sizes count: ``"points"``, or ``"weight"`` for sums of ``sample_weight``.
    assignment
        How the assignment step is solved: ``"structured"`` (our own, by far the fastest), or as the
        plain binary programme by ``"highs"`` or ``"gurobi"`` (needs the extra of that name).
    init
        ``"random"`` points or ``"k-means++"``.
    n_init
        Starts; the best is kept.
    max_iter
        Most iterations of one start; it also ends at the first that does not lower the objective.
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
    cluster_sizes_, size_bounds_
        With bounds on sizes: the (K,) sizes of the clusters, and the (K, 2) bounds that each took.
    n_iter_
        Iterations of the best start.
    n_local_searches_, n_local_iterations_
        Starts made, and the iterations of all of them.
    n_failed_starts_
        Starts that failed: none, an exact assignment does not fail.
    n_unproven_
        Whether the last assignment of the returned solution lacks a proof of optimality (1 or 0),
        as it may on dense cannot-links.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        size_min: Any = None,
        size_max: Any = None,
        size_by: str = "points",
        assignment: str = "structured",
        init: str = "random",
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
        self.assignment = assignment
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, problem: Problem, deadline: float | None) -> np.ndarray:
        initialize = INITIALIZATIONS[self.init](problem)

        def attempt(rng: np.random.Generator) -> Attempt:
            found = self._search(problem, initialize(rng), deadline)
            return Attempt(found, found.n_iterations)

        best = self._best_start(attempt, deadline)
        assert best is not None
        self.n_unproven_ = int(not best.proven)
        return best.labels

    def _check_parameters(self) -> None:
        self._check_starts()
        check_choice("assignment", self.assignment, ("structured", "highs", "gurobi"))
        check_choice("init", self.init, tuple(INITIALIZATIONS))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.assignment == "structured" and self.init == "random"
        return tags

    def _search(self, problem: Problem, centers: np.ndarray, deadline: float | None) -> Solution:
        if self.assignment == "structured":
            return local_search(
                problem,
                centers,
                max_iter=self.max_iter,
                proof_pivots=PROOF_PIVOTS,
                deadline=deadline,
            )
        outside = problem.contracted.leave(centers)
        return milp_search(problem, outside, solver=self.assignment, max_iter=self.max_iter)
