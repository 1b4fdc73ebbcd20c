"""HGMeans: HG-means as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smdeclust.baselines.hg_means import hg_means
from smdeclust.estimators.base import check_number
from smdeclust.estimators.rival import SoftRival
from smdeclust.exceptions import InvalidInputError
from smdeclust.memetic import State, stopping
from smdeclust.problem import Problem


class HGMeans(SoftRival):
    """HG-means (Gribel & Vidal 2019): a genetic search over k-means solutions, without pairs.

    Parents are chosen by binary tournament; their centers are matched at the least cost and one of
    each pair is kept by a coin; one center moves onto a point; k-means follows. When the
    population has grown to its largest size, the best of it survive, clones last.

    What the paper leaves open was chosen so: the first population starts from random points, the
    weight of badly served points in the mutation is drawn evenly from 0 to 1 there and afterwards
    is the mean of the parents' plus up to 0.2 either way; solutions of the same objective and
    cluster sizes are clones.

    Parameters
    ----------
    n_clusters
        K.
    population_size
        Solutions that survive.
    largest_population
        Solutions at which survivors are chosen.
    max_no_improvement
        Stop after so many offspring in a row that do not improve the best solution.
    max_offspring
        Stop after so many local searches.
    max_time
        Seconds, after which the best solution so far is returned.
    random_state
        Seed, ``RandomState`` or ``None``. The same seed gives the same result.
    callback
        Called with the state of the run after every local search.

    Attributes
    ----------
    labels_
        (N,) cluster of each point; pairs play no part.
    cluster_centers_
        (K, d) means of the clusters, in lexicographic order.
    inertia_
        Sum of (weighted) squared distances of the points to the centers of their clusters.
    n_violations_
        Broken pairs, of those given to ``fit``.
    n_iter_
        Times that survivors were chosen.
    n_local_searches_, n_local_iterations_
        Local searches, and their iterations in all.
    stop_reason_
        ``"no_improvement"``, ``"max_offspring"`` or ``"max_time"``.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        population_size: int = 10,
        largest_population: int = 20,
        max_no_improvement: int = 500,
        max_offspring: int = 5000,
        max_time: float | None = None,
        random_state: Any = None,
        callback: Callable[[State], None] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.population_size = population_size
        self.largest_population = largest_population
        self.max_no_improvement = max_no_improvement
        self.max_offspring = max_offspring
        self.max_time = max_time
        self.random_state = random_state
        self.callback = callback

    def _solve(
        self, problem: Problem, together: np.ndarray, apart: np.ndarray, deadline: float | None
    ) -> np.ndarray:
        state = hg_means(
            problem,
            self.population_size,
            self.largest_population,
            self._stopping_rule(deadline),
            self._generator(),
            self.callback,
        )
        assert state.best is not None
        self.n_iter_ = state.generation
        self.n_local_searches_ = state.n_local_searches
        self.n_local_iterations_ = state.n_local_iterations
        self.stop_reason_ = state.stop_reason
        self.history_ = state.history.arrays()
        return state.best.labels

    def _stopping_rule(self, deadline: float | None) -> stopping.StoppingRule:
        def enough(state: State) -> str | None:
            if state.n_local_searches >= self.max_offspring:
                return "max_offspring"
            if state.n_without_improvement >= self.max_no_improvement:
                return "no_improvement"
            return None

        return stopping.any_of(None if deadline is None else stopping.past(deadline), enough)

    def _check_parameters(self) -> None:
        check_number("population_size", self.population_size, low=2, whole=True)
        check_number("largest_population", self.largest_population, low=3, whole=True)
        if self.largest_population <= self.population_size:
            raise InvalidInputError(
                f"largest_population must be more than population_size={self.population_size}, "
                f"got {self.largest_population}."
            )
        check_number("max_no_improvement", self.max_no_improvement, low=1, whole=True)
        check_number("max_offspring", self.max_offspring, low=1, whole=True)
        check_number("max_time", self.max_time, low=0, optional=True)
