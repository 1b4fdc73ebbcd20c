"""Relabel one solution's centers onto another's by a minimum-cost matching."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment


def match(centers: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """Return `centers` in the order that makes the sum of |y_k - onto_k|^2 least."""
    gaps = centers[:, None, :] - onto[None, :, :]
    rows, columns = linear_sum_assignment(np.einsum("ijk,ijk->ij", gaps, gaps))
    ordered = np.empty_like(centers)
    ordered[columns] = centers[rows]
    return ordered
