"""The compiled local search: assign exactly, move centers, until the objective stops falling."""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.easy import assign_easy
from smdeclust.assignment.status import PAUSED, SOLVED
from smdeclust.kernels import kernel
from smdeclust.local_search.centers import move_centers, sum_of_squares

# Falling by less than this share of the objective is rounding, not falling.
LEAST_FALL = 1e-14


@kernel()
def _differ(some, others):
    for g in range(len(some)):
        if some[g] != others[g]:
            return True
    return False


@kernel()
def _adopt(found, moved, labels, centers):
    for g in range(len(found)):
        labels[g] = found[g]
    for k in range(centers.shape[0]):
        for j in range(centers.shape[1]):
            centers[k, j] = moved[k, j]


@kernel()
def lloyd(points, weights, indptr, indices, centers, labels, objective, n_done, max_iter):
    """Iterate from `centers` until the objective does not fall.

    `labels` and `objective` are those of the best solution so far (anything and infinity where
    there is none), `n_done` the iterations that it took. Changes `centers` and `labels`. Returns
    (status, objective, n_done): SOLVED where it converged, PAUSED at `max_iter`; with any other
    status the general solver must assign for `centers`, and the search can go on from there.
    """
    found = np.empty_like(labels)
    moved = np.empty_like(centers)
    spare = np.zeros(len(centers), np.int64)
    while n_done < max_iter:
        status, _ = assign_easy(points, weights, indptr, indices, centers, spare, found)
        if status != SOLVED:
            return status, objective, n_done
        n_done += 1
        if not _differ(found, labels):
            return SOLVED, objective, n_done
        move_centers(points, weights, found, moved)
        f = sum_of_squares(points, weights, found, moved)
        if f >= objective * (1 - LEAST_FALL):  # (infinity times anything is infinity)
            return SOLVED, objective, n_done
        _adopt(found, moved, labels, centers)
        objective = f
    return PAUSED, objective, n_done
