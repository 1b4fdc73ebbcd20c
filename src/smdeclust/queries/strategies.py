"""Which point to ask about next: the known strategies to compare with.

They share one scheme (Basu, Banerjee & Mooney 2004): a point is chosen, and asked against the
neighbourhoods, the likeliest first, until its cluster is known. They differ in the choice of the
point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.queries.picture import Picture

# Points that are looked at, of many.
SAMPLE = 4000

# picture -> (row, how much it is worth), for the row to ask about next; rows to leave out
ChoosePoint = Callable[[Picture, set[int]], "tuple[int, float] | None"]


def farthest_then_random(picture: Picture, left_out: set[int]) -> tuple[int, float] | None:
    """Explore-Consolidate (Basu et al. 2004): farthest first, then random points."""
    if len(picture.known.neighbourhoods) < len(picture.centers):
        return _farthest(picture, left_out)
    rows = _open(picture, left_out)
    return (int(picture.rng.choice(rows)), 1.0) if len(rows) else None


def min_max(picture: Picture, left_out: set[int]) -> tuple[int, float] | None:
    """MinMax (Mallapragada et al. 2008): the point least like any point that is known."""
    return _farthest(picture, left_out)


def normalized_uncertainty(picture: Picture, left_out: set[int]) -> tuple[int, float] | None:
    """NPU (Xiong, Azimi & Fern 2014): most uncertainty for each question that it takes.

    Likeness is how often two points share a leaf of a random forest that tells the clusters.
    """
    if len(picture.known.neighbourhoods) < 2:
        return _farthest(picture, left_out)
    from sklearn.ensemble import RandomForestClassifier

    rows = _open(picture, left_out)
    if len(rows) == 0:
        return None
    if len(rows) > SAMPLE:
        rows = np.sort(picture.rng.choice(rows, SAMPLE, replace=False))
    seed = int(picture.rng.integers(2**31))
    forest = RandomForestClassifier(50, random_state=seed, n_jobs=1)
    leaves = forest.fit(picture.points, picture.labels).apply(picture.points)
    likeness = np.empty((len(rows), len(picture.known.neighbourhoods)))
    for at, hood in enumerate(picture.known.neighbourhoods):
        members = picture.known.members[hood]
        same = leaves[rows][:, None, :] == leaves[members][None, :, :]
        likeness[:, at] = same.mean(axis=(1, 2)) + 1e-6
    chances = likeness / likeness.sum(axis=1, keepdims=True)
    entropy = -(chances * np.log(chances)).sum(axis=1)
    ordered = -np.sort(-chances, axis=1)
    n_questions = (ordered * np.arange(1, chances.shape[1] + 1)).sum(axis=1)
    best = int(np.argmax(entropy / n_questions))
    return int(rows[best]), float(entropy[best] / n_questions[best])


def _farthest(picture: Picture, left_out: set[int]) -> tuple[int, float] | None:
    """The open point farthest from all known ones; at first, a random one."""
    rows = _open(picture, left_out)
    if len(rows) == 0:
        return None
    told = picture.known.settled_rows
    if len(told) == 0:
        return int(picture.rng.choice(rows)), 1.0
    if len(told) > SAMPLE:
        told = picture.rng.choice(told, SAMPLE, replace=False)
    least = np.full(len(rows), np.inf)
    for start in range(0, len(told), 64):
        squares = cdist(picture.points[rows], picture.points[told[start : start + 64]])
        np.minimum(least, squares.min(axis=1), out=least)
    best = int(np.argmax(least))
    return int(rows[best]), float(least[best])


def _open(picture: Picture, left_out: set[int]) -> np.ndarray:
    rows = picture.open_rows
    if not left_out:
        return rows
    return rows[~np.isin(rows, np.fromiter(left_out, dtype=np.int64))]


STRATEGIES: dict[str, ChoosePoint] = {
    "explore-consolidate": farthest_then_random,
    "min-max": min_max,
    "npu": normalized_uncertainty,
}
