"""KempeSwapKMeans: Kempe Swap K-Means as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.baselines.initialization import INITIALIZATIONS
from smdeclust.baselines.kempe_swap import kempe_swap
from smdeclust.baselines.multi_start import Attempt
from smdeclust.estimators.base import check_choice, check_number
from smdeclust.estimators.multi_start import MultiStartClusterer
from smdeclust.estimators.rival import StrictRival
from smdeclust.problem import Problem


class KempeSwapKMeans(StrictRival, MultiStartClusterer):
    """Kempe Swap K-Means (Ren & Deng, arXiv 2603.27417): every step keeps every pair.

    Must-linked points are one group. For fixed centers, chains of the cannot-link graph change
    places between two clusters wherever that brings their groups closer; then centers move to the
    means, perturbed now and then.

    Chosen here, where the text available to us says nothing: the first labels are one exact
    assignment; a perturbation is Gaussian, begins at half the mean distance of points to their
    centers and fades by a fifth each time; the best solution is what is perturbed.

    Parameters
    ----------
    n_clusters
        K.
    init
        ``"random"`` points or ``"k-means++"``.
    n_init
        Starts; the best is kept.
    n_perturbations
        Perturbations of a start.
    max_iter
        Most iterations between two perturbations.
    max_time
        No perturbation and no start begins after so many seconds.
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
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        init: str = "random",
        n_init: int = 10,
        n_perturbations: int = 10,
        max_iter: int = 300,
        max_time: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.n_perturbations = n_perturbations
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, problem: Problem, deadline: float | None) -> np.ndarray:
        initialize = INITIALIZATIONS[self.init](problem)

        def attempt(rng: np.random.Generator) -> Attempt:
            start = initialize(rng)
            return kempe_swap(problem, start, rng, self.max_iter, self.n_perturbations, deadline)

        best = self._best_start(attempt, deadline)
        assert best is not None
        return best.labels

    def _check_parameters(self) -> None:
        self._check_starts()
        check_choice("init", self.init, tuple(INITIALIZATIONS))
        check_number("n_perturbations", self.n_perturbations, low=0, whole=True)
