"""What single pairs cost: solve again without each, and compare.

Solving again takes time, so only the most promising pairs are tried: those that bind at the
solution found, by an estimate at fixed centers. Which, how many and why no more is part of
the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smdeclust.estimators.pair_costs import implied_pairs
from smdeclust.local_search import local_search
from smdeclust.problem import Problem
from smdeclust.queries.picture import match_labels
from smdeclust.structure.groups import Bridges, find_bridges

# must-links, cannot-links -> labels and objective of a run without one of the pairs
Solve = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, float]]


@dataclass(frozen=True)
class CostlyPair:
    """What one pair costs: the objective with all pairs less that without it, never negative."""

    kind: str  # "must_link" or "cannot_link"
    position: int  # among the pairs of its kind
    cost: float
    n_moved: int  # points that change clusters when the pair is left out


@dataclass(frozen=True)
class CostlyPairs:
    """The pairs that were left out one by one, the most expensive first.

    Of all `n_pairs`, `n_implied` follow from the others (repeated, or on a cycle of must-links), so
    that leaving one of them out changes nothing. `n_candidates` bind at the solution by the
    estimate, or are broken by the clustering without pairs.
    """

    solved: tuple[CostlyPair, ...]
    n_pairs: int
    n_implied: int
    n_candidates: int
    out_of_time: bool


def costly_pairs(
    problem: Problem,
    labels: np.ndarray,
    objective: float,
    free_labels: np.ndarray,
    solve: Solve,
    *,
    limit: int = 10,
    max_time: float | None = 30.0,
    stop: Callable[[], bool] = lambda: False,
    warm: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> CostlyPairs:
    """Leave out the pairs that seem to cost most, at most `limit`, one by one.

    `labels` and `objective` are a feasible solution of the problem, `free_labels` one without
    pairs, and `solve` finds others. After `max_time` seconds, or where `stop` says so, no further
    pair is tried. Unless `solve` starts from `labels` by itself (`warm`), a local search from them
    is made beside it.
    """
    order, n_implied = _candidates(problem, labels, free_labels)
    chosen = order[:limit]
    deadline = np.inf if max_time is None else time.monotonic() + max_time
    found: list[CostlyPair] = []
    out_of_time = False
    for done, (kind, position) in enumerate(chosen):
        if stop() or time.monotonic() >= deadline:
            out_of_time = True
            break
        if progress is not None:
            progress(done, len(chosen))
        found.append(_leave_out(problem, labels, objective, kind, position, solve, warm))
    found.sort(key=lambda pair: (-pair.cost, pair.kind, pair.position))
    return CostlyPairs(
        tuple(found),
        len(problem.must_link) + len(problem.cannot_link),
        n_implied,
        len(order),
        out_of_time,
    )


def _leave_out(
    problem: Problem,
    labels: np.ndarray,
    objective: float,
    kind: str,
    position: int,
    solve: Solve,
    warm: bool,
) -> CostlyPair:
    must, cannot = problem.must_link, problem.cannot_link
    if kind == "must_link":
        must = np.delete(must, position, axis=0)
    else:
        cannot = np.delete(cannot, position, axis=0)
    best_labels, best = solve(must, cannot)
    if not warm:
        # The present solution stays feasible: a search from it can only be better, and a run from
        # scratch that happens to do worse does not count.
        without = Problem.of(problem.without(kind, position), problem.X)
        centers = problem.centers(problem.group_labels(labels))
        near = local_search(without, without.enter(centers), deep=True)
        if near.objective < best:
            best, best_labels = near.objective, without.expand(near.labels)
    # Differences of rounding are none.
    if best >= objective * (1 - 1e-10):
        return CostlyPair(kind, position, 0.0, 0)
    moved = match_labels(best_labels, labels, problem.n_clusters) != labels
    return CostlyPair(kind, position, objective - best, int(moved.sum()))


def _candidates(
    problem: Problem, labels: np.ndarray, free_labels: np.ndarray
) -> tuple[list[tuple[str, int]], int]:
    """Pairs by decreasing estimated cost, and how many others are implied."""
    group_labels = problem.group_labels(labels)
    centers = problem.centers(group_labels) - problem.offset
    bridges = find_bridges(problem.must_link)
    implied = implied_pairs(problem.must_link, problem.cannot_link, len(problem.X))
    scored: list[tuple[float, str, int]] = []
    gains = _split_gains(problem, group_labels, centers, bridges)
    for position, gain in zip(bridges.links.tolist(), gains.tolist(), strict=True):
        i, j = problem.must_link[position]
        if gain > 0 or free_labels[i] != free_labels[j]:
            scored.append((-gain, "must_link", position))
    for position, (i, j) in enumerate(problem.cannot_link):
        if position in implied["cannot_link"]:
            continue
        gain = _join_gain(problem, group_labels, centers, i, j)
        if gain > 0 or free_labels[i] == free_labels[j]:
            scored.append((-gain, "cannot_link", position))
    order = [(kind, position) for _, kind, position in sorted(scored)]
    return order, sum(map(len, implied.values()))


def _split_gains(
    problem: Problem, group_labels: np.ndarray, centers: np.ndarray, bridges: Bridges
) -> np.ndarray:
    """What splitting a group at each bridge would gain if both parts went to their nearest
    centers."""
    if len(bridges.links) == 0:
        return np.empty(0)
    rows = bridges.rows
    weight = np.ones(len(rows)) if problem.sample_weight is None else problem.sample_weight[rows]
    moment = weight[:, None] * (problem.X[rows] - problem.offset)
    weight_before = np.concatenate([[0.0], np.cumsum(weight)])
    moment_before = np.vstack([np.zeros(problem.n_features), np.cumsum(moment, axis=0)])
    gains = np.zeros(len(bridges.links))
    for b, (link, start, end) in enumerate(
        zip(bridges.links, bridges.start, bridges.end, strict=True)
    ):
        group = problem.group_of_point[problem.must_link[link, 0]]
        side = weight_before[end] - weight_before[start]
        rest = problem.weights[group] - side
        if side <= 0 or rest <= 0:
            continue
        side_moment = moment_before[end] - moment_before[start]
        rest_moment = problem.weights[group] * problem.means[group] - side_moment
        for part, part_moment in ((side, side_moment), (rest, rest_moment)):
            squares = ((centers - part_moment / part) ** 2).sum(axis=1)
            gains[b] += part * float(squares[group_labels[group]] - squares.min())
    return gains


def _join_gain(
    problem: Problem, group_labels: np.ndarray, centers: np.ndarray, i: int, j: int
) -> float:
    """What moving one group into the cluster of the other would gain, where nothing else is in
    the way."""
    best = 0.0
    for mover, host in ((i, j), (j, i)):
        group = problem.group_of_point[mover]
        target = group_labels[problem.group_of_point[host]]
        start, end = problem.cl_indptr[group : group + 2]
        others = problem.cl_indices[start:end]
        in_the_way = others[others != problem.group_of_point[host]]
        if (group_labels[in_the_way] == target).any():
            continue
        squares = ((centers[[group_labels[group], target]] - problem.means[group]) ** 2).sum(axis=1)
        best = max(best, float(problem.weights[group] * (squares[0] - squares[1])))
    return best
