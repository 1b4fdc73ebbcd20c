"""What runs on the workers: pure functions of one block of rows and of small things sent to it.

Nothing is changed in place, so that a lost worker's results can be made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.exceptions import InvalidInputError
from smdeclust.points.blocks import assign_block, regrets_block
from smdeclust.points.protocol import ClusterSums
from smdeclust.points.row_batch import half_gaps
from smdeclust.points.single import least_regrets
from smdeclust.points.sums import EVERY, add_to_clusters, sum_squares
from smdeclust.points.threads import thread_pools

NO_WEIGHTS = np.ones(1)


@dataclass(frozen=True)
class Block:
    """Rows of the data that live on one worker.

    Attributes
    ----------
    X
        (n, d) the rows.
    weights
        (n,) weights or a single 1.
    free
        (n,) whether each row is a group of its own without cannot-links.
    offset
        (d,) mean of all the data.
    """

    X: np.ndarray
    weights: np.ndarray
    free: np.ndarray
    offset: np.ndarray


@dataclass(frozen=True)
class Summary:
    """What one block tells about its rows before anything else is known."""

    n_rows: int
    sums: np.ndarray
    bad: tuple[int, int, float] | None
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Labelled:
    """The state of a block after an assignment: labels, bounds, and what changed."""

    labels: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    gained: ClusterSums
    n_changed: int


@dataclass(frozen=True)
class Centers:
    """Centers minus the offset, how far each moved, and the scale of the products."""

    values: np.ndarray
    shift: np.ndarray
    scale: float


def as_block(X: Any) -> np.ndarray:
    """Rows as the kernels take them: contiguous, float32 or float64."""
    X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return np.ascontiguousarray(X)


def summarize(X: np.ndarray, weights: np.ndarray | None) -> Summary:
    """Weighted sum, range and the first value that is not finite."""
    total = X.sum(axis=0, dtype=np.float64) if weights is None else weights @ X
    # A chunk that turns out to be empty must get as far as the complaint about its length.
    low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
    return Summary(len(X), np.asarray(total, dtype=np.float64), _first_bad(X), low, high)


def _first_bad(X: np.ndarray) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry that is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = X.sum(dtype=np.float64)
    if np.isfinite(total):
        return None  # one pass without a mask: the usual case
    where = np.argwhere(~np.isfinite(X))
    if len(where) == 0:
        return None
    row, column = (int(v) for v in where[0])
    return row, column, float(X[row, column])


def reject_bad(bad: tuple[int, int, float] | None, start: int) -> None:
    """Raise for a value that is not finite in the block whose first row is `start`."""
    if bad is None:
        return
    row, column, value = bad
    what = "NaN" if np.isnan(value) else "infinity"
    raise InvalidInputError(
        f"X contains {what} (row {start + row}, column {column}); fill in or drop such values "
        f"first."
    )


def make_block(
    X: np.ndarray, weights: np.ndarray | None, coupled: np.ndarray, offset: np.ndarray
) -> Block:
    """Put a block together; `coupled` are its rows in groups that the driver holds."""
    free = np.ones(len(X), dtype=np.bool_)
    free[coupled] = False
    X = X.view()
    X.flags.writeable = False
    return Block(X, NO_WEIGHTS if weights is None else weights, free, offset)


def squares_about_offset(block: Block) -> float:
    """Sum of weighted squared distances of all rows to the mean of the data."""
    nobody = np.zeros(len(block.X), dtype=np.int32)
    middle = np.zeros((1, block.X.shape[1]))
    return float(
        sum_squares(block.X, block.weights, EVERY, block.offset, 0, len(block.X), nobody, middle)
    )


def assign_rows(block: Block, before: Labelled | None, centers: Centers) -> Labelled:
    """Label the free rows by their nearest center, with the bounds of the assignment before."""
    n = len(block.X)
    if before is None:
        labels, upper, lower = np.full(n, -1, dtype=np.int32), np.empty(n), np.empty(n)
    else:
        labels, upper, lower = before.labels.copy(), before.upper.copy(), before.lower.copy()
    values = centers.values
    gained = ClusterSums.zeros(*values.shape)
    scaled_t = np.ascontiguousarray(values.T / centers.scale, dtype=np.float32)
    with thread_pools().limit(limits=1, user_api="blas"):
        n_changed = assign_block(
            block.X, block.weights, block.free, block.offset, 0, n, values, scaled_t,
            centers.scale, np.einsum("kj,kj->k", values, values), half_gaps(values),
            centers.shift, labels, upper, lower, gained.sums, gained.totals, gained.counts,
        )  # fmt: skip
    return Labelled(labels, upper, lower, gained, n_changed)


def gained(state: Labelled) -> tuple[ClusterSums, int]:
    """The small part of a state, that goes back to the driver."""
    return state.gained, state.n_changed


def sums_anew(block: Block, state: Labelled, n_clusters: int) -> ClusterSums:
    """Sums of the clusters from the labels: differences must not drift."""
    total = ClusterSums.zeros(n_clusters, block.X.shape[1])
    add_to_clusters(
        block.X, block.weights, block.free, block.offset, 0, len(block.X), state.labels,
        total.sums, total.totals, total.counts,
    )  # fmt: skip
    return total


def squares_to_centers(
    block: Block, state: Labelled, centers: Centers, moves: dict[int, int]
) -> float:
    """Squared distances of the free rows to the centers of their labels, after `moves`."""
    labels = state.labels
    if moves:
        labels = labels.copy()
        labels[list(moves)] = list(moves.values())
    return float(
        sum_squares(
            block.X, block.weights, block.free, block.offset, 0, len(block.X), labels,
            centers.values,
        )
    )  # fmt: skip


def cheapest(
    block: Block, state: Labelled, centers: Centers
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows among the K cheapest to move to some cluster: positions, points, weights, labels."""
    n, k = len(block.X), len(centers.values)
    regrets = np.empty((n, k))
    regrets_block(
        block.X, block.weights, block.free, block.offset, 0, n, state.labels, centers.values,
        regrets,
    )  # fmt: skip
    rows = least_regrets(regrets)
    weights = np.broadcast_to(block.weights, n)[rows]
    return rows, block.X[rows] - block.offset, weights, state.labels[rows]


def rows_of(block: Block, rows: np.ndarray) -> np.ndarray:
    """Some rows, in float64."""
    return np.asarray(block.X[rows], dtype=np.float64)


def far_total(block: Block, state: Labelled) -> float:
    """Sum of the weighted distances of the free rows to their centers."""
    return float(_far(block, state).sum())


def pick_far(block: Block, state: Labelled, target: float) -> np.ndarray:
    """The row at which the weighted distances add up to `target`, minus the offset."""
    row = int(np.searchsorted(np.cumsum(_far(block, state)), target, side="right"))
    row = min(row, len(block.X) - 1)
    return np.asarray(block.X[row] - block.offset, dtype=np.float64)


def _far(block: Block, state: Labelled) -> np.ndarray:
    return np.where(block.free, state.upper, 0.0) * block.weights


def label_rows(
    X: np.ndarray,
    offset: np.ndarray,
    centers: Centers,
    known: tuple[np.ndarray, np.ndarray],
    block_info: Any = None,
) -> np.ndarray:
    """The final labels of a chunk: nearest centers, and what the driver decided for some rows."""
    X, start = as_block(X), first_row(block_info)
    reject_bad(_first_bad(X), start)
    every = np.empty(0, dtype=np.int64)
    labels = assign_rows(make_block(X, None, every, offset), None, centers).labels
    rows, decided = known
    low, high = np.searchsorted(rows, [start, start + len(X)])
    labels[rows[low:high] - start] = decided[low:high]
    return labels.astype(np.int64)


def distances_of(X: np.ndarray, centers: np.ndarray, block_info: Any = None) -> np.ndarray:
    """(n, K) distances of the rows of a chunk to centers."""
    X = as_block(X)
    reject_bad(_first_bad(X), first_row(block_info))
    return np.asarray(cdist(X, centers))


def first_row(block_info: Any) -> int:
    """The position in the whole array of the first row of a chunk, as Dask tells it."""
    return int(block_info[0]["array-location"][0][0]) if block_info else 0
