"""PCKMeans: PCK-Means as a scikit-learn estimator."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from smdeclust.baselines.multi_start import Attempt
from smdeclust.baselines.pck_means import neighborhood_centers, pck_means
from smdeclust.baselines.soft_pairs import SoftPairs
from smdeclust.estimators.multi_start import MultiStartClusterer
from smdeclust.estimators.rival import SoftRival
from smdeclust.exceptions import InvalidInputError
from smdeclust.problem import Problem
from smdeclust.structure.groups import contract


class PCKMeans(SoftRival, MultiStartClusterer):
    """PCK-Means (Basu 2004): soft constraints, each with a cost that is paid where it is broken.

    Minimises the sum of squared distances plus `w` per broken pair. The first start is from the
    means of the K largest must-link groups, the others from K drawn by their sizes; where there are
    fewer groups, random points join them.

    Parameters
    ----------
    n_clusters
        K.
    w
        Cost of a broken pair: one number, or one per pair, the must-links first, in the order
        given to ``fit``. A pair listed several times counts once, at the largest of its costs.
    n_init
        Starts; the best is kept.
    max_iter
        Most iterations of one start; it also ends after ten in a row without a better solution.
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
    objective_
        What the method minimises: ``inertia_`` plus the cost of the broken pairs.
    inertia_
        Sum of (weighted) squared distances of the points to the centers of their clusters.
    n_violations_
        Broken pairs.
    n_iter_
        Iterations of the best start.
    n_local_searches_, n_local_iterations_
        Starts made, and the iterations of all of them.
    n_failed_starts_
        Starts that failed: none, soft constraints cannot fail.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        w: Any = 1.0,
        n_init: int = 10,
        max_iter: int = 300,
        max_time: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.w = w
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

    def _solve(
        self, problem: Problem, together: np.ndarray, apart: np.ndarray, deadline: float | None
    ) -> np.ndarray:
        cost = _as_costs(self.w, len(together) + len(apart))
        pairs = SoftPairs.build(
            problem.n_points, together, apart, cost[: len(together)], cost[len(together) :]
        )
        groups = contract(problem.n_points, together, np.empty((0, 2), dtype=np.int64))
        starts = count()

        def attempt(rng: np.random.Generator) -> Attempt:
            centers = neighborhood_centers(problem, groups, rng, draw=next(starts) > 0)
            return pck_means(problem, pairs, centers, rng, self.max_iter)

        best = self._best_start(attempt, deadline)
        assert best is not None
        self.objective_ = best.objective
        return best.labels

    def _check_parameters(self) -> None:
        self._check_starts()


def _as_costs(w: Any, n_pairs: int) -> np.ndarray:
    """Return one finite, non-negative cost per pair."""
    try:
        cost = np.asarray(w, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"w must be a number or one number per pair, got {w!r}.") from None
    if cost.ndim == 0:
        cost = np.full(n_pairs, float(cost))
    if cost.shape != (n_pairs,):
        raise InvalidInputError(
            f"w must be one number or one per pair, must-links first: {n_pairs} pairs were given, "
            f"w has shape {cost.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(cost) & (cost >= 0)))
    if len(bad):
        raise InvalidInputError(
            f"w must be finite and not negative, got {cost[bad[0]]} at position {int(bad[0])}."
        )
    return cost
