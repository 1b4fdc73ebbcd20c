"""RepetitiveBB: repetitive branch and bound as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.baselines.repetitive import repetitive
from smdeclust.estimators.base import check_number
from smdeclust.estimators.rival import StrictRival
from smdeclust.local_search import PROOF_PIVOTS, local_search
from smdeclust.memetic.initialization import random_points
from smdeclust.problem import Problem

# Local searches whose best is the first upper bound.
N_STARTS = 20


class RepetitiveBB(StrictRival):
    """Repetitive branch and bound (Brusco 2006; with pairs Guns, Dao, Vrain & Duong 2016).

    Exact, for some dozens of points (more where clusters are far apart, or must-links make few
    groups): the optimum of the last 1, 2, ... groups in a fixed order is found in turn and bounds
    what they cost in the longer problems.

    Chosen here: the search of the constraint solver is our own depth-first search with the same
    propagation of pairs and the same bound; the order is farthest first.

    Parameters
    ----------
    n_clusters
        K.
    max_nodes
        Most nodes of all trees, or ``None``.
    max_time
        Seconds, after which the best solution known and the bound so far are returned.
    random_state
        Seed, ``RandomState`` or ``None``, of the local searches before the proof.

    Attributes
    ----------
    labels_
        (N,) cluster of each point; all constraints hold.
    cluster_centers_
        (K, d) means of the clusters, in lexicographic order.
    inertia_
        Sum of (weighted) squared distances of the points to the centers of their clusters.
    lower_bound_
        No clustering that keeps the pairs has a smaller sum of squares.
    optimal_
        Whether the run ended before its limits: ``inertia_`` is the optimum then.
    n_iter_
        Nodes.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        max_nodes: int | None = None,
        max_time: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_nodes = max_nodes
        self.max_time = max_time
        self.random_state = random_state

    def _solve(self, problem: Problem, deadline: float | None) -> np.ndarray:
        rng, initialize = self._generator(), random_points(problem)
        starts = (initialize(rng) for _ in range(N_STARTS))
        limits: dict[str, Any] = {"proof_pivots": PROOF_PIVOTS, "deadline": deadline}
        found = [local_search(problem, start, deep=True, **limits) for start in starts]
        known = min(found, key=lambda solution: solution.objective)
        contracted = problem.contracted
        proof = repetitive(
            contracted.points,
            contracted.weights,
            contracted.indptr,
            contracted.indices,
            problem.n_clusters,
            np.array(known.labels),
            np.inf if self.max_nodes is None else self.max_nodes,
            deadline,
        )
        self.lower_bound_ = proof.bound + problem.scatter
        self.optimal_ = proof.optimal
        self.n_iter_ = proof.n_nodes
        # The proof allows fewer clusters than K, never at a lower cost than the known labels.
        better = proof.cost + problem.scatter < known.objective * (1 - 1e-9)
        all_used = len(np.unique(proof.labels)) == problem.n_clusters
        return proof.labels if better and all_used else known.labels

    def _check_parameters(self) -> None:
        check_number("max_nodes", self.max_nodes, low=1, whole=True, optional=True)
        check_number("max_time", self.max_time, low=0, optional=True)
