"""Solution: S = (phi, psi) of the paper, with its objective and how well it is proven."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Solution:
    """A feasible clustering of the groups of a problem.

    Attributes
    ----------
    labels
        (G,) cluster of each group (phi).
    centers
        (K, d') cluster means in the coordinates of the searches (psi).
    objective
        f, the sum of squared distances of the points to their centers.
    n_iterations
        Iterations that the local search took to get here.
    proven
        Whether the last assignment was proven optimal for its centers.
    """

    labels: np.ndarray
    centers: np.ndarray
    objective: float
    n_iterations: int = 0
    proven: bool = True
