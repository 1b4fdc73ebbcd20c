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
    """Proven optimal clustering under strict must-link and cannot-link constraints.

    `SMDEClust` finds a clustering; branch and cut on a semidefinite relaxation then proves how far
    from the optimum it can be, and replaces it if a better one is found. This is practical for up
    to about 1,000 must-link groups; above that, the data are split into parts and the bound is
    weaker.

    Parameters
    ----------
    n_clusters
        Number of clusters, K.
    tol
        Relative gap that counts as proven.
    max_time
        Seconds for search and proof, of which the search takes at most half; ``None``: no limit.
        When time is up, the best clustering and the best bound so far are kept.
    random_state
        Seed, ``RandomState`` or ``None``, for the search. The proof is deterministic.
    size_min, size_max
        Bounds on the number of points in every cluster; see `SMDEClust`.
    parts, n_jobs
        For the proof; see `smdeclust.exact.certify`.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_
        The clustering; all constraints hold.
    lower_bound_
        No feasible clustering costs less.
    gap_
        ``(inertia_ - lower_bound_) / inertia_``.
    status_
        ``"optimal"``, or why not; see `smdeclust.exact.Certificate`.
    n_nodes_
        Number of nodes in the branch-and-cut tree.
    certificate_
        The proof, which `smdeclust.exact.verify` checks.
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
