"""Variable neighborhood search for clustering with pairs (GERAD G-2026-09)."""

import numpy as np

from smdeclust.baselines.base import SoftBaseline, Task, random_start
from smdeclust.baselines.pck_means import search_by_placing
from smdeclust.baselines.pieces import signed_pairs
from smdeclust.estimators.parameters import documented, number, whole

# Iterations of the penalized k-means after a shake.
MOST_ITERATIONS = 50


@documented
class VNSClustering(SoftBaseline):
    """Variable neighborhood search for clustering with pairs (GERAD G-2026-09).

    Must-links are always satisfied, and broken cannot-links cost a penalty. The method moves 1, 2,
    ... centers of the best solution to random points, and then runs a k-means with the penalty.
    After an improvement, it moves one center again.

    Only the abstract was available. Our choices: the penalty (more than breaking a pair can save),
    the moves, the local search (that of `PCKMeans`), and when to stop.
    """

    _attributes = {  # noqa: RUF012
        "labels_": "The (N,) clusters of the points. They may break cannot-links.",
        "n_violations_": "The number of broken pairs.",
        "objective_": "The minimized objective: ``inertia_`` plus the prices of broken pairs.",
        "n_iter_": "The number of moves.",
        "n_local_searches_": "The number of local searches.",
    }

    penalty: float | None = number(
        None,
        "The price of a broken cannot-link. By default, it is so large that the local search\n"
        "breaks none if it can avoid it.",
        low=0,
    )
    largest_shake: int | None = whole(
        None, "The maximum number of centers that move at once. By default, all.", low=1
    )
    max_no_improvement: int = whole(
        100, "Stop after this many moves in a row without improvement.", low=1
    )

    _contract = True

    def _solve(self, task: Task) -> np.ndarray:
        problem, points = task.problem, task.problem.contracted.points
        between = problem.group_of_point[task.apart].reshape(-1, 2)
        between = between[between[:, 0] != between[:, 1]]
        cost = self.penalty
        if cost is None:
            span = np.ptp(points, axis=0)
            cost = 2.0 * float(span @ span) * float(problem.contracted.weights.max())
        prices = np.empty(0), np.full(len(between), float(cost))
        pairs = signed_pairs(problem.n_groups, between[:0], between, *prices)
        rng, largest = self._generator(), self.largest_shake or self.n_clusters
        start = random_start(problem)(rng)
        best = search_by_placing(problem, pairs, start, rng, MOST_ITERATIONS)
        n_done, idle, size = 1, 0, 1
        while idle < self.max_no_improvement and not task.is_late:
            centers = best.centers.copy()
            moved = rng.choice(len(centers), size=min(size, len(centers)), replace=False)
            centers[moved] = points[rng.choice(len(points), size=len(moved), replace=False)]
            found = search_by_placing(problem, pairs, centers, rng, MOST_ITERATIONS)
            n_done += 1
            if found.objective < best.objective * (1 - 1e-10):
                best, idle, size = found, 0, 1
            else:
                idle += 1
                size = 1 if size >= largest else size + 1
        self.n_local_searches_, self.n_iter_ = n_done, n_done - 1
        self.objective_ = best.objective + problem.scatter
        return best.labels
