"""Where a local search stands."""

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from smdeclust.local_search.limits import LEAST_FALL
from smdeclust.problem import Problem, Solution


@dataclass
class State:
    """The best labels, their means and objective; under bounds also prices, and which bounds each
    cluster has.

    `settled` says that another such iteration would change nothing, `exact` that good labels helped
    no more, `gap` what the last labels cost above what their prices account for.
    """

    centers: Any
    labels: Any = None
    objective: float = np.inf
    n_done: int = 0
    proven: bool = True
    prices: Any = None
    order: Any = None
    settled: bool = False
    exact: bool = False
    gap: float = 0.0

    @classmethod
    def at(cls, problem: Problem, centers: np.ndarray) -> Self:
        """The start of a search from these centers."""
        state = cls(np.array(centers, dtype=np.float64, order="C"))
        if problem.group_bounds is not None:
            state.prices = np.zeros(problem.group_bounds.low.shape)
            state.order = np.arange(problem.n_clusters)
        return state

    def copy(self) -> Self:
        """The same with arrays of its own."""
        return replace(self, labels=self.labels.copy(), centers=self.centers.copy())

    def takes(self, labels: Any, centers: Any, objective: float) -> bool:
        """Keep these if they are better; returns whether they are."""
        if not objective < self.objective * (1 - LEAST_FALL):
            return False
        self.labels, self.centers, self.objective = labels, centers, objective
        return True

    def as_solution(self, constant: float = 0.0, earlier: int = 0) -> Solution:
        """The best so far; `constant` is what the objective is without, `earlier` are iterations
        before this search."""
        value, n_iterations = self.objective + constant, self.n_done + earlier
        return Solution(self.labels, self.centers, value, n_iterations, self.proven)


def partition(labels: np.ndarray) -> bytes:
    """The same for the same clusters, however they are numbered."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first))[number].astype(np.int32)
    return blake2b(numbers.tobytes(), digest_size=16).digest()
