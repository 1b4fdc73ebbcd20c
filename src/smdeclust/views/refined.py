"""Borders between clusters, drawn in several passes on the features of all views and a forest.

Passes after the first take a second look: at neighbors by what tells the clusters found so far from
each other. All passes decide together.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.special import log_softmax
from sklearn.covariance import ledoit_wolf
from sklearn.ensemble import ExtraTreesClassifier

from smdeclust.points.centers import cluster_means
from smdeclust.views.classes import Classes, mean_length, see_classes
from smdeclust.views.graph import Links, NeighborGraph, Neighbors, coordinates
from smdeclust.views.scene import Scene, Seen, Tempered, View, nearest_means

SECOND_LOOK, FOREST = "second look", "forest"

# Trees for each local search of a clustering, and at most; fewest points of a leaf, and points that
# a tree grows from at most.
TREES_PER_SEARCH, N_TREES, LEAST_LEAF, MAX_GROWN_FROM = 3, 50, 3, 5000


@dataclass(frozen=True, eq=False)
class Forest:
    """Randomized trees that tell clusters apart, one column at a time."""

    trees: ExtraTreesClassifier
    tempered: Tempered  # thresholds are drawn from the range of a column: outliers would spoil them
    shares: np.ndarray  # (N, K) votes for each cluster, of the trees that did not see the point

    @classmethod
    def of(cls, scene: Scene, labels: np.ndarray) -> Self:
        """Grow trees from these labels of the points of a scene."""
        trees = ExtraTreesClassifier(
            min(N_TREES, TREES_PER_SEARCH * scene.n_searches),
            min_samples_leaf=LEAST_LEAF,
            bootstrap=True,
            oob_score=True,
            max_samples=MAX_GROWN_FROM if len(labels) > MAX_GROWN_FROM else None,
            random_state=scene.seed,
        )
        with warnings.catch_warnings():  # of points that every tree saw
            warnings.simplefilter("ignore", UserWarning)
            # Not by weight: a heavy point would be in the sample of every tree, and get no votes.
            trees.fit(scene.tempered.map(scene.X), labels)
        shares = np.nan_to_num(trees.oob_decision_function_)
        usual = shares.sum(axis=0) / max(shares.sum(), 1.0)
        voted = shares.any(axis=1, keepdims=True)
        return cls(trees, scene.tempered, np.where(voted, shares, usual))

    def place(self, X: np.ndarray) -> np.ndarray:
        """Votes for the clusters of new points."""
        return np.asarray(self.trees.predict_proba(self.tempered.map(X)))


@dataclass(frozen=True, eq=False)
class Borders:
    """One pass: borders between clusters that are about where some labels have them."""

    labels: np.ndarray
    weights: np.ndarray
    names: list[str]  # of the views with features, and the forest
    mean: np.ndarray
    scale: np.ndarray
    forest: Forest
    log_p: np.ndarray  # (N, K) log probabilities of the points themselves

    @classmethod
    def of(cls, seen: Mapping[str, Seen], start: np.ndarray, scene: Scene) -> "Borders | None":
        """Draw borders from some labels; ``None`` where no view offers features."""
        offered = {n: one.features for n, one in seen.items() if one.features is not None}
        if not offered:
            return None
        forest = Forest.of(scene, start)
        offered[FOREST] = forest.shares
        # Features of a view are centered and of length 1 on average, so that views count alike.
        scale = [np.full(f.shape[1], mean_length(f - f.mean(axis=0))) for f in offered.values()]
        raw = np.hstack(list(offered.values()))
        frame = raw.mean(axis=0), np.concatenate(scale)
        features = _framed(raw, *frame)
        labels, weights = see_classes(features, start, scene)
        log_p = log_softmax(features @ weights, axis=1)
        return cls(labels, weights, list(offered), *frame, forest, log_p)

    def place(self, seen: Mapping[str, Seen], X: np.ndarray) -> np.ndarray:
        """(n, K) log probabilities of points that the views have placed."""
        placed = {n: one.features for n, one in seen.items()} | {FOREST: self.forest.place(X)}
        raw = np.hstack([np.asarray(placed[name]) for name in self.names])
        return np.asarray(log_softmax(_framed(raw, self.mean, self.scale) @ self.weights, axis=1))


def _framed(raw: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.hstack([(raw - mean) / scale, np.full((len(raw), 1), 0.3)])


@dataclass(frozen=True, eq=False)
class Refined:
    """Clusters by the mean of what all passes say."""

    labels: np.ndarray
    passes: list[Borders]
    looks: list[Seen]  # what each pass after the first saw beside the views
    unit = 0.25  # s^2 of costs in nats, by which soft pairs are priced

    @classmethod
    def of(
        cls, seen: Mapping[str, Seen], start: np.ndarray, scene: Scene, n_passes: int = 1
    ) -> "Refined | None":
        """Draw borders in several passes; ``None`` where no view offers features."""
        first, clock, n = Borders.of(seen, start, scene), scene.engine.clock, len(scene.X)
        refined = None if first is None else cls(first.labels, [first], [])
        while refined and len(refined.passes) < n_passes and clock.suffices(SECOND_LOOK, n):
            refined = refined.again(seen, scene)
        return refined

    def again(self, seen: Mapping[str, Seen], scene: Scene) -> Self:
        """One pass more."""
        with scene.engine.clock.timing(SECOND_LOOK, len(scene.X)):
            look = look_again(self.labels, seen, scene)
        found = Borders.of({**seen, SECOND_LOOK: look}, look.labels, scene)
        assert found is not None
        passes = [*self.passes, found]
        costs = -np.mean([one.log_p for one in passes], axis=0)
        return type(self)(scene.assign(costs, self.unit, self.labels), passes, [*self.looks, look])

    def costs(self, seen: Mapping[str, Seen], X: np.ndarray) -> np.ndarray:
        """(n, K) minus the mean log probabilities of points that the views have placed."""
        shown = [seen, *({**seen, SECOND_LOOK: place_again(look, seen)} for look in self.looks)]
        each = [one.place(placed, X) for one, placed in zip(self.passes, shown, strict=True)]
        return -np.asarray(np.mean(each, axis=0))


def can_look_again(views: Sequence[View]) -> bool:
    """Whether our own views of the learned distance are among them, which a second look needs."""
    ours = {type(v) for v in views if not isinstance(v, NeighborGraph) or v.learned}
    return ours >= {Classes, NeighborGraph}


def look_again(labels: np.ndarray, seen: Mapping[str, Seen], scene: Scene) -> Seen:
    """Clusters along one more neighbor graph.

    It joins the graph of the learned distance with that of the directions in which clusters differ,
    among the features of classes.
    """
    shown, (learned, _) = seen["classes"].features, seen["graph-learned"].model
    assert shown is not None
    axes = directions(shown, labels)
    neighbors = Neighbors.of(shown @ axes)
    graph = csr_array((neighbors.graph + learned.graph) / 2)
    graph.sort_indices()
    size, links = (scene.n_clusters, scene.seed), Links.of(scene.known)
    found = coordinates(graph, *size, links, weight=scene.weight)
    again = renumbered(scene.cluster(found, labels), labels, scene.n_clusters)
    return Seen(again, found, found, (axes, neighbors))


def place_again(look: Seen, placed: Mapping[str, Seen]) -> Seen:
    """New points along that graph."""
    axes, neighbors = look.model
    assert look.coordinates is not None
    places = neighbors.average(placed["classes"].features @ axes, look.coordinates)
    return Seen(nearest_means(look.coordinates, look.labels, places), places, places)


def renumbered(labels: np.ndarray, like: np.ndarray, k: int) -> np.ndarray:
    """The same clusters with the numbers of those like them."""
    both = np.bincount(labels * k + like, minlength=k * k).reshape(k, k)
    return np.asarray(linear_sum_assignment(both, maximize=True)[1][labels])


def directions(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(m, K - 1) directions in which clusters differ (Fisher), of unit spread inside clusters."""
    means, m = cluster_means(features, labels), features.shape[1]
    inside = ledoit_wolf(features - means[labels], assume_centered=True)[0]
    inside += (1e-9 * np.trace(inside) / m + 1e-12) * np.eye(m)
    apart = means - features.mean(axis=0)
    return np.asarray(eigh(apart.T @ apart, inside)[1][:, 1 - len(means) :])
