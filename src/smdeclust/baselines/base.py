"""What the baselines share: parameters, one ``fit``, and the best of several starts."""

import logging
import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from smdeclust.constraints import Constraints
from smdeclust.estimators.base import ConstrainedClusterer
from smdeclust.estimators.parameters import (
    anything,
    check_choice,
    choice,
    documented,
    number,
    whole,
)
from smdeclust.estimators.warm import as_earlier
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.state import is_past
from smdeclust.memetic.operators import random_points
from smdeclust.problem import Problem, Solution
from smdeclust.structure.bounds import SIZE_BY
from smdeclust.structure.pairs import count_broken
from smdeclust.structure.rejections import reject_self_cannot_links

logger = logging.getLogger("smdeclust")

Start = Callable[[np.random.Generator], np.ndarray]
NO_PAIRS = np.empty((0, 2), dtype=np.int64)
SOLUTION = {
    "labels_": "The (N,) clusters of the points. They satisfy all pairs.",
    "cluster_centers_": "The (K, d) means of the clusters, in lexicographic order.",
    "inertia_": "The (weighted) sum of squared distances from points to their centers.",
    "soft_prices_": "A function that returns the price of a soft pair: ``soft_prices_(0.9)``.",
    "n_iter_": "The number of iterations (of the best start, if there are several).",
}
SIZE_BOUND = (
    "size of a cluster: one number, or K numbers. With K numbers, the search\n"
    "decides which cluster gets which. ``None`` means no bound."
)


class Task(NamedTuple):
    """What a method is to solve, until when, and the (m, 2) pairs beside the problem, if any."""

    problem: Problem
    deadline: float | None
    together: np.ndarray = NO_PAIRS
    apart: np.ndarray = NO_PAIRS

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return is_past(self.deadline)


@documented
class Baseline(ConstrainedClusterer):
    """A method to compare with: see `_solve` of the two classes below."""

    _attributes = SOLUTION

    n_clusters: int = anything(3, "The number of clusters, K.", kw_only=False)
    max_time: float | None = number(
        None, "The time limit in seconds. Then the best clustering so far is returned.", low=0
    )
    random_state: Any = anything(
        None, "A seed, ``RandomState`` or ``None``. The same seed gives the same result."
    )

    @abstractmethod
    def _solve(self, task: Task) -> np.ndarray:
        """Return the labels: (G,) of the groups of a strict baseline, (N,) of a soft one."""


class StrictBaseline(Baseline):
    """Pairs always hold: they are in the problem."""

    def _fit(self, X: Any, known: Constraints, weight: Any, deadline: float | None) -> Self:
        problem = self._build_problem(X, known, weight, deadline)
        return self._set_solution(problem, self._solve(Task(problem, deadline)))


class SoftBaseline(Baseline):
    """Pairs may break: they are beside the problem (must-links where they `_contract`, too)."""

    _contract: ClassVar[bool] = False

    _attributes = {  # noqa: RUF012
        "labels_": "The (N,) clusters of the points. They may break pairs.",
        "n_violations_": "The number of broken pairs.",
    }

    def _fit(self, X: Any, known: Constraints, weight: Any, deadline: float | None) -> Self:
        hard = Constraints(known.must_link if self._contract else None)
        problem = self._build_problem(X, hard, weight, deadline)
        together, apart = known.must_link, known.cannot_link
        reject_self_cannot_links(apart)
        self._set_solution(problem, self._solve(Task(problem, deadline, together, apart)))
        self.n_violations_ = sum(count_broken(together, apart, self.labels_))
        return self


class UnweightedBaseline(SoftBaseline):
    """The same for methods without weights of points."""

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Any = None,
    ) -> Self:
        """Cluster the rows of `X`, as `SMDEClust.fit` does, but without weights."""
        pairs = {"must_link": must_link, "cannot_link": cannot_link}
        return super().fit(X, y, constraints=constraints, **pairs)


def spread_groups(problem: Problem) -> Start:
    """k-means++: group means drawn one by one, likelier the farther they are from those drawn."""
    from sklearn.cluster import kmeans_plusplus  # a quarter of a second to import

    contracted = problem.contracted

    def initialize(rng: np.random.Generator) -> np.ndarray:
        centers, _ = kmeans_plusplus(
            contracted.points,
            contracted.n_clusters,
            sample_weight=contracted.weights,
            random_state=int(rng.integers(2**31)),
        )
        return np.ascontiguousarray(centers)

    return initialize


def random_start(problem: Problem) -> Start:
    """K different points."""
    initialize = random_points(problem)
    return lambda rng: next(iter(initialize(1, rng)))


STARTS: dict[str, Callable[[Problem], Start]] = {
    "random": random_start,
    "k-means++": spread_groups,
}


def _check_init(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, tuple(STARTS))


def beginning(default: str) -> Any:
    """The parameter that says where starts begin."""
    return anything(
        default,
        'Where starts begin: at ``"random"`` points, at ``"k-means++"`` centers, or all at an\n'
        "earlier clustering (centers, labels or a fitted model).",
        _check_init,
    )


@documented
class MultiStart(ConstrainedClusterer):
    """The best of ``n_init`` starts."""

    _attributes = {  # noqa: RUF012
        "n_local_searches_, n_local_iterations_": "The numbers of starts and of their iterations.",
        "n_failed_starts_": "The number of starts that failed.",
    }

    n_init: int = whole(10, "The number of starts. The best one is returned.", low=1)
    max_iter: int = whole(300, "The maximum number of iterations per start.", low=1)
    max_time: float | None = number(
        None, "The time limit in seconds. Later starts are skipped.", low=0
    )
    verbose: int = anything(0, "1 logs one line for each start.")

    def _best_start(
        self, attempt: Callable[[np.random.Generator], Solution | None], deadline: float | None
    ) -> Solution | None:
        """Run the starts, set their counters, and return the best solution (the first of equals);
        a start that fails returns None. No start begins after the deadline."""
        rng, best, begin = self._generator(), None, time.perf_counter()
        self.n_local_searches_ = self.n_local_iterations_ = self.n_failed_starts_ = 0
        for _ in range(self.n_init):
            found = attempt(rng)
            self.n_local_searches_ += 1
            self.n_local_iterations_ += 1 if found is None else found.n_iterations
            self.n_failed_starts_ += found is None
            if found is not None and (best is None or found.objective < best.objective):
                best = found
            if self.verbose:
                logger.info(
                    "start %d: %s, best %s, %.1f s",
                    self.n_local_searches_,
                    "failed" if found is None else f"{found.objective:.6g}",
                    "none" if best is None else f"{best.objective:.6g}",
                    time.perf_counter() - begin,
                )
            if is_past(deadline):
                break
        self.n_iter_ = self.n_local_iterations_ if best is None else best.n_iterations
        return best


@documented
class FromCenters(MultiStart):
    """Starts that are K centers, drawn or given."""

    init: Any = beginning("random")

    _failure = "All {n} starts failed."

    def _solve(self, task: Task) -> np.ndarray:
        """Run `_search` from the centers that `init` stands for."""
        initialize = self._beginning(task.problem)
        best = self._best_start(lambda rng: self._search(task, initialize(rng), rng), task.deadline)
        if best is None:
            raise NoFeasibleSolutionError(self._failure.format(n=self.n_local_searches_))
        self._describe(best)
        return best.labels

    def _beginning(self, problem: Problem) -> Start:
        if isinstance(self.init, str):
            return STARTS[self.init](problem)
        given = problem.enter(as_earlier(self.init, problem).centers)
        return lambda rng: given

    @abstractmethod
    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution | None:
        """Run one start from (K, d') centers; None where it fails."""

    def _describe(self, best: Solution) -> None:
        """Set the other attributes of the best solution."""


@documented
class Sized(ConstrainedClusterer):
    """Bounds on the sizes of clusters."""

    _attributes = {  # noqa: RUF012
        "cluster_sizes_, size_bounds_": "With bounds on sizes, the (K,) sizes of the\n"
        "clusters and their (K, 2) bounds.",
    }

    size_min: Any = anything(None, f"The smallest {SIZE_BOUND}")
    size_max: Any = anything(None, f"The largest {SIZE_BOUND}")
    size_by: str = choice(
        "points", SIZE_BY, 'What a size counts: ``"points"``, or ``"weight"`` for sums of weights.'
    )
