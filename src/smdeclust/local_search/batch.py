"""The search loop, for any storage and any number of starts at once.

Each iteration sends the centers to the points, assigns the linked groups exactly from their costs,
plus the few free groups that could fill an empty cluster, and moves the centers to the means.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from smdeclust.assignment.bounded import assign
from smdeclust.assignment.compiled import assign_tables
from smdeclust.assignment.status import SOLVED
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.limits import Limits
from smdeclust.points.protocol import Batch, Moves
from smdeclust.points.threads import available_threads
from smdeclust.problem import Problem, Solution
from smdeclust.structure.bounds import Bounds

# Threads that assign the linked groups of several solutions: more would hand a lock around.
MOST_JOBS = 5


@dataclass
class _Run:
    """Where the search of one solution stands."""

    number: int
    linked: np.ndarray
    moves: Moves = field(default_factory=dict)
    gain: float = -np.inf
    objective: float = np.inf
    n_done: int = 0
    proven: bool = False

    @property
    def upper(self) -> np.ndarray | None:
        """Labels of linked groups that are known to be feasible, if any."""
        return self.linked if self.n_done else None


def search_batch(problem: Problem, starts: Sequence[np.ndarray], limits: Limits) -> list[Solution]:
    """Local searches from (K, d) starts, as many at once as the storage refines together."""
    points, found = problem.points, []
    step = points.abilities.at_once
    for first in range(0, len(starts), step):
        few = starts[first : first + step]
        with points.begin(len(few)) as batch:
            found += _search(problem, batch, np.stack(few), limits)
    return found


def _search(problem: Problem, batch: Batch, centers: Any, limits: Limits) -> list[Solution]:
    runs = [_Run(s, np.full(problem.n_linked, -1)) for s in range(len(centers))]
    done: list[Any] = [None] * len(runs)
    while runs:
        costs = batch.label(centers)
        found = _assign_linked(problem, runs, costs, limits)
        held, n_changed = batch.held()
        counts = held[:, 0]
        for s, run in enumerate(runs):
            linked, run.proven = found[s]
            here = counts[s] + np.bincount(linked, minlength=counts.shape[1])
            run.moves = {}
            if not here.all():
                linked, run.moves, run.proven = _fill(
                    problem, batch, s, run, costs[s], counts[s], limits
                )
            n_changed[s] += np.count_nonzero(linked != run.linked)
            run.linked = linked
            run.n_done += 1
        linked = np.stack([run.linked for run in runs])
        centers, gains = batch.move(linked, [run.moves for run in runs])
        late, going = limits.is_late(), []
        for s, run in enumerate(runs):
            falling = _falls(problem, batch, s, run, centers[s], float(gains[s]), n_changed[s] > 0)
            if falling and run.n_done < limits.max_iter and not late:
                going.append(s)
                continue
            labels, place, value = batch.finish(s, centers[s], run.linked, run.moves)
            value += problem.penalty(run.linked)
            proven = run.proven and problem.points.abilities.exact
            done[run.number] = Solution(labels, place, value, run.n_done, proven)
        if len(going) < len(runs):
            runs, centers = [runs[s] for s in going], centers[going]
            batch.keep(going)
    return done


def _falls(
    problem: Problem, batch: Batch, s: int, run: _Run, centers: Any, gain: float, changed: bool
) -> bool:
    """Whether labels changed and the objective fell: the one rule for going on."""
    # f = (a constant) - sum of W_k |y_k|^2, plus prices: the larger that sum, the better.
    penalty = problem.penalty(run.linked)
    gain -= penalty
    falling = changed and gain - run.gain > batch.rounding * problem.total_squares
    run.gain = max(run.gain, gain)
    if changed and not falling:
        # That sum has too few digits left where points are far apart: ask f itself.
        direct = batch.squares(s, centers, run.linked, run.moves) + penalty
        falling = direct < run.objective * (1 - batch.rounding / 10)
        run.objective = min(run.objective, direct)
    return falling


def _assign_linked(
    problem: Problem, runs: list[_Run], costs: np.ndarray, limits: Limits
) -> list[tuple[np.ndarray, bool]]:
    """Label the linked groups exactly, clusters may stay empty: labels, and whether proven."""
    labels = np.empty(costs.shape[:2], dtype=np.int64)
    statuses = np.full(len(runs), SOLVED)
    graph = problem.graph
    if problem.n_linked:
        ones, arrays = _ones(problem.n_linked), graph.arrays

        def solve(start: int, stop: int) -> None:
            part = slice(start, stop)
            assign_tables(costs[part], ones, arrays, labels[part], statuses[part])

        n_jobs = min(len(runs), available_threads(), MOST_JOBS)
        ends = np.linspace(0, len(runs), n_jobs + 1).astype(int)
        if n_jobs == 1:
            solve(0, len(runs))
        else:
            list(_pool().map(solve, ends[:-1], ends[1:]))
    answers = []
    for s, run in enumerate(runs):
        found, proven = labels[s], True
        if statuses[s] != SOLVED:
            found, cost, bound = assign(costs[s], graph, None, run.upper, limits.budget())
            proven = bound >= cost
            if found is None:
                raise NoFeasibleSolutionError
        answers.append((found, proven))
    return answers


def _fill(
    problem: Problem,
    batch: Batch,
    s: int,
    run: _Run,
    costs: np.ndarray,
    counts: np.ndarray,
    limits: Limits,
) -> tuple[np.ndarray, Moves, bool]:
    """The same where a cluster would be empty: the cheapest free groups take part.

    Returns labels, the free groups that fill a cluster, and whether that is proven.
    """
    fillers = batch.fillers(s)
    filled = counts - np.bincount(fillers.labels, minlength=len(counts))
    taking_part = np.concatenate([np.ones(problem.n_linked), fillers.weights])
    upper = None if run.upper is None else np.concatenate([run.upper, fillers.labels])
    labels, cost, bound = assign(
        np.concatenate([costs, fillers.costs]),
        problem.graph,
        Bounds.none_empty(taking_part, filled),
        upper,
        limits.budget(),
    )
    if labels is None:
        raise NoFeasibleSolutionError
    linked, chosen = labels[: problem.n_linked], labels[problem.n_linked :]
    moved = np.flatnonzero(chosen != fillers.labels)
    moves = {int(fillers.where[i]): int(chosen[i]) for i in moved}
    return linked, moves, bound >= cost


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_JOBS)


@cache
def _ones(n: int) -> np.ndarray:
    return np.ones(n)
