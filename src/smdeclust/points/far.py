"""Draw a point far from its center: a roulette wheel over all points (Algorithm 3)."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw_far(
    points: Any, held: Any, centers: np.ndarray, linked: np.ndarray, rng: np.random.Generator
) -> np.ndarray | None:
    """A point of a storage in proportion to its weighted distance to its center.

    Parameters
    ----------
    points
        The storage.
    held
        Its rows in groups: their weighted distances to centers, and each as a place.
    centers, linked, rng
        As for ``Points.draw_far``.
    """
    with points.begin(1) as batch:
        batch.assign(centers[None])
        totals = batch.far_totals()
        labels = np.concatenate([linked, batch.compound_labels()]).astype(np.int64)
        ends = np.cumsum(np.concatenate([totals, held.distances(centers, labels)]))
        place, rest = spin(ends, rng)
        if place is None:
            return None
        if place >= len(totals):
            return np.array(held.row(place - len(totals)))
        return np.asarray(batch.pick_far(place, rest))


def spin(ends: np.ndarray, rng: np.random.Generator) -> tuple[int | None, float]:
    """Roulette wheel with sectors that end at `ends`: which one, and how far into it."""
    if len(ends) == 0 or not ends[-1] > 0:
        return None, 0.0
    target = rng.random() * ends[-1]
    place = min(int(np.searchsorted(ends, target, side="right")), len(ends) - 1)
    return place, float(target - (ends[place - 1] if place else 0.0))
