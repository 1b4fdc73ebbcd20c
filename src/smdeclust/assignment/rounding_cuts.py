"""Shares of whole numbers: rows that every labeling keeps and the linear relaxation does not.

At least 38% of a cluster of 51 points are 20 points, not 19.38. Over all sizes s that a cluster may
have, the points (s, least count) have a lower convex hull, and its edges are bounds of the usual
kind: sum of (1[group in S] - slope) >= offset. The same holds for the least counts of several
shares added up. With those edges that a relaxed solution breaks, the relaxation is mostly exact,
and prices prove what would else need a search.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from smdeclust.structure.bounds import Bounds

# Sizes that a cluster may have, where hulls are drawn; shares that are added up.
MOST_SIZES = 20_000
MOST_SHARES = 4
# A row that is broken by less is not worth adding, and a number is whole up to this much.
LEAST_BROKEN, WHOLE = 1e-6, 1e-9


@dataclass(frozen=True, eq=False)
class _Share:
    """A side of a bound that counts m - r s: m is whole and s the points of a group.

    It says that `sign` m is at least `ends` + `sign` r s, for each cluster.
    """

    row: int
    sign: float
    share: float
    ends: np.ndarray

    def least(self, k: int, sizes: np.ndarray) -> np.ndarray:
        """The least whole `sign` m in a cluster of each of these sizes."""
        return np.ceil(self.ends[k] + self.sign * self.share * sizes - WHOLE)

    def of(self, sums: np.ndarray) -> np.ndarray:
        """`sign` m, from sums of all bounds."""
        return self.sign * (sums[self.row] + self.share * sums[0])


class RoundingCuts:
    """Rows that all labels keep beside some bounds, of which the first counts points."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._edges: dict[tuple[object, ...], np.ndarray] = {}

    @cached_property
    def shares(self) -> list[_Share]:
        """The sides of bounds that are shares."""
        bounds, found = self.bounds, []
        sizes = bounds.counts[0]
        lone = np.flatnonzero(sizes == 1)
        if len(lone) == 0 or not _are_whole(sizes, bounds.filled[0]):
            return []
        for b in range(1, len(bounds.counts)):
            share = float(-bounds.counts[b, lone[0]] % 1.0)
            whole = (each[b] + share * each[0] for each in (bounds.counts, bounds.filled))
            if WHOLE < share < 1 - WHOLE and _are_whole(*whole):
                found += [
                    _Share(b, 1.0, share, bounds.low[b]),
                    _Share(b, -1.0, share, -bounds.high[b]),
                ]
        return [share for share in found if np.isfinite(share.ends).any()]

    def broken(self, held: np.ndarray) -> Bounds | None:
        """The rows that these (B, K) relaxed sums break; ``None``: there are none."""
        found: dict[tuple[tuple[_Share, ...], float, float], list[int]] = {}
        for n_shares in range(1, MOST_SHARES + 1):
            for some in combinations(self.shares, n_shares):
                bounded = np.isfinite([share.ends for share in some]).all(axis=0)
                for k in np.flatnonzero(bounded).tolist():
                    edges = self._hull(some, k)
                    at = sum(share.of(held[:, k]) for share in some)
                    missed = edges @ [held[0, k], 1.0] - at
                    if len(missed) and missed.max() > LEAST_BROKEN:
                        slope, offset = edges[int(missed.argmax())].tolist()
                        found.setdefault((some, slope, offset), []).append(k)
            if found:
                break
        if not found:
            return None
        n, k = len(found), held.shape[1]
        counts, filled, low = np.zeros((n, self.bounds.counts.shape[1])), np.zeros((n, k)), []
        for row, ((some, slope, offset), clusters) in enumerate(found.items()):
            for into, sums in ((counts, self.bounds.counts), (filled, self.bounds.filled)):
                into[row] = sum(share.of(sums) for share in some) - slope * sums[0]
            low.append(np.where(np.isin(np.arange(k), clusters), offset, -np.inf))
        return Bounds(counts, np.array(low), np.full((n, k), np.inf), filled)

    def _hull(self, some: tuple[_Share, ...], k: int) -> np.ndarray:
        """(n, 2) slopes and offsets of the lower convex hull of (size, least counts added up)."""
        bounds = self.bounds
        most = bounds.counts[0].sum() + bounds.filled[0, k]
        first = float(np.ceil(max(bounds.low[0, k], 0.0) - WHOLE))
        last = float(np.floor(min(bounds.high[0, k], most) + WHOLE))
        ends = tuple(share.ends[k] for share in some)
        key = (tuple((share.row, share.sign) for share in some), ends, first, last)
        if key in self._edges:
            return self._edges[key]
        corners = np.empty((0, 2))
        if first < last <= first + MOST_SIZES:
            s = np.arange(first, last + 1)
            corners = _lower_hull(s, np.sum([share.least(k, s) for share in some], axis=0))
        steps = np.diff(corners, axis=0)
        slope = steps[:, 1] / steps[:, 0]
        edges = np.column_stack([slope, corners[:-1, 1] - slope * corners[:-1, 0]])
        self._edges[key] = edges
        return edges


def joined(bounds: Bounds, more: Bounds) -> Bounds:
    """Both, one after the other."""
    names = ("counts", "low", "high", "filled")
    both: dict[str, Any] = {
        name: np.concatenate([getattr(bounds, name), getattr(more, name)]) for name in names
    }
    return replace(bounds, **both)


def _are_whole(*values: np.ndarray) -> bool:
    return all((np.abs(each - np.rint(each)) <= WHOLE).all() for each in values)


def _lower_hull(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n, 2) corners of the lower convex hull of points whose x rise."""
    kept: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        while len(kept) > 1:
            (x0, y0), (x1, y1) = kept[-2:]
            if (x1 - x0) * (point[1] - y0) > (y1 - y0) * (point[0] - x0):
                break
            kept.pop()
        kept.append(point)
    return np.array(kept)
