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
    check_metric,
    check_penalty,
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
from smdeclust.local_search import PROOF_PIVOTS, Limits, Searches, can_go_deep, last_proof
from smdeclust.memetic import Islands, Operators, State, evolve_islands, rules
from smdeclust.memetic.jumping import VERY_MANY, kinds_that_jump
from smdeclust.memetic.operators import (
    REASSIGN,
    DifferentialCrossover,
    RelocationMutation,
    no_mutation,
    random_points,
    spread_points,
    start_near,
)
from smdeclust.memetic.population import SAME
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


@documented(former=SEARCH)
class SMDEClust(ConstrainedClusterer):
    """Cluster points under constraints so that the sum of squares is as small as possible.

    The result satisfies all hard pairs, bounds and quotas. Broken soft pairs add their prices to
    the sum of squares. The search is the memetic method of Mansueto and Schoen (2024) with a deeper
    local search: populations of clusterings evolve until several populations end with the same best
    objective. :meth:`from_paper` has the published settings.

    Parameters
    ----------
    n_clusters
        The number of clusters, K.
    search
        How long to search: ``"standard"``, ``"quick"`` (about as long as k-means with ten starts),
        ``"paper"`` (the published settings), or a :class:`Search`. Parameters that are also fields
        of :class:`Search` are deprecated.
    size_min, size_max
        The smallest and largest size of a cluster: one number for all clusters, or K numbers. With
        K numbers, the search decides which cluster gets which bound. ``None`` means no bound.
    size_by
        What a size counts: ``"points"``, or ``"weight"`` for the sum of `sample_weight`.
    penalty
        The price of a broken soft pair is `penalty` times its confidence. By default, the price is
        4 s^2 log(p / (1 - p)), where p is the confidence and s^2 is the variance of a coordinate
        inside the clusters of k-means.
    max_time
        The time limit in seconds. When it is reached, the best clustering so far is returned.
    device
        A PyTorch device to run on, such as ``"cuda"`` (needs ``smdeclust[torch]``). With
        ``Search(replacement="generation")``, it processes all clusterings of a generation at once.
        By default, compiled code runs on the CPU.
    metric
        The distance: ``"euclidean"``; ``"learned"``, which is learned from the pairs and the
        clusters (see :class:`LearnedDistance`); ``"diagonal"``, which learns only one weight for
        each column, and also works for sparse data and Dask collections; or ``"auto"``, which
        chooses a learned distance unless the Euclidean one is clearly better on held-out pairs.
        Without pairs, the distance is Euclidean.
    warm_start
        Whether ``fit`` starts from the result of the last ``fit``, if the numbers of clusters and
        features are the same. The search is shorter, and clusters keep their numbers. If only pairs
        were added since a complete fit and its result satisfies them, that result is returned.
    init
        An earlier clustering to start from in the same way: (N,) labels (-1 where unknown), (K, d)
        centers, or a fitted model. With `warm_start`, the last ``fit`` takes precedence.
    random_state
        A seed, a ``RandomState``, a ``numpy.random.Generator`` or ``None``. The same seed gives the
        same result.
    callback
        A function that is called with the state of the current population after every local search.
        If it returns True, the search stops and the best clustering so far is returned.
    verbose
        1 logs one line for each generation.

    Attributes
    ----------
    labels_
        The cluster of each point, as an (N,) array.
    cluster_centers_
        The (K, d) means of the clusters in the units of the data. They are in lexicographic order,
        or in the order of the earlier clustering (`warm_start`, `init`).
    inertia_
        The (weighted) sum of squared distances from the points to the centers of their clusters, in
        the distance that `metric_` names. Do not compare values in different distances.
    objective_
        The minimized objective: `inertia_` plus the prices of the pairs in `broken_`.
    broken_
        The broken soft pairs, most expensive first, with ``pair``, ``kind``, ``confidence``,
        ``price`` and ``keeping``. The last is the cost of satisfying the pair, with the same
        centers and all other constraints, or NaN if it was not computed.
    soft_prices_
        A function that returns the price of a soft pair: ``soft_prices_(0.9)``.
    quotas_
        One entry for each quota: ``name``, ``value``, ``of``, ``low``, ``high``; ``held``, the
        amount in each cluster; and ``price``, the price of the bound in each cluster. A positive
        price is the most that raising `high` by one could save. A negative price, without its sign,
        is the most that lowering `low` by one could save. Prices that were not computed are NaN.
    metric_
        The distance that was used: ``"euclidean"``, ``"diagonal"`` or ``"learned"``.
    distance_
        The fitted :class:`LearnedDistance`, or ``None`` if the distance is Euclidean.
    feature_weights_
        How much each column counts in a learned distance. The mean is 1.
    held_out_
        With ``metric="auto"``, the score of each distance: how well clusters in this distance agree
        with held-out pairs. 1 is perfect, and 0 is no better than chance.
    cluster_sizes_, size_bounds_
        With bounds on sizes, the (K,) sizes of the clusters and their (K, 2) bounds.
    size_prices_
        The price of these bounds in each cluster, as ``price`` in `quotas_`.
    n_iter_, n_populations_
        The numbers of generations and of populations.
    n_local_searches_, n_local_iterations_
        The number of local searches, and the total number of their iterations.
    proven_
        Whether the labels are proven optimal for the centers. (``n_unproven_`` is 0 or 1.)
    notes_
        Sentences about steps that were skipped.
    stop_reason_
        Why the search stopped: ``"agreement"``, ``"max_populations"``, ``"max_local_searches"``,
        ``"max_time"`` or ``"callback"``; with a single population also ``"collapse"``,
        ``"no_improvement"`` or ``"max_generations"``; ``"unchanged"`` if a warm start had nothing
        to do.
    history_
        Arrays with one entry for each generation: ``generation``, ``evaluations`` (local searches
        so far), ``time``, ``best`` (so far), and ``mean``, ``worst`` and ``diversity`` of the
        population. With a learned distance, ``criterion`` has one entry for each round of learning.

    Examples
    --------
    >>> from smdeclust import SMDEClust
    >>> X = [[0.0], [0.2], [5.0], [5.3], [9.0]]
    >>> SMDEClust(2, random_state=0).fit_predict(X, must_link=[(0, 2)]).tolist()
    [0, 0, 0, 1, 1]
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
        """Return an estimator with the settings of the paper.

        Parameters
        ----------
        variant
            ``"S-MDE"``, ``"SM-MDE"``, ``"SG-MDE"`` or ``"SMG-MDE"``.
        n_clusters
            The number of clusters.
        **overrides
            Parameters of this class and fields of :class:`Search` that differ from the paper.
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
                best = last_proof(problem, best, Limits.of(most, pivots, deadline))
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
            from smdeclust.points.dask_points import DaskPoints, active_cluster

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
        if search.local_search == "deep":
            kinds, confirm = kinds_that_jump(problem, operators, deadline)
        near: Solution | None = None
        if earlier is not None:
            near = operators.local_search(problem.enter(earlier.centers))
            starts = [near.centers, *map(problem.enter, earlier.others)]
            kinds = [start_near(kind, starts, search.population_size) for kind in kinds]
            if earlier.settled:  # they begin where several have agreed, so two are enough
                n_agree = min(n_agree, 2)
        max_apart = search.max_populations if problem.size < LARGE else APART
        least, constant = (1e-10, problem.constant) if search.relative else (1e-6, 0.0)
        replacement = rules.Replacement(least, search.relative, constant)
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

    def _stopping_rule(self, problem: Problem, deadline: float | None) -> rules.StoppingRule:
        given = self._search
        searches: Any = given.max_local_searches
        if searches == "auto":
            least = LEAST_SEARCHES * min(1.0, VERY_MANY / problem.n_clusters)
            searches = max(1, int(max(least, SEARCHES_TIMES_SIZE / problem.size)))
        return rules.stopping(
            searches=searches,
            deadline=deadline,
            tol=given.tol,
            relative=given.relative,
            patience=given.max_no_improvement,
            idle=given.max_no_improvement / 10 if given.relative else math.inf,
            generations=given.max_generations,
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
