"""The local search of the paper (BLP-KM's step), its deep form, and the last proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.compiled import CompiledSearch, prove_compiled
from smdeclust.local_search.limits import LEAST_FALL, Limits
from smdeclust.local_search.loop import search_at_prices
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
    return problem.points.abilities.contracted and problem.size <= DEEPEST


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
        Whether to swap Kempe chains where Lloyd stops, and to stop only when neither helps.
        (Only where :func:`can_go_deep` says so.)
    proof_pivots
        Simplex pivots for each proof on a dense core; then the best labels found are used.
        ``None``: no limit. Whether the last assignment was proven is in the solution.
    deadline
        Stop at this moment of ``time.perf_counter()``, after at least one iteration.
    """
    return Searches(problem, deep, Limits.of(max_iter, proof_pivots, deadline))(centers)


def search_all(
    problem: Problem, starts: Sequence[np.ndarray], *, deep: bool = False, **limits: Any
) -> list[Solution]:
    """The same from several starts, together where the storage refines them together."""
    return Searches(problem, deep, Limits.of(**limits)).all(starts)


class Searches:
    """The local search as a function of its start: all that is the same for many starts is done.

    One that finds no labels in its time, after others did, gives the best of those again, and each
    is told from which objective on it is far behind them.
    """

    def __init__(self, problem: Problem, deep: bool, limits: Limits) -> None:
        self.problem, self.deep, self.limits = problem, deep and can_go_deep(problem), limits
        self.together = problem.group_bounds is None and not problem.points.abilities.contracted
        self.best: Solution | None = None
        # Partitions that need no further proof, where labels are at hand.
        self.proven: set[bytes] | None = set() if problem.points.abilities.contracted else None
        self.compiled = None
        if problem.group_bounds is None and problem.points.abilities.contracted:
            self.compiled = CompiledSearch(problem, self.deep, limits)

    def all(self, starts: Sequence[np.ndarray]) -> list[Solution]:
        """From several starts, together where the storage refines them together."""
        if self.together:
            return search_at_prices(self.problem, starts, self.limits)
        return [self(start) for start in starts]

    @property
    def steps(
        self,
    ) -> tuple[Callable[[np.ndarray], Solution], Callable[[Solution], Solution]] | None:
        """Two steps, where there are two: without labels that take long to prove, and the rest."""
        if self.compiled is None or not (self.deep and self.problem.n_linked):
            return None
        return partial(self, rough=True), lambda found: found if found.proven else self(found)

    def __call__(self, start: np.ndarray | Solution, rough: bool = False) -> Solution:
        """From one start, or from where a rough search has ended."""
        best = self.best
        try:
            if self.compiled is not None:
                found = self.compiled(start, rough)
            else:
                assert not isinstance(start, Solution)  # (one step: nothing is rough)
                hopeless = np.inf if best is None else best.objective * (1 + FAR_BEHIND)
                given = self.problem, [start], self.limits, self.deep, hopeless, self.proven
                (found,) = search_at_prices(*given)
        except NoFeasibleSolutionError:
            if best is None:
                raise
            return replace(best, n_iterations=0)
        if best is None or found.objective < best.objective:
            self.best = found
        return found


def prove(problem: Problem, solution: Solution, limits: Limits) -> Solution:
    """Continue from a solution that is not proven, in double precision, at least once."""
    if solution.proven:
        return solution
    abilities, bounded = problem.points.abilities, problem.group_bounds is not None
    if not abilities.exact:
        # The same points in double precision; searches see them in the same coordinates.
        problem = Problem.of(problem, problem.X)
    elif abilities.contracted and not bounded:
        return prove_compiled(problem, solution, limits)
    try:
        found = Searches(problem, False, limits)(solution.centers)
    except NoFeasibleSolutionError:
        if not bounded:
            raise
        return solution
    most = solution.objective * (1 + (LEAST_FALL if abilities.exact else SINGLE))
    if bounded and found.objective > most:
        return solution  # no better, and not as good: nothing is proven
    return replace(found, n_iterations=solution.n_iterations + found.n_iterations)
