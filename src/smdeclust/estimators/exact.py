"""ExactMSSC: the memetic method for a clustering, then branch and cut for the proof."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np

from smdeclust.constraints import Constraints
from smdeclust.constraints.given import hard_pairs
from smdeclust.estimators.base import ConstrainedClusterer, all_or_nothing
from smdeclust.estimators.parameters import check_number
from smdeclust.estimators.smdeclust import SMDEClust


class ExactMSSC(ConstrainedClusterer):
    """Proven optimal clustering under strict must-link and cannot-link constraints.

    `SMDEClust` finds a clustering; branch and cut on a semidefinite relaxation then proves how
    far from the optimum it can be at most, and replaces it where a better one is met. Exact up to
    some hundreds of must-link groups; above a thousand the bound is that of parts, and weaker.

    Parameters
    ----------
    n_clusters
        K.
    tol
        Relative gap that counts as proven.
    max_time
        Seconds for both parts, of which the first takes at most half; ``None``: no limit. When
        they are over, the best clustering and the best bound so far are kept.
    random_state
        Seed, ``RandomState`` or ``None``, of the first part. The proof is deterministic.
    size_min, size_max
        Bounds on the number of points in every cluster; see `SMDEClust`.
    parts, n_jobs
        Of the proof; see `smdeclust.exact.certify`.

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
        Nodes of the branch and cut tree.
    certificate_
        The proof, which `smdeclust.exact.verify` checks.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        tol: float = 1e-4,
        max_time: float | None = None,
        random_state: Any = None,
        size_min: Any = None,
        size_max: Any = None,
        parts: int | str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.tol = tol
        self.max_time = max_time
        self.random_state = random_state
        self.size_min = size_min
        self.size_max = size_max
        self.parts = parts
        self.n_jobs = n_jobs

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
        """Cluster the rows of `X` and prove how good the result is.

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
        """
        from smdeclust.exact import certify  # the proofs' room is slow to import

        start = time.perf_counter()
        must_link, cannot_link = hard_pairs(self, X, y, constraints, must_link, cannot_link)
        check_number("tol", self.tol, low=0)
        check_number("max_time", self.max_time, low=0, optional=True)
        problem = self._build_problem(X, must_link, cannot_link, sample_weight)
        pairs: dict[str, Any] = {"must_link": problem.must_link, "cannot_link": problem.cannot_link}
        half = None if self.max_time is None else 0.5 * self.max_time
        heuristic = SMDEClust(
            self.n_clusters,
            max_time=half,
            random_state=self.random_state,
            size_min=self.size_min,
            size_max=self.size_max,
        )
        known = Constraints(**pairs, n_points=problem.n_points)
        heuristic.fit(problem.X, sample_weight=problem.sample_weight, constraints=known)
        left = None
        if self.max_time is not None:
            left = max(self.max_time - (time.perf_counter() - start), 0.0)
        certificate = certify(
            problem.X,
            heuristic.labels_,
            sample_weight=problem.sample_weight,
            tol=self.tol,
            max_time=left,
            n_jobs=self.n_jobs,
            size_min=self.size_min,
            size_max=self.size_max,
            parts=self.parts,
            **pairs,
        )
        self.certificate_ = certificate
        self.lower_bound_ = certificate.lower_bound
        self.gap_ = certificate.gap
        self.status_ = certificate.status
        self.n_nodes_ = certificate.n_nodes
        return self._set_solution(problem, problem.group_labels(np.asarray(certificate.labels)))
