"""How near rows are along the neighbor graph: how far an answer about one of them reaches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smdeclust.views.graph import Neighbors

# Rows looked at closely: matrices of their square are made.
MOST_ROWS = 1000
REACH, SHORT_REACH = 0.9, 0.8  # chance to go on, of walks that end where they stop


@dataclass(frozen=True, eq=False)
class Nearness:
    """Random walks on the neighbor graph of some rows."""

    rows: np.ndarray  # (n,) rows looked at: all, or a sample that holds those answered about
    # (n, n) how much of an answer about one row reaches another: about 1 at the row itself
    spread: np.ndarray
    # (n, n) the same on shorter walks, 1 at the row itself: how well one stands for the other
    cover: np.ndarray
    points: np.ndarray  # the points it was made of

    @classmethod
    def of(cls, points: np.ndarray, answered: np.ndarray) -> Nearness:
        """Build the graph of `points`; of many, a sample with rows answered about among them."""
        n = len(points)
        rows = np.arange(n)
        if n > MOST_ROWS:
            # A fixed order, so that the same rows are looked at from question to question.
            order = np.random.default_rng(0).permutation(n)
            told = order[np.isin(order, answered)][: MOST_ROWS // 2]
            others = order[~np.isin(order, told)][: MOST_ROWS - len(told)]
            rows = np.sort(np.concatenate([told, others]))
        # Far from the origin, or in tiny units, squares would cancel or vanish.
        centered = points[rows] - points[rows].mean(axis=0)
        centered /= max(float(np.abs(centered).max()), 1e-300)
        graph = Neighbors.of(centered)[1].toarray()
        degree = np.maximum(graph.sum(axis=1), 1e-300)
        steps = graph / np.sqrt(np.outer(degree, degree))
        spread, cover = (
            (1 - reach) * np.linalg.inv(np.eye(len(rows)) - reach * steps)
            for reach in (REACH, SHORT_REACH)
        )
        own = np.sqrt(cover.diagonal())
        return cls(rows, spread / spread.diagonal().mean(), cover / np.outer(own, own), points)

    def fits(self, points: np.ndarray, answered: np.ndarray) -> bool:
        """Whether it is still right: the same points, with those answered about among its rows."""
        same = points is self.points or np.array_equal(points, self.points)
        return same and (len(points) <= MOST_ROWS or bool(np.isin(answered, self.rows).all()))

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Positions of those of `rows` that are looked at."""
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return at[self.rows[at] == rows]
