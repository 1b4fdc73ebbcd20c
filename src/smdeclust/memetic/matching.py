"""Relabel one solution's centers onto another's by a minimum-cost matching."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist


def match(centers: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """Return `centers` in the order that makes the sum of |y_k - onto_k|^2 least."""
    rows, columns = linear_sum_assignment(cdist(centers, onto, "sqeuclidean"))
    ordered = np.empty_like(centers)
    ordered[columns] = centers[rows]
    return ordered
