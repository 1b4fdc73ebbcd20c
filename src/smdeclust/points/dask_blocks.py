"""What runs on the workers: pure functions of one block of rows and of small things sent to it.

Nothing is changed in place, so that a lost worker's results can be made again.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.exceptions import InvalidInputError
from smdeclust.points.blocks import EVERY, sum_squares
from smdeclust.points.rows import ArrayRows, Centers, State
from smdeclust.points.threads import thread_pools
from smdeclust.points.validation import as_dask_array, as_weights, first_bad, reject_value

NO_WEIGHTS = np.ones(1)


@dataclass(frozen=True)
class Summary:
    """What one block tells about its rows before anything else is known."""

    n_rows: int
    sums: np.ndarray
    bad: tuple[Any, ...] | None
    low: np.ndarray
    high: np.ndarray


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
    bad = first_bad(X)
    named = None if bad is None else (X[bad], *bad)
    return Summary(len(X), np.asarray(total, dtype=np.float64), named, low, high)


def reject_bad(X: np.ndarray, start: int) -> None:
    """Raise for a value that is not finite in the block whose first row is `start`."""
    bad = first_bad(X)
    if bad is not None:
        reject_value(X[bad], start + bad[0], bad[1])


def make_block(
    X: np.ndarray, weights: np.ndarray | None, coupled: np.ndarray, offset: np.ndarray
) -> ArrayRows:
    """Put a block together; `coupled` are its rows in groups that the driver holds."""
    free = np.ones(len(X), dtype=np.bool_)
    free[coupled] = False
    X = X.view()
    X.flags.writeable = False
    return ArrayRows(X, NO_WEIGHTS if weights is None else weights, free, offset)


def ask(
    block: ArrayRows, state: State | None, method: str, args: tuple[Any, ...], more: Any
) -> tuple[State, Any]:
    """The state of a block after a method, and what the method returned."""
    state = State.fresh(block.n_rows) if state is None else state.copy()
    with thread_pools().limit(limits=1, user_api="blas"):
        return state, getattr(block, method)(state, *args, *more)


def squares_about_offset(block: ArrayRows) -> float:
    """Sum of weighted squared distances of all rows to the mean of the data."""
    labels, middle = np.zeros(block.n_rows, dtype=np.int32), np.zeros((1, block.X.shape[1]))
    return float(sum_squares(block.X, block.weights, EVERY, block.offset, labels, middle))


def rows_of(block: ArrayRows, rows: np.ndarray) -> np.ndarray:
    """Some rows, in float64."""
    return np.asarray(block.X[rows], dtype=np.float64)


def label_rows(
    X: np.ndarray,
    offset: np.ndarray,
    at: Centers,
    known: tuple[np.ndarray, np.ndarray] | None = None,
    weight: np.ndarray | None = None,
    prices: np.ndarray | None = None,
    counts: np.ndarray | None = None,
    block_info: Any = None,
) -> np.ndarray:
    """The final labels of a chunk: nearest centers, or least cost + price of what rows count, and
    what the driver decided for some rows."""
    X, start = as_block(X), first_row(block_info)
    here = slice(start, start + len(X))
    reject_bad(X, start)
    share = None if weight is None else weight[here]
    block = make_block(X, share, np.empty(0, dtype=np.int64), offset)
    if prices is None:
        state, _ = ask(block, None, "assign", (at,), ())
    else:
        assert counts is not None
        counted = np.ascontiguousarray(counts[:, here]) if counts.shape[1] > 1 else counts
        state, _ = ask(block, None, "price", (at, prices, counted), ())
    labels = state.labels.astype(np.int64)
    if known is not None:
        rows, decided = known
        low, high = np.searchsorted(rows, [here.start, here.stop])
        labels[rows[low:high] - start] = decided[low:high]
    return labels


def distances_of(X: np.ndarray, centers: np.ndarray, block_info: Any = None) -> np.ndarray:
    """(n, K) distances of the rows of a chunk to centers."""
    X = as_block(X)
    reject_bad(X, first_row(block_info))
    return np.asarray(cdist(X, centers))


def first_row(block_info: Any) -> int:
    """The position in the whole array of the first row of a chunk, as Dask tells it."""
    return int(block_info[0]["array-location"][0][0]) if block_info else 0


# ---- what is asked of new rows: lazily, block by block


def lazy_predict(X: Any, cluster_centers: np.ndarray, names: np.ndarray | None = None) -> Any:
    """The nearest center of each row, as a Dask array; the same holds as of distances."""
    distances = lazy_transform(X, cluster_centers, names)
    return distances.map_blocks(np.argmin, axis=1, dtype=np.int64, drop_axis=1)


def lazy_transform(X: Any, cluster_centers: np.ndarray, names: np.ndarray | None = None) -> Any:
    """The (n, K) distances of rows to centers, as a Dask array.

    No distance is computed yet; of a data frame the lengths of its partitions are. A value that is
    not finite raises an error when the distances are computed.
    """
    array = same_features(X, cluster_centers, names)
    chunks = (array.chunks[0], (len(cluster_centers),))
    return array.map_blocks(distances_of, cluster_centers, dtype=np.float64, chunks=chunks)


def least_squares(
    X: Any, cluster_centers: np.ndarray, names: np.ndarray | None, sample_weight: Any
) -> float:
    """The sum of squared distances of rows to their nearest centers, computed now."""
    import dask.array as da

    squares = lazy_transform(X, cluster_centers, names).min(axis=1) ** 2
    weight = as_weights(sample_weight, squares.shape[0])
    if weight is not None:
        squares = squares * da.from_array(weight, chunks=squares.chunks)
    return float(squares.sum().compute())


def same_features(X: Any, cluster_centers: np.ndarray, names: np.ndarray | None) -> Any:
    """A Dask collection as an array, where its columns are those of the clusters."""
    if names is not None and hasattr(X, "columns") and list(X.columns) != list(names):
        raise InvalidInputError(
            f"X has the columns {', '.join(map(str, X.columns))}, but the model was fitted on "
            f"{', '.join(map(str, names))}, in this order."
        )
    array = as_dask_array(X)
    if array.shape[1] != cluster_centers.shape[1]:
        raise InvalidInputError(
            f"X has {array.shape[1]} features, but the model was fitted on "
            f"{cluster_centers.shape[1]}."
        )
    return array
