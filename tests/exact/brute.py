"""The judge: enumerate every clustering of a small problem."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def partitions(n: int, k: int) -> Iterator[np.ndarray]:
    """Every partition of n rows into exactly k clusters, once, as labels."""

    def extend(labels: list[int], used: int) -> Iterator[list[int]]:
        if len(labels) == n:
            if used == k:
                yield labels
            return
        if used + n - len(labels) < k:
            return
        for label in range(min(used + 1, k)):
            yield from extend([*labels, label], max(used, label + 1))

    for labels in extend([], 0):
        yield np.array(labels)


def cost(X: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Sum of squared distances to the cluster means."""
    weights = np.ones(len(X)) if weights is None else weights
    total = 0.0
    for label in np.unique(labels):
        rows = labels == label
        center = np.average(X[rows], axis=0, weights=weights[rows])
        total += float(np.sum(weights[rows, None] * (X[rows] - center) ** 2))
    return total


def feasible(labels: np.ndarray, must_link: np.ndarray, cannot_link: np.ndarray) -> bool:
    """Whether the labels keep all pairs."""
    return bool(
        np.all(labels[must_link[:, 0]] == labels[must_link[:, 1]])
        and np.all(labels[cannot_link[:, 0]] != labels[cannot_link[:, 1]])
    )


def all_costs(
    X: np.ndarray,
    k: int,
    must_link: np.ndarray,
    cannot_link: np.ndarray,
    weights: np.ndarray | None = None,
) -> list[tuple[float, np.ndarray]]:
    """Cost and labels of every feasible clustering, cheapest first."""
    found = [
        (cost(X, labels, weights), labels)
        for labels in partitions(len(X), k)
        if feasible(labels, must_link, cannot_link)
    ]
    return sorted(found, key=lambda pair: pair[0])


def random_problem(
    rng: np.random.Generator, *, weighted: bool = False
) -> tuple[np.ndarray, int, np.ndarray, np.ndarray, np.ndarray | None]:
    """A tiny problem of random shape: K from 1 to 5, few or many pairs, duplicates, weights."""
    n = int(rng.integers(2, 9))
    k = int(rng.integers(1, min(n, 5) + 1))
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    if rng.random() < 0.3:
        X = np.round(X)  # duplicates and ties
    # Pairs drawn from a hidden clustering, so that they can be met.
    hidden = rng.permutation(np.concatenate([np.arange(k), rng.integers(0, k, n - k)]))
    pairs = rng.integers(0, n, (int(rng.integers(0, n)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    weights = rng.uniform(0.2, 5.0, n) if weighted else None
    return X, k, pairs[same], pairs[~same], weights
