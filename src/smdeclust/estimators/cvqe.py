"""CVQE and LCVQE as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.baselines.cvqe import cvqe
from smdeclust.baselines.initialization import INITIALIZATIONS
from smdeclust.baselines.multi_start import Attempt
from smdeclust.estimators.base import check_choice
from smdeclust.estimators.multi_start import MultiStartClusterer
from smdeclust.estimators.rival import SoftRival
from smdeclust.problem import Problem


class CVQE(SoftRival, MultiStartClusterer):
    """CVQE (Davidson & Ravi 2005): k-means that charges broken pairs with distances of centers.

    A broken must-link costs the squared distance between its two centers, a broken cannot-link that
    from its center to the nearest other one. Each pair is placed where everything together costs
    least, over all K x K choices; centers move by the combined rule. Pairs may break. A point of
    several pairs ends where the last of them puts it.

    Parameters
    ----------
    n_clusters
        K.
    init
        ``"random"`` points or ``"k-means++"``.
    n_init
        Starts; the one of least error is kept.
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
        (N,) cluster of each point; constraints may be broken.
    cluster_centers_
        (K, d) means of the clusters, in lexicographic order.
    inertia_
        Sum of (weighted) squared distances of the points to the centers of their clusters.
    n_violations_
        Broken pairs.
    objective_
        The error that the method charges, with its own centers (twice the paper's).
    n_iter_
        Iterations of the best start.
    n_local_searches_, n_local_iterations_
        Starts made, and the iterations of all of them.
    """

    _linear = False

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

    def _solve(
        self, problem: Problem, together: np.ndarray, apart: np.ndarray, deadline: float | None
    ) -> np.ndarray:
        initialize = INITIALIZATIONS[self.init](problem)

        def attempt(rng: np.random.Generator) -> Attempt:
            return cvqe(problem, together, apart, initialize(rng), self.max_iter, self._linear)

        best = self._best_start(attempt, deadline)
        assert best is not None
        self.objective_ = best.objective
        return best.labels

    def _check_parameters(self) -> None:
        self._check_starts()
        check_choice("init", self.init, tuple(INITIALIZATIONS))


class LCVQE(CVQE):
    """LCVQE (Pelleg & Baras 2007): CVQE with at most three choices a pair.

    All points go to their nearest centers first. A broken must-link is kept broken, half of each
    point then drawing the other center, or put into either cluster; of a broken cannot-link the
    farther point goes to its next center. Pairs may break.

    Parameters and attributes are those of `CVQE`.
    """

    _linear = True
