"""Deep local search: where Lloyd stops, swap Kempe chains between two clusters.

Moving a group from cluster a to b drags along its cannot-linked groups in b, theirs in a, and so
on: the connected component of the cannot-link graph between the two clusters. Swapping it keeps
every cannot-link. A lone group is the classical Hartigan move. The change of the objective follows
exactly from the two clusters' means and weights.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.distances import squared_distances, transposed
from smdeclust.kernels import kernel, summing_kernel

# A move must gain more than this share of the objective: less is rounding.
LEAST_GAIN = 1e-12


@kernel()
def kempe_chain(g, target, labels, indptr, indices, mark, stamp, chain):
    """Write the Kempe chain of `g` towards cluster `target` to `chain`; returns its length.

    `mark` equals `stamp` exactly at the nodes of the chain afterwards. O(edges of the chain).
    """
    source = labels[g]
    chain[0] = g
    mark[g] = stamp
    n, i = 1, 0
    while i < n:
        v = chain[i]
        i += 1
        other = target if labels[v] == source else source
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if labels[u] == other and mark[u] != stamp:
                mark[u] = stamp
                chain[n] = u
                n += 1
    return n


@summing_kernel()
def _swap_gain(chain, points, weights, labels, a, b, centers, total, counts, shift):
    """How much the objective falls if the chain is swapped between a and b (-inf: it may not be).

    With s the sum of w (x - y_a) over what leaves a minus that over what enters, the sum of squares
    about the old center changes by a known amount, and moving the center to the new mean saves
    |s|^2 / W. Writes the sums about y_a to `shift[0]`, about y_b to `shift[1]`.
    """
    n_features = centers.shape[1]
    for j in range(n_features):
        shift[0, j] = shift[1, j] = 0.0
    gain = 0.0
    weight_in_b, count_in_b = 0.0, 0
    for g in chain:
        w = weights[g]
        here, there = (a, b) if labels[g] == a else (b, a)
        if here == a:
            weight_in_b += w
            count_in_b += 1
        else:
            weight_in_b -= w
            count_in_b -= 1
        sign = 1.0 if here == a else -1.0
        before, after = 0.0, 0.0
        for j in range(n_features):
            x = points[g, j]
            to_here = x - centers[here, j]
            to_there = x - centers[there, j]
            before += to_here * to_here
            after += to_there * to_there
            shift[0, j] -= sign * w * (x - centers[a, j])
            shift[1, j] += sign * w * (x - centers[b, j])
        gain += w * (before - after)
    if counts[a] - count_in_b < 1 or counts[b] + count_in_b < 1:
        return -np.inf, 0.0, 0
    weight_a, weight_b = total[a] - weight_in_b, total[b] + weight_in_b
    square_a, square_b = 0.0, 0.0
    for j in range(n_features):
        square_a += shift[0, j] * shift[0, j]
        square_b += shift[1, j] * shift[1, j]
    return gain + square_a / weight_a + square_b / weight_b, weight_in_b, count_in_b


@summing_kernel()
def kempe_descent(points, weights, indptr, indices, labels, centers, objective):
    """Swap improving chains until a whole pass finds none.

    For each group the best target cluster is taken. Changes `labels` and `centers` (means stay
    means). Returns the number of swaps. A pass costs O(G K d) plus the chains walked.
    """
    n_linked = len(indptr) - 1
    n_clusters, n_features = centers.shape
    total = np.zeros(n_clusters)
    counts = np.zeros(n_clusters, np.int64)
    for g in range(len(points)):
        total[labels[g]] += weights[g]
        if weights[g] > 0:
            counts[labels[g]] += 1
    centers_t = transposed(centers)
    row = np.empty(n_clusters)
    mark = np.zeros(n_linked, np.int64)
    stamp = 0
    chain = np.empty(max(n_linked, 1), np.int64)
    shift = np.empty((2, n_features))
    towards = np.empty(n_clusters, np.bool_)
    swaps = 0
    idle = 0
    g = -1
    least = LEAST_GAIN * objective
    while idle < len(points):
        g = g + 1 if g + 1 < len(points) else 0
        idle += 1
        w = weights[g]
        if w <= 0:
            continue
        a = labels[g]
        squared_distances(points[g], centers, centers_t, row)
        best, best_gain = -1, least
        alone = g >= n_linked
        if not alone:
            for b in range(n_clusters):
                towards[b] = False
            for e in range(indptr[g], indptr[g + 1]):
                towards[labels[indices[e]]] = True
        if counts[a] > 1:
            leaving = row[a] * w * total[a] / (total[a] - w)
            for b in range(n_clusters):
                if b == a or (not alone and towards[b]):
                    continue
                gain = leaving - row[b] * w * total[b] / (total[b] + w)
                if gain > best_gain:
                    best, best_gain = b, gain
        if not alone:
            for b in range(n_clusters):
                if b == a or not towards[b]:
                    continue
                stamp += 1
                n = kempe_chain(g, b, labels, indptr, indices, mark, stamp, chain)
                gain, _, _ = _swap_gain(
                    chain[:n], points, weights, labels, a, b, centers, total, counts, shift
                )
                if gain > best_gain:
                    best, best_gain = b, gain
        if best < 0:
            continue
        b = best
        n = 1
        chain[0] = g
        if not alone and towards[b]:
            stamp += 1
            n = kempe_chain(g, b, labels, indptr, indices, mark, stamp, chain)
        _, weight_in_b, count_in_b = _swap_gain(
            chain[:n], points, weights, labels, a, b, centers, total, counts, shift
        )
        total[a] -= weight_in_b
        total[b] += weight_in_b
        counts[a] -= count_in_b
        counts[b] += count_in_b
        for j in range(n_features):
            centers[a, j] += shift[0, j] / total[a]
            centers[b, j] += shift[1, j] / total[b]
            centers_t[j, a] = centers[a, j]
            centers_t[j, b] = centers[b, j]
        for i in range(n):
            labels[chain[i]] = b if labels[chain[i]] == a else a
        swaps += 1
        idle = 0
    return swaps
