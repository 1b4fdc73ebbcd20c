"""What the genetic methods share: a crossover of matched centers, and who survives."""

from __future__ import annotations

import numpy as np

from smdeclust.memetic.matching import match
from smdeclust.problem import Solution

# Objectives closer than this share of them are the same.
SAME = 1e-9


def crossover(first: Solution, second: Solution, rng: np.random.Generator) -> np.ndarray:
    """Match the parents' centers at the least cost; each comes from either by a coin."""
    matched = match(second.centers, first.centers)
    coin = rng.random(len(matched)) < 0.5
    return np.where(coin[:, None], first.centers, matched)


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
