"""A view, what it is shown, and what it sees.

A view is a way of seeing the points in which the wanted clusters may be simple. It is one object
with three methods: `prepare` does once what does not depend on constraints, `see` clusters the
points under some constraints, and `place` says where new points are.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.constraints import Constraints
from smdeclust.distance import FULL, Frame, learn
from smdeclust.points.centers import cluster_means
from smdeclust.structure.groups import contract
from smdeclust.structure.pairs import broken_pairs

# Seconds of a view grow by this power of the number of points: neighbors by the square, the rest by
# the number itself.
GROWTH = 1.5

# Rows that a distance is learned from at most; those in pairs come first.
MAX_LEARNED_FROM = 5000

# Variance between clusters that every direction is taken to have, where it is 1 inside them. With
# this many points per column it is twice as much, and soon more: few points say little.
LEAST_CONTRAST, FEW_PER_COLUMN = 0.2, 40


@dataclass(frozen=True, eq=False)
class Seen:
    """What a view sees; ``None`` for what it does not have."""

    labels: np.ndarray  # (N,) clusters from 0 to K - 1, in any order
    coordinates: np.ndarray | None = None  # (N, r) points as this view sees them
    # (N, m) for the last pass, which draws borders between classes on the features of all views
    features: np.ndarray | None = None
    model: Any = None  # whatever `place` needs to place new points


class View(Protocol):
    """A way of clustering the points, for `GuidedClustering`."""

    @property
    def name(self) -> str:
        """The name of the view in results."""

    def prepare(self, X: np.ndarray, n_clusters: int, seed: int) -> None:
        """Do what does not depend on constraints. It is called once, and may do nothing."""

    def see(self, scene: "Scene") -> Seen:
        """Cluster the points under the constraints of the scene."""

    def place(self, seen: Seen, X: np.ndarray) -> Seen:
        """Assign new points: return their labels and coordinates."""


class Clock:
    """Until when a run, and the present step of it, may continue; how often it ended too early."""

    def __init__(self, deadline: float | None) -> None:
        self.deadline = self.until = deadline
        self.begun = time.perf_counter()
        self.stopped = False
        self.n_stand_ins = 0
        self._paces: dict[str, float] = {}

    def spent(self) -> float:
        """Which share of the time is over: 0 without a limit, 1 after a stop."""
        if self.stopped or self.deadline is None:
            return float(self.stopped)
        total = self.deadline - self.begun
        return (time.perf_counter() - self.begun) / total if total > 0 else 1.0

    def left(self) -> float | None:
        """Seconds left for the present step."""
        if self.stopped:
            return 0.0
        return None if self.until is None else max(0.0, self.until - time.perf_counter())

    @contextmanager
    def timing(self, view: str, n_points: int) -> Iterator[None]:
        """Note how long a view takes for so many points."""
        begun = time.perf_counter()
        yield
        pace = (time.perf_counter() - begun) / n_points**GROWTH
        # The least: kernels are compiled only once.
        self._paces[view] = min(pace, self._paces.get(view, np.inf))

    def suffices(self, view: str, n_points: int) -> bool:
        """Whether a view would end in time at its pace; if that is not known, at the slowest."""
        slowest = max(self._paces.values(), default=0.0)
        until = time.perf_counter() + self._paces.get(view, slowest) * n_points**GROWTH
        return not self.stopped and (self.deadline is None or until < self.deadline)

    def begin_step(self, share: float) -> None:
        """What follows may take this share of the time that is left."""
        if self.deadline is not None:
            now = time.perf_counter()
            self.until = now + share * max(0.0, self.deadline - now)


class Engine(Protocol):
    """What clusters and assigns under knowledge: `GuidedClustering` provides it."""

    def cluster(
        self, points: np.ndarray, known: Constraints, init: np.ndarray | None, n_searches: int
    ) -> np.ndarray:
        """Cluster points: (N,) labels that keep all hard pairs."""

    def assign(
        self, costs: np.ndarray, known: Constraints, unit: float, otherwise: np.ndarray | None
    ) -> np.ndarray:
        """Return the cheapest labels for (N, K) costs under all knowledge."""

    def on(self, rows: np.ndarray) -> "Engine":
        """The same for some of the rows."""

    clock: Clock
    first: np.ndarray | None  # labels that keep everything, if some are known


@dataclass(frozen=True, eq=False)
class Tempered:
    """Columns without long tails, where few points would decide what is near.

    z = (x - median) / (IQR / 1.349) becomes 3 z / sqrt(9 + z^2), of the deviation that x had.
    """

    middle: np.ndarray
    unit: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray) -> "Tempered":
        """Measure the columns of weighted points."""
        order, share = X.argsort(axis=0), weights / weights.sum()
        reached, columns = share[order].cumsum(axis=0), np.arange(X.shape[1])

        def at(share: float) -> np.ndarray:
            return X[order[(reached >= share).argmax(axis=0), columns], columns]

        # Between two points that share a quantile: the same for mirrored columns, repeated rows.
        low, middle, high = ((at(q - 1e-9) + at(q + 1e-9)) / 2 for q in (0.25, 0.5, 0.75))
        spread, unit = _deviation(X, share), (high - low) / 1.349
        unit = np.where(unit > 1e-9 * spread, unit, np.where(spread > 0, spread, 1.0))
        bent = cls(middle, unit, np.ones(len(unit)))
        after = _deviation(bent.map(X), share)
        return replace(bent, factor=spread / np.where(after > 0, after, 1.0))

    def map(self, X: np.ndarray) -> np.ndarray:
        """Points in these columns."""
        z = (X - self.middle) / self.unit
        return np.asarray(self.factor * 3 * z / np.hypot(3, z))


def _deviation(X: np.ndarray, share: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(share @ (X - share @ X) ** 2))


@dataclass(eq=False)
class Scene:
    """Points and what is known of them; what several views need is made once."""

    X: np.ndarray  # (N, d) points, centered, in a unit of about their spread
    n_clusters: int
    known: Constraints  # hard and soft pairs
    engine: Engine  # clusters and assigns
    seed: int  # of random parts: the same for every scene of a fit
    n_searches: int  # local searches that one clustering may take
    weight: np.ndarray | None = None  # (N,) how many points each one stands for; None: one

    def cluster(self, points: np.ndarray, init: np.ndarray | None = None) -> np.ndarray:
        """Labels of points in these coordinates, under all that is known."""
        return self.engine.cluster(points, self.known, init, self.n_searches)

    def assign(
        self, costs: np.ndarray, unit: float, otherwise: np.ndarray | None = None
    ) -> np.ndarray:
        """The cheapest labels for these (N, K) costs, under all that is known.

        A broken soft pair of confidence p costs 4 log(p / (1 - p)) times `unit`, s^2 of the costs.
        Where time ends first, the labels are `otherwise`, which keep everything.
        """
        return self.engine.assign(costs, self.known, unit, otherwise)

    def on(self, rows: np.ndarray) -> Self:
        """The same with some of the rows."""
        if len(rows) == len(self.X):
            return self
        weight = None if self.weight is None else self.weight[rows]
        known = self.known[rows]._with(quotas=())  # which are bounds on clusters of all rows
        some = {"X": self.X[rows], "known": known, "engine": self.engine.on(rows)}
        return replace(self, weight=weight, **some)

    @property
    def weights(self) -> np.ndarray:
        """(N,) the weights, ones where there are none."""
        return np.ones(len(self.X)) if self.weight is None else self.weight

    @cached_property
    def tempered(self) -> Tempered:
        """The map to columns without long tails."""
        return Tempered.of(self.X, self.weights)

    @cached_property
    def plain(self) -> np.ndarray:
        """Labels of the points as given."""
        return self.cluster(self.X)

    @cached_property
    def taught(self) -> Constraints:
        """The pairs that can teach: hard ones, and soft ones that the points as given keep."""
        return kept_as_hard(self.known, self.plain) if self.known.n_soft else self.known

    @cached_property
    def learned(self) -> "LearnedMap":
        """The distance that the pairs teach."""
        return LearnedMap.of(self)

    @cached_property
    def learned_labels(self) -> np.ndarray:
        """Labels in the learned distance."""
        return self.cluster(self.learned.coordinates)

    @cached_property
    def contrast(self) -> "LearnedMap":
        """The learned distance, in which directions count more if its clusters differ in them.

        A direction in which a point of a cluster has variance 1 and the means of the clusters have
        variance v is multiplied by the root of (v + c) / (v + c + 1).
        """
        points, share = self.learned.coordinates, self.weights / self.weights.sum()
        n, d = points.shape
        means = cluster_means(points, self.learned_labels, weight=self.weights)
        gaps = means[self.learned_labels] - share @ points
        between, axes = np.linalg.eigh((gaps * share[:, None]).T @ gaps)
        least = LEAST_CONTRAST * (1 + (FEW_PER_COLUMN * d / n) ** 2)
        between = np.maximum(between, 0.0) + least
        return self.learned.turned(axes * np.sqrt(between / (1 + between)))


def kept_as_hard(known: Constraints, labels: np.ndarray) -> Constraints:
    """The hard pairs, and the soft ones that these labels keep: so they do not contradict."""
    apart, together = broken_pairs(known.soft_must_link, known.soft_cannot_link, labels)
    return known.keep({"soft_must_link": ~apart, "soft_cannot_link": ~together}).all_as_hard()


@dataclass(frozen=True, eq=False)
class LearnedMap:
    """A map to coordinates in which the learned distance is Euclidean."""

    tempered: Tempered
    frame: Frame
    root: np.ndarray
    coordinates: np.ndarray

    @classmethod
    def of(cls, scene: Scene) -> Self:
        """Learn from the pairs of a scene and from clusters."""
        known, rng = scene.taught, np.random.default_rng(scene.seed)
        X = scene.tempered.map(scene.X)
        some = replace(scene, X=X, known=known).on(rows_to_learn_from(len(X), known, rng))
        weights = some.weights
        frame = Frame.of(some.X, weights, rotate=True)
        found = learn(
            frame.enter(some.X),
            contract(len(some.X), some.known.must_link, some.known.cannot_link).of_point,
            weights,
            FULL,
            lambda Y, labels, fresh: some.engine.cluster(Y, some.known, labels, fresh),
            n_columns=frame.n_columns,
        )
        return cls(scene.tempered, frame, found.root, frame.enter(X) @ found.root.T)

    def map(self, X: np.ndarray) -> np.ndarray:
        """Points in the coordinates of this distance."""
        return np.asarray(self.frame.enter(self.tempered.map(X)) @ self.root.T)

    def turned(self, axes: np.ndarray) -> Self:
        """The same with its coordinates multiplied by a matrix."""
        return replace(self, root=axes.T @ self.root, coordinates=self.coordinates @ axes)


def rows_to_learn_from(
    n_points: int, known: Constraints, rng: np.random.Generator, most: int = MAX_LEARNED_FROM
) -> np.ndarray:
    """All rows, or `most` of them: those in pairs first, as many as fit."""
    if n_points <= most:
        return np.arange(n_points)
    known = known.all_as_hard()
    paired = rng.permutation(np.concatenate([known.must_link, known.cannot_link])).ravel()
    order = np.concatenate([paired[: most // 2 * 2], rng.permutation(n_points)])
    _, first = np.unique(order, return_index=True)
    return np.sort(order[np.sort(first)][:most])


def nearest_means(coordinates: np.ndarray, labels: np.ndarray, places: np.ndarray) -> np.ndarray:
    """For new places the cluster whose mean is nearest."""
    return cdist(places, cluster_means(coordinates, labels), "sqeuclidean").argmin(axis=1)


class AsGiven(View):
    """The points as given."""

    name = "given"

    def see(self, scene: Scene) -> Seen:
        """Cluster the points as they are."""
        return Seen(scene.plain, scene.X)

    def place(self, seen: Seen, X: np.ndarray) -> Seen:
        """Take the nearest mean."""
        assert seen.coordinates is not None
        return Seen(nearest_means(seen.coordinates, seen.labels, X), X)


class Learned(View):
    """The distance that pairs teach."""

    name = "learned"

    def see(self, scene: Scene) -> Seen:
        """Cluster in the learned distance."""
        return Seen(scene.learned_labels, scene.learned.coordinates, model=scene.learned)

    def place(self, seen: Seen, X: np.ndarray) -> Seen:
        """Take the nearest mean in the learned distance."""
        places = seen.model.map(X)
        return Seen(nearest_means(seen.model.coordinates, seen.labels, places), places)
