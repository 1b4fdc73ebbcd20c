"""Non-smooth optimization (after Bagirov, Taheri, Bai & Zheng 2023), one center at a time."""

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from smdeclust.baselines.base import SoftBaseline, Task
from smdeclust.baselines.pieces import nearest_labels
from smdeclust.estimators.parameters import documented, number
from smdeclust.local_search.state import is_past

# Points tried as the new center, and how many of them are refined.
MOST_CANDIDATES = 300
REFINED = 3
# Iterations of the descent.
MOST_STEPS = 200


@documented
class NonsmoothClustering(SoftBaseline):
    """Non-smooth optimization for clustering with pairs, after Bagirov et al. (2023).

    The objective is a function of the centers: the sum of squared distances to the nearest centers,
    plus `penalty` times what satisfying each broken pair would cost. Centers are added one at a
    time, from the best points of an auxiliary problem.

    Only the abstract and related papers were available. Our choices: the form of the penalty, and
    L-BFGS instead of the bundle method (the objective is smooth almost everywhere).
    """

    _attributes = {  # noqa: RUF012
        "objective_": "The minimized objective, with the method's own centers.",
        "n_iter_": "The number of evaluations of the objective.",
    }

    penalty: float = number(10.0, "The factor on the cost of satisfying a broken pair.", low=0)
    max_time: float | None = number(
        None, "The time limit in seconds. Later centers are not refined.", low=0
    )

    def _solve(self, task: Task) -> np.ndarray:
        problem, deadline, together, apart = task
        points, weights = problem.contracted.points, problem.contracted.weights
        rng = self._generator()  # draws the candidates where there are many points

        def value_and_slope(flat: Any) -> Any:
            centers = flat.reshape(-1, points.shape[1])
            value, slope = penalized(points, weights, together, apart, centers, self.penalty)
            return value, slope.ravel()

        centers = np.average(points, axis=0, weights=weights)[None, :]
        self.n_iter_ = 1
        for _ in range(1, problem.n_clusters):
            least = cdist(points, centers, "sqeuclidean").min(axis=1)
            tried = rng.permutation(len(points))[:MOST_CANDIDATES]
            # The auxiliary problem: how much a new center at each candidate would lower the sum.
            gains = least[:, None] - cdist(points, points[tried], "sqeuclidean")
            falls = weights @ np.maximum(0.0, gains)
            best, value = None, np.inf
            for i in tried[np.argsort(falls)[::-1][:REFINED]]:
                start = np.vstack([centers, points[i]])
                if is_past(deadline):
                    best = start if best is None else best
                    continue
                # The objective is smooth almost everywhere: a quasi-Newton method stands in for the
                # bundle method of the paper.
                how: Any = {"method": "L-BFGS-B", "jac": True, "options": {"maxiter": MOST_STEPS}}
                found = minimize(value_and_slope, start.ravel(), **how)
                self.n_iter_ += found.nfev
                if best is None or found.fun < value:
                    best, value = found.x.reshape(start.shape), float(found.fun)
            assert best is not None
            centers = best
        self.objective_ = float(value_and_slope(centers.ravel())[0])
        return nearest_labels(points, weights, centers)


def penalized(
    points: np.ndarray,
    weights: np.ndarray,
    must_link: np.ndarray,
    cannot_link: np.ndarray,
    centers: np.ndarray,
    penalty: float,
) -> tuple[float, np.ndarray]:
    """The objective and a subgradient of it. O(N K d + m K).

    A broken must-link pays the least of d_ik + d_jk over k, a broken cannot-link the least of
    d_ik + d_jl over k != l, both less the two least distances, times the penalty.
    """
    squares = weights[:, None] * cdist(points, centers, "sqeuclidean")
    order = np.argsort(squares, axis=1, kind="stable")
    first, second = order[:, 0], order[:, min(1, len(centers) - 1)]  # of one center the same
    every = np.arange(len(points))
    least, next_least = squares[every, first], squares[every, second]
    value = float(least.sum())
    pull = np.zeros_like(squares)  # how often each distance counts
    pull[every, first] = 1.0

    def move(rows: np.ndarray, to: np.ndarray) -> None:
        np.add.at(pull, (rows, to), penalty)
        np.add.at(pull, (rows, first[rows]), -penalty)

    broken = must_link[first[must_link[:, 0]] != first[must_link[:, 1]]]
    both = squares[broken].sum(axis=1)
    value += penalty * float((both.min(axis=1) - least[broken].sum(axis=1)).sum())
    for rows in broken.T:
        move(rows, both.argmin(axis=1))
    broken = cannot_link[first[cannot_link[:, 0]] == first[cannot_link[:, 1]]]
    excess = (next_least - least)[broken]
    value += penalty * float(excess.min(axis=1).sum())
    rows = np.take_along_axis(broken, excess.argmin(axis=1)[:, None], axis=1)[:, 0]
    move(rows, second[rows])
    pull *= weights[:, None]
    return value, 2 * (pull.sum(axis=0)[:, None] * centers - pull.T @ points)
