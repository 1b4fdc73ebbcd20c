"""What the genetic methods share: who survives."""

from __future__ import annotations

import numpy as np

from smdeclust.problem import Solution

# Objectives closer than this share of them are the same.
SAME = 1e-9


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
