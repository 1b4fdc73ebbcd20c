"""certify: prove how good a clustering is, by branch and cut on the semidefinite relaxation."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from smdeclust.constraints.given import hard_pairs
from smdeclust.exact.admm import Ending
from smdeclust.exact.block import bound_block, cost_of, without_search
from smdeclust.exact.certificate import Certificate, relative_gap
from smdeclust.exact.parts import Jobs, part_size, prove_in_parts
from smdeclust.exact.relaxation import IntArray
from smdeclust.exact.verify import VANISHING
from smdeclust.exceptions import InvalidInputError
from smdeclust.problem import Problem
from smdeclust.structure.pairs import check_number

# Groups up to which "auto" takes all of them at once, and above which one part is not tried.
WHOLE, MAX_GROUPS = 1000, 2000
_STATUS = {
    Ending.TIME: "time_limit",
    Ending.INTERRUPTED: "interrupted",
    Ending.PRECISION: "precision_limit",
    Ending.TARGET: "precision_limit",
}
_MESSAGE = {
    "time_limit": "a gap of {gap:.2e} is left after {max_time} seconds",
    "bounds_differ": "a gap of {gap:.2e} is left: the proof is for the widest of the sizes",
    "interrupted": "interrupted; a gap of {gap:.2e} is left",
    "precision_limit": "a gap of {gap:.2e} is left, because of rounding errors",
}


# A share of the cost by which the claimed bound stays below the one that was found.
CLAIMED_LESS = 1e-12


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
    size_min: Any = None,
    size_max: Any = None,
    parts: int | str = "auto",
    folder: Any = None,
    progress: Callable[[str], None] | None = None,
    constraints: Any = None,
) -> Certificate:
    """Prove how far a clustering can be from the optimum.

    The result contains a lower bound on the objective of every feasible clustering. The function
    does not raise an error if time or memory runs out, if the data are too large, or if you press
    Ctrl-C. It then returns the best bound so far, and ``status`` says what happened.

    Parameters
    ----------
    X
        The (N, d) points.
    labels
        A feasible clustering of the points. Its number of different labels is K. A good clustering
        shortens the proof. If the proof finds a better one, that is returned.
    must_link, cannot_link
        Pairs of row positions.
    sample_weight
        The (N,) non-negative weights of the points.
    tol
        The relative gap at which the clustering counts as optimal.
    max_time
        The time limit in seconds.
    n_jobs
        The number of threads for a single node of the tree, or of processes for several nodes or
        parts. None means 1, and -1 means all cores.
    size_min, size_max
        Bounds on the number of points in a cluster: one number, or K numbers, of which the proof
        uses the widest. Only clusterings within these bounds are considered. With `sample_weight`
        or parts, the sizes do not improve the lower bound.
    parts
        The number of parts into which the points are split. The bounds of the parts add up. Their
        sum is weaker than a bound for all points at once, but can be computed for any number of
        points. ``"auto"`` splits more than 1,000 groups into parts of 250 to 1,000 groups.
    folder
        A folder in which finished parts are saved, so that a later call can continue.
    progress
        A function that is called with a sentence after every part.
    constraints
        A :class:`~smdeclust.Constraints` object instead of the pairs.

    Returns
    -------
    Certificate
        The bound, the gap, the labels, the status, and the proof, which `verify` can check.
    """
    start = time.perf_counter()
    check_number("tol", tol, low=0, below=1)
    check_number("max_time", max_time, low=0, optional=True)
    if n_jobs is not None and not (isinstance(n_jobs, Integral) and (n_jobs >= 1 or n_jobs == -1)):
        raise InvalidInputError(
            f"n_jobs must be a positive whole number, -1 for all cores, or None, got {n_jobs!r}"
        )
    seconds = np.inf if max_time is None else max_time
    names, given = np.unique(_cluster_names(labels), return_inverse=True)
    given = given.reshape(-1).astype(np.int64)
    must_link, cannot_link = hard_pairs("certify", X, constraints, must_link, cannot_link)
    problem = Problem.build(
        X, len(names), must_link, cannot_link, sample_weight, size_min=size_min, size_max=size_max
    )
    _check_labels(problem, given)
    _check_cost(problem, given)
    bounds, counts = problem.bounds, np.bincount(given)
    sizes = (0.0, np.inf)
    if bounds is not None:
        # (as given: that no cluster may be empty is no bound that a certificate could name)
        least = 0.0 if size_min is None else float(np.min(size_min))
        sizes = least, float(bounds.high.max())
        if not bounds.hold(counts.astype(np.float64)):
            raise InvalidInputError(
                f"labels: the clusters have {counts.min()} to {counts.max()} points, outside of "
                f"size_min={size_min} and size_max={size_max}"
            )
    n_jobs = os.cpu_count() or 1 if n_jobs == -1 else n_jobs or 1
    n_parts = _number_of_parts(parts, problem, seconds * n_jobs)
    status, message = "", ""
    if n_parts > 1:
        until = time.time() + (start + seconds - time.perf_counter())
        jobs = Jobs(problem, given, until, n_jobs, None if folder is None else Path(folder))
        found = prove_in_parts(jobs, n_parts, tol, progress)
    elif problem.n_groups > MAX_GROUPS:
        found = without_search(problem, given)
        status, message = "too_large", _estimate(problem, f"the limit is {MAX_GROUPS} groups")
    else:
        with threadpool_limits(limits=1):
            limits: dict[str, Any] = {"deadline": start + seconds, "n_jobs": n_jobs}
            found = bound_block(problem, given, tol=tol, sizes=sizes, **limits)
        if found.ending is None:
            status, message = "memory_limit", _estimate(problem, "memory ran out")
    if bounds is not None and not bounds.hold(np.bincount(found.labels).astype(np.float64)):
        # Better, but only within the widest bounds, for which the proof holds.
        found = replace(found, labels=given, upper_bound=cost_of(problem, given), improved=False)
    # What is claimed is a little less than what was found: `verify` rounds in another order.
    lower = found.lower_bound - CLAIMED_LESS * abs(found.upper_bound)
    lower = max(lower, min(0.0, found.lower_bound))
    gap = relative_gap(found.upper_bound, lower)
    if n_parts > 1 and gap > tol and found.ending is Ending.TARGET:
        status, message = "parts", f"a gap of {gap:.2e} is left by the split into {n_parts} parts"
    if not status and found.ending is not None:
        status = "optimal" if gap <= tol else _STATUS[found.ending]
        if gap > tol and found.ending is Ending.TARGET and bounds is not None and not bounds.alike:
            status = "bounds_differ"
        message = "" if gap <= tol else _MESSAGE[status].format(gap=gap, max_time=max_time)
    return Certificate(
        found.labels, problem.n_clusters, lower, found.upper_bound, gap, status, float(tol),
        found.improved, found.root_bound, problem.n_groups, found.n_nodes, found.n_iterations,
        seconds=time.perf_counter() - start, message=message, proof=found.proof,
    )  # fmt: skip


def _check_cost(problem: Problem, labels: IntArray) -> None:
    """Costs must be numbers with digits: what vanishes would be proven at once."""
    if cost_of(problem, labels) >= VANISHING:
        return
    for label in range(problem.n_clusters):
        rows = np.asarray(problem.X[(labels == label) & (problem.point_weights > 0)])
        if len(rows) and np.ptp(rows, axis=0).any():
            raise InvalidInputError(
                "The squares of the distances to centers, times the weights, are too small for "
                "double precision: multiply X or sample_weight by a large number."
            )


def _number_of_parts(parts: int | str, problem: Problem, seconds: float) -> int:
    n = problem.n_groups
    if parts == "auto":
        return 1 if n <= WHOLE else math.ceil(n / part_size(problem.n_clusters, n, seconds))
    if isinstance(parts, Integral) and 1 <= parts <= n:
        return int(parts)
    raise InvalidInputError(
        f'parts must be "auto" or a number from 1 to the {n} groups, got {parts!r}'
    )


def _cluster_names(labels: Any) -> Any:
    """Labels that name clusters; not a number is no name."""
    given = np.asarray(labels)
    if given.dtype.kind == "O" and all(isinstance(name, str | Integral) for name in given.flat):
        given = given.astype(str)
    if given.ndim != 1 or given.dtype.kind not in "iufbUS":
        raise InvalidInputError(
            f"labels must be a list of N numbers or names, got shape {given.shape} of {given.dtype}"
        )
    if given.dtype.kind == "f" and not np.all(np.isfinite(given)):
        raise InvalidInputError("labels: NaN and infinity are not labels; give one label per row")
    return given


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


def _estimate(problem: Problem, reason: str) -> str:
    """Why there is no proof, and what it would take, from the cubic cost of one iteration."""
    n = problem.n_groups
    seconds = 2e-3 * (n / 300.0) ** 3
    gigabytes = 12 * 8 * n * n / 2**30
    return (
        f"{reason}: a proof for {n} groups would need about {gigabytes:.1f} GiB of memory and "
        f"{1000 * seconds / 3600:.1f} hours for the root alone"
    )
