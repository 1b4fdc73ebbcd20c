"""Local searches that jump (not in the paper), and a thorough look at what populations agree on.

A start jumps first and is searched afterwards. Jumps consider cannot-links only roughly, so with
cannot-links an exact search follows each further jump, which is kept only if that search ends
lower; where most groups have cannot-links, a search also comes before the first jump. Points that
are not contracted are too many: jumps are then chosen on a random sample without pairs.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from smdeclust.local_search.jumps import LOCAL_ITERATIONS, NEAR, jump_descent
from smdeclust.local_search.state import is_past
from smdeclust.memetic.algorithm import Operators
from smdeclust.memetic.operators import exchange
from smdeclust.problem import Contracted, Problem, Solution
from smdeclust.structure.graph import PairGraph

Search = Callable[[np.ndarray], Solution]
Steps = tuple[Search, Callable[[Solution], Solution]]

# Trials in a row that may fail: of an offspring, and of a solution that populations agree on.
IDLE = 2
THOROUGH_IDLE = 100
# Most jumps before a search, or as many as there are clusters: where links are weighed roughly they
# could continue forever. Where a search must confirm jumps, one for this many clusters.
MANY = 1000
CLUSTERS_A_JUMP = 100
# With this many clusters, trials cost little beside a pass over all points: a tenth of K may fail.
VERY_MANY = 500
# With fewer clusters populations find nearly the same without jumps, and faster.
FEW_CLUSTERS = 10
# Multiplications of compiled code at a stretch, a fraction of a second: nothing interrupts it.
JUMPING_STRIDE = 10**9
# A gain smaller than this share of the objective is rounding.
LEAST_GAIN = 1e-10
# Numbers in a sample of points (16 MiB), and the fewest of its points a cluster.
SAMPLE = 2**21
LEAST_SAMPLE = 20


def ground_to_jump_on(problem: Problem) -> Contracted | None:
    """The contracted problem, or one of some of its points; ``None`` where there are no jumps.

    Points that are elsewhere (Dask, a device) or too few a cluster in a sample do without.
    """
    if not problem.points.abilities.sampled:
        return None
    if problem.points.abilities.contracted:
        return problem.contracted
    n_rows = min(problem.n_points, SAMPLE // problem.n_features)
    if n_rows < LEAST_SAMPLE * problem.n_clusters:
        return None
    rows = np.sort(np.random.default_rng(0).choice(problem.n_points, n_rows, replace=False))
    points = np.array(problem.enter(problem.points.fetch(rows)), dtype=np.float64, order="C")
    weights = problem.point_weights[rows]
    points.flags.writeable = weights.flags.writeable = False
    nothing = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return Contracted(points, weights, PairGraph.hard(*nothing), problem.n_clusters, problem.points)


def kinds_that_jump(
    problem: Problem, operators: Operators, deadline: float | None
) -> tuple[list[Operators], Callable[[Solution], Solution] | None]:
    """Kinds of populations that take turns, and the thorough look at what they agree on.

    They differ in their crossover: two kinds seldom end in the same trap. Both jump, but not with
    few clusters; there, under cannot-links or bounds, the first kind is the only one.
    """
    ground = ground_to_jump_on(problem)
    if ground is None:
        return [operators], None
    bounded, steps = problem.group_bounds is not None, operators.in_two_steps
    jumps = Jumps(ground, operators.local_search, deadline, bounded, steps)
    first, confirm = operators, None
    if problem.n_clusters >= FEW_CLUSTERS:
        together = None if operators.search_all is None else lambda starts: [*map(jumps, starts)]
        first, confirm = replace(operators, local_search=jumps, search_all=together), jumps.confirm
    elif jumps.one_by_one:
        return [first], None
    return [first, replace(first, crossover=exchange)], confirm


@dataclass(frozen=True)
class Jumps:
    """A local search that jumps as well; `search` is the exact one, from centers to a solution.

    No jump begins after the `deadline`. Where clusters are `bounded`, jumps are weighed as if they
    were not, and each must stand a search within bounds. Where `search` can be done in two `steps`,
    the second one is left out until no jump helps.
    """

    ground: Contracted
    search: Search
    deadline: float | None = None
    bounded: bool = False
    steps: Steps | None = None
    # Where jumps from a solution of some objective led.
    ended: dict[str, Solution] = field(default_factory=dict)

    @property
    def one_by_one(self) -> bool:
        """Whether a search must confirm each jump: there are links or bounds, which none sees."""
        return self.bounded or self.ground.n_linked > 0

    def __call__(self, centers: np.ndarray) -> Solution:
        """Search from these centers."""
        if not self.one_by_one:
            return self._jump_first(centers)
        first = self.search if self.steps is None else self.steps[0]
        many = self.bounded or 2 * self.ground.n_linked > len(self.ground.points)
        found = first(centers) if many else self._jump_first(centers)
        same = f"{found.objective:.12g}"
        if same in self.ended:  # the same clusters again: jumps would lead there again
            return replace(self.ended[same], n_iterations=found.n_iterations)
        best = self._jump_on(found, first, IDLE)
        if self.steps is not None:
            before, best = best, self.steps[1](best)
            if best.objective < before.objective:  # (else the jumps from here are known)
                best = self._jump_on(best, self.search, IDLE)
        self.ended[same] = best
        return best

    def confirm(self, solution: Solution) -> Solution:
        """Try many jumps from a solution: returns a better one, or the same."""
        return self._jump_on(solution, self.search, THOROUGH_IDLE)

    def _jump_first(self, centers: np.ndarray) -> Solution:
        moved = np.array(centers, dtype=np.float64, order="C")
        k = self.ground.n_clusters
        idle = IDLE if k < VERY_MANY else k // 10
        made = jump(self.ground, moved, idle, self.deadline, max(MANY, k))
        whole = self.ground.storage.abilities.contracted
        return self.search(moved if made or whole else centers)

    def _jump_on(self, best: Solution, search: Search, max_idle: int) -> Solution:
        """Jump and search as long as that finds a better solution."""
        k = self.ground.n_clusters
        while not is_past(self.deadline):
            moved = np.array(best.centers, dtype=np.float64, order="C")
            most = max(1, k // CLUSTERS_A_JUMP) if self.one_by_one else MANY
            if jump(self.ground, moved, max_idle, self.deadline, most) == 0:
                break
            found = search(moved)
            found = replace(found, n_iterations=best.n_iterations + found.n_iterations)
            if not found.objective < best.objective * (1 - LEAST_GAIN):
                break
            best = found
        return best


def jump(
    contracted: Contracted,
    centers: np.ndarray,
    max_idle: int,
    deadline: float | None = None,
    most: int = MANY,
) -> int:
    """Jump while it helps and time is left. Changes `centers`; returns the number of jumps.

    Under a deadline large data are cut into stretches. These make more passes, and may end
    elsewhere.
    """
    k = contracted.n_clusters
    if k < 3:  # whatever is emptied must go to what is split
        return 0
    given = contracted.points, contracted.weights, *contracted.graph.hard_part.arrays[:2]
    tried = np.zeros((k + 1, k), dtype=np.int32)
    # As many trials as fill a stride, each with a pass; more where the passes that begin one weigh
    # more. (A trial of many clusters costs less than a pass, for it sees only those near it.)
    largest = (1 + LOCAL_ITERATIONS) * contracted.points.size * k
    n_at_once = sys.maxsize if deadline is None else max(1 + k // NEAR, JUMPING_STRIDE // largest)
    n_jumps = n_idle = 0
    while n_jumps < most and n_idle < max_idle:
        if is_past(deadline):
            break
        limits = max_idle - n_idle, most - n_jumps, n_at_once
        made, trials = jump_descent(*given, centers, tried, *limits)
        n_jumps += made
        n_idle = 0 if made else n_idle + trials
        if trials < n_at_once:
            break
    return n_jumps
