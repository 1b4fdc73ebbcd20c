"""DILS as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.baselines.dils import Setting, dils, penalty
from smdeclust.baselines.soft_pairs import SoftPairs
from smdeclust.estimators.base import check_number
from smdeclust.estimators.rival import UnweightedRival
from smdeclust.problem import Problem


class DILS(UnweightedRival):
    """DILS (Gonzalez-Almagro, Luengo, Cano & Garcia 2020): dual iterative local search.

    Two solutions; the worse is replaced by a recombination of both, a segment of whose labels is
    drawn once more and which a local search of single relabelings improves. It minimises its own
    fitness: mean distance to the cluster's mean, averaged over clusters, plus a penalty a broken
    pair. Pairs may break; points have no weights. Few pairs leave that fitness a poor guide: a
    cluster of one point has no distance, so single points far out become clusters.

    Chosen here, where the text available to us says nothing: the local search goes on until no
    relabeling helps, and no cluster is ever empty.

    Parameters
    ----------
    n_clusters
        K.
    inherit
        Probability that a label comes from the better solution.
    segment
        Share of the points whose labels are drawn once more.
    similarity
        The worse solution is drawn once more where its fitness is worse by more than this share.
    max_evaluations
        Relabelings weighed in all.
    max_time
        Seconds, after which the best solution so far is returned.
    random_state
        Seed, ``RandomState`` or ``None``. The same seed gives the same result.

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
        What the method minimises.
    n_iter_
        Recombinations.
    n_evaluations_
        Relabelings weighed.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        inherit: float = 0.5,
        segment: float = 0.2,
        similarity: float = 0.5,
        max_evaluations: int = 300_000,
        max_time: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.inherit = inherit
        self.segment = segment
        self.similarity = similarity
        self.max_evaluations = max_evaluations
        self.max_time = max_time
        self.random_state = random_state

    def _solve(
        self, problem: Problem, together: np.ndarray, apart: np.ndarray, deadline: float | None
    ) -> np.ndarray:
        rng = self._generator()
        cost = penalty(problem.contracted.points, len(together) + len(apart), rng)
        pairs = SoftPairs.build(
            problem.n_points,
            together,
            apart,
            np.full(len(together), cost),
            np.full(len(apart), cost),
        )
        setting = Setting(self.inherit, self.segment, self.similarity, self.max_evaluations)
        best, self.n_evaluations_ = dils(problem, pairs, setting, rng, deadline)
        self.n_iter_ = best.n_iterations
        self.objective_ = best.objective
        return best.labels

    def _check_parameters(self) -> None:
        check_number("inherit", self.inherit, low=0, high=1)
        check_number("segment", self.segment, low=0, high=1)
        check_number("similarity", self.similarity, low=0)
        check_number("max_evaluations", self.max_evaluations, low=1, whole=True)
        check_number("max_time", self.max_time, low=0, optional=True)
