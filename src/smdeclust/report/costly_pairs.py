"""What single pairs cost: solve again without each, and compare.

Solving again takes time, so only the most promising pairs are tried: those that bind at the
solution found, by an estimate at fixed centers. The result says which pairs, how many, and why
no more.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.estimators.pair_costs import implied_pairs
from smdeclust.local_search import local_search
from smdeclust.problem import Problem
from smdeclust.queries.picture import match_labels
from smdeclust.structure.groups import find_bridges

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
    over: Callable[[], bool] = lambda: False,
    warm: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> CostlyPairs:
    """Leave out the pairs that seem to cost most, at most `limit`, one by one.

    `labels` and `objective` are a feasible solution of the problem, `free_labels` one without
    pairs, and `solve` finds others. Where time is `over`, no further pair is tried. Unless `solve`
    starts from `labels` by itself (`warm`), a local search from them is made beside it.
    """

    def leave_out(kind: str, position: int) -> CostlyPair:
        without = problem.without(kind, position)
        best_labels, best = solve(without.must_link, without.cannot_link)
        if not warm:
            # The present solution stays feasible: a search from it can only be better, and a run
            # from scratch that happens to do worse does not count.
            less = Problem.of(without, problem.X)
            centers = problem.centers(problem.group_labels(labels))
            near = local_search(less, less.enter(centers), deep=True)
            if near.objective < best:
                best, best_labels = near.objective, less.expand(near.labels)
        if best >= objective * (1 - 1e-10):  # differences of rounding are none
            return CostlyPair(kind, position, 0.0, 0)
        moved = match_labels(best_labels, labels, problem.n_clusters) != labels
        return CostlyPair(kind, position, objective - best, int(moved.sum()))

    order, n_implied = _candidates(problem, labels, free_labels)
    chosen, found = order[:limit], list[CostlyPair]()
    while len(found) < len(chosen) and not over():
        progress(len(found), len(chosen))
        found.append(leave_out(*chosen[len(found)]))
    out_of_time = len(found) < len(chosen)
    found.sort(key=lambda pair: (-pair.cost, pair.kind, pair.position))
    n_pairs = len(problem.must_link) + len(problem.cannot_link)
    return CostlyPairs(tuple(found), n_pairs, n_implied, len(order), out_of_time)


def _candidates(
    problem: Problem, labels: np.ndarray, free_labels: np.ndarray
) -> tuple[list[tuple[str, int]], int]:
    """Pairs by decreasing estimated cost at fixed centers, and how many others are implied."""
    must, cannot, own = problem.must_link, problem.cannot_link, problem.group_labels(labels)
    centers = problem.centers(own)
    implied = implied_pairs(must, cannot, len(labels))
    # Only the rows in pairs count: all others stay where they are.
    rows = np.unique(np.concatenate([must, cannot]))
    weights = problem.point_weights[rows, None]
    of_rows = weights * cdist(problem.X[rows], centers, "sqeuclidean")
    groups, group = np.unique(problem.group_of_point[rows], return_inverse=True)
    costs, own = np.zeros((len(groups), len(centers))), own[groups]
    np.add.at(costs, group, of_rows)

    # A must-link: its group is split, and both parts go to their nearest centers.
    bridges = find_bridges(must)
    ordered = of_rows[np.searchsorted(rows, bridges.rows)]
    before = np.vstack([np.zeros(len(centers)), np.cumsum(ordered, axis=0)])
    side = before[bridges.end] - before[bridges.start]
    cut = group[np.searchsorted(rows, must[bridges.links, 0])]
    parts, at = (side, costs[cut] - side), (np.arange(len(cut)), own[cut])
    split = sum(part[at] - part.min(axis=1) for part in parts)

    # A cannot-link: a group moves into the cluster of the other, if no third one is in the way.
    ends = group[np.searchsorted(rows, cannot)]
    once = np.unique(np.sort(ends, axis=1), axis=0)
    n_linked = np.zeros(costs.shape, dtype=np.int64)  # groups of each cluster that one is linked to
    for one, other in (once.T, once.T[::-1]):
        np.add.at(n_linked, (one, own[other]), 1)
    join = np.zeros(len(cannot))
    for mover, host in (ends.T, ends.T[::-1]):
        gain = costs[mover, own[mover]] - costs[mover, own[host]]
        join = np.maximum(join, np.where(n_linked[mover, own[host]] == 1, gain, 0.0))

    scored = []
    for kind, positions, gains in (
        ("must_link", bridges.links, split), ("cannot_link", np.arange(len(cannot)), join),
    ):  # fmt: skip
        first, second = getattr(problem, kind)[positions].T
        broken = (free_labels[first] == free_labels[second]) != (kind == "must_link")
        found = zip(positions.tolist(), gains.tolist(), broken.tolist(), strict=True)
        scored += [(-g, kind, p) for p, g, b in found if (g > 0 or b) and p not in implied[kind]]
    return [(kind, p) for _, kind, p in sorted(scored)], sum(map(len, implied.values()))
