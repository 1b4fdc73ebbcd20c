"""VNSClustering: variable neighbourhood search as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from smdeclust.baselines.soft_pairs import SoftPairs
from smdeclust.baselines.vns import vns
from smdeclust.estimators.base import check_number
from smdeclust.estimators.rival import Rival
from smdeclust.memetic.initialization import random_points
from smdeclust.structure.pairs import as_pairs, count_broken
from smdeclust.structure.rejections import reject_self_cannot_links


class VNSClustering(Rival):
    """Variable neighbourhood search for semi-supervised MSSC (GERAD G-2026-09).

    Must-linked points are one super-point and never part; broken cannot-links cost a penalty. The
    best solution is shaken by moving 1, 2, ... of its centers onto points, and a penalised k-means
    follows.

    Only the abstract was at hand, so these are our choices: the penalty (twice the largest weight
    times the squared diagonal of the box around the points, more than breaking a pair can save a
    super-point), the shakes, the local search (that of PCK-Means), and when to stop.

    Parameters
    ----------
    n_clusters
        K.
    penalty
        Cost of a broken cannot-link; ``None``: large enough that none is broken where the local
        search can help it.
    largest_shake
        Most centers that move at once; ``None``: all.
    max_no_improvement
        Stop after so many shakes in a row that find nothing better.
    max_time
        Seconds, after which the best solution so far is returned.
    random_state
        Seed, ``RandomState`` or ``None``. The same seed gives the same result.

    Attributes
    ----------
    labels_
        (N,) cluster of each point; must-links hold, cannot-links may be broken.
    cluster_centers_
        (K, d) means of the clusters, in lexicographic order.
    inertia_
        Sum of (weighted) squared distances of the points to the centers of their clusters.
    n_violations_
        Broken pairs.
    objective_
        ``inertia_`` plus the penalties.
    n_iter_
        Iterations of the last local search that found something better.
    n_local_searches_
        Local searches.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        penalty: float | None = None,
        largest_shake: int | None = None,
        max_no_improvement: int = 100,
        max_time: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.largest_shake = largest_shake
        self.max_no_improvement = max_no_improvement
        self.max_time = max_time
        self.random_state = random_state

    def _fit(self, X: Any, must_link: Any, cannot_link: Any, weight: Any, deadline: Any) -> Self:
        problem = self._build_problem(X, must_link, None, weight)
        apart = as_pairs(cannot_link, problem.n_points, "cannot_link")
        reject_self_cannot_links(apart)
        between = problem.group_of_point[apart].reshape(-1, 2)
        between = between[between[:, 0] != between[:, 1]]
        cost = self.penalty
        if cost is None:
            span = np.ptp(problem.contracted.points, axis=0)
            cost = 2.0 * float(span @ span) * float(problem.contracted.weights.max())
        none = np.empty((0, 2), dtype=np.int64)
        pairs = SoftPairs.build(
            problem.n_groups, none, between, np.empty(0), np.full(len(between), float(cost))
        )
        rng = self._generator()
        best, self.n_local_searches_ = vns(
            problem,
            pairs,
            random_points(problem)(rng),
            rng,
            self.largest_shake or self.n_clusters,
            self.max_no_improvement,
            deadline,
        )
        self.n_iter_ = best.n_iterations
        self._set_solution(problem, best.labels)
        self.objective_ = self.inertia_ + pairs.cost(best.labels)
        self.n_violations_ = sum(count_broken(problem.must_link, apart, self.labels_))
        return self

    def _check_parameters(self) -> None:
        check_number("penalty", self.penalty, low=0, optional=True)
        check_number("largest_shake", self.largest_shake, low=1, whole=True, optional=True)
        check_number("max_no_improvement", self.max_no_improvement, low=1, whole=True)
        check_number("max_time", self.max_time, low=0, optional=True)
