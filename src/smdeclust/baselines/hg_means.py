"""HG-means (Gribel & Vidal 2019): a genetic search over k-means solutions, without pairs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smdeclust.baselines.base import SoftBaseline, Task, random_start
from smdeclust.baselines.pieces import breed
from smdeclust.estimators.parameters import anything, documented, whole
from smdeclust.exceptions import InvalidInputError
from smdeclust.local_search import local_search
from smdeclust.memetic import State, rules
from smdeclust.memetic.operators import RelocationMutation, exact_reassign, exchange
from smdeclust.problem import Solution

# The mixing weight of an offspring differs from the mean of its parents' by at most this.
DRIFT = 0.2


@documented
class HGMeans(SoftBaseline):
    """HG-means (Gribel and Vidal 2019): a memetic method for clustering without pairs.

    Parents are chosen by binary tournaments. Their centers are matched at the lowest cost, and the
    child gets one center of each match at random. One of its centers moves to a random point, and
    k-means follows. When the population is full, duplicates are removed, and the best of the
    other solutions survive.

    Our choices where the paper is not specific: the first population starts from random points. In
    the mutation, the weight of points far from their center is at first uniform between 0 and 1,
    and then the mean of the parents' weights plus or minus up to 0.2. Solutions with the same
    objective and cluster sizes are duplicates.
    """

    _attributes = {  # noqa: RUF012
        "labels_": "The (N,) clusters of the points. Pairs are ignored.",
        "n_iter_": "The number of times that survivors were chosen.",
        "n_local_searches_, n_local_iterations_": "The numbers of searches and their iterations.",
        "stop_reason_": '``"no_improvement"``, ``"max_offspring"`` or ``"max_time"``.',
        "history_": "Arrays with one entry for each choice of survivors.",
    }

    population_size: int = whole(10, "The number of solutions that survive.", low=2)
    largest_population: int = whole(20, "The population size at which survivors are chosen.", low=3)
    max_no_improvement: int = whole(
        500, "Stop after this many offspring in a row that do not improve the best solution.", low=1
    )
    max_offspring: int = whole(5000, "Stop after this many local searches.", low=1)
    callback: Callable[[State], None] | None = anything(
        None, "A function that is called with the state of the run after every local search."
    )

    def _solve(self, task: Task) -> np.ndarray:
        if self.largest_population <= self.population_size:
            raise InvalidInputError(
                f"largest_population must be more than population_size={self.population_size}, "
                f"got {self.largest_population}."
            )

        def enough(state: State) -> str | None:
            if state.n_local_searches >= self.max_offspring:
                return "max_offspring"
            if state.n_without_improvement >= self.max_no_improvement:
                return "no_improvement"
            return None

        problem, rng = task.problem, self._generator()
        initialize, largest = random_start(problem), self.largest_population

        def search(centers: np.ndarray, alpha: float) -> Individual:
            return Individual(**vars(local_search(problem, centers)), alpha=alpha)

        def offspring(population: list[Solution]) -> Individual:
            first, second = tournament(population, rng), tournament(population, rng)
            alpha = (first.alpha + second.alpha) / 2 + rng.uniform(-DRIFT, DRIFT)
            alpha = min(max(alpha, 0.0), 1.0)
            relocate = RelocationMutation(problem, exact_reassign, alpha, rate=lambda _: 1.0)
            return search(relocate(exchange(first, second, first, rng), 0, rng), alpha)

        state = breed(  # a generation is one cycle of survivor selection
            lambda: search(initialize(rng), rng.random()),
            offspring,
            (largest, self.population_size, largest),
            rules.any_of(rules.past(task.deadline), enough),
            least_gain=1e-10,
            on_child=self.callback,
        )
        return self._record_search(state)


@dataclass(frozen=True)
class Individual(Solution):
    """A solution that also inherits how much its mutations prefer points far from centers."""

    alpha: float = 0.5


def tournament(population: list[Solution], rng: np.random.Generator) -> Individual:
    """The better of two solutions drawn at random."""
    one, other = (population[i] for i in rng.integers(len(population), size=2))
    best = one if one.objective <= other.objective else other
    assert isinstance(best, Individual)
    return best
