"""What runs on the workers under cluster sizes: labels at prices, and who is near to indifference.

Pure functions of one block of rows, as in `dask_blocks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from smdeclust.points.dask_blocks import NO_WEIGHTS, Block, as_block, first_row, make_block
from smdeclust.points.priced import price_rows

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Prices:
    """Centers minus the offset, and the (B, K) prices of what rows count."""

    centers: np.ndarray
    prices: np.ndarray


@dataclass(frozen=True)
class Priced:
    """The state of a block: labels, by how much the second best is worse, and (B, K) sums."""

    labels: np.ndarray
    margins: np.ndarray
    sizes: np.ndarray


def price_block(block: Block, counts: np.ndarray, at: Prices) -> Priced:
    """Label the free rows by the least cost + price; `counts` are (B, rows) or (B, 1)."""
    n = len(block.X)
    labels, margins = np.full(n, -1, dtype=np.int32), np.full(n, np.inf)
    held = np.zeros(at.prices.shape)
    price_rows(
        block.X, block.weights, counts, block.free, block.offset, 0, n, at.centers, at.prices,
        labels, margins, held,
    )  # fmt: skip
    return Priced(labels, margins, held)


def counts_of(counts: np.ndarray, start: int, n_rows: int) -> np.ndarray:
    """What some rows count, of (B, N) or (B, 1) that stand for all rows."""
    here = counts[:, start : start + n_rows] if counts.shape[1] > 1 else counts
    return np.ascontiguousarray(here)


def sizes_of(state: Priced) -> np.ndarray:
    """The small part of a state, that goes back to the driver."""
    return state.sizes


def some_margins(state: Priced, step: int) -> np.ndarray:
    """Every so many margins."""
    return state.margins[::step]


def n_within(block: Block, state: Priced, limit: float) -> int:
    """How many free rows have a margin of at most `limit`."""
    return int(np.count_nonzero((state.margins <= limit) & block.free))


def rows_within(block: Block, state: Priced, limit: float, step: int) -> Rows:
    """Every so many of those: positions, points, weights, labels."""
    return rows_at(block, state, np.flatnonzero((state.margins <= limit) & block.free)[::step])


def rows_at(block: Block, state: Priced, rows: np.ndarray) -> Rows:
    """The same of given rows."""
    weights = np.broadcast_to(block.weights, len(block.X))[rows]
    return rows, block.X[rows] - block.offset, weights, state.labels[rows]


def label_rows(
    X: np.ndarray,
    offset: np.ndarray,
    at: Prices,
    known: tuple[np.ndarray, np.ndarray],
    weight: np.ndarray | None,
    counts: np.ndarray,
    block_info: Any = None,
) -> np.ndarray:
    """The final labels of a chunk: least cost + price, and what the driver decided for some."""
    X, start = as_block(X), first_row(block_info)
    share = NO_WEIGHTS if weight is None else weight[start : start + len(X)]
    block = make_block(X, share, np.empty(0, dtype=np.int64), offset)
    labels = price_block(block, counts_of(counts, start, len(X)), at).labels
    rows, decided = known
    low, high = np.searchsorted(rows, [start, start + len(X)])
    labels[rows[low:high] - start] = decided[low:high]
    return labels.astype(np.int64)
