"""ExactMSSC: the memetic method for a clustering, then branch and cut for the proof."""

import time
from typing import Any, Self

import numpy as np

from smdeclust.constraints import Constraints
from smdeclust.estimators.base import ConstrainedClusterer
from smdeclust.estimators.parameters import anything, documented, number
from smdeclust.estimators.smdeclust import SMDEClust


@documented
class ExactMSSC(ConstrainedClusterer):
    """Find a clustering, and prove how far it can be from the optimum.

    :class:`SMDEClust` finds a clustering. A branch-and-cut method then proves a lower bound on the
    objective of every feasible clustering, and replaces the clustering if it finds a better one. A
    proof for all points at once is practical for up to about a thousand groups (points joined by
    must-links); larger data are split into parts.

    Parameters
    ----------
    n_clusters
        The number of clusters, K.
    tol
        The relative gap at which the clustering counts as optimal.
    max_time
        The time limit for search and proof, in seconds. The search takes at most half of it. When
        it is reached, the best clustering and the best bound so far are returned.
    random_state
        A seed, ``RandomState`` or ``None``, for the search. The proof is deterministic.
    size_min, size_max
        Bounds on the number of points in a cluster, as in :class:`SMDEClust`.
    parts, n_jobs
        Options of the proof, as in `smdeclust.exact.certify`.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_
        The clustering.
    lower_bound_
        A lower bound on the objective of every feasible clustering.
    gap_
        ``(inertia_ - lower_bound_) / inertia_``.
    status_
        ``"optimal"``, or why the clustering is not proven optimal (see
        `smdeclust.exact.Certificate`).
    n_nodes_
        The number of nodes in the branch-and-cut tree.
    certificate_
        The proof, which `smdeclust.exact.verify` can check.
    """

    n_clusters: int = anything(3, kw_only=False)
    tol: float = number(1e-4, low=0)
    max_time: float | None = number(None, low=0)
    random_state: Any = None
    size_min: Any = None
    size_max: Any = None
    parts: int | str = "auto"
    n_jobs: int | None = None

    def _fit(self, X: Any, known: Constraints, weight: Any, deadline: float | None) -> Self:
        from smdeclust.exact import certify  # the proofs' room is slow to import

        problem = self._build_problem(X, known, weight, deadline)
        half = None if self.max_time is None else 0.5 * self.max_time
        sizes = {"size_min": self.size_min, "size_max": self.size_max}
        given: dict[str, Any] = {"sample_weight": problem.sample_weight, "constraints": known}
        heuristic = SMDEClust(
            self.n_clusters, max_time=half, random_state=self.random_state, **sizes
        ).fit(problem.X, **given)
        left = None if deadline is None else max(deadline - time.perf_counter(), 0.0)
        limits: dict[str, Any] = {"tol": self.tol, "max_time": left, "n_jobs": self.n_jobs}
        certificate = certify(
            problem.X, heuristic.labels_, **given, **sizes, **limits, parts=self.parts
        )
        self.certificate_ = certificate
        self.lower_bound_ = certificate.lower_bound
        self.gap_ = certificate.gap
        self.status_ = certificate.status
        self.n_nodes_ = certificate.n_nodes
        return self._set_solution(problem, problem.group_labels(np.asarray(certificate.labels)))
