"""SoftHGMeans: S-HG-MEANS as a scikit-learn estimator."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from smdeclust.baselines.soft_hg import Model, soft_hg_means
from smdeclust.estimators.base import check_number
from smdeclust.estimators.rival import UnweightedRival
from smdeclust.memetic import State, stopping
from smdeclust.problem import Problem

logger = logging.getLogger("smdeclust")


class SoftHGMeans(UnweightedRival):
    """S-HG-MEANS (Gribel, Gendreau, Vidal 2022): pairs as annotations that may be wrong.

    A genetic search with local improvement for the labels of greatest likelihood under spherical
    Gaussians, one variance a cluster, and a Poisson block model of the pairs whose prior says how
    accurate they are expected to be. It may break constraints, even with ``accuracy=1``.

    Parameters
    ----------
    n_clusters
        K.
    accuracy
        p, the share of the pairs expected to be right, above 0 and up to 1. ``None``: no prior.
    population_size, n_offspring
        Survivors and offspring of a generation.
    max_generations
        Generations.
    max_no_improvement
        Stop after so many offspring in a row that do not improve the best solution, or ``None``.
    max_time
        Seconds, after which the best solution so far is returned.
    variance_floor
        Least variance of a cluster, as a share of the variance of all points. Without one a cluster
        of a single point would have an infinite likelihood.
    random_state
        Seed, ``RandomState`` or ``None``. The same seed gives the same result.
    verbose
        1: log one line per generation.

    Attributes
    ----------
    labels_
        (N,) cluster of each point; constraints may be broken.
    cluster_centers_
        (K, d) means of the clusters, in lexicographic order.
    objective_
        What the method minimises: minus the logarithm of the likelihood, up to a constant.
    inertia_
        Sum of squared distances of the points to the centers of their clusters.
    n_violations_
        Broken pairs.
    n_iter_
        Generations.
    n_local_searches_, n_local_iterations_
        Local searches, and their passes over the points in all.
    stop_reason_
        ``"max_generations"``, ``"no_improvement"`` or ``"max_time"``.
    history_
        Arrays of equal length, one entry a generation: ``generation``, ``evaluations``, ``time``,
        ``best``, ``mean``, ``worst``, ``diversity``.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        accuracy: float | None = 1.0,
        population_size: int = 10,
        n_offspring: int = 10,
        max_generations: int = 50,
        max_no_improvement: int | None = None,
        max_time: float | None = None,
        variance_floor: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.accuracy = accuracy
        self.population_size = population_size
        self.n_offspring = n_offspring
        self.max_generations = max_generations
        self.max_no_improvement = max_no_improvement
        self.max_time = max_time
        self.variance_floor = variance_floor
        self.random_state = random_state
        self.verbose = verbose

    def _solve(
        self, problem: Problem, together: np.ndarray, apart: np.ndarray, deadline: float | None
    ) -> np.ndarray:
        model = Model.build(problem, together, apart, self.accuracy, self.variance_floor)
        state = soft_hg_means(
            problem,
            model,
            self.population_size,
            self.n_offspring,
            self._stopping_rule(deadline),
            self._generator(),
            _log_generation if self.verbose else None,
        )
        assert state.best is not None
        self.n_iter_ = state.generation
        self.n_local_searches_ = state.n_local_searches
        self.n_local_iterations_ = state.n_local_iterations
        self.stop_reason_ = state.stop_reason
        self.history_ = state.history.arrays()
        self.objective_ = state.best.objective
        return state.best.labels

    def _stopping_rule(self, deadline: float | None) -> stopping.StoppingRule:
        patience = self.max_no_improvement
        return stopping.any_of(
            None if deadline is None else stopping.past(deadline),
            stopping.no_improvement(patience) if patience is not None else None,
            stopping.max_generations(self.max_generations),
        )

    def _check_parameters(self) -> None:
        check_number("accuracy", self.accuracy, low=1e-6, high=1, optional=True)
        check_number("population_size", self.population_size, low=2, whole=True)
        check_number("n_offspring", self.n_offspring, low=1, whole=True)
        check_number("max_generations", self.max_generations, low=0, whole=True)
        check_number(
            "max_no_improvement", self.max_no_improvement, low=1, whole=True, optional=True
        )
        check_number("max_time", self.max_time, low=0, optional=True)
        check_number("variance_floor", self.variance_floor, low=1e-12, high=1)


def _log_generation(state: State) -> None:
    assert state.best is not None
    logger.info(
        "generation %d: best %.6g, %d local searches, %.1f s",
        state.generation,
        state.best.objective,
        state.n_local_searches,
        state.elapsed,
    )
