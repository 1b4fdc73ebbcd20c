"""Several centers per cluster: small clusters, merged as the pairs suggest."""

import warnings

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from smdeclust.constraints import Constraints
from smdeclust.views.graph import Links
from smdeclust.views.scene import Scene, Seen, View

# Small clusters for each cluster, rows that they are made from at most, and rounds of moving them.
PARTS = 3
MAX_ROWS = 10_000
ROUNDS = 4

# Votes of nearness, against one vote of each pair.
NEARNESS = 0.25


class Parts(View):
    """Several centers a cluster: classes that consist of several groups of points."""

    name = "parts"

    def see(self, scene: Scene) -> Seen:
        """Merge small clusters, then move their centers under exact assignments."""
        X, k = scene.tempered.map(scene.X), scene.n_clusters
        small, centers = small_clusters(X, k, scene.seed, scene.weight)
        owner = merge(small, centers, scene.known, k)
        labels = scene.plain
        for _ in range(ROUNDS):
            squares = cdist(X, centers, "sqeuclidean")
            costs = np.stack([squares[:, owner == c].min(axis=1) for c in range(k)], axis=1)
            unit = float(costs.min(axis=1).mean()) / X.shape[1]
            found = scene.assign(costs, unit, scene.plain)
            if (found == labels).all():
                break
            labels = found
            squares[owner[None] != labels[:, None]] = np.inf
            near = squares.argmin(axis=1)
            count = np.bincount(near, scene.weights, len(centers))
            share = scene.weights / np.where(count > 0, count, 1.0)[near]
            inside = csr_array((share, (near, np.arange(len(X)))), (len(centers), len(X)))
            centers = np.where(count[:, None] > 0, inside @ X, centers)
        return Seen(labels, model=(scene.tempered, centers, owner))

    def place(self, seen: Seen, X: np.ndarray) -> Seen:
        """Take the cluster of the nearest center."""
        tempered, centers, owner = seen.model
        return Seen(owner[cdist(tempered.map(X), centers, "sqeuclidean").argmin(axis=1)])


def small_clusters(
    X: np.ndarray, n_clusters: int, seed: int, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Several small clusters for each cluster: their labels and centers."""
    n_parts = max(n_clusters, min(PARTS * n_clusters, len(X) // 4))
    rows = np.random.default_rng(seed).permutation(len(X))[:MAX_ROWS]
    with warnings.catch_warnings():  # equal points make equal centers, which do no harm
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(n_parts, n_init=1, max_iter=30, random_state=seed)
        model.fit(X[rows], sample_weight=None if weight is None else weight[rows])
    return model.predict(X), model.cluster_centers_


def merge(small: np.ndarray, centers: np.ndarray, known: Constraints, k: int) -> np.ndarray:
    """The cluster of each small cluster: average linkage on votes of pairs and nearness.

    A vote of a pair says together (1) or apart (-1). Nearness has a quarter of a vote between any
    two, so that pairs decide where there are any.
    """
    m, links = len(centers), Links.of(known)
    count = csr_array((np.ones(len(small)), (small, np.arange(len(small)))), (m, len(small)))
    inside = csr_array(count @ links.member)
    together = (inside @ links.plus @ inside.T).toarray()
    own = count @ np.asarray(links.own.sum(axis=1)).ravel()
    together -= np.diag(own)  # a point's pair with itself
    apart = (inside @ links.minus @ inside.T).toarray()
    votes, total = together - apart, together + apart
    distance = cdist(centers, centers)
    scale = float(np.median(distance[distance > 0])) if (distance > 0).any() else 1.0
    near = 2 * np.exp(-((distance / scale) ** 2)) - 1
    size, owner, alive = np.ones(m), np.arange(m), np.ones(m, dtype=bool)
    for _ in range(m - k):
        score = (votes + NEARNESS * near / np.outer(size, size)) / (total + NEARNESS)
        score[~alive] = score[:, ~alive] = -np.inf
        np.fill_diagonal(score, -np.inf)
        a, b = divmod(int(score.argmax()), m)
        for table in (votes, total, near):
            table[a] += table[b]
            table[:, a] += table[:, b]
        size[a] += size[b]
        alive[b] = False
        owner[owner == b] = a
    return np.unique(owner, return_inverse=True)[1]
