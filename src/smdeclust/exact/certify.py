"""certify: prove how good a clustering is, by branch and cut on the semidefinite relaxation."""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from smdeclust.exact.admm import Ending, Settings
from smdeclust.exact.certificate import Certificate, relative_gap
from smdeclust.exact.relaxation import FloatArray, IntArray, PointData, Relaxation
from smdeclust.exact.rounding import cost, improve, rounded_labels
from smdeclust.exact.tree import SearchResult, branch_and_cut
from smdeclust.exceptions import InvalidInputError
from smdeclust.problem import Problem

logger = logging.getLogger(__name__)

MAX_GROUPS = 2000
# Rounding allowance of the claim, relative to (total scatter) (N^1.5 + d) K: several times what
# `verify` deducts, whose error bounds grow in the same way.
_CLAIM_MARGIN = 2e-14


def certify(
    X: Any,
    labels: Any,
    *,
    must_link: Any = None,
    cannot_link: Any = None,
    sample_weight: Any = None,
    tol: float = 1e-4,
    max_time: float | None = None,
    n_jobs: int | None = None,
) -> Certificate:
    """Prove a lower bound on the cost of every feasible clustering, and so how good ``labels`` are.

    Parameters
    ----------
    X
        (N, d) the points.
    labels
        (N,) a feasible clustering; the number of distinct labels is K. The better it is, the
        sooner the proof ends; where the search meets a better one, that is returned.
    must_link, cannot_link
        Pairs of rows.
    sample_weight
        (N,) non-negative weights.
    tol
        Relative gap that counts as proven.
    max_time
        Seconds after which the best bound so far is returned.
    n_jobs
        Threads for the linear algebra; None means one, which is the fastest below a few hundred
        groups.

    Returns
    -------
    Certificate
        ``lower_bound``, ``upper_bound``, ``gap``, ``status``, ``labels`` and the proof itself,
        which `verify` checks. Out of time or memory, or too large: the best bound so far and the
        status that says so, never an exception.
    """
    start = time.perf_counter()
    deadline = np.inf if max_time is None else start + max_time
    if not tol >= 0:
        raise InvalidInputError(f"tol must be a number >= 0, got {tol!r}")
    given = np.asarray(labels)
    names, given = np.unique(given, return_inverse=True)
    given = given.reshape(-1).astype(np.int64)
    problem = Problem.build(X, len(names), must_link, cannot_link, sample_weight)
    _check_labels(problem, given)

    rows = np.arange(problem.n_points)
    if problem.sample_weight is not None:
        rows = np.flatnonzero(problem.sample_weight > 0)
    incumbent = _Incumbent(problem, given, rows)
    total = _total_scatter(problem)
    size = problem.n_points**1.5 + problem.n_features
    margin = _CLAIM_MARGIN * total * size * problem.n_clusters

    def enough(upper: float) -> float:
        """Bound that closes the gap, with room for the rounding margins; zero always holds."""
        wanted = upper - 0.999 * tol * max(upper, 1e-9 * total)
        return wanted + 2.0 * margin if wanted > 0.0 else -np.inf

    result: SearchResult | None = None
    status, message = "", ""
    if problem.n_groups > MAX_GROUPS:
        status, message = "too_large", _estimate(problem)
    else:
        try:
            with threadpool_limits(limits=n_jobs or 1):
                data = _weighty(problem, rows)
                result = branch_and_cut(
                    data,
                    incumbent.round,
                    upper_bound=incumbent.cost,
                    target=enough,
                    deadline=deadline,
                    settings=Settings(),
                )
        except MemoryError:
            status, message = "memory_limit", _estimate(problem)
    upper = incumbent.cost
    found = _spectral_bound(problem) if result is None else result.lower_bound
    lower = min(max(found - margin, 0.0), upper)
    gap = relative_gap(upper, lower, total)
    if not status:
        if gap <= tol:
            status = "optimal"
        elif result is not None and result.ending is Ending.TIME:
            status, message = "time_limit", f"a gap of {gap:.2e} is left after {max_time} seconds"
        else:
            status = "precision_limit"
            message = f"a gap of {gap:.2e} is left: less than that is lost in rounding"
    extra: dict[str, Any] = {}
    if result is not None:
        extra = {
            "root_bound": result.root_bound,
            "n_nodes": result.n_nodes,
            "n_iterations": result.n_iterations,
            "proof": result.proof.renamed(rows),
        }
    return Certificate(
        labels=incumbent.labels,
        n_clusters=problem.n_clusters,
        lower_bound=lower,
        upper_bound=upper,
        gap=gap,
        status=status,
        tol=float(tol),
        improved=incumbent.improved,
        n_groups=problem.n_groups,
        seconds=time.perf_counter() - start,
        message=message,
        **extra,
    )


class _Incumbent:
    """The best clustering known."""

    def __init__(self, problem: Problem, labels: IntArray, rows: IntArray) -> None:
        self.problem = problem
        self.rows = rows
        self.labels = labels
        self.cost = cost(problem, labels)
        self.improved = False

    def round(self, node: Relaxation, Y: FloatArray) -> float:
        """Round a relaxation; keep the result if it is better. Returns the best cost."""
        start = np.zeros(self.problem.n_points, np.int64)
        start[self.rows] = rounded_labels(node, Y)
        found = improve(self.problem, start)
        if found is not None:
            value = cost(self.problem, found)
            if value < self.cost * (1.0 - 1e-12):
                logger.debug("better clustering: %.12g instead of %.12g", value, self.cost)
                self.labels, self.cost, self.improved = found, value, True
        return self.cost


def _check_labels(problem: Problem, labels: IntArray) -> None:
    if labels.shape != (problem.n_points,):
        raise InvalidInputError(
            f"labels: {labels.shape[0]} labels for {problem.n_points} points; give one per row"
        )
    broken = problem.violations(labels)
    if broken != (0, 0):
        raise InvalidInputError(
            f"labels break {broken[0]} must-links and {broken[1]} cannot-links: only a feasible "
            f"clustering can be certified (SMDEClust gives one)"
        )


def _weighty(problem: Problem, rows: IntArray) -> PointData:
    """The problem of the rows that have weight; pairs that run over other rows are kept.

    Rows without weight cost nothing wherever they go, and with at least K groups that have weight
    some optimal clustering has weight in every cluster.
    """
    weights = problem.sample_weight
    # One row stands for each group: all others of the group are linked to it.
    first = np.full(problem.n_groups, -1)
    groups = problem.group_of_point[rows]
    first[groups[::-1]] = np.arange(len(rows))[::-1]
    must = np.column_stack([np.arange(len(rows)), first[groups]])
    cannot = first[problem.group_of_point[problem.cannot_link]]
    return PointData.build(
        problem.X[rows],
        problem.n_clusters,
        must,
        cannot,
        None if weights is None else weights[rows],
    )


def _total_scatter(problem: Problem) -> float:
    squares = np.sum((problem.X - problem.offset) ** 2, axis=1)
    weights = problem.sample_weight
    return float(squares.sum() if weights is None else squares @ weights)


def _spectral_bound(problem: Problem) -> float:
    """Bound without multipliers, for problems too large for more.

    The groups' own scatter, and what K - 1 principal directions leave of the scatter between them
    (Ding & He, 2004); the latter only where that matrix is small.
    """
    if problem.n_features > 1000:
        return problem.scatter
    factor = np.sqrt(problem.weights)[:, None] * problem.means
    eigenvalues = np.linalg.eigvalsh(factor.T @ factor)
    kept = max(problem.n_features - (problem.n_clusters - 1), 0)
    return problem.scatter + float(np.maximum(eigenvalues[:kept], 0.0).sum())


def _estimate(problem: Problem) -> str:
    """What a proof of this size would take, from the cubic cost of one iteration."""
    n = problem.n_groups
    seconds = 2e-3 * (n / 300.0) ** 3
    gigabytes = 12 * 8 * n * n / 2**30
    return (
        f"{n} groups are more than the {MAX_GROUPS} a proof is tried for: it would need about "
        f"{gigabytes:.1f} GiB of memory and {1000 * seconds / 3600:.1f} hours for the root alone"
    )
