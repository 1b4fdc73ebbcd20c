"""GuidedClustering: several views of the points, weighted by held-out pairs and labels."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import expit
from threadpoolctl import threadpool_limits

from smdeclust.assignment import Budget, assign_groups
from smdeclust.constraints import Constraints
from smdeclust.constraints.store import SOFT
from smdeclust.estimators.base import ConstrainedClusterer
from smdeclust.estimators.parameters import anything, check_callable, documented, number
from smdeclust.estimators.search import Search
from smdeclust.estimators.smdeclust import SMDEClust
from smdeclust.estimators.soft import SoftPrices, spread_inside
from smdeclust.exceptions import InvalidInputError, NoFeasibleSolutionError
from smdeclust.local_search.state import is_past
from smdeclust.memetic.algorithm import Operators
from smdeclust.memetic.jumping import Jumps, ground_to_jump_on
from smdeclust.points import is_dask
from smdeclust.problem import Problem, Solution
from smdeclust.structure import Structure
from smdeclust.structure.pairs import count_broken
from smdeclust.views import (
    AsGiven,
    Classes,
    Guided,
    Learned,
    NeighborGraph,
    Parts,
    Scene,
    View,
    guide,
)
from smdeclust.views.consensus import TAKEN
from smdeclust.views.graph import LEAST_WEIGHT
from smdeclust.views.scene import Clock, rows_to_learn_from

# Views by name; the plainest first, because it is seen whatever the time.
VIEWS: dict[str, Callable[[], View]] = {
    "given": AsGiven,
    "learned": Learned,
    "graph": NeighborGraph,
    "graph-learned": lambda: NeighborGraph(learned=True),
    "parts": Parts,
    "classes": Classes,
}

# Those that pairs teach, so that without pairs they see nothing of their own.
TAUGHT = ("learned", "graph-learned", "classes")

# Views see this many rows at most; the others are placed among them.
MAX_ROWS = 20_000

# Points x features x clusters x local searches that a clustering may take: four searches at least.
# Where this many are affordable, each of them goes deep; elsewhere only the best one jumps.
WORK = 8e6
DEEP = 8

# Nodes of branch and bound and simplex pivots that an assignment may take on dense cannot-links
# (local searches do without): views need good labels, not proven ones.
MAX_NODES = 50
PIVOTS = 200

# Rows that are placed at a time.
BLOCK = 20_000
# Seconds for first labels that keep everything, where none were found in the time.
GRACE = 3.0


@documented
class GuidedClustering(ConstrainedClusterer):
    """Find clusters of any shape that agree with your pairs and labels.

    The points are clustered in several views: as given, with a learned distance, along a graph of
    nearest neighbors, with several centers for each cluster, and with a classifier learned from the
    pairs. Each view gets a weight that depends on how many held-out pairs it satisfies, and
    :class:`SMDEClust` combines the views. The result satisfies all hard pairs, bounds and quotas.

    Parameters
    ----------
    n_clusters
        The number of clusters, K.
    views
        ``"auto"`` uses all views or, if there are no pairs, all that need none. Otherwise, a name
        or a list of names (``"given"``, ``"learned"``, ``"graph"``, ``"graph-learned"``,
        ``"parts"``, ``"classes"``). The list may contain your own objects with the methods of
        :class:`~smdeclust.views.View`.
    size_min, size_max, size_by
        Bounds on the sizes of clusters, as in :class:`SMDEClust`.
    max_time
        The time limit in seconds. Views that do not finish in time are skipped.
    random_state, callback, verbose
        As in :class:`SMDEClust`. The callback is called with the state of each search.

    Attributes
    ----------
    labels_
        The cluster of each point, as an (N,) array.
    cluster_centers_
        The (K, d) means of the clusters in the units of the data, in lexicographic order. `predict`
        does not use them, because clusters need not be round.
    inertia_
        The (weighted) sum of squared distances from the points to the means of their clusters.
    objective_, broken_
        As in :class:`SMDEClust`, but ``keeping`` is not computed.
    view_weights_
        The weight of each view, by its name. The weights add up to 1.
    held_out_
        The score of each view, of the ``"consensus"`` of all views, of the ``"refined"`` consensus
        and, with many pairs, of the consensus ``"refined again"``. It estimates the adjusted Rand
        index from held-out pairs. Without pairs, it is empty.
    views_
        The ``labels`` and ``coordinates`` of each view, by its name.
    decided_by_
        Which clustering was chosen: ``"consensus"``, ``"refined"``, ``"refined again"``, or the
        name of the only view.
    quotas_
        As in :class:`SMDEClust`, without prices.
    notes_
        Sentences about how the clustering was chosen, and about steps that were skipped.

    Examples
    --------
    >>> from smdeclust import GuidedClustering
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> model = GuidedClustering(2, random_state=0)
    >>> pairs = {"must_link": [(0, 2), (2, 3)], "cannot_link": [(0, 1), (3, 4)]}
    >>> sorted(model.fit(X, **pairs).view_weights_)
    ['classes', 'given', 'graph', 'graph-learned', 'learned', 'parts']
    """

    n_clusters: int = anything(3, kw_only=False)
    views: Any = "auto"
    size_min: Any = None
    size_max: Any = None
    size_by: str = "points"
    max_time: float | None = number(None, low=0)
    random_state: Any = None
    callback: Callable[[Any], bool | None] | None = anything(None, check=check_callable)
    verbose: int = 0

    _knows_soft = _knows_quotas = True
    _by_centers = False

    def _fit(self, X: Any, known: Constraints, weight: Any, deadline: float | None) -> Self:
        if is_dask(X):
            raise InvalidInputError(
                "GuidedClustering needs a dense array in memory, but X is a Dask collection. Pass "
                "X.compute(), or use SMDEClust, which works on Dask."
            )
        # Says what is wrong with pairs and sizes before anything else is done.
        problem = self._build_problem(X, known, weight, deadline)
        points, known = problem.X, known._with(n_points=problem.n_points)
        sizes = {name: getattr(self, name) for name in ("size_min", "size_max", "size_by")}
        seed, clock = int(self._generator().integers(2**31)), Clock(deadline)
        engine = _Engine(self.n_clusters, sizes, problem.sample_weight, seed, clock, self.callback)
        self._frame = _Unit.of(points)
        confident = _confident(known, problem, deadline)
        with threadpool_limits(1, user_api="blas"):  # two are slower on matrices this small
            labels = self._guide(points, confident, engine, seed)
        self._describe(problem, known, labels)
        return self

    def _guide(
        self, points: np.ndarray, known: Constraints, engine: "_Engine", seed: int
    ) -> np.ndarray:
        """See, weigh, merge; place the rows that no view saw."""
        n_points = len(points)
        rows = rows_to_learn_from(n_points, known, np.random.default_rng(seed), MAX_ROWS)
        whole = len(rows) == n_points
        given = points, known, engine
        if not whole:  # bounds are on clusters of all rows
            given = points[rows], known[rows]._with(quotas=()), engine.on(rows)
        shown = self._frame.enter(given[0])
        scene = Scene(shown, self.n_clusters, *given[1:], seed, 0, given[2].weight)
        self._guided = guide(scene, self._chosen_views(bool(given[1])))
        return self._guided.decision.labels if whole else self._place(points, known, rows, engine)

    def _place(
        self, points: np.ndarray, known: Constraints, rows: np.ndarray, engine: "_Engine"
    ) -> np.ndarray:
        """Labels of all rows, of which views saw only some."""
        outside = np.ones(len(points), dtype=bool)
        outside[rows] = False
        pairs, bounded = known.all_as_hard(), engine.sized or known.quotas
        if bounded or any(outside[p].any() for p in (pairs.must_link, pairs.cannot_link)):
            costs = np.concatenate([some for _, some in self._costs(points)])
            return engine.assign(costs, known, self._guided.decision.unit, None)
        # Everything that is known is about rows that were seen: the others go where they fit best.
        labels = np.concatenate([costs.argmin(axis=1) for _, costs in self._costs(points)])
        labels[rows] = self._guided.decision.labels
        return labels

    def _chosen_views(self, any_pairs: bool) -> list[View]:
        """The views that `views` stands for."""
        chosen = self.views
        if isinstance(chosen, str) and chosen == "auto":
            chosen = [name for name in VIEWS if any_pairs or name not in TAUGHT]
        if isinstance(chosen, str) or not isinstance(chosen, Sequence):
            chosen = [chosen]
        found: list[View] = []
        for view in chosen:
            if isinstance(view, str) and view in VIEWS:
                view = VIEWS[view]()
            if not all(hasattr(view, name) for name in ("name", "prepare", "see", "place")):
                raise InvalidInputError(
                    f"views: {view!r} is neither the name of a view ({', '.join(VIEWS)}) nor an "
                    f"object with a name and the methods prepare, see and place."
                )
            found.append(view)
        names = [view.name for view in found]
        if not found or len(set(names) - TAKEN) < len(names):
            raise InvalidInputError(
                f"views must be one view or several of different names, which may not be "
                f"{', '.join(sorted(TAKEN))}. Got {names}."
            )
        return found

    def _describe(self, problem: Problem, known: Constraints, labels: np.ndarray) -> None:
        """Set the attributes of the result."""
        guided = self._guided
        self._set_solution(problem, problem.group_labels(labels))
        self._weigh_soft_pairs(self.soft_prices_.pairs(known), known)
        self._order = np.empty(self.n_clusters, dtype=np.int64)
        self._order[self.labels_] = labels
        self.view_weights_, self.held_out_ = guided.weights, guided.skill
        self.views_, self.decided_by_ = guided.seen, guided.decided_by
        left_out = [view.name for view in guided.views if view.name not in guided.seen]
        self.notes_ = _words(guided, left_out)

    def _prices_beside_costs(self) -> SoftPrices:
        return SoftPrices(self._guided.decision.unit)

    def _costs(self, points: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Every view places the points, and the weighted views decide."""
        order = getattr(self, "_order", slice(None))  # while it is fitted, as views number them
        for start in range(0, len(points), BLOCK):
            block = slice(start, start + BLOCK)
            with threadpool_limits(1, user_api="blas"):
                costs = self._guided.costs(self._frame.enter(points[block]))
            yield block, costs[:, order]


class _Short(SMDEClust):
    """A short run, whose labels need no proof. Where searches are not deep, the best one jumps."""

    _proof_pivots = (0, 0)

    def _evolve(
        self, problem: Problem, operators: Operators, deadline: float | None, earlier: Any = None
    ) -> Solution:
        best = super()._evolve(problem, operators, deadline, earlier)
        ground = ground_to_jump_on(problem) if self._search.local_search == "lloyd" else None
        if ground is None or is_past(deadline):
            return best
        jumps = Jumps(ground, operators.local_search, deadline, problem.group_bounds is not None)
        return min(best, jumps(best.centers), key=lambda found: found.objective)


@dataclass(eq=False)
class _Engine:
    """Clusters and assigns by the package's own methods, within limits.

    `first` are labels that keep everything, once some are known: they stand in where time ended
    before others were found.
    """

    n_clusters: int
    sizes: dict[str, Any]
    weight: np.ndarray | None
    seed: int
    clock: Clock
    callback: Callable[[Any], bool | None] | None
    first: np.ndarray | None = None

    def on(self, rows: np.ndarray) -> Self:
        """The same for some rows, whose clusters may have any sizes."""
        weight = None if self.weight is None else self.weight[rows]
        first = None if self.first is None else self.first[rows]
        if first is not None and len(np.unique(first)) < self.n_clusters:
            first = None
        return replace(self, sizes={}, weight=weight, first=first)

    @property
    def sized(self) -> bool:
        """Whether there are bounds on sizes."""
        return any(self.sizes.get(name) is not None for name in ("size_min", "size_max"))

    def cluster(
        self, points: np.ndarray, known: Constraints, init: np.ndarray | None, n_searches: int
    ) -> np.ndarray:
        """Labels of a short run of SMDEClust."""
        if self.clock.spent() >= 1 and self.first is not None:
            return self._stand_in(known, init)
        affordable = WORK / (points.size * self.n_clusters)
        n_searches, deep = int(np.clip(affordable, 4, n_searches)), affordable >= DEEP
        model = _Short(
            self.n_clusters,
            **self.sizes,
            max_time=self.clock.left(),
            init=init,
            random_state=self.seed,
            callback=self._ask,
            search=Search(
                population_size=4,
                max_populations=1,
                max_no_improvement=max(4, n_searches - 4),
                max_local_searches=n_searches,
                local_search="deep" if deep else "lloyd",
            ),
        )
        try:
            model.fit(points, constraints=known, sample_weight=self.weight)
        except NoFeasibleSolutionError:
            if self.first is not None:
                return self._stand_in(known, init)
            model.set_params(max_time=GRACE)  # some labels are needed, and are worth a wait
            model.fit(points, constraints=known, sample_weight=self.weight)
        return np.asarray(model.labels_)

    def _stand_in(self, known: Constraints, init: np.ndarray | None) -> np.ndarray:
        """Labels that keep all hard pairs: those to start from, or the first."""
        self.clock.n_stand_ins += 1
        if init is not None and not self.sized and not known.quotas:
            pairs = known.must_link, known.cannot_link
            if not sum(count_broken(*pairs, init)) and len(np.unique(init)) == self.n_clusters:
                return init
        assert self.first is not None
        return self.first

    def _ask(self, state: Any) -> bool:
        if self.callback is not None and self.callback(state):
            self.clock.stopped = True
        return self.clock.stopped

    def assign(
        self, costs: np.ndarray, known: Constraints, unit: float, otherwise: np.ndarray | None
    ) -> np.ndarray:
        """The labels of least cost, as far as the time and `PIVOTS` allow to look for them."""
        if self.clock.spent() >= 1 and otherwise is not None:
            self.clock.n_stand_ins += 1
            return otherwise
        soft, left = SoftPrices(unit).pairs(known), self.clock.left()
        until = np.inf if left is None else time.perf_counter() + max(left, 1.0)
        pairs = known.must_link, known.cannot_link
        structure = Structure.build(
            len(costs), self.n_clusters, *pairs, self.weight, soft=soft,
            quotas=known.quotas, deadline=until, **self.sizes,
        )  # fmt: skip
        if self.weight is not None:  # points of no weight have labels nevertheless
            costs = costs * np.maximum(self.weight, LEAST_WEIGHT * self.weight.mean())[:, None]
        upper = None if otherwise is None else structure.group_labels(otherwise)
        budget = Budget.of(max_time=self.clock.left(), max_nodes=MAX_NODES, max_pivots=PIVOTS)
        labels, _, _ = assign_groups(structure, structure.group_costs(costs), upper, budget)
        if labels is not None:
            return structure.expand(labels)
        if otherwise is not None:
            return otherwise
        # Time ended before anything feasible was found: a search finds it, whatever the time. Its
        # clusters get the numbers of the columns.
        found = self.cluster(costs, known, None, 1)
        by_cluster = np.zeros((self.n_clusters, costs.shape[1]))
        np.add.at(by_cluster, found, costs)
        return linear_sum_assignment(by_cluster)[1][found]


@dataclass(frozen=True, eq=False)
class _Unit:
    """Coordinates that are centered and of unit spread, whatever the data are measured in."""

    mean: np.ndarray
    size: float

    @classmethod
    def of(cls, points: np.ndarray) -> Self:
        mean = points.mean(axis=0, dtype=np.float64)
        blocks = range(0, len(points), BLOCK)  # large data are not copied
        largest = max(float(np.abs(points[b : b + BLOCK] - mean).max()) for b in blocks) or 1.0
        squares = (float((((points[b : b + BLOCK] - mean) / largest) ** 2).sum()) for b in blocks)
        return cls(mean, largest * (float(np.sqrt(sum(squares) / points.size)) or 1.0))

    def enter(self, points: np.ndarray) -> np.ndarray:
        return (points - self.mean) / self.size


def _confident(known: Constraints, problem: Problem, deadline: float | None) -> Constraints:
    """Soft pairs that have a price as soft pairs of the confidence that it stands for.

    Views have units of their own, in which a price would mean something else in each.
    """
    prices = {kind: getattr(known, f"{kind}_price") for kind in SOFT}
    if all(np.isnan(price).all() for price in prices.values()):
        return known
    # The least spread is that of all points alike, where a price is as good as certain.
    unit = 4 * max(spread_inside(problem, deadline), np.finfo(float).tiny)
    changes = {}
    for kind, price in prices.items():
        confidence = getattr(known, f"{kind}_confidence")
        changes[f"{kind}_confidence"] = np.where(np.isnan(price), confidence, expit(price / unit))
        changes[f"{kind}_price"] = np.full(len(price), np.nan)
    return known._with(**changes)


def _words(guided: Guided, left_out: list[str]) -> list[str]:
    """How it was decided, in sentences."""
    notes = []
    kept = {name: guided.kept[name] for name in guided.seen if name in guided.kept}
    if kept:
        order = sorted(kept, key=lambda name: -guided.weights[name])
        told = ", ".join(f"{name} {kept[name]:.0%}" for name in order)
        chance = "The weights are corrected for chance."
        notes.append(f"Shares of held-out pairs that the views satisfy: {told}. {chance}")
    elif len(guided.seen) > 1:
        notes.append("There were no pairs to hold out: views that agree have more weight.")
    if guided.share_right is not None:
        notes.append(
            f"About {guided.share_right:.0%} of the soft pairs seem to be right. This share was "
            f"used as their confidence."
        )
    if left_out:
        notes.append(f"Time ran out before these views were finished: {', '.join(left_out)}.")
    return notes
