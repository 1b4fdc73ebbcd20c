"""S-HG-MEANS (Gribel, Gendreau, Vidal 2022): soft, memetic."""

from dataclasses import dataclass

import numpy as np

from smdeclust.baselines.base import Task, UnweightedBaseline, spread_groups
from smdeclust.baselines.pieces import breed, links_of, make_seed, nearest_labels
from smdeclust.baselines.soft_hg_moves import (
    LEAST_GAIN,
    MOST_REASSIGNMENTS,
    likelihood,
    make_state,
    reassign,
    relocate,
    reset,
)
from smdeclust.estimators.parameters import anything, current, documented, former, number, whole
from smdeclust.estimators.smdeclust import log_generation
from smdeclust.local_search import local_search
from smdeclust.memetic import State, rules
from smdeclust.memetic.operators import exchange
from smdeclust.problem import Problem, Solution

# k-means of the first population ends here at the latest.
MOST_LLOYD = 200
# A confidence of 1 stands for this much less: its odds p / (1 - p) are large, not infinite.
SURE = 1.0 - 1e-6
# Layers of the block model.
MUST, CANNOT = 0, 1


@documented
class SoftHGMeans(UnweightedBaseline):
    """S-HG-MEANS (Gribel, Gendreau and Vidal 2022): a memetic method for pairs that may be wrong.

    It looks for the most likely labels under spherical Gaussians with one variance for each
    cluster, and a model of the pairs that states how many of them are expected to be right. It may
    break pairs, even with ``confidence=1``.
    """

    _attributes = {  # noqa: RUF012
        "objective_": "The negative logarithm of the likelihood, up to a constant.",
        "n_iter_": "The number of generations.",
        "n_local_searches_, n_local_iterations_": "The number of local searches, and of their\n"
        "passes over the points.",
        "stop_reason_": '``"max_generations"``, ``"no_improvement"`` or ``"max_time"``.',
        "history_": "Arrays with one entry for each generation.",
    }

    confidence: float | None = number(
        1.0,
        "The share of pairs that are expected to be right. ``None`` means no prior.",
        low=1e-6,
        high=1,
        optional=True,
    )
    accuracy: float | None = former("confidence")
    population_size: int = whole(10, "The number of solutions that survive a generation.", low=2)
    n_offspring: int = whole(10, "The number of offspring per generation.", low=1)
    max_generations: int = whole(50, "The maximum number of generations.", low=0)
    max_no_improvement: int | None = whole(
        None,
        "Stop after this many offspring in a row that do not improve the best solution, or None.",
        low=1,
    )
    variance_floor: float = number(
        1e-3,
        "The smallest variance of a cluster, as a share of that of all points. Without it, a\n"
        "cluster of a single point would have an infinite likelihood.",
        low=1e-12,
        high=1,
    )
    verbose: int = anything(0, "1 logs one line for each generation.")

    def _solve(self, task: Task) -> np.ndarray:
        problem, deadline, together, apart = task
        confidence = current(self, "confidence")
        model = Model.build(problem, together, apart, confidence, self.variance_floor)
        stop = rules.stopping(
            deadline=deadline, patience=self.max_no_improvement, generations=self.max_generations
        )
        state = self._evolve(problem, model, stop, self._generator())
        assert state.best is not None
        self.objective_ = state.best.objective
        return self._record_search(state)

    def _evolve(
        self, problem: Problem, model: "Model", stop: rules.StoppingRule, rng: np.random.Generator
    ) -> State:
        """Cross two parents' centers, move one center, descend, survive; return the final state."""
        initialize, n = spread_groups(problem), self.population_size

        def start() -> Solution:
            found = local_search(problem, initialize(rng), max_iter=MOST_LLOYD)
            return descend(model, found.labels, rng)

        def offspring(population: list[Solution]) -> Solution:
            chosen = rng.choice(len(population), size=2, replace=False)
            first, second = (population[i] for i in chosen)
            centers = exchange(first, second, first, rng)
            centers[rng.integers(len(centers))] = model.points[rng.integers(len(model.points))]
            labels = nearest_labels(model.points, np.ones(problem.n_points), centers)
            return descend(model, labels, rng)

        log = log_generation if self.verbose else None
        return breed(start, offspring, (n, n, n + self.n_offspring), stop, on_generation=log)


@dataclass(frozen=True)
class Model:
    """The data of the likelihood; repeated pairs count each time, loops not at all."""

    points: np.ndarray  # (N, d'), maybe rotated
    n_features: int  # d, of the data as given
    n_clusters: int
    indptr: np.ndarray  # the links of each point, symmetric,
    indices: np.ndarray
    layers: np.ndarray  # and the layer of each
    n_links: np.ndarray  # (2,) links of each layer
    confidence: float | None  # p, or None for no prior
    least_variance: float  # no cluster's variance is taken to be smaller

    @classmethod
    def build(
        cls,
        problem: Problem,
        must_link: np.ndarray,
        cannot_link: np.ndarray,
        confidence: float | None,
        variance_floor: float,
    ) -> "Model":
        """Sort the links by point; the floor is a share of the variance of all points."""
        ones = np.ones(len(must_link) + len(cannot_link))
        links = links_of(problem.n_points, must_link, cannot_link, ones)
        layers = np.where(links.together, MUST, CANNOT)
        points, sure = problem.contracted.points, confidence and min(confidence, SURE)
        variance = float((points**2).sum()) / (problem.n_points * problem.n_features)
        n_links, least = np.bincount(layers, minlength=2) // 2, variance_floor * variance or 1.0
        return cls(
            points, problem.n_features, problem.n_clusters, links.indptr, links.indices, layers,
            n_links, sure, least,
        )  # fmt: skip

    def prior(self, sizes: np.ndarray) -> np.ndarray:
        """Return beta as (2, 2): layer, and links within a cluster or between two.

        Zero without a prior, and for a layer without links.
        """
        beta = np.zeros((2, 2))
        p = self.confidence
        if p is None:
            return beta
        n = float(sizes.sum())
        within = 0.5 * float((sizes * (sizes + 1.0)).sum())
        between = 0.5 * n * (n + 1) - within
        odds = p / (1 - p)
        if self.n_links[MUST]:
            b = (p * within + (1 - p) * between) / (self.n_links[MUST] * p)
            beta[MUST] = b, b * odds
        if self.n_links[CANNOT]:
            b = ((1 - p) * within + p * between) / (self.n_links[CANNOT] * p)
            beta[CANNOT] = b * odds, b
        return beta


def descend(model: Model, labels: np.ndarray, rng: np.random.Generator) -> Solution:
    """Improve (N,) labels without empty clusters.

    The prior is that of the sizes at the start of each round; rounds continue while the objective,
    with the prior of its own sizes, falls.
    """
    linked = np.flatnonzero(np.diff(model.indptr) > 0)
    free = np.flatnonzero(np.diff(model.indptr) == 0)
    seed = make_seed(rng)
    sizes = np.bincount(labels, minlength=model.n_clusters)
    state = make_state(model, labels, model.prior(sizes))
    graph = model.points, model.indptr, model.indices, model.layers
    rest = model.n_links, model.confidence is not None
    best, objective, n_passes = np.array(labels), likelihood(*rest, state), 0
    while True:
        passes = relocate(*graph, linked, state, seed) if len(linked) else 0
        changed = reassign(model.points, free, state, MOST_REASSIGNMENTS) if len(free) else 0
        n_passes += passes + changed
        state.beta[:] = model.prior(state.sizes)
        reset(*graph, state)
        found = likelihood(*rest, state)
        if not found < objective - LEAST_GAIN:
            break
        best, objective = state.labels.copy(), found
    centers = np.array([model.points[best == k].mean(axis=0) for k in range(model.n_clusters)])
    return Solution(best, centers, objective, max(n_passes, 1), proven=False)
