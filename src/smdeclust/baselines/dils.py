"""DILS (Gonzalez-Almagro, Luengo, Cano & Garcia 2020): two solutions, recombined and improved."""

import numpy as np
from scipy.spatial.distance import pdist

from smdeclust.baselines.base import Task, UnweightedBaseline
from smdeclust.baselines.pieces import (
    cost_of_broken,
    cost_of_point,
    make_seed,
    shuffle,
    signed_pairs,
)
from smdeclust.estimators.parameters import documented, number, whole
from smdeclust.kernels import kernel
from smdeclust.local_search.kempe import squared_distance
from smdeclust.local_search.state import is_past

# The largest distance is measured on at most this many points.
MOST_MEASURED = 2000


@documented
class DILS(UnweightedBaseline):
    """DILS (Gonzalez-Almagro, Luengo, Cano and Garcia 2020): dual iterative local search.

    The method has two solutions. It recombines them, draws a segment of the labels at random, and
    improves the result by changing single labels. If the result is better than the worse solution,
    it replaces that one. The method minimizes the
    mean distance to the cluster's mean, averaged over clusters, plus a penalty for each broken pair
    (the largest distance between two points, divided by the number of pairs). With few pairs,
    outliers become clusters of their own, because a cluster of one point has distance zero.

    Our choices where the available text is not specific: the local search continues until no change
    helps, and no cluster is ever empty.
    """

    _attributes = {  # noqa: RUF012
        "objective_": "The minimized objective.",
        "n_iter_": "The number of recombinations.",
        "n_evaluations_": "The number of evaluated labels.",
    }

    inherit: float = number(
        0.5, "The probability that a label comes from the better solution.", low=0, high=1
    )
    segment: float = number(0.2, "The share of points whose labels are drawn again.", low=0, high=1)
    similarity: float = number(
        0.5, "The worse solution is drawn again if it is worse by more than this share.", low=0
    )
    max_evaluations: int = whole(300_000, "The maximum number of labels to evaluate.", low=1)

    def _solve(self, task: Task) -> np.ndarray:
        problem, deadline, together, apart = task
        points, k, rng = problem.contracted.points, problem.n_clusters, self._generator()
        cost = penalty(points, len(together) + len(apart), rng)
        costs = np.full(len(together), cost), np.full(len(apart), cost)
        pairs = signed_pairs(problem.n_points, together, apart, *costs)
        seed = make_seed(rng)
        self.n_evaluations_ = self.n_iter_ = 0

        def improve(labels: np.ndarray) -> tuple[float, np.ndarray]:
            fill(labels, k, rng)
            left = self.max_evaluations - self.n_evaluations_
            fitness, spent = _descend(points, *pairs, labels, k, seed, left)
            self.n_evaluations_ += max(1, spent)
            return fitness, labels

        def random_labels() -> np.ndarray:
            return rng.integers(0, k, len(points))

        better, worse = sorted((improve(random_labels()) for _ in range(2)), key=lambda s: s[0])
        length = max(1, int(self.segment * len(points)))
        while self.n_evaluations_ < self.max_evaluations and not is_past(deadline):
            self.n_iter_ += 1
            child = np.where(rng.random(len(points)) < self.inherit, better[1], worse[1])
            rows = (rng.integers(len(points)) + np.arange(length)) % len(points)
            child[rows] = rng.integers(0, k, length)
            found = improve(child)
            if found[0] < worse[0]:
                worse = found
            if worse[0] < better[0]:
                better, worse = worse, better
            if worse[0] - better[0] > self.similarity * abs(better[0]):
                worse = improve(random_labels())
        self.objective_, labels = better
        return labels


def fill(labels: np.ndarray, n_clusters: int, rng: np.random.Generator) -> None:
    """Give every empty cluster a random point of a cluster with several. Changes `labels`."""
    counts = np.bincount(labels, minlength=n_clusters)
    for k in np.flatnonzero(counts == 0):
        row = rng.choice(np.flatnonzero(counts[labels] > 1))
        counts[labels[row]] -= 1
        counts[k] += 1
        labels[row] = k


def penalty(points: np.ndarray, n_pairs: int, rng: np.random.Generator) -> float:
    """The largest distance over the number of pairs; what a broken pair costs."""
    if n_pairs == 0:
        return 0.0
    if len(points) > MOST_MEASURED:
        points = points[rng.choice(len(points), MOST_MEASURED, replace=False)]
    return float(pdist(points).max(initial=0.0)) / n_pairs


@kernel()
def _deviation(points, labels, k, center):
    """Write the mean of cluster k to `center`; returns the mean distance to it."""
    n, total = 0, 0.0
    center[:] = 0.0
    for i in range(len(points)):
        if labels[i] == k:
            n += 1
            for j in range(len(center)):
                center[j] += points[i, j]
    if n == 0:
        return 0.0
    center /= n
    for i in range(len(points)):
        if labels[i] == k:
            total += np.sqrt(squared_distance(points[i], center))
    return total / n


@kernel()
def _descend(points, indptr, indices, signed, labels, n_clusters, seed, max_evaluations):
    """Relabel single points, in random order, while that lowers the fitness.

    No cluster is emptied. Changes `labels` and `seed`; returns the fitness and the relabelings
    weighed. Each costs O(N + n d) for the n points of the two clusters.
    """
    center = np.empty(points.shape[1])
    deviation = np.empty(n_clusters)
    counts = np.bincount(labels, minlength=n_clusters)
    broken = cost_of_broken(indptr, indices, signed, labels)
    for k in range(n_clusters):
        deviation[k] = _deviation(points, labels, k, center)
    order = np.arange(len(points))
    n_done, improved = 0, True
    while improved and n_done < max_evaluations:
        improved = False
        shuffle(order, seed)
        for row in order:
            a = labels[row]
            for b in range(n_clusters):
                if b == a or counts[a] < 2 or n_done >= max_evaluations:
                    continue
                n_done += 1
                change = cost_of_point(row, b, indptr, indices, signed, labels)
                change -= cost_of_point(row, a, indptr, indices, signed, labels)
                labels[row] = b
                at_a = _deviation(points, labels, a, center)
                at_b = _deviation(points, labels, b, center)
                gain = (deviation[a] + deviation[b] - at_a - at_b) / n_clusters - change
                if gain > 1e-12:
                    counts[a] -= 1
                    counts[b] += 1
                    deviation[a], deviation[b] = at_a, at_b
                    broken += change
                    a = labels[row]
                    improved = True
                else:
                    labels[row] = a
    return deviation.sum() / n_clusters + broken, n_done
