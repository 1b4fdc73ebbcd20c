"""CVQE (Davidson & Ravi 2005) and LCVQE (Pelleg & Baras 2007): broken pairs cost distances."""

from typing import ClassVar

import numpy as np

from smdeclust.baselines.base import FromCenters, SoftBaseline, Task
from smdeclust.baselines.pieces import fill_empty_clusters
from smdeclust.estimators.parameters import documented
from smdeclust.kernels import kernel
from smdeclust.local_search.kempe import squared_distance
from smdeclust.problem import Solution

# Centers that move by less than this share of the scatter have come to rest.
AT_REST = 1e-12


@documented
class CVQE(FromCenters, SoftBaseline):
    """CVQE (Davidson and Ravi 2005): k-means in which broken pairs cost distances between centers.

    A broken must-link costs the squared distance between its two centers. A broken cannot-link
    costs the squared distance from its center to the nearest other center. Each pair gets the
    labels with the lowest cost, and the centers move by a rule that includes these costs. A point
    in several pairs gets the label of the last of them.
    """

    _attributes = {  # noqa: RUF012
        "objective_": "The minimized objective, with the method's own centers (twice that of\n"
        "the paper, which halves every square)."
    }
    _linear: ClassVar[bool] = False

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution:
        """Run one start until labels and centers no longer change."""
        contracted, step = task.problem.contracted, _linear_step if self._linear else _step
        points, weights = contracted.points, contracted.weights
        centers = np.array(centers, dtype=np.float64, order="C")
        labels = np.full(len(points), -1, dtype=np.int64)
        best, n_done = Solution(labels, centers, np.inf), 0
        for n_done in range(1, self.max_iter + 1):
            sums, totals = np.zeros_like(centers), np.zeros(len(centers))
            found, pairs = np.empty_like(labels), (task.together, task.apart)
            error = float(step(points, weights, *pairs, centers, found, sums, totals))
            if error < best.objective:
                best = Solution(found.copy(), centers.copy(), error, n_done)
            moved, alive = centers.copy(), totals > 0
            moved[alive] = sums[alive] / totals[alive, None]
            at_rest = ((moved - centers) ** 2).sum() <= AT_REST * max((centers**2).sum(), 1e-300)
            if (found == labels).all() and at_rest:
                break
            labels, centers = found, moved
        labels = best.labels.copy()
        fill_empty_clusters(points, weights, labels, best.centers.copy())
        return Solution(labels, best.centers, best.objective, n_done, False)

    def _describe(self, best: Solution) -> None:
        self.objective_ = best.objective


@documented
class LCVQE(CVQE):
    """LCVQE (Pelleg and Baras 2007): CVQE with at most three choices for each pair.

    All points get their nearest centers first. A broken must-link has three choices: it stays
    broken, and half of each point pulls the other point's center, or both points get the label of
    one of them. For a broken cannot-link, the point farther from the center may get its next
    center.
    """

    _linear = True


@kernel()
def _nearest(x, centers, other_than):
    """The nearest center to x but one."""
    best, least = -1, np.inf
    for k in range(len(centers)):
        square = squared_distance(x, centers[k])
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
        total += weights[i] * squared_distance(points[i], centers[labels[i]])
        _pull(points[i], weights[i], labels[i], sums, totals)
    return total


@kernel()
def _step(points, weights, must_link, cannot_link, centers, labels, sums, totals):
    """CVQE: writes `labels`, and to `sums`, `totals` what draws each center. O(m K^2 + N K d)."""
    n_clusters = len(centers)
    between = np.zeros((n_clusters, n_clusters))
    beside = np.zeros(n_clusters, np.int64)  # the nearest other center of each
    for a in range(n_clusters):
        beside[a] = _nearest(centers[a], centers, a)
        for b in range(n_clusters):
            between[a, b] = squared_distance(centers[a], centers[b])
    for i in range(len(points)):
        labels[i] = _nearest(points[i], centers, -1)
    row_i, row_j = np.empty(n_clusters), np.empty(n_clusters)
    for kind in range(2):
        pairs = must_link if kind == 0 else cannot_link
        for e in range(len(pairs)):
            i, j = pairs[e, 0], pairs[e, 1]
            for k in range(n_clusters):
                row_i[k] = weights[i] * squared_distance(points[i], centers[k])
                row_j[k] = weights[j] * squared_distance(points[j], centers[k])
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
        i_a, i_b = squared_distance(points[i], centers[a]), squared_distance(points[i], centers[b])
        j_a, j_b = squared_distance(points[j], centers[a]), squared_distance(points[j], centers[b])
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
        i_a, j_a = squared_distance(points[i], centers[a]), squared_distance(points[j], centers[a])
        far = i if i_a > j_a else j
        other = _nearest(points[far], centers, a)
        if other >= 0:
            # Keeping both is charged with that distance too, on top of their own: never cheaper.
            labels[far] = other
    return charge + _own_squares(points, weights, centers, labels, sums, totals)
