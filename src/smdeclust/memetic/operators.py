"""The operators of Algorithm 1: initialization (line 2), crossover (line 7), mutation (line 8)."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from smdeclust.assignment.bounded import assign
from smdeclust.assignment.greedy import greedy_labels, repaired_labels
from smdeclust.assignment.status import Budget
from smdeclust.kernels import kernel
from smdeclust.local_search import PROOF_PIVOTS
from smdeclust.memetic.algorithm import Initialize, Operators
from smdeclust.points.stored import spin
from smdeclust.problem import Problem, Solution
from smdeclust.structure.graph import PairGraph

# ---- initialization: K different random points as centers; with many clusters, far apart


def random_points(problem: Problem) -> Initialize:
    """Draw K different points a start, with the chances that their weights give them."""
    weights, n, k = problem.sample_weight, problem.n_points, problem.n_clusters
    points = problem.points
    share = None if weights is None else weights / weights.sum()

    def initialize(n_starts: int, rng: np.random.Generator) -> np.ndarray:
        rows = [rng.choice(n, size=k, replace=False, p=share) for _ in range(n_starts)]
        centers = points.enter(points.fetch(np.concatenate(rows)))
        return centers.reshape(n_starts, k, -1)

    return initialize


def spread_points(problem: Problem) -> Initialize:
    """Draw K groups one after the other, likelier far from those before (k-means++): with thousands
    of clusters a third would begin without a center of its own otherwise. O(G K d)."""
    points, weights = problem.contracted.points, problem.contracted.weights
    squares = np.einsum("gj,gj->g", points, points)

    def start(rng: np.random.Generator) -> np.ndarray:
        rows = np.empty(problem.n_clusters, dtype=np.int64)
        nearest, chance = np.full(len(points), np.inf), weights.copy()
        for k in range(len(rows)):
            if not chance.any():  # no others are left but copies of these
                chance[np.setdiff1d(np.arange(len(points)), rows[:k])] = 1.0
            rows[k] = spin(np.cumsum(chance), rng)[0] or 0
            gaps = squares + squares[rows[k]] - 2 * (points @ points[rows[k]])
            np.minimum(nearest, np.maximum(gaps, 0.0), out=nearest)
            nearest[rows[k]] = 0.0
            chance = nearest * weights
        return points[rows]

    return lambda n_starts, rng: (start(rng) for _ in range(n_starts))


def start_near(operators: Operators, starts: list[np.ndarray], population_size: int) -> Operators:
    """Operators whose first population begins with these centers, and later ones with the first
    of them; the others are drawn as in a fit from scratch.

    Two such populations that agree are enough: on overlapping mixtures a refit after one broken
    pair more was as good as a full fit in 23 of 24 cases (else 0.05% above it), for a quarter of
    the local searches; one population without the elite was so in 18 of 24. The best start comes
    first.
    """
    given = starts[:population_size]

    def initialize(n_starts: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        nonlocal given
        here, given = given, starts[:1]
        yield from here
        if n_starts > len(here):
            yield from operators.initialize(n_starts - len(here), rng)

    return replace(operators, initialize=initialize)


# ---- crossover: psi = S1 + F (S2 - S3), S1 and S2 relabeled onto S3; and an exchange
#
# The paper also assigns the points to the new centers here. The local search that follows starts
# from the centers alone and never looks at that assignment (in the authors' code neither), so it is
# only made where it is needed: inside mutation.

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


# ---- mutation (Algorithm 3): a random center moves to a point, likely one far from its center

# (L, K) costs of the linked groups, pairs, removed cluster -> labels, numbered without it, or None:
# failed
Reassign = Callable[[np.ndarray, PairGraph, int], "np.ndarray | None"]


def no_mutation(centers: np.ndarray, generation: int, rng: np.random.Generator) -> np.ndarray:
    """Leave the offspring as it is (variants S-MDE and SG-MDE)."""
    return centers


def paper_rate(generation: int) -> float:
    """The probability of mutation: it fades as the population ages."""
    return 1.0 / (generation + 1)


class RelocationMutation:
    """Algorithm 3, on the points wherever they are.

    `reassign` is the assignment step of the linked groups with K - 1 centers (line 3); see
    ``REASSIGN``. The other groups go to their nearest center in any case. Bounds on sizes say
    nothing here: K - 1 clusters need not have room for all. The local search that follows keeps
    them. `alpha` 0: every point is as likely a new center; 1: in proportion to its distance to its
    center. `rate` is the probability of mutation by generation.
    """

    def __init__(
        self,
        problem: Problem,
        reassign: Reassign,
        alpha: float = 0.5,
        rate: Callable[[int], float] = paper_rate,
    ) -> None:
        self.problem, self.reassign, self.alpha, self.rate = problem, reassign, alpha, rate
        weights = problem.sample_weight
        self._ends = None if weights is None else np.cumsum(weights)

    def __call__(
        self, centers: np.ndarray, generation: int, rng: np.random.Generator
    ) -> np.ndarray:
        if len(centers) < 2 or rng.random() >= self.rate(generation):
            return centers
        removed = int(rng.integers(len(centers)))
        mutated = centers.copy()
        mutated[removed] = self._pick_point(centers, removed, rng)
        return mutated

    def _pick_point(
        self, centers: np.ndarray, removed: int, rng: np.random.Generator
    ) -> np.ndarray:
        """A mixture of two roulette wheels is one of them, drawn."""
        points = self.problem.points
        if rng.random() < self.alpha:
            linked: np.ndarray | None = np.empty(0, dtype=np.int64)
            if self.problem.n_linked:
                linked = self.reassign(points.costs(centers), self.problem.graph, removed)
            if linked is not None:  # a failed exact step means alpha = 0
                far = points.draw_far(np.delete(centers, removed, axis=0), linked, rng)
                if far is not None:
                    return far
        row = rng.integers(points.n_points) if self._ends is None else spin(self._ends, rng)[0]
        return points.enter(points.fetch(np.array([row])))[0]


def exact_reassign(costs: np.ndarray, graph: PairGraph, removed: int) -> np.ndarray | None:
    """The exact step without one center; fails where the cannot-links need all of them."""
    fewer = np.delete(costs, removed, axis=1)
    return assign(fewer, graph, None, budget=Budget(max_pivots=PROOF_PIVOTS))[0]


def greedy_reassign(costs: np.ndarray, graph: PairGraph, removed: int) -> np.ndarray | None:
    """Algorithm 2 twice: for all groups, then for the groups of the removed center."""
    labels = greedy_labels(costs, graph, greedy_labels(costs, graph), removed)
    return labels - (labels > removed)


def repaired_reassign(costs: np.ndarray, graph: PairGraph, removed: int) -> np.ndarray | None:
    """The greedy step with repair, without one center."""
    return repaired_labels(np.delete(costs, removed, axis=1), graph)


REASSIGN: dict[str, Reassign] = {
    "greedy": greedy_reassign,
    "exact": exact_reassign,
    "greedy-repair": repaired_reassign,
}
