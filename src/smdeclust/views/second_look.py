"""A second look: neighbors by what tells the clusters found so far from each other."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from sklearn.covariance import ledoit_wolf

from smdeclust.points.centers import cluster_means
from smdeclust.views.classes import Classes
from smdeclust.views.graph import Links, Neighbors, coordinates
from smdeclust.views.scene import Scene, Seen, View, nearest_means

SECOND_LOOK = "second look"


def look_again(labels: np.ndarray, seen: Mapping[str, Seen], scene: Scene) -> dict[str, Seen]:
    """What the views saw, and clusters along one more neighbor graph.

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
    return {**seen, SECOND_LOOK: Seen(again, found, found, (axes, neighbors))}


def can_look_again(views: Sequence[View]) -> bool:
    """Whether our own views of the learned distance are among them, which a second look needs."""
    ours = {v.name for v in views if isinstance(v, Classes) or getattr(v, "learned", False)}
    return ours >= {"classes", "graph-learned"}


def renumbered(labels: np.ndarray, like: np.ndarray, k: int) -> np.ndarray:
    """The same clusters with the numbers of those like them."""
    both = np.bincount(labels * k + like, minlength=k * k).reshape(k, k)
    return linear_sum_assignment(both, maximize=True)[1][labels]


def place_again(again: Seen, placed: Mapping[str, Seen]) -> dict[str, Seen]:
    """New points as the views place them, and along that graph."""
    axes, neighbors = again.model
    assert again.coordinates is not None
    places = neighbors.average(placed["classes"].features @ axes, again.coordinates)
    nearest = nearest_means(again.coordinates, again.labels, places)
    return {**placed, SECOND_LOOK: Seen(nearest, places, places)}


def directions(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(m, K - 1) directions in which clusters differ (Fisher), of unit spread inside clusters."""
    means, m = cluster_means(features, labels), features.shape[1]
    inside = ledoit_wolf(features - means[labels], assume_centered=True)[0]
    inside += (1e-9 * np.trace(inside) / m + 1e-12) * np.eye(m)
    apart = means - features.mean(axis=0)
    return np.asarray(eigh(apart.T @ apart, inside)[1][:, 1 - len(means) :])
