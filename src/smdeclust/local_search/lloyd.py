"""The compiled local search: assign exactly, move centers, until the objective stops falling."""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.easy import assign_easy, work_space
from smdeclust.assignment.status import HARD, PAUSED, SOLVED
from smdeclust.kernels import kernel, summing_kernel
from smdeclust.local_search.centers import sum_of_squares

# Falling by less than this share of the objective is rounding, not falling.
LEAST_FALL = 1e-14


@summing_kernel()
def _transfer(points, weights, labels, found, sums, totals, counts):
    """Bring cluster sums, weights and numbers of groups from `labels` (-1: none) to `found`.

    Returns how many labels differ, and whether a cluster is empty now. O(d) for each of them.
    """
    n_changed = 0
    for g in range(len(points)):
        old, new, w = labels[g], found[g], weights[g]
        if old == new:
            continue
        n_changed += 1
        totals[new] += w
        counts[new] += w > 0
        for j in range(points.shape[1]):
            sums[new, j] += w * points[g, j]
        if old >= 0:
            totals[old] -= w
            counts[old] -= w > 0
            for j in range(points.shape[1]):
                sums[old, j] -= w * points[g, j]
    empty = False
    for k in range(len(counts)):
        empty |= counts[k] == 0
    return n_changed, empty


@summing_kernel()
def _move(sums, totals, centers):
    """Move centers to the means; returns by how much the sum of squares falls, W |y' - y|^2."""
    fall = 0.0
    for k in range(len(centers)):
        squares = 0.0
        for j in range(centers.shape[1]):
            y = sums[k, j] / totals[k]
            gap = y - centers[k, j]
            squares += gap * gap
            centers[k, j] = y
        fall += totals[k] * squares
    return fall


@kernel()
def _settle(points, weights, labels, found, sums, totals, counts, centers):
    """Compute sums, centers and objective anew: no rounding is left from groups that came and went.

    `found` is work space. Returns the objective and by how much it fell.
    """
    for k in range(len(centers)):
        totals[k] = 0.0
        counts[k] = 0
        for j in range(centers.shape[1]):
            sums[k, j] = 0.0
    for g in range(len(found)):
        found[g] = -1
    _transfer(points, weights, found, labels, sums, totals, counts)
    if labels[0] < 0:
        return np.inf, 0.0
    fall = _move(sums, totals, centers)
    return sum_of_squares(points, weights, labels, centers), fall


@kernel()
def lloyd(points, lanes, weights, indptr, indices, centers, labels, n_done, max_iter):
    """Iterate from `centers` until the objective does not fall.

    `lanes` and `weights` are filled up to whole blocks. `labels` are those of the best solution so
    far (-1 where there is none), `n_done` the iterations that it took. Changes `centers` and
    `labels`. Returns (status, objective, n_done): SOLVED where it converged, PAUSED where it may go
    on; with any other status the general solver must assign for `centers`, and the search can go on
    from there.
    """
    found = np.empty(len(weights), np.int64)
    sums = np.empty(centers.shape)
    totals = np.empty(len(centers))
    counts = np.empty(len(centers), np.int64)
    work = work_space(lanes, len(indptr) - 1, len(centers))
    objective, _ = _settle(points, weights, labels, found, sums, totals, counts, centers)
    status = PAUSED
    while n_done < max_iter:
        answer, cost = assign_easy(lanes, weights, indptr, indices, centers, work, found)
        if answer != SOLVED:
            status = answer
            break
        n_changed, empty = _transfer(points, weights, labels, found, sums, totals, counts)
        if empty:
            status = HARD
            break
        n_done += 1
        if n_changed == 0:
            status = SOLVED
            break
        f = cost - _move(sums, totals, centers)
        if f >= objective * (1 - LEAST_FALL):  # (infinity times anything is infinity)
            status = SOLVED
            break
        objective = f
        for g in range(len(labels)):
            labels[g] = found[g]
    objective, fall = _settle(points, weights, labels, found, sums, totals, counts, centers)
    if status == SOLVED and fall > LEAST_FALL * objective:
        status = PAUSED  # rounding had moved the centers
    return status, objective, n_done
