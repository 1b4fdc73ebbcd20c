"""The two-part likelihood: spherical Gaussians for the points, a block model for the pairs.

Both parts are written from their definition, for any labels; the search evaluates moves by
differences (`relocation`), and the tests hold one against the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smdeclust.problem import Problem

# Logarithms of rates and priors see no smaller number.
LOG_FLOOR = 1e-10
# An accuracy of 1 stands for this much less: its odds p / (1 - p) are large, not infinite.
SURE = 1.0 - 1e-6
# Layers of the block model.
MUST, CANNOT = 0, 1
# Positions in a prior: links within a cluster, links between two.
WITHIN, BETWEEN = 0, 1


@dataclass(frozen=True)
class Model:
    """The data of the likelihood, as the kernels want them.

    Attributes
    ----------
    points
        (N, d') points, maybe rotated.
    n_features
        d, of the data as given.
    n_clusters
        K.
    indptr, indices, layers
        Links of each point, symmetric, and the layer of each (0 must, 1 cannot); repeated pairs
        count each time, pairs of a point with itself not at all.
    n_links
        (2,) links of each layer.
    accuracy
        p, or ``None`` for no prior.
    least_variance
        No cluster's variance is taken to be smaller.
    """

    points: np.ndarray
    n_features: int
    n_clusters: int
    indptr: np.ndarray
    indices: np.ndarray
    layers: np.ndarray
    n_links: np.ndarray
    accuracy: float | None
    least_variance: float

    @classmethod
    def build(
        cls,
        problem: Problem,
        must_link: np.ndarray,
        cannot_link: np.ndarray,
        accuracy: float | None,
        variance_floor: float,
    ) -> Model:
        """Sort the links by point; the floor is a share of the variance of all points."""
        pairs = np.concatenate([must_link, cannot_link])
        layer = np.repeat([MUST, CANNOT], [len(must_link), len(cannot_link)])
        real = pairs[:, 0] != pairs[:, 1]
        pairs, layer = pairs[real], layer[real]
        source = np.concatenate([pairs[:, 0], pairs[:, 1]])
        order = np.argsort(source, kind="stable")
        indptr = np.zeros(problem.n_points + 1, dtype=np.int64)
        np.cumsum(np.bincount(source, minlength=problem.n_points), out=indptr[1:])
        points = problem.contracted.points
        variance = float((points**2).sum()) / (problem.n_points * problem.n_features)
        return cls(
            points=points,
            n_features=problem.n_features,
            n_clusters=problem.n_clusters,
            indptr=indptr,
            indices=np.concatenate([pairs[:, 1], pairs[:, 0]])[order].astype(np.int64),
            layers=np.concatenate([layer, layer])[order].astype(np.int64),
            n_links=np.bincount(layer, minlength=2).astype(np.int64),
            accuracy=None if accuracy is None else min(accuracy, SURE),
            least_variance=variance_floor * variance if variance > 0 else 1.0,
        )

    def prior(self, sizes: np.ndarray) -> np.ndarray:
        """Return beta as (2, 2): layer, and links within a cluster or between two.

        Zero without a prior, and for a layer without links.
        """
        beta = np.zeros((2, 2))
        p = self.accuracy
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

    def objective(self, labels: np.ndarray, beta: np.ndarray | None = None) -> float:
        """Return the Gaussian part plus the annotation part, from scratch.

        `beta` is the prior to use instead of the one that the sizes of the clusters give.
        """
        sizes = np.bincount(labels, minlength=self.n_clusters)
        beta = self.prior(sizes) if beta is None else beta
        return self.gaussian(labels) + self.annotation(labels, beta)

    def gaussian(self, labels: np.ndarray) -> float:
        """Sum over clusters of SSE / (2 sigma^2) + n d ln sigma, at the best allowed sigma."""
        total = 0.0
        for k in range(self.n_clusters):
            inside = self.points[labels == k]
            gaps = inside - inside.mean(axis=0)
            squares, share = float((gaps**2).sum()), len(inside) * self.n_features
            variance = max(squares / share, self.least_variance)
            total += squares / (2 * variance) + share * 0.5 * np.log(variance)
        return total

    def links(self, labels: np.ndarray) -> np.ndarray:
        """Return m as (2, K, K): links between clusters; one within a cluster counts twice."""
        m = np.zeros((2, self.n_clusters, self.n_clusters))
        source = np.repeat(np.arange(len(labels)), np.diff(self.indptr))
        np.add.at(m, (self.layers, labels[source], labels[self.indices]), 1.0)
        return m

    def annotation(self, labels: np.ndarray, beta: np.ndarray) -> float:
        """Minus the logarithm of the block model's likelihood, and of the prior if there is one."""
        sizes = np.bincount(labels, minlength=self.n_clusters).astype(np.float64)
        m = self.links(labels)
        total = 0.0
        for layer in (MUST, CANNOT):
            if self.n_links[layer] == 0:
                continue
            for r in range(self.n_clusters):
                for s in range(r, self.n_clusters):
                    same = r == s
                    b = beta[layer, WITHIN if same else BETWEEN]
                    pairs = sizes[r] * sizes[s]
                    count = m[layer, r, s]
                    rate = count / (pairs + (1 + same) * b) if count > 0 else 0.0
                    fit = count * np.log(max(rate, LOG_FLOOR)) - rate * pairs
                    total += (2 - same) * fit
                    if self.accuracy is not None:
                        total += 2 * (np.log(max(b, LOG_FLOOR)) - b * rate)
        return -0.5 * total
