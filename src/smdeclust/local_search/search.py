"""The local search of the paper (BLP-KM's step), its deep form, and the last proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.batch import search_batch
from smdeclust.local_search.bounded import search_bounded
from smdeclust.local_search.compiled import CompiledSearch, prove_compiled
from smdeclust.local_search.limits import LEAST_FALL, Limits
from smdeclust.points.choose import store
from smdeclust.problem import Problem, Solution

# Points times features times clusters from which on a search is not deep: single points hardly
# move clusters of thousands, and a pass over all of them takes its time.
DEEPEST = 2**23
# A search that ends further than this share behind the best so far needs no optimal last labels.
FAR_BEHIND = 0.01
# Rounding of an objective in single precision.
SINGLE = 1e-6


def can_go_deep(problem: Problem) -> bool:
    """Whether Kempe swaps can follow the local searches of this problem."""
    size = problem.n_points * problem.n_features * problem.n_clusters
    return problem.points.abilities.compiled and size <= DEEPEST


def local_search(
    problem: Problem,
    centers: np.ndarray,
    *,
    max_iter: int | None = None,
    deep: bool = False,
    proof_pivots: float | None = None,
    deadline: float | None = None,
) -> Solution:
    """Assign exactly and move centers in turn, until the objective does not fall.

    Parameters
    ----------
    problem
        The problem.
    centers
        (K, d') start, as ``problem.enter`` gives it.
    max_iter
        Most iterations, or ``None``.
    deep
        Whether to go on by swaps of Kempe chains where Lloyd stops, and stop when neither helps.
        (Only where :func:`can_go_deep` says so.)
    proof_pivots
        Simplex pivots for each proof on a dense core; then the best labels found are used.
        ``None``: no limit. Whether the last assignment was proven is in the solution.
    deadline
        Stop at this moment of ``time.perf_counter()``, after at least one iteration.
    """
    return make_search(problem, deep=deep, limits=Limits.of(max_iter, proof_pivots, deadline))(
        centers
    )


def search_all(
    problem: Problem,
    starts: Sequence[np.ndarray],
    *,
    max_iter: int | None = None,
    deep: bool = False,
    proof_pivots: float | None = None,
    deadline: float | None = None,
) -> list[Solution]:
    """The same from several starts, together where the storage refines them together."""
    limits = Limits.of(max_iter, proof_pivots, deadline)
    return make_search_all(problem, deep=deep, limits=limits)(starts)


def make_search(
    problem: Problem, *, deep: bool, limits: Limits
) -> Callable[[np.ndarray], Solution]:
    """The local search as a function of its start: all that is the same for many starts is done."""
    deep = deep and can_go_deep(problem)
    if problem.group_bounds is not None:
        return _Repeated(lambda start, far: search_bounded(problem, start, deep, limits, far))
    if problem.points.abilities.compiled:
        search = CompiledSearch(problem, deep, limits)
        return _Repeated(lambda start, _: search(start))
    return _Repeated(lambda start, _: search_batch(problem, [start], limits)[0])


class _Repeated:
    """Searches of one problem: one that finds no labels in its time, after others did, gives the
    best of those again, and each is told from which objective on it is far behind them."""

    def __init__(self, search: Callable[[np.ndarray, float], Solution]) -> None:
        self.search = search
        self.best: Solution | None = None

    def __call__(self, centers: np.ndarray) -> Solution:
        hopeless = np.inf if self.best is None else self.best.objective * (1 + FAR_BEHIND)
        try:
            found = self.search(centers, hopeless)
        except NoFeasibleSolutionError:
            if self.best is None:
                raise
            return replace(self.best, n_iterations=0)
        if self.best is None or found.objective < self.best.objective:
            self.best = found
        return found


def make_search_all(
    problem: Problem, *, deep: bool, limits: Limits
) -> Callable[[Sequence[np.ndarray]], list[Solution]]:
    """The same as a function of several starts."""
    if problem.points.abilities.compiled or problem.group_bounds is not None:
        search = make_search(problem, deep=deep, limits=limits)
        return lambda starts: [search(start) for start in starts]
    return lambda starts: search_batch(problem, starts, limits)


def prove(
    problem: Problem,
    solution: Solution,
    *,
    max_iter: int | None = None,
    proof_pivots: float | None = None,
    deadline: float | None = None,
) -> Solution:
    """Go on from a solution whose last assignment was not proven, in double precision.

    Parameters
    ----------
    problem, solution
        A solution of the problem.
    max_iter
        Most iterations more, where the solution was found in single precision.
    proof_pivots
        Simplex pivots for each proof, or ``None`` for no limit.
    deadline
        Stop at this moment of ``time.perf_counter()``, after one assignment; or ``None``.
    """
    if solution.proven:
        return solution
    limits = Limits.of(max_iter, proof_pivots, deadline)
    exact = problem.points.abilities.exact
    if not exact:
        # The same points in double precision; searches see them in the same coordinates.
        points = store(problem.X, problem.coupling, problem.sample_weight, None)
        problem = replace(problem, points=points)
    if problem.group_bounds is not None:
        try:
            found = search_bounded(problem, solution.centers, False, limits)
        except NoFeasibleSolutionError:
            return solution
        if found.objective > solution.objective * (1 + (LEAST_FALL if exact else SINGLE)):
            return solution  # no better, and not as good: nothing is proven
        return replace(found, n_iterations=solution.n_iterations + found.n_iterations)
    if exact and problem.points.abilities.compiled:
        return prove_compiled(problem, solution, limits)
    found = local_search(
        problem,
        solution.centers,
        max_iter=max_iter,
        proof_pivots=proof_pivots,
        deadline=deadline,
    )
    return replace(found, n_iterations=solution.n_iterations + found.n_iterations)
