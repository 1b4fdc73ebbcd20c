"""Crossover (line 7): psi = S1 + F (S2 - S3), S1 and S2 relabeled onto S3; and an exchange.

The paper also assigns the points to the new centers here. The local search that follows starts
from the centers alone and never looks at that assignment (in the authors' code neither), so it is
only made where it is needed: inside mutation.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from smdeclust.kernels import kernel
from smdeclust.problem import Solution

# Centers from which on an optimal matching of all takes seconds.
VERY_MANY = 500
# Products of a matching up to which looking for nearest centers is the quickest way.
FEW = 2_000


class DifferentialCrossover:
    """The crossover of the paper; F is drawn uniformly from `scale_factor`, an interval."""

    def __init__(self, scale_factor: tuple[float, float] = (0.5, 0.8)) -> None:
        self.scale_factor = scale_factor

    def __call__(
        self, first: Solution, second: Solution, base: Solution, rng: np.random.Generator
    ) -> np.ndarray:
        (low, high), onto = self.scale_factor, base.centers
        factor = low + (high - low) * rng.random()
        if onto.size * len(onto) <= FEW:
            child = np.empty(onto.shape)
            if cross_near(first.centers, second.centers, onto, factor, child):
                return child
        return match(first.centers, onto) + factor * (match(second.centers, onto) - onto)


@kernel()
def cross_near(first, second, base, factor, child):
    """The crossover of parents whose centers are all nearest to different ones of `base`.

    These are the ones to match them with. Writes `child`; returns whether it is so. O(K^2 d).
    """
    for is_first in range(2):
        centers, taken = first if is_first else second, 0  # (a bit for each: they are few)
        for k in range(len(base)):
            place, least = 0, np.inf
            for other in range(len(base)):
                squares = 0.0
                for j in range(base.shape[1]):
                    gap = centers[k, j] - base[other, j]
                    squares += gap * gap
                if squares < least:
                    place, least = other, squares
            if taken >> place & 1:
                return False
            taken |= 1 << place
            for j in range(base.shape[1]):
                gap = factor * (centers[k, j] - base[place, j])
                child[place, j] = child[place, j] + centers[k, j] if is_first else gap
    return True


def exchange(
    first: Solution, second: Solution, base: Solution, rng: np.random.Generator
) -> np.ndarray:
    """The crossover of HG-means, for populations that should err in another way.

    The parents' centers are matched at the least cost; each comes from either by a coin. `base`
    plays no part.
    """
    matched = match(second.centers, first.centers)
    coin = rng.random(len(matched)) < 0.5
    return np.where(coin[:, None], first.centers, matched)


def match(centers: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """Return `centers` in the order that makes the sum of |y_k - onto_k|^2 least.

    In any order the squares of both sum to the same: only the products count. With very many
    centers, those that are nearest to each other are matched first.
    """
    if len(centers) < VERY_MANY:
        return centers[linear_sum_assignment(onto @ centers.T, maximize=True)[1]]
    costs = cdist(onto, centers, "sqeuclidean")
    order, back = costs.argmin(axis=1), costs.argmin(axis=0)
    alone = np.flatnonzero(back[order] != np.arange(len(onto)))
    rest = np.setdiff1d(np.arange(len(onto)), np.delete(order, alone))
    order[alone] = rest[linear_sum_assignment(costs[np.ix_(alone, rest)])[1]]
    return centers[order]
