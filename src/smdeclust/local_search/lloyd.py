"""The compiled local search: assign exactly, move centers, until the objective stops falling."""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.easy import assign_easy
from smdeclust.assignment.status import SOLVED
from smdeclust.kernels import kernel
from smdeclust.local_search.centers import move_centers, sum_of_squares
from smdeclust.local_search.kempe import kempe_descent

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
def lloyd(points, weights, indptr, indices, centers, labels, objective, n_done, max_iter, deep):
    """Iterate from `centers`; with `deep`, go on by Kempe chains wherever that stops.

    `labels` and `objective` are those of the best solution so far (anything and infinity where
    there is none), `n_done` the iterations that it took. Changes `centers` and `labels`. Returns
    (status, objective, n_done): with a status other than SOLVED the general solver must assign
    for `centers`, and the search can go on from there.
    """
    found = np.empty_like(labels)
    moved = np.empty_like(centers)
    spare = np.zeros(len(centers), np.int64)
    polished = False  # whether no chain improves the labels at hand
    while n_done < max_iter:
        status, _ = assign_easy(points, weights, indptr, indices, centers, spare, found)
        if status != SOLVED:
            return status, objective, n_done
        n_done += 1
        fell = False
        if objective == np.inf or _differ(found, labels):
            move_centers(points, weights, found, moved)
            f = sum_of_squares(points, weights, found, moved)
            fell = f < objective - LEAST_FALL * objective or objective == np.inf
        if fell:
            _adopt(found, moved, labels, centers)
            objective = f
            polished = False
            continue
        if polished or not deep:
            break
        if kempe_descent(points, weights, indptr, indices, labels, centers, objective) == 0:
            break
        polished = True
        move_centers(points, weights, labels, centers)  # sums that must not drift
        objective = sum_of_squares(points, weights, labels, centers)
    return SOLVED, objective, n_done
