"""NonsmoothClustering: the incremental non-smooth method as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.assignment.distances import nearest_centers, transposed
from smdeclust.baselines.empty_clusters import fill_empty_clusters
from smdeclust.baselines.nonsmooth import incremental
from smdeclust.estimators.base import check_number
from smdeclust.estimators.rival import SoftRival
from smdeclust.problem import Problem


class NonsmoothClustering(SoftRival):
    """Non-smooth optimisation for pairs, after Bagirov, Taheri, Bai & Zheng (2023).

    Centers only: the sum over points of the least squared distance, plus a penalty times what
    keeping each broken pair would cost more. Centers are added one at a time, each started from the
    best points of an auxiliary problem. Points belong to their nearest centers, so pairs may break.

    The paper's full text was not at hand. Chosen here: the form of the penalties, and L-BFGS in the
    place of its bundle method (the objective is smooth almost everywhere).

    Parameters
    ----------
    n_clusters
        K.
    penalty
        What the excess of a broken pair is multiplied by.
    max_time
        Seconds, after which centers are added without refinement.
    random_state
        Seed, ``RandomState`` or ``None``; it matters where there are more points than candidates.

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
        The penalised objective at the method's own centers.
    n_iter_
        Evaluations of the objective.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        penalty: float = 10.0,
        max_time: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.max_time = max_time
        self.random_state = random_state

    def _solve(
        self, problem: Problem, together: np.ndarray, apart: np.ndarray, deadline: float | None
    ) -> np.ndarray:
        points, weights = problem.contracted.points, problem.contracted.weights
        centers, self.objective_, self.n_iter_ = incremental(
            points,
            weights,
            together,
            apart,
            problem.n_clusters,
            self.penalty,
            self._generator(),
            deadline,
        )
        labels = np.empty(len(points), dtype=np.int64)
        nearest_centers(points, weights, 0, centers, transposed(centers), labels)
        fill_empty_clusters(points, weights, labels, centers)
        return labels

    def _check_parameters(self) -> None:
        check_number("penalty", self.penalty, low=0)
        check_number("max_time", self.max_time, low=0, optional=True)
