"""The compiled local search: assign exactly, move centers, until the objective stops falling."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from smdeclust.assignment.active_set import broken_price
from smdeclust.assignment.compiled import find_nearest, reply_linked, separate_linked, work_space
from smdeclust.assignment.status import HARD, PAUSED, ROUGH, SOLVED, STUCK
from smdeclust.kernels import kernel, summing_kernel
from smdeclust.local_search.state import LEAST_FALL, Limits
from smdeclust.points.centers import sum_of_squares
from smdeclust.problem import Contracted

# Centers may be off by this share of the mean squared distance, squared as well.
LARGEST_DRIFT = 1e-20


@kernel()
def new_tally(centers):
    """Room for the sums of clusters, their weights, and their numbers of groups."""
    k = len(centers)
    return np.empty(centers.shape), np.empty(k), np.empty(k, np.int64)


@summing_kernel()
def _transfer(points, weights, labels, found, tally):
    """Bring the tally of clusters from `labels` (-1: none) to `found`.

    Returns how many labels differ, and whether a cluster is empty now. O(d) for each of them.
    """
    sums, totals, counts = tally
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
    """Move centers to the means.

    Returns by how much the sum of squares falls, W |y' - y|^2, and the largest |y' - y|^2.
    """
    fall, farthest = 0.0, 0.0
    for k in range(len(centers)):
        squares = 0.0
        for j in range(centers.shape[1]):
            y = sums[k, j] / totals[k]
            gap = y - centers[k, j]
            squares += gap * gap
            centers[k, j] = y
        fall += totals[k] * squares
        farthest = squares if squares > farthest else farthest
    return fall, farthest


@kernel()
def settle(points, weights, labels, found, tally, centers):
    """Compute tally, centers and objective again: no rounding is left from groups that have moved.

    `found` is work space. Returns the objective, and how far a center moved, squared, as a share
    of the mean squared distance of the points to theirs.
    """
    sums, totals, counts = tally
    for k in range(len(centers)):
        totals[k] = 0.0
        counts[k] = 0
        for j in range(centers.shape[1]):
            sums[k, j] = 0.0
    for g in range(len(found)):
        found[g] = -1
    _transfer(points, weights, found, labels, tally)
    if labels[0] < 0:
        return np.inf, 0.0
    _, farthest = _move(sums, totals, centers)
    objective = sum_of_squares(points, weights, labels, centers)
    weight = 0.0
    for k in range(len(totals)):
        weight += totals[k]
    return objective, farthest * weight / objective if farthest > 0 else 0.0


@kernel()
def _advance(points, weights, graph, work, found, labels, objective, tally, centers, hurried):
    """The rest of an iteration, from nearest centers on: separate, take over labels, move centers.

    Where there are cycles and it is `hurried`, good labels will do as long as the objective falls.
    Returns (status, objective): PAUSED where it fell (ROUGH: with such labels), SOLVED where no
    label differs, STUCK where labels differ but it does not fall; any other: nothing has changed
    but the tally and, after good labels, the centers.
    """
    status, cost = separate_linked(weights, graph, work, found)
    rough = status == HARD and hurried and labels[0] >= 0
    if rough:
        cost = reply_linked(weights, graph, work, labels, found)
    elif status != SOLVED:
        return status, objective
    status, objective = accept(points, weights, found, labels, cost, objective, tally, centers)
    if rough:
        status = ROUGH if status == PAUSED else HARD
    return status, objective


@kernel()
def accept(points, weights, found, labels, cost, objective, tally, centers):
    """Take over labels of this cost and move centers; returns (status, objective).

    PAUSED where it fell, SOLVED where no label differs, STUCK where it does not fall; HARD where a
    cluster is empty: nothing has changed but the tally.
    """
    n_changed, empty = _transfer(points, weights, labels, found, tally)
    if empty:
        return HARD, objective
    if n_changed == 0:
        return SOLVED, objective
    fall, _ = _move(tally[0], tally[1], centers)
    f = cost - fall if fall < cost else 0.0
    if not f < objective * (1 - LEAST_FALL):  # (infinity times anything is infinity)
        return STUCK, objective
    for g in range(len(labels)):
        labels[g] = found[g]
    return PAUSED, f


@kernel()
def conclude(points, weights, labels, found, tally, centers, status):
    """Settle, and return status and objective: centers that rounding has moved may continue."""
    objective, drift = settle(points, weights, labels, found, tally, centers)
    if status == STUCK or (status == SOLVED and drift > LARGEST_DRIFT):
        return PAUSED, objective
    return status, objective


@kernel()
def lloyd(
    points, lanes, weights, indptr, indices, price, together, hurried, centers, labels, n_done,
    max_iter,
):  # fmt: skip
    """Iterate from `centers` until the objective does not fall.

    `lanes` and `weights` are filled up to whole blocks. `labels` are those of the best solution so
    far (-1 where there is none), `n_done` the iterations that it took. Changes `centers` and
    `labels`. Returns (status, objective, n_done): SOLVED where it converged, PAUSED where it may go
    on (and has converged, too, if the next call makes it fall no further), ROUGH the same from
    labels that need not be optimal (only where `hurried`); with any other status the complete
    assignment is needed for `centers`, and the search can continue from there.
    """
    graph = (indptr, indices, price, together)  # a tuple would be slower to hand over
    found, tally = np.empty(len(weights), np.int64), new_tally(centers)
    work = work_space(lanes, len(graph[0]) - 1, len(centers), 1)
    objective, _ = settle(points, weights, labels, found, tally, centers)
    objective += broken_price(labels, graph)
    status = PAUSED
    while status in (PAUSED, ROUGH) and n_done < max_iter:
        find_nearest(lanes, 0, 1, centers, work, found)
        status, objective = _advance(
            points, weights, graph, work, found, labels, objective, tally, centers, hurried
        )
        n_done += status in (PAUSED, SOLVED, STUCK, ROUGH)
    status, objective = conclude(points, weights, labels, found, tally, centers, status)
    return status, objective + broken_price(labels, graph), n_done


def lloyd_on_threads(
    contracted: Contracted,
    hurried: bool,
    centers: np.ndarray,
    labels: np.ndarray,
    n_done: int,
    limits: Limits,
    n_threads: int,
) -> tuple[int, float, int]:
    """The same, to the last bit, on several threads; pauses at the deadline, too."""
    points, (lanes, weights) = contracted.points, contracted.lanes
    graph, tally = contracted.graph.arrays, new_tally(centers)
    found = np.empty(len(weights), dtype=np.int64)
    work = work_space(lanes, contracted.n_linked, len(centers), n_threads)
    objective, _ = settle(points, weights, labels, found, tally, centers)
    objective += broken_price(labels, graph)
    status = PAUSED
    with ThreadPoolExecutor(max(1, n_threads - 1)) as pool:
        while status in (PAUSED, ROUGH) and n_done < limits.max_iter:
            others = [
                pool.submit(find_nearest, lanes, part, n_threads, centers, work, found)
                for part in range(1, n_threads)
            ]
            find_nearest(lanes, 0, n_threads, centers, work, found)
            for other in others:
                other.result()
            status, objective = _advance(
                points, weights, graph, work, found, labels, objective, tally, centers, hurried
            )
            n_done += status in (PAUSED, SOLVED, STUCK, ROUGH)
            if limits.is_late():
                break
    status, objective = conclude(points, weights, labels, found, tally, centers, status)
    return status, objective + broken_price(labels, graph), n_done
