"""Pieces that several baselines are made of: orders, soft pairs, empty clusters, survivors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smdeclust.kernels import kernel
from smdeclust.problem import Solution
from smdeclust.structure.pairs import broken_pairs, merge_repeated

# Objectives closer than this share of them are the same.
SAME = 1e-9


def make_seed(rng: np.random.Generator) -> np.ndarray:
    """Draw the state that `shuffle` advances."""
    return np.array([rng.integers(2**63)], dtype=np.uint64)


@kernel()
def shuffle(values, seed):
    """Shuffle in place (Fisher-Yates on splitmix64). Changes `values` and `seed`."""
    for i in range(len(values) - 1, 0, -1):
        seed[0] += np.uint64(0x9E3779B97F4A7C15)
        z = seed[0]
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        j = np.int64(z % np.uint64(i + 1))
        values[i], values[j] = values[j], values[i]


@kernel()
def fill_empty_clusters(points, weights, labels, centers):
    """Move groups of crowded clusters to the empty ones; changes `labels` and `centers`.

    Returns how many moved. O(K + (number of empty clusters) G d).
    """
    n_clusters, n_features = centers.shape
    counts = np.zeros(n_clusters, np.int64)
    for g in range(len(points)):
        if weights[g] > 0:
            counts[labels[g]] += 1
    moved = 0
    for k in range(n_clusters):
        if counts[k] > 0:
            continue
        worst, farthest = -1, -1.0
        for g in range(len(points)):
            if weights[g] <= 0 or counts[labels[g]] < 2:
                continue
            square = 0.0
            for j in range(n_features):
                gap = points[g, j] - centers[labels[g], j]
                square += gap * gap
            if weights[g] * square > farthest:
                worst, farthest = g, weights[g] * square
        counts[labels[worst]] -= 1
        counts[k] = 1
        labels[worst] = k
        centers[k] = points[worst]
        moved += 1
    return moved


@dataclass(frozen=True)
class SoftPairs:
    """Soft pairs with what breaking each costs.

    Attributes
    ----------
    must_link, cannot_link
        (m, 2) pairs of row positions, each once.
    must_cost, cannot_cost
        (m,) cost of breaking each; of a pair that was listed several times, the largest.
    indptr, indices, signed
        Neighbors of each point, symmetric; `signed` is the cost of being apart from a must-linked
        one, minus the cost of being with a cannot-linked one. Pairs of a point with itself are
        left out.
    """

    must_link: np.ndarray
    cannot_link: np.ndarray
    must_cost: np.ndarray
    cannot_cost: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    signed: np.ndarray

    @classmethod
    def build(
        cls,
        n_points: int,
        must_link: np.ndarray,
        cannot_link: np.ndarray,
        must_cost: np.ndarray,
        cannot_cost: np.ndarray,
    ) -> SoftPairs:
        """Sort the pairs by point, in O(N + m log m)."""
        must_link, must_cost = merge_repeated(must_link, must_cost)
        cannot_link, cannot_cost = merge_repeated(cannot_link, cannot_cost)
        pairs = np.concatenate([must_link, cannot_link])
        cost = np.concatenate([must_cost, -cannot_cost])
        real = pairs[:, 0] != pairs[:, 1]
        pairs, cost = pairs[real], cost[real]
        source = np.concatenate([pairs[:, 0], pairs[:, 1]])
        order = np.argsort(source, kind="stable")
        indptr = np.zeros(n_points + 1, dtype=np.int64)
        np.cumsum(np.bincount(source, minlength=n_points), out=indptr[1:])
        return cls(
            must_link=must_link,
            cannot_link=cannot_link,
            must_cost=must_cost,
            cannot_cost=cannot_cost,
            indptr=indptr,
            indices=np.concatenate([pairs[:, 1], pairs[:, 0]])[order].astype(np.int64),
            signed=np.concatenate([cost, cost])[order].astype(np.float64),
        )

    def n_broken(self, labels: np.ndarray) -> int:
        """Return how many pairs these (N,) labels break."""
        apart, together = broken_pairs(self.must_link, self.cannot_link, labels)
        return int(np.count_nonzero(apart) + np.count_nonzero(together))

    def cost(self, labels: np.ndarray) -> float:
        """Return what the pairs that these (N,) labels break cost together."""
        apart, together = broken_pairs(self.must_link, self.cannot_link, labels)
        return float(self.must_cost[apart].sum() + self.cannot_cost[together].sum())


def survivors(population: list[Solution], size: int) -> list[Solution]:
    """The best `size` solutions; clones (same objective, same cluster sizes) come last."""
    ordered = sorted(population, key=lambda solution: solution.objective)
    originals: list[Solution] = []
    clones: list[Solution] = []
    for solution in ordered:
        same = any(_is_clone(solution, other) for other in reversed(originals))
        (clones if same else originals).append(solution)
    return (originals + clones)[:size]


def _is_clone(first: Solution, second: Solution) -> bool:
    if abs(first.objective - second.objective) > SAME * max(1.0, abs(first.objective)):
        return False
    return bool(
        np.array_equal(np.sort(np.bincount(first.labels)), np.sort(np.bincount(second.labels)))
    )
