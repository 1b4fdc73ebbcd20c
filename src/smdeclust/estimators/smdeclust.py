"""SMDEClust: the memetic method as a scikit-learn estimator. Strings become objects here."""

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse

from smdeclust.constraints import Constraints
from smdeclust.estimators.base import ConstrainedClusterer
from smdeclust.estimators.parameters import (
    DEPRECATED,
    anything,
    check_callable,
    check_choice,
    check_number,
    documented,
    flag,
    given_formerly,
    number,
    warn_renamed,
)
from smdeclust.estimators.search import NAMES as SEARCH
from smdeclust.estimators.search import Search
from smdeclust.estimators.soft import SoftPrices, prices_of_bounds
from smdeclust.estimators.warm import CUT_OFF, Earlier, FittedOn, as_earlier
from smdeclust.exceptions import InvalidInputError
from smdeclust.local_search import PROOF_PIVOTS, Limits, Searches, can_go_deep, prove
from smdeclust.memetic import Islands, Operators, State, evolve_islands, stopping
from smdeclust.memetic.crossover import DifferentialCrossover
from smdeclust.memetic.initialization import random_points, spread_points, start_near
from smdeclust.memetic.jumping import (
    FEW_CLUSTERS,
    VERY_MANY,
    Jumps,
    ground_to_jump_on,
    jumping_kinds,
)
from smdeclust.memetic.mutation import REASSIGN, RelocationMutation, no_mutation
from smdeclust.memetic.population import SAME
from smdeclust.memetic.replacement import Replacement
from smdeclust.points import is_dask
from smdeclust.problem import Problem, Solution

logger = logging.getLogger("smdeclust")

# What the last proof, for the solution that is returned, may cost on a dense core.
LAST_PROOF_PIVOTS = 50_000

# variant -> assignment step of crossover and mutation, and whether there is mutation
VARIANTS = {
    "S-MDE": ("exact", False),
    "SM-MDE": ("exact", True),
    "SG-MDE": ("greedy", False),
    "SMG-MDE": ("greedy", True),
}

# By default: at most SEARCHES_TIMES_SIZE / (N K d) local searches, at least LEAST_SEARCHES; fewer
# (in proportion) with very many clusters, where jumps do most of the work.
SEARCHES_TIMES_SIZE = 1e10
LEAST_SEARCHES = 100

# From this many points x features x clusters on, APART populations that all end differently are
# merged at once: ten took twice as long, for objectives from 0.09% lower to 0.04% higher.
LARGE, APART = 10**6, 5


def check_metric(name: str, value: Any) -> None:
    """Raise an error unless `value` is a metric; for "cosine", it says what to do."""
    if value == "cosine":
        raise InvalidInputError(
            "There is no metric='cosine', because it is the Euclidean distance of rows of length "
            "1. Scale the rows first: make_pipeline(sklearn.preprocessing.Normalizer(), model)."
        )
    check_choice(name, value, ("euclidean", "diagonal", "learned", "auto"))


def check_penalty(name: str, value: Any) -> None:
    """Raise an error unless `value` is a finite number from 0, or None."""
    if value is not None and value == np.inf:
        raise InvalidInputError(
            "penalty must be finite: pass pairs that must hold as must_link= and cannot_link=."
        )
    check_number(name, value, low=0, optional=True)


@documented(former=SEARCH)
class SMDEClust(ConstrainedClusterer):
    """Minimum sum-of-squares clustering under strict must-link and cannot-link constraints.

    A population of solutions evolves by differential crossover of matched centers and optional
    mutation; every offspring is refined by a local search whose assignment step is exact, so every
    solution satisfies every constraint. Populations run one after another until several of them
    have ended with the same best objective; :meth:`from_paper` is the published method: one
    population and a simpler local search.

    Parameters
    ----------
    n_clusters
        Number of clusters, K.
    search
        How much to search: ``"standard"``; ``"quick"``, about as long as k-means with ten starts;
        ``"paper"``, the published method (see :meth:`from_paper`); or a :class:`Search`.
    size_min, size_max
        Smallest and largest size of a cluster: one number for all clusters, or K numbers, which the
        search assigns to the clusters; ``None``: no bound.
    size_by
        What sizes count: ``"points"``, or ``"weight"`` for sums of ``sample_weight``.
    penalty
        A broken soft pair costs `penalty` times its confidence. ``None``: the price follows from
        the confidence p, 4 s^2 log(p / (1 - p)), where s^2 is the variance of a coordinate inside
        the clusters, so that 0.5 costs nothing and 1 is a hard pair.
    max_time
        Seconds for the whole run; after that the best solution so far is returned. ``None``: no
        limit.
    device
        ``None``: the compiled engine. ``"cuda"``, ``"cpu"`` or another PyTorch device: points are
        stored there, and with ``Search(replacement="generation")`` a whole generation is refined at
        once. (Needs ``smdeclust[torch]``; no Kempe swaps. Single precision if that is enough; the
        CPU repeats the last assignment in double precision.)
    metric
        ``"euclidean"``: squared distances of the data as given, as in the paper. ``"learned"``: a
        distance learned from the pairs and the clusters (see :class:`LearnedDistance`; it does not
        depend on the units of the columns). ``"diagonal"``: the same with one weight for each
        column; this also works for sparse data and Dask collections. ``"auto"``: learned, unless
        the Euclidean distance does better on held-out pairs by more than one standard error
        (for sparse data and Dask: diagonal instead of learned). Without pairs, nothing is learned.
    warm_start
        Whether ``fit`` continues from the solution of the last ``fit`` of this estimator, if that
        had as many clusters and features: the earlier solution (and the next best ones found) joins
        the population, repaired if new pairs break it; two populations that agree are enough
        (unless `max_time` or `callback` ended the last fit); and clusters keep their numbers. If
        the last fit was complete, the points are the same, and the only change is added pairs that
        its solution already keeps, that solution is returned.
    init
        An earlier solution to start from in the same way: (N,) labels (-1 where unknown), (K, d)
        centers, or a fitted model (except if scikit-learn clones this estimator, because the clone
        of a model is not fitted). With ``warm_start``, the last ``fit`` comes first.
    random_state
        Seed, ``RandomState``, ``numpy.random.Generator`` or ``None``. The same seed
        gives the same result.
    callback
        Called with the state of the current population after every local search. If it returns
        True, the run ends and the best solution so far is returned.
    verbose
        1: log one line per generation.
    assignment, mutation, local_search, population_size, max_populations, n_agree
        Deprecated: now a field of :class:`Search`.
    max_no_improvement, tol, relative, scale_factor, alpha, max_local_searches
        Deprecated: now a field of :class:`Search`.
    max_generations, max_local_iter, replacement
        Deprecated: now a field of :class:`Search`.

    Attributes
    ----------
    labels_
        (N,) cluster of each point; all constraints hold.
    cluster_centers_
        (K, d) means of the clusters in the units of the data, in lexicographic order, or in the
        order of an earlier solution (``warm_start``, ``init``).
    inertia_
        Sum of (weighted) squared distances from the points to the centers of their clusters, in the
        distance that `metric_` names. Values in different distances cannot be compared.
    objective_
        What was minimized: `inertia_` plus the prices of the soft pairs in `broken_`.
    broken_
        The broken soft pairs, most expensive first: ``pair``, ``kind``, ``confidence``, ``price``,
        and ``keeping``, what keeping it would have cost with the same centers and all other
        constraints (NaN if that was not computed or not proven).
    soft_prices_
        What breaking a soft pair costs: ``soft_prices_(0.9)`` is the price at confidence 0.9, here
        and in ``predict``.
    quotas_
        One entry per quota: ``name``, ``value``, ``of``, ``low``, ``high`` (arrays in the order of
        the clusters where bounds differ); ``held``, what each cluster contains of it; and
        ``price``, what its bound costs each cluster. With the same centers, allowing one more
        (point, or unit of a number) than `high` would save up to a positive price; allowing one
        less than `low` would save up to minus a negative price. NaN if that was not computed
        (Dask, more than 10^7 points x clusters).
    metric_
        ``"euclidean"``, ``"diagonal"`` or ``"learned"``: the distance that was used.
    distance_
        The fitted :class:`LearnedDistance`, or ``None`` if the distance is Euclidean. ``predict``,
        ``transform`` and ``score`` use it.
    feature_weights_
        (d,) how much each column counts in a learned distance, 1 on average.
    held_out_
        After ``metric="auto"``: the skill of each distance, which is the share of held-out
        must-links that it kept plus the share of held-out cannot-links, minus 1.
    cluster_sizes_, size_bounds_
        With bounds on sizes: the (K,) sizes of the clusters, and the (K, 2) bounds of each.
    size_prices_
        (K,) what these bounds cost, like ``price`` in `quotas_`.
    n_iter_
        Number of generations, over all populations.
    n_populations_
        Number of populations, including the last one, which combines the others.
    n_local_searches_, n_local_iterations_
        Local searches in all populations, counted as in ``Search.max_local_searches``, and their
        iterations in total (including those of further searches after jumps).
    proven_
        Whether the last assignment of the returned solution is proven to be optimal for its
        centers. (``n_unproven_`` is 0 then, otherwise 1.)
    notes_
        Sentences that say what was skipped, if anything was.
    stop_reason_
        ``"agreement"``, ``"max_populations"``, ``"max_local_searches"``, ``"max_time"`` or
        ``"callback"``; with a single population also ``"collapse"``, ``"no_improvement"`` or
        ``"max_generations"``; ``"unchanged"`` if a warm start had nothing to do.
    history_
        Arrays of equal length, one entry per generation: ``generation`` (numbered across all
        populations), ``evaluations`` (local searches so far), ``time``, ``best`` (of the run so
        far), and ``mean``, ``worst``, ``diversity`` of the current population. With a learned
        distance also ``criterion``, one entry per round of learning, which decreases.
    """

    n_clusters: int = anything(3, kw_only=False)
    search: str | Search = "standard"
    size_min: Any = None
    size_max: Any = None
    size_by: str = "points"
    penalty: float | None = anything(None, check=check_penalty)
    max_time: float | None = number(None, low=0)
    device: str | None = None
    metric: str = anything("euclidean", check=check_metric)
    warm_start: bool = flag(False)
    init: Any = None
    random_state: Any = None
    callback: Callable[[State], bool | None] | None = anything(None, check=check_callable)
    verbose: int = 0

    _knows_soft = _knows_quotas = True
    # What proofs may cost on a dense core: that of each local search, and the last one.
    _proof_pivots: ClassVar[tuple[int, int]] = (PROOF_PIVOTS, LAST_PROOF_PIVOTS)

    @classmethod
    def from_paper(cls, variant: str = "SG-MDE", *, n_clusters: int, **overrides: Any) -> Self:
        """The paper's exact settings for one of its variants: S-MDE, SM-MDE, SG-MDE, SMG-MDE.

        `overrides` are parameters of this class and fields of :class:`Search`.
        """
        check_choice("variant", variant, tuple(VARIANTS))
        assignment, mutation = VARIANTS[variant]
        setting = {name: overrides.pop(name) for name in SEARCH if name in overrides}
        search = Search.preset(overrides.pop("search", "paper"))
        setting = {"assignment": assignment, "mutation": mutation} | setting
        return cls(n_clusters, search=search.replace(**setting), **overrides)

    def _fit(self, X: Any, known: Constraints, weight: Any, deadline: float | None) -> Self:
        self._search = self._chosen_search()
        if self.metric != "euclidean":
            from smdeclust.estimators.metric import fit_in_distance

            return fit_in_distance(self, X, known, weight, deadline)
        self.metric_, self.distance_ = "euclidean", None
        with self._where(X) as storage:
            problem = self._build_problem(X, known, weight, deadline, storage)
            if known.n_soft:
                prices = SoftPrices.estimate(problem, self.penalty, deadline)
                problem = Problem.of(problem.with_soft(prices.pairs(known)), problem.X, storage)
            # What this fit is of, where a warm start may find that it has been solved before.
            may_be = self.warm_start and not (is_dask(X) or known.n_soft or problem.quotas)
            now = FittedOn.of(self, problem) if may_be else None
            if now is not None and self._is_solved_already(now):
                return self
            earlier = self._earlier(problem)
            best = self._evolve(problem, self._operators(problem, deadline), deadline, earlier)
            early = self.stop_reason_ in CUT_OFF
            if now is not None and not early:
                self._fitted_on = now
            most, pivots = self._search.max_local_iter, self._proof_pivots[1]
            if (not early and pivots) or not problem.points.abilities.exact:
                best = prove(problem, best, Limits.of(most, pivots, deadline))
            self.n_unproven_, self.proven_ = int(not best.proven), bool(best.proven)
            self._take_notes(problem)
            self._set_solution(problem, best.labels, like=earlier)
            if known.n_soft:
                self.soft_prices_ = prices
            here = None if is_dask(X) else problem
            self._weigh_soft_pairs(problem.soft, known, here, deadline)
            self._price_bounds(problem)
            return self

    def _price_bounds(self, problem: Problem) -> None:
        """Set what the bounds cost, one price per bound and cluster."""
        if problem.bounds is None or not self._proof_pivots[1]:
            return
        prices = prices_of_bounds(problem, self.labels_, self.cluster_centers_)
        ends = np.cumsum([1, *(len(q.sums(problem.n_clusters)) for q in problem.quotas)])
        own, *others = np.split(prices, ends[:-1])
        if problem.has_sizes:
            self.size_prices_ = own[0]
        for quota, price in zip(self.quotas_, others, strict=True):
            quota["price"] = price.sum(axis=0)

    def _is_solved_already(self, now: FittedOn) -> bool:
        """Whether the solution of the last fit is that of this fit too; if so, take it over."""
        before = getattr(self._last, "_fitted_on", None)
        if before is None or not now.still_solved_by(self._last.labels_, before):
            return False
        self.__dict__.update(vars(self._last))
        self._fitted_on = now
        self.n_iter_ = self.n_populations_ = self.n_local_searches_ = self.n_local_iterations_ = 0
        self.stop_reason_ = "unchanged"
        return True

    def _earlier(self, problem: Any) -> Earlier | None:
        """The solution to continue from, if there is one."""
        last = getattr(self._last, "cluster_centers_", None) if self.warm_start else None
        if last is not None and last.shape == (problem.n_clusters, problem.n_features):
            return as_earlier(self._last, problem)
        return None if self.init is None else as_earlier(self.init, problem)

    # The storage of the points, where it is not to be chosen by what they are: for tests.
    _storage: Any = None

    @contextmanager
    def _where(self, X: Any) -> Iterator[Any]:
        """The storage for the points; a Dask cluster is there for a while."""
        if self.device is not None and (is_dask(X) or issparse(X)):
            kind = "a Dask collection" if is_dask(X) else "sparse"
            raise InvalidInputError(
                f"device={self.device!r} needs a dense array in memory, but X is {kind}. Use "
                f"device=None (the default), or pass a dense array."
            )
        if is_dask(X):
            from smdeclust.points.dask_cluster import active_cluster
            from smdeclust.points.dask_points import DaskPoints

            with active_cluster() as cluster:
                yield partial(DaskPoints, cluster=cluster)
                self.network_bytes_ = cluster.n_bytes
        else:
            yield self._storage if self.device is None else f"torch:{self.device}"

    def _take_notes(self, problem: Problem) -> None:
        """Say what was left out, in the result and in the log."""
        notes = []
        if self._search.local_search == "deep" and not can_go_deep(problem):
            notes.append(
                "Kempe swaps were skipped: they need a contracted copy of the points in memory, "
                "and points x features x clusters of at most 2^23."
            )
            if problem.points.abilities.sampled and not problem.points.abilities.contracted:
                notes[-1] += " Jumps, if any, were evaluated on a sample of the points."
            elif not problem.points.abilities.contracted:
                notes[-1] += " Searches were as with local_search='lloyd'."
        if self.n_unproven_:
            notes.append(
                "The last assignment is not proven to be optimal for its centers: the time or the "
                "budget for the proof ran out first."
            )
        for note in notes:
            logger.info("note: %s", note)
        self.notes_ = notes

    def _evolve(
        self,
        problem: Problem,
        operators: Operators,
        deadline: float | None,
        earlier: Earlier | None = None,
    ) -> Solution:
        """Run the method, keep its counters, and return the best solution."""
        search, n_agree = self._search, self._search.n_agree
        kinds, confirm = [operators], None
        ground = ground_to_jump_on(problem) if search.local_search == "deep" else None
        if ground is not None:
            bounded, steps = problem.group_bounds is not None, operators.in_two_steps
            jumps = Jumps(ground, operators.local_search, deadline, bounded, steps)
            kinds = jumping_kinds(operators, jumps)
            confirm = jumps.confirm if problem.n_clusters >= FEW_CLUSTERS else None
        near: Solution | None = None
        if earlier is not None:
            near = operators.local_search(problem.enter(earlier.centers))
            starts = [near.centers, *map(problem.enter, earlier.others)]
            kinds = [start_near(kind, starts, search.population_size) for kind in kinds]
            if earlier.settled:  # they begin where several have agreed, so two are enough
                n_agree = min(n_agree, 2)
        max_apart = search.max_populations if problem.size < LARGE else APART
        replacement = Replacement()
        if search.relative:
            replacement = Replacement(1e-10, relative=True, constant=problem.constant)
        state = evolve_islands(
            Islands(search.max_populations, n_agree, earlier is None, max_apart),
            kinds,
            search.population_size,
            replacement,
            self._stopping_rule(problem, deadline),
            self._generator(),
            self.callback,
            log_generation if self.verbose else None,
            confirm,
        )
        best = state.best
        assert best is not None
        if near is not None and near.objective <= best.objective * (1 + SAME):
            best = near  # no better one: no label changes without need
        self._elite = [problem.points.leave(other.centers) for other in state.elite.solutions[1:]]
        self.n_populations_ = state.island + 1
        self._record_search(state)
        return best

    def _operators(self, problem: Problem, deadline: float | None) -> Operators:
        """Wire the steps of Algorithm 1 together as the parameters say."""
        given, factor = self._search, self._search.scale_factor
        mutate: Any = no_mutation
        if given.mutation:
            mutate = RelocationMutation(problem, REASSIGN[given.assignment], given.alpha)
        limits = Limits.of(given.max_local_iter, self._proof_pivots[0], deadline)
        deep = given.local_search == "deep"
        search = Searches(problem, deep, limits)
        spread = deep and problem.points.abilities.contracted and problem.n_clusters >= VERY_MANY
        return Operators(
            initialize=spread_points(problem) if spread else random_points(problem),
            crossover=DifferentialCrossover(
                factor if isinstance(factor, tuple) else (factor, factor)
            ),
            mutate=mutate,
            local_search=search,
            in_two_steps=search.steps,
            search_all=search.all if given.replacement == "generation" else None,
        )

    def _stopping_rule(self, problem: Problem, deadline: float | None) -> stopping.StoppingRule:
        given, searches = self._search, self._search.max_local_searches
        limit = given.max_generations
        idle = given.max_no_improvement / 10 if given.relative else math.inf
        if searches == "auto":
            least = LEAST_SEARCHES * min(1.0, VERY_MANY / problem.n_clusters)
            searches = max(1, int(max(least, SEARCHES_TIMES_SIZE / problem.size)))
        return stopping.any_of(
            stopping.max_local_searches(int(searches)) if searches is not None else None,
            stopping.past(deadline),
            stopping.collapse(given.tol, given.relative),
            stopping.no_improvement(given.max_no_improvement, idle),
            stopping.max_generations(limit) if limit is not None else None,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _settings(self) -> dict[str, Any]:
        """The parameters, those of the search in one object, while a fit runs."""
        old = dict.fromkeys(SEARCH, DEPRECATED)
        return self.get_params(deep=False) | old | {"search": self._search}

    def _chosen_search(self) -> Search:
        """The search, with what was given under the former names of its fields."""
        old = given_formerly(self, SEARCH)
        for name in old:
            warn_renamed("SMDEClust", name, f"search=Search({name}=...)")
        search = Search.preset(self.search)
        return search.replace(**old) if old else search


def log_generation(state: State) -> None:
    """Log one line."""
    assert state.best is not None
    place, best = (state.island + 1, state.generation), state.best.objective
    text = "population %d, generation %d: best %.6g, %d local searches, %.1f s"
    logger.info(text, *place, best, state.n_local_searches, state.elapsed)
