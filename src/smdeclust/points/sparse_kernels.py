"""Kernels on rows in CSR form: nothing of the size points x features is ever made.

Points count relative to an offset o (the mean of the data) that is never subtracted in storage.
With y a center minus o,

    |x - o - y|^2 = |x - o|^2 + (|y|^2 + 2 o.y) - 2 x.y,

so that comparing centers needs only x.y, over the stored entries. Its rounding is of the size
|x| |y|, not |x|^2: with y about the mean little cancels. Every such value comes with a bound on its
rounding; what that bound leaves open is computed again directly, from the whole row.
"""

import numpy as np

from smdeclust.kernels import kernel, summing_kernel
from smdeclust.points.blocks import two_least

# Unit roundoff of float64.
ROUNDOFF = 2.0**-53
# Relative error that |x - o|^2 may have; beyond it is computed directly.
SIZE_ERROR = 1e-12
# The same for squared distances that are returned.
SQUARE_ERROR = 1e-10
# Bounds settle a point only with this relative margin, which covers all rounding in them.
MARGIN = 1e-9


@kernel()
def add_columns(indptr, indices, data, weights, out):
    """Add the weighted rows to `out`; `weights` holds one entry per row, or a single one."""
    for i in range(len(indptr) - 1):
        w = weights[i if len(weights) > 1 else 0]
        for e in range(indptr[i], indptr[i + 1]):
            out[indices[e]] += w * data[e]


@summing_kernel(forceinline=True)
def _spread_out(indptr, indices, data, i, offset, row):
    """Write row i minus the offset to the dense `row`."""
    for j in range(len(offset)):
        row[j] = -offset[j]
    for e in range(indptr[i], indptr[i + 1]):
        row[indices[e]] = data[e] - offset[indices[e]]


@summing_kernel(forceinline=True)
def _direct(row, centers, k):
    total = 0.0
    for j in range(len(row)):
        gap = row[j] - centers[k, j]
        total += gap * gap
    return total


@summing_kernel(forceinline=True)
def _products(indptr, indices, data, i, centers_t, out):
    """Write x_i . y_k to `out`."""
    n_clusters = centers_t.shape[1]
    for k in range(n_clusters):
        out[k] = 0.0
    for e in range(indptr[i], indptr[i + 1]):
        j = indices[e]
        value = np.float64(data[e])
        for k in range(n_clusters):
            out[k] += value * centers_t[j, k]


@summing_kernel(forceinline=True)
def _product(indptr, indices, data, i, centers, k):
    total = 0.0
    for e in range(indptr[i], indptr[i + 1]):
        total += data[e] * centers[k, indices[e]]
    return total


@summing_kernel()
def sizes_of_rows(indptr, indices, data, offset, offset_square, out):
    """Write |x - o|^2 of each row, to a relative error of SIZE_ERROR or as direct sums have it."""
    row = np.empty(len(offset))
    for i in range(len(indptr) - 1):
        near, known = 0.0, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            mean = offset[indices[e]]
            near += (data[e] - mean) * (data[e] - mean)
            known += mean * mean
        size = near + (offset_square - known)
        n_terms = indptr[i + 1] - indptr[i] + 40
        if n_terms * ROUNDOFF * (near + offset_square + known) > SIZE_ERROR * size:
            _spread_out(indptr, indices, data, i, offset, row)
            size = 0.0
            for j in range(len(row)):
                size += row[j] * row[j]
        out[i] = size


@kernel(forceinline=True)
def _rounding(indptr, i, size, offset_norm, largest, bias_error):
    """A bound on the rounding of bias - 2 x.y for any center."""
    reach = np.sqrt(size) * (1 + SIZE_ERROR) + offset_norm
    return 2.0 * (indptr[i + 1] - indptr[i] + 4) * ROUNDOFF * reach * largest + bias_error


@kernel()
def assign_rows(
    indptr, indices, data, sizes, free, offset, offset_norm, centers, centers_t, bias, bias_error,
    largest, half_gap, shift, labels, upper, lower,
):  # fmt: skip
    """Label the free rows by their nearest center; -1 means not yet.

    `bias` holds |y|^2 + 2 o.y, `largest` the largest |y|, `shift` how far each center moved since
    the bounds were made, `half_gap` half the distance to the nearest other one. Changes `labels`,
    `upper` and `lower` (Hamerly's bounds: on the distance to the own center, and to any other).
    """
    n_clusters = len(centers)
    work = np.empty(n_clusters)
    row = np.empty(len(offset))
    farthest, second_shift = 0, 0.0
    for k in range(1, n_clusters):
        if shift[k] > shift[farthest]:
            second_shift = shift[farthest]
            farthest = k
        else:
            second_shift = max(second_shift, shift[k])
    for i in range(len(labels)):
        if not free[i]:
            continue
        k = labels[i]
        error = _rounding(indptr, i, sizes[i], offset_norm, largest, bias_error)
        size_error = SIZE_ERROR * sizes[i]
        if k >= 0:
            upper[i] += shift[k]
            lower[i] -= shift[farthest] if k != farthest else second_shift
            bound = max(lower[i], half_gap[k]) * (1 - MARGIN)
            if upper[i] * (1 + MARGIN) <= bound:
                continue
            square = sizes[i] + bias[k] - 2.0 * _product(indptr, indices, data, i, centers, k)
            upper[i] = np.sqrt(max(square + error + size_error, 0.0))
            if upper[i] * (1 + MARGIN) <= bound:
                continue
        _products(indptr, indices, data, i, centers_t, work)
        for c in range(n_clusters):
            work[c] = bias[c] - 2.0 * work[c]
        best, second = two_least(work)
        if second >= 0 and work[second] - work[best] <= 2.0 * error:
            limit = work[best] + 2.0 * error
            _spread_out(indptr, indices, data, i, offset, row)
            for c in range(n_clusters):
                if work[c] <= limit:
                    work[c] = _direct(row, centers, c)
                else:
                    work[c] += sizes[i] - error - size_error
            best, second = two_least(work)
            upper[i] = np.sqrt(max(work[best], 0.0))
            lower[i] = np.sqrt(max(work[second], 0.0))
        else:
            upper[i] = np.sqrt(max(sizes[i] + work[best] + error + size_error, 0.0))
            lower[i] = np.inf
            if second >= 0:
                lower[i] = np.sqrt(max(sizes[i] + work[second] - error - size_error, 0.0))
        labels[i] = best


@kernel()
def squares_of_rows(
    indptr, indices, data, sizes, offset, offset_norm, centers, centers_t, bias, bias_error,
    largest, out,
):  # fmt: skip
    """Write the squared distances of the rows to all centers, to a relative SQUARE_ERROR."""
    n_clusters = len(centers)
    work = np.empty(n_clusters)
    row = np.empty(len(offset))
    for i in range(len(out)):
        error = _rounding(indptr, i, sizes[i], offset_norm, largest, bias_error)
        error += SIZE_ERROR * sizes[i]
        _products(indptr, indices, data, i, centers_t, work)
        spread = False
        for k in range(n_clusters):
            square = sizes[i] + bias[k] - 2.0 * work[k]
            if error > SQUARE_ERROR * square:
                if not spread:
                    _spread_out(indptr, indices, data, i, offset, row)
                    spread = True
                square = _direct(row, centers, k)
            out[i, k] = square


@summing_kernel()
def move_rows(
    indptr, indices, data, weights, free, offset, old, new, gaps, stored, totals, counts
):  # fmt: skip
    """Take the free rows whose label changed from their old clusters (-1: none) to the new ones.

    `gaps` (K, d) sums w (x - o) over the stored entries of a cluster, and `stored` their w. What is
    not stored is 0 - o each, for the weight in `totals` that is not in `stored`: so nothing
    cancels. `counts` are rows of positive weight. Returns how many rows moved.
    """
    moved = 0
    for i in range(len(new)):
        if not free[i if len(free) > 1 else 0] or old[i] == new[i]:
            continue
        moved += 1
        for sign in (1, -1):
            k, w = new[i] if sign > 0 else old[i], sign * weights[i if len(weights) > 1 else 0]
            if k < 0:
                continue
            totals[k] += w
            counts[k] += sign if w != 0 else 0
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                gaps[k, j] += w * (data[e] - offset[j])
                stored[k, j] += w
    return moved


@summing_kernel()
def stored_squares(indptr, indices, data, weights, free, offset, labels, centers):
    """Weighted squared gaps of the stored entries of the free rows to the centers of their labels.

    The entries that are not stored are added for whole clusters (see ``move_rows``).
    """
    total = 0.0
    for i in range(len(labels)):
        if not free[i if len(free) > 1 else 0]:
            continue
        k = labels[i]
        square = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            gap = (data[e] - offset[indices[e]]) - centers[k, indices[e]]
            square += gap * gap
        total += square * weights[i if len(weights) > 1 else 0]
    return total


@summing_kernel()
def scatter_of_groups(
    indptr, indices, data, weights, starts, mean_indptr, mean_indices, mean_data, mean, stored
):  # fmt: skip
    """Weighted squared distances of the rows to the means of their groups.

    The rows of group g are those from ``starts[g]`` to ``starts[g + 1]``; `mean` and `stored` hold
    a zero for each column. As in ``move_rows``, entries that are not stored count a column at once.
    """
    total = 0.0
    for g in range(len(starts) - 1):
        for e in range(mean_indptr[g], mean_indptr[g + 1]):
            mean[mean_indices[e]] = mean_data[e]
        whole = 0.0
        for i in range(starts[g], starts[g + 1]):
            w = weights[i]
            whole += w
            for e in range(indptr[i], indptr[i + 1]):
                gap = data[e] - mean[indices[e]]
                total += w * gap * gap
                stored[indices[e]] += w
        for e in range(mean_indptr[g], mean_indptr[g + 1]):
            j = mean_indices[e]
            total += (whole - stored[j]) * mean[j] * mean[j]
            mean[j] = 0.0
        for e in range(indptr[starts[g]], indptr[starts[g + 1]]):
            stored[indices[e]] = 0.0
    return total
