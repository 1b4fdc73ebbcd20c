"""Operators without a problem: a solution is a number, its own center and its objective."""

from __future__ import annotations

import numpy as np

from smdeclust.memetic import Operators
from smdeclust.problem import Solution


def number(value: float) -> Solution:
    return Solution(np.zeros(1, np.int64), np.array([[value]]), float(value), n_iterations=2)


def halve(first, second, base, rng):
    """An offspring half as large as its first parent."""
    return first.centers / 2


def stub_operators(values=None, crossover=halve, mutate=lambda c, generation, rng: c) -> Operators:
    """Start from `values` in turn (or random numbers); the local search changes nothing."""
    given = None if values is None else iter(values)

    def initialize(n_starts, rng):
        for _ in range(n_starts):
            yield np.array([[rng.random() if given is None else next(given)]])

    return Operators(initialize, crossover, mutate, lambda centers: number(centers[0, 0]))
