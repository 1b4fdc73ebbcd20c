"""Kernels on rows of an array as given, without a copy: nearest centers and cluster sums.

Points count relative to an `offset` (the mean of all points): nothing cancels on shifted data, and
float32 data are summed in float64.

Most points do not change their cluster in most iterations. Two numbers per point prove it
(Hamerly's bounds): an upper bound on the distance to its center and a lower bound on the distance
to any other. Only points that these do not settle are looked at again, and only those that move
change the sums. Blocks are fixed, and added up in order, so the number of threads changes nothing.
"""

import numpy as np

from smdeclust.kernels import kernel, summing_kernel

# Rows that go through one matrix product.
BATCH = 256
# Bounds settle a point only with this relative margin, which covers all rounding in them.
MARGIN = 1e-9
# Unit roundoff of the matrix products, which are in single precision.
ROUNDOFF = 2.0**-24
# Stands for "all rows are free".
EVERY = np.ones(1, dtype=np.bool_)
EVERY.flags.writeable = False


@summing_kernel(forceinline=True)
def _squared_distance(X, i, offset, centers, k):
    total = 0.0
    for j in range(len(offset)):
        gap = (X[i, j] - offset[j]) - centers[k, j]
        total += gap * gap
    return total


@summing_kernel(forceinline=True)
def _load(X, i, offset, inverse_scale, batch, r):
    """Write the scaled row in single precision; returns its squared norm, not scaled."""
    square = 0.0
    for j in range(len(offset)):
        value = X[i, j] - offset[j]
        square += value * value
        batch[r, j] = np.float32(value * inverse_scale)
    return square


@kernel()
def assign_block(
    X, weights, free, offset, centers, scaled_t, scale, norms, half_gap, shift, labels, upper,
    lower, sums, totals, counts,
):  # fmt: skip
    """Label the free rows by their nearest center; -1 means not yet.

    `shift` is how far each center moved since the bounds were made, `half_gap` half the distance
    to the nearest other center, `scaled_t` (d, K) the centers over `scale` in single precision,
    `norms` their squares. Changes `labels`, `upper`, `lower`; adds to `sums`, `totals` and
    `counts` what entered each cluster minus what left it. Returns how many labels changed.
    """
    n_clusters, n_features = centers.shape
    batch = np.empty((BATCH, n_features), np.float32)
    products = np.empty((BATCH, n_clusters), np.float32)
    squares = np.empty(BATCH)
    rows = np.empty(BATCH, np.int64)
    work = np.empty(n_clusters)
    farthest, second = 0, -1
    for k in range(1, n_clusters):
        if shift[k] > shift[farthest]:
            farthest, second = k, farthest
        elif second < 0 or shift[k] > shift[second]:
            second = k
    largest = 0.0
    for k in range(n_clusters):
        largest = max(largest, norms[k])
    largest = np.sqrt(largest)
    inverse_scale = 1.0 / scale
    changed = 0
    n_rows = 0
    for i in range(len(X)):
        if free[i]:
            k = labels[i]
            settled = False
            if k >= 0:
                others = shift[farthest] if k != farthest else shift[max(second, 0)]
                upper[i] += shift[k]
                lower[i] -= others
                bound = max(lower[i], half_gap[k]) * (1 - MARGIN)
                settled = upper[i] * (1 + MARGIN) <= bound
                if not settled:
                    upper[i] = np.sqrt(_squared_distance(X, i, offset, centers, k))
                    settled = upper[i] * (1 + MARGIN) <= bound
            if not settled:
                squares[n_rows] = _load(X, i, offset, inverse_scale, batch, n_rows)
                rows[n_rows] = i
                n_rows += 1
        if n_rows == BATCH or (i == len(X) - 1 and n_rows > 0):
            np.dot(batch[:n_rows], scaled_t, products[:n_rows])
            for r in range(n_rows):
                best = _nearest(
                    X, offset, rows[r], centers, products, r, scale * scale, squares[r], norms,
                    largest, work, upper, lower,
                )  # fmt: skip
                old = labels[rows[r]]
                if old != best:
                    changed += 1
                    labels[rows[r]] = best
                    _add(X, weights, offset, rows[r], best, 1, sums, totals, counts)
                    if old >= 0:
                        _add(X, weights, offset, rows[r], old, -1, sums, totals, counts)
            n_rows = 0
    return changed


@kernel(forceinline=True)
def _nearest(
    X, offset, i, centers, products, r, area, square, norms, largest, work, upper, lower
):  # fmt: skip
    """The nearest center of a row from its products with all; writes its bounds.

    Single precision decides where it is sure to be right; what is closer than its error is
    taken directly.
    """
    n_clusters, n_features = centers.shape
    double = 2.0 * area
    for k in range(n_clusters):
        work[k] = norms[k] - double * products[r, k]
    best, second = two_least(work)
    error = 2.0 * (n_features + 10) * ROUNDOFF * (np.sqrt(square) * largest + 1e-30 * area)
    if second >= 0 and work[second] - work[best] <= 2.0 * error:
        limit = work[best] + 2.0 * error
        for k in range(n_clusters):
            if work[k] <= limit:
                work[k] = _squared_distance(X, i, offset, centers, k)
            else:
                work[k] += square - error
        best, second = two_least(work)
        upper[i] = np.sqrt(max(work[best], 0.0))
        lower[i] = np.sqrt(max(work[second], 0.0))
        return best
    upper[i] = np.sqrt(max(square + work[best] + error, 0.0))
    lower[i] = np.sqrt(max(square + work[second] - error, 0.0)) if second >= 0 else np.inf
    return best


@summing_kernel(forceinline=True)
def _add(X, weights, offset, i, k, sign, sums, totals, counts):
    """Add row i to cluster k, or take it away (-1)."""
    w = sign * weights[i if len(weights) > 1 else 0]
    totals[k] += w
    counts[k] += sign if w != 0 else 0
    for j in range(len(offset)):
        sums[k, j] += w * (X[i, j] - offset[j])


@kernel(forceinline=True)
def two_least(values):
    """The places of the least and the second least value (-1: there is none)."""
    best, second = 0, -1
    least, next_least = values[0], np.inf
    for k in range(1, len(values)):
        value = values[k]
        if value < next_least:
            if value < least:
                best, second = k, best
                least, next_least = value, least
            else:
                second, next_least = k, value
    return best, second


@kernel()
def regrets_block(X, weights, free, offset, labels, centers, out):
    """Write to `out` what each free row would cost more in each of the centers' clusters."""
    for i in range(len(X)):
        if not free[i]:
            for k in range(len(centers)):
                out[i, k] = np.inf
            continue
        w = weights[i if len(weights) > 1 else 0]
        here = _squared_distance(X, i, offset, centers, labels[i])
        for k in range(len(centers)):
            there = _squared_distance(X, i, offset, centers, k)
            out[i, k] = w * (there - here) if w > 0 else np.inf


@summing_kernel()
def add_to_clusters(X, weights, free, offset, labels, sums, totals, counts):
    """Add the rows that are `free` to their clusters.

    `weights` and `free` hold one entry per row, or a single one for all. Changes `sums` (K, d),
    `totals` (weights) and `counts` (rows of positive weight). O(rows d).
    """
    for i in range(len(X)):
        if free[i if len(free) > 1 else 0]:
            _add(X, weights, offset, i, labels[i], 1, sums, totals, counts)


@summing_kernel()
def sum_squares(X, weights, free, offset, labels, centers):
    """Weighted squared distances of those rows to the centers (minus `offset`) of their labels."""
    total = 0.0
    for i in range(len(X)):
        if free[i if len(free) > 1 else 0]:
            square = 0.0
            for j in range(len(offset)):
                gap = (X[i, j] - offset[j]) - centers[labels[i], j]
                square += gap * gap
            total += square * weights[i if len(weights) > 1 else 0]
    return total
