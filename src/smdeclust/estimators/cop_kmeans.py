"""COPKMeans: COP-KM as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from smdeclust.estimators.base import all_or_nothing, check_choice
from smdeclust.estimators.given import hard_pairs
from smdeclust.estimators.multi_start import MultiStartClusterer
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.rivals.cop_kmeans import cop_kmeans
from smdeclust.rivals.initialization import INITIALIZATIONS
from smdeclust.rivals.multi_start import Attempt


class COPKMeans(MultiStartClusterer):
    """COP-KM (Wagstaff 2001): k-means that places points greedily and breaks no constraint.

    Must-link groups are placed in random order, each at the nearest center whose cluster holds no
    cannot-linked group yet. There is no backtracking: a start fails where its first placement
    leaves a group without a cluster, which says nothing about whether a clustering exists.

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

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster the rows of `X`.

        Parameters
        ----------
        X
            (N, d) points.
        y
            Not used. For partial labels see ``Constraints.from_labels``.
        must_link, cannot_link
            Pairs of row positions that must, or must not, share a cluster: (m, 2) integers.
        constraints
            The same and more as a :class:`~smdeclust.Constraints`, instead of bare pairs.
        sample_weight
            (N,) non-negative weights.

        Raises
        ------
        NoFeasibleSolutionError
            Every start failed. This is no proof that the constraints cannot be satisfied.
        """
        self._check_starts()
        must_link, cannot_link = hard_pairs(self, X, y, constraints, must_link, cannot_link)
        check_choice("init", self.init, tuple(INITIALIZATIONS))
        problem = self._build_problem(X, must_link, cannot_link, sample_weight)
        initialize = INITIALIZATIONS[self.init](problem)

        def attempt(rng: np.random.Generator) -> Attempt:
            return cop_kmeans(problem, initialize(rng), rng, self.max_iter)

        best = self._best_start(attempt)
        if best is None:
            raise NoFeasibleSolutionError(
                f"COP-KM failed in all of its {self.n_local_searches_} starts: it places groups "
                f"one by one and never takes one back. That is no proof: a feasible clustering may "
                f"well exist. Try more starts (n_init), or SMDEClust or BLPKMeans, whose "
                f"assignment step is exact."
            )
        return self._set_solution(problem, best.labels)
