"""CVQE (Davidson & Ravi 2005) and LCVQE (Pelleg & Baras 2007): k-means that charges broken pairs.

CVQE charges a broken must-link with the squared distance between the two centers and a broken
cannot-link with that from its center to the nearest other one; each pair is placed where point
distances and charge together are least, over all K x K choices. LCVQE looks at no more than three
choices a pair, and charges points instead of centers. In both the centers move by a combined rule.
"""

from __future__ import annotations

import numpy as np

from smdeclust.baselines.empty_clusters import fill_empty_clusters
from smdeclust.baselines.multi_start import Attempt
from smdeclust.kernels import kernel
from smdeclust.points.centers import move_centers, sum_of_squares
from smdeclust.problem import Problem, Solution

# Centers that move by less than this share of the scatter have come to rest.
AT_REST = 1e-12


def cvqe(
    problem: Problem,
    must_link: np.ndarray,
    cannot_link: np.ndarray,
    centers: np.ndarray,
    max_iter: int,
    linear: bool,
) -> Attempt:
    """Run one start.

    Parameters
    ----------
    problem
        The points, without pairs.
    must_link, cannot_link
        (m, 2) pairs of points.
    centers
        (K, d') start.
    max_iter
        Most iterations; it also ends where labels and centers no longer change.
    linear
        LCVQE instead of CVQE.

    Returns
    -------
    Attempt
        The objective of its solution is the error that the method charges, twice the paper's (which
        halves every square).
    """
    points, weights = problem.contracted.points, problem.contracted.weights
    centers = np.array(centers, dtype=np.float64, order="C")
    labels = np.full(len(points), -1, dtype=np.int64)
    step = _linear_step if linear else _step
    best: Solution | None = None
    n_done = 0
    for n_done in range(1, max_iter + 1):
        found = np.empty_like(labels)
        sums = np.zeros_like(centers)
        totals = np.zeros(len(centers))
        error = float(step(points, weights, must_link, cannot_link, centers, found, sums, totals))
        if best is None or error < best.objective:
            best = Solution(found.copy(), centers.copy(), error, n_done, False)
        moved = centers.copy()
        alive = totals > 0
        moved[alive] = sums[alive] / totals[alive, None]
        at_rest = ((moved - centers) ** 2).sum() <= AT_REST * max((centers**2).sum(), 1e-300)
        if (found == labels).all() and at_rest:
            break
        labels, centers = found, moved
    assert best is not None
    labels = best.labels.copy()
    fill_empty_clusters(points, weights, labels, best.centers.copy())
    return Attempt(Solution(labels, best.centers, best.objective, n_done, False), n_done)


def error_of_means(problem: Problem, labels: np.ndarray) -> float:
    """Sum of squares about the means of these labels."""
    centers = np.empty((problem.n_clusters, problem.contracted.points.shape[1]))
    move_centers(problem.contracted.points, problem.contracted.weights, labels, centers)
    return float(
        sum_of_squares(problem.contracted.points, problem.contracted.weights, labels, centers)
    )


@kernel()
def _square(x, y):
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - y[j]) ** 2
    return total


@kernel()
def _nearest(x, centers, other_than):
    """The nearest center to x but one."""
    best, least = -1, np.inf
    for k in range(len(centers)):
        square = _square(x, centers[k])
        if k != other_than and square < least:
            best, least = k, square
    return best


@kernel()
def _pull(x, weight, k, sums, totals):
    """Let x draw center k."""
    totals[k] += weight
    for j in range(len(x)):
        sums[k, j] += weight * x[j]


@kernel()
def _own_squares(points, weights, centers, labels, sums, totals):
    """Sum of squares of the points about the centers of their labels; each draws its own."""
    total = 0.0
    for i in range(len(points)):
        total += weights[i] * _square(points[i], centers[labels[i]])
        _pull(points[i], weights[i], labels[i], sums, totals)
    return total


@kernel()
def _step(points, weights, must_link, cannot_link, centers, labels, sums, totals):
    """CVQE: writes `labels`, and to `sums` and `totals` what draws each center. O(m K^2 + N K d).

    A point of several pairs ends where the last of them puts it, as in the paper.
    """
    n_clusters = len(centers)
    between = np.zeros((n_clusters, n_clusters))
    for a in range(n_clusters):
        for b in range(n_clusters):
            between[a, b] = _square(centers[a], centers[b])
    beside = np.zeros(n_clusters, np.int64)  # the nearest other center of each
    for a in range(n_clusters):
        beside[a] = _nearest(centers[a], centers, a)
    for i in range(len(points)):
        labels[i] = _nearest(points[i], centers, -1)
    row_i, row_j = np.empty(n_clusters), np.empty(n_clusters)
    for kind in range(2):
        pairs = must_link if kind == 0 else cannot_link
        for e in range(len(pairs)):
            i, j = pairs[e, 0], pairs[e, 1]
            for k in range(n_clusters):
                row_i[k] = weights[i] * _square(points[i], centers[k])
                row_j[k] = weights[j] * _square(points[j], centers[k])
            least = np.inf
            for a in range(n_clusters):
                for b in range(n_clusters):
                    cost = row_i[a] + row_j[b]
                    if kind == 0 and a != b:
                        cost += between[a, b]
                    if kind == 1 and a == b and beside[a] >= 0:
                        cost += between[a, beside[a]]
                    if cost < least:
                        least = cost
                        labels[i], labels[j] = a, b
    error = _own_squares(points, weights, centers, labels, sums, totals)
    for e in range(len(must_link)):
        a, b = labels[must_link[e, 0]], labels[must_link[e, 1]]
        if a != b:
            error += between[a, b]
            _pull(centers[b], 1.0, a, sums, totals)
    for e in range(len(cannot_link)):
        a, b = labels[cannot_link[e, 0]], labels[cannot_link[e, 1]]
        if a == b and beside[a] >= 0:
            error += between[a, beside[a]]
            _pull(centers[beside[a]], 1.0, a, sums, totals)
    return error


@kernel()
def _linear_step(points, weights, must_link, cannot_link, centers, labels, sums, totals):
    """LCVQE: the same, with at most three choices a pair. O((N + m) K d)."""
    for i in range(len(points)):
        labels[i] = _nearest(points[i], centers, -1)
    charge = 0.0
    for e in range(len(must_link)):
        i, j = must_link[e, 0], must_link[e, 1]
        a, b = labels[i], labels[j]
        if a == b:
            continue
        i_a, i_b = _square(points[i], centers[a]), _square(points[i], centers[b])
        j_a, j_b = _square(points[j], centers[a]), _square(points[j], centers[b])
        apart = i_a + j_b + 0.5 * (i_b + j_a)
        if apart <= i_a + j_a and apart <= i_b + j_b:
            charge += 0.5 * (i_b + j_a)
            _pull(points[i], 0.5, b, sums, totals)
            _pull(points[j], 0.5, a, sums, totals)
        elif i_a + j_a <= i_b + j_b:
            labels[j] = a
        else:
            labels[i] = b
    for e in range(len(cannot_link)):
        i, j = cannot_link[e, 0], cannot_link[e, 1]
        a = labels[i]
        if a != labels[j]:
            continue
        i_a, j_a = _square(points[i], centers[a]), _square(points[j], centers[a])
        far = i if i_a > j_a else j
        other = _nearest(points[far], centers, a)
        if other < 0:
            continue
        # Keeping both is charged with that distance too, on top of their own: never cheaper.
        labels[far] = other
    return charge + _own_squares(points, weights, centers, labels, sums, totals)
