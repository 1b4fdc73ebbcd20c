"""Free points of large data, block by block: nearest centers and cluster sums, never N x K.

Most points do not change their cluster in most iterations. Two numbers a point prove it (Hamerly's
bounds): an upper bound on the distance to its center and a lower bound on the distance to any
other. Only points that these do not settle are looked at again, and only those that move change
the sums. Blocks are fixed, and added up in order, so the number of threads changes nothing.
"""

from __future__ import annotations

import numpy as np

from smdeclust.kernels import kernel, summing_kernel

# Rows that go through one matrix product.
BATCH = 256
# Bounds settle a point only with this relative margin, which covers all rounding in them.
MARGIN = 1e-9
# A squared distance this small a share of |x|^2 has lost digits to cancellation: taken directly.
CANCELLED = 1e-6


@summing_kernel()
def _distance(row, offset, center):
    total = 0.0
    for j in range(len(center)):
        gap = (row[j] - offset[j]) - center[j]
        total += gap * gap
    return np.sqrt(total)


@kernel()
def assign_block(
    X, weights, free, offset, start, stop, centers, centers_t, norms, half_gap, shift, labels,
    upper, lower, sums, totals, counts,
):  # fmt: skip
    """Label the free rows from `start` to `stop` by their nearest center; -1 means not yet.

    `shift` is how far each center moved since the bounds were made, `half_gap` half the distance
    to the nearest other center. Changes `labels`, `upper`, `lower`; adds to `sums`, `totals` and
    `counts` what entered each cluster minus what left it. Returns how many labels changed.
    """
    n_clusters, n_features = centers.shape
    batch = np.empty((BATCH, n_features))
    products = np.empty((BATCH, n_clusters))
    rows = np.empty(BATCH, np.int64)
    farthest, second = 0, -1
    for k in range(1, n_clusters):
        if shift[k] > shift[farthest]:
            farthest, second = k, farthest
        elif second < 0 or shift[k] > shift[second]:
            second = k
    changed = 0
    n_rows = 0
    for i in range(start, stop):
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
                    upper[i] = _distance(X[i], offset, centers[k])
                    settled = upper[i] * (1 + MARGIN) <= bound
            if not settled:
                for j in range(n_features):
                    batch[n_rows, j] = X[i, j] - offset[j]
                rows[n_rows] = i
                n_rows += 1
        if n_rows == BATCH or (i == stop - 1 and n_rows > 0):
            np.dot(batch[:n_rows], centers_t, products[:n_rows])
            changed += _settle(
                batch, products, rows, n_rows, weights, centers, norms, labels, upper, lower,
                sums, totals, counts,
            )  # fmt: skip
            n_rows = 0
    return changed


@summing_kernel()
def _settle(
    batch, products, rows, n_rows, weights, centers, norms, labels, upper, lower, sums, totals,
    counts,
):  # fmt: skip
    """Take the nearest and second nearest center of a batch from its products with the centers."""
    n_clusters, n_features = centers.shape
    changed = 0
    for r in range(n_rows):
        square = 0.0
        for j in range(n_features):
            square += batch[r, j] * batch[r, j]
        for k in range(n_clusters):
            products[r, k] = square + norms[k] - 2.0 * products[r, k]
        best, next_best = _two_least(products[r])
        if products[r, best] < CANCELLED * square or (
            next_best >= 0
            and products[r, next_best] - products[r, best] < MARGIN * (square + norms[best])
        ):
            for k in range(n_clusters):
                total = 0.0
                for j in range(n_features):
                    gap = batch[r, j] - centers[k, j]
                    total += gap * gap
                products[r, k] = total
            best, next_best = _two_least(products[r])
        i = rows[r]
        upper[i] = np.sqrt(max(products[r, best], 0.0))
        lower[i] = np.sqrt(max(products[r, next_best], 0.0)) if next_best >= 0 else np.inf
        old = labels[i]
        if old == best:
            continue
        changed += 1
        labels[i] = best
        w = weights[i if len(weights) > 1 else 0]
        filling = 1 if w > 0 else 0
        totals[best] += w
        counts[best] += filling
        for j in range(n_features):
            sums[best, j] += w * batch[r, j]
        if old >= 0:
            totals[old] -= w
            counts[old] -= filling
            for j in range(n_features):
                sums[old, j] -= w * batch[r, j]
    return changed


@kernel()
def _two_least(values):
    best, second = 0, -1
    for k in range(1, len(values)):
        if values[k] < values[best]:
            best, second = k, best
        elif second < 0 or values[k] < values[second]:
            second = k
    return best, second


@kernel()
def regrets_block(X, weights, free, offset, start, stop, labels, centers, out):
    """Write to `out` what each free row would cost more in each of the centers' clusters."""
    for i in range(start, stop):
        if not free[i]:
            for k in range(len(centers)):
                out[i - start, k] = np.inf
            continue
        w = weights[i if len(weights) > 1 else 0]
        here = _distance(X[i], offset, centers[labels[i]])
        for k in range(len(centers)):
            there = _distance(X[i], offset, centers[k])
            out[i - start, k] = w * (there * there - here * here) if w > 0 else np.inf
