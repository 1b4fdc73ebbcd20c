"""Labels of points with other numbers, computed now or lazily."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.points.dask_arrays import is_dask


def renumber(labels: Any, number: np.ndarray) -> Any:
    """Labels k become ``number[k]``; a Dask array stays one."""
    if is_dask(labels):
        return labels.map_blocks(_look_up, number, dtype=number.dtype)
    return number[labels]


def _look_up(labels: np.ndarray, number: np.ndarray) -> np.ndarray:
    return np.asarray(number[labels])
