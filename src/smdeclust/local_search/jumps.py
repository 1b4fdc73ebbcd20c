"""Jumps: empty one cluster, split another, continue, and keep what lowers the objective.

Assigning and moving centers never carries a center from a region with too many of them to one with
too few. A jump does: the groups of the cluster that is needed least go to their second choices, the
cluster that gains most is split in two, and k-means runs on the clusters near both. Linked groups
go, in their order, to the nearest center that no cannot-link forbids so far: good enough to weigh a
jump by; the exact local search that follows keeps every cannot-link.
"""

import numpy as np

from smdeclust.kernels import kernel, summing_kernel
from smdeclust.local_search.kempe import squared_distance
from smdeclust.points.blocks import two_least
from smdeclust.points.centers import squared_distances, transposed

# Most iterations of k-means within a cluster that is split, and among the clusters near a jump.
SPLIT_ITERATIONS = 6
LOCAL_ITERATIONS = 12
# Clusters near each end of a jump that take part in it.
NEAR = 8
# K-means near a jump continues while the objective there falls by this share.
LEAST_PROGRESS = 1e-5
# Gains smaller than this share of the objective are rounding.
LEAST_GAIN = 1e-9


@kernel()
def jump_descent(points, weights, indptr, indices, centers, tried, max_idle, max_jumps, max_trials):
    """Jump as long as it helps. Changes `centers`; returns how many jumps and trials were made.

    Jumps that have no cluster in common share one pass over all groups, O(G K d); each trial costs
    O(n m d) for the n groups of the m clusters near it. Ends where a pass finds no jump: after
    `max_idle` trials that do not lower the objective. (Or where a pass raises it, as cannot-links
    that are kept one after the other can.) `tried` (K + 1, K) says when the pairs (emptied,
    split) were tried and, in its last row, when clusters changed, counted in jumps from 1 on: with
    it another call continues where `max_trials` ended this one.
    """
    n_groups, n_features = points.shape
    n_clusters, n_linked = len(centers), len(indptr) - 1
    labels = np.empty(n_groups, np.int64)
    own = np.empty(n_groups)
    loss = np.empty(n_clusters)
    gain = np.empty(n_clusters)
    halves = np.empty((n_clusters, 2, n_features))
    order = np.empty(n_groups, np.int64)
    members = np.empty(n_groups, np.int64)
    start = np.empty(n_clusters + 1, np.int64)
    busy = np.ones(n_clusters, np.bool_)  # changed since the last pass
    cheapest = np.empty(n_clusters, np.int64)  # clusters by what emptying them costs
    widest = np.empty(n_clusters, np.int64)  # clusters by what splitting them gains
    n_jumps = n_trials = 0
    changed = tried[n_clusters]
    clock = 1
    for k in range(n_clusters):
        clock = max(clock, changed[k] + 1)
    for _ in range(2):
        objective = _step(points, weights, indptr, indices, centers, labels, own, loss)
    while n_jumps < max_jumps and n_trials < max_trials:
        _sort_by_cluster(labels, order, start)
        for k in range(n_clusters):
            if busy[k]:
                inside = order[start[k] : start[k + 1]]
                gain[k] = _split(points, weights, inside, centers[k], halves[k])
                busy[k] = False
        sort_places(loss, 1.0, cheapest)
        sort_places(gain, -1.0, widest)
        n_before, n_idle = n_jumps, 0
        while n_idle < max_idle and n_jumps < max_jumps and n_trials < max_trials:
            a, b = _best_pair(loss, gain, cheapest, widest, tried, busy)
            if a < 0:
                break
            n_trials += 1
            tried[a, b] = clock
            near = _clusters_near(centers, a, b, busy)
            n = _groups_in(near, labels, n_linked, order, start, members)
            problem = points, weights, indptr, indices
            jump = near, a, b, halves[b]
            if _try(*problem, centers, own, members[:n], *jump, LEAST_GAIN * objective):
                for k in near:
                    busy[k] = True
                    changed[k] = clock
                clock += 1
                n_jumps += 1
            else:
                n_idle += 1
        if n_jumps == n_before:
            break
        before = objective
        objective = _step(points, weights, indptr, indices, centers, labels, own, loss)
        if objective > before:
            break
    return n_jumps, n_trials


@kernel()
def sort_places(values, sign, order):
    """Write the positions of `values` times `sign`, in ascending order, to `order`: a heap sort.

    (numba's own sort takes seconds to compile.)
    """
    n = len(values)
    for i in range(n):
        order[i] = i
    for step in range(n // 2 + n):
        first, end = (n // 2 - 1 - step, n) if step < n // 2 else (0, n - 1 - (step - n // 2))
        if step >= n // 2:
            order[0], order[end] = order[end], order[0]
        parent = first
        while 2 * parent + 1 < end:
            child = 2 * parent + 1
            if child + 1 < end and sign * values[order[child]] < sign * values[order[child + 1]]:
                child += 1
            if sign * values[order[parent]] >= sign * values[order[child]]:
                break
            order[parent], order[child] = order[child], order[parent]
            parent = child


@kernel()
def _best_pair(loss, gain, cheapest, widest, tried, busy):
    """The pair (emptied, split) of least estimated change not yet tried as things are.

    `cheapest` and `widest` are the clusters in the order of their loss and of their gain, so that
    the search ends where no later pair can be better.
    """
    best_a, best_b, least = -1, -1, np.inf
    changed = tried[len(loss)]
    widest_gain = 0.0
    for b in widest:
        if not busy[b]:
            widest_gain = gain[b]
            break
    for a in cheapest:
        if busy[a]:
            continue
        if not loss[a] - widest_gain < least:
            break
        for b in widest:
            if gain[b] <= 0 or not loss[a] - gain[b] < least:
                break
            if a != b and not busy[b] and tried[a, b] <= max(changed[a], changed[b]):
                best_a, best_b, least = a, b, loss[a] - gain[b]
                break
    return best_a, best_b


@summing_kernel()
def _step(points, weights, indptr, indices, centers, labels, own, loss):
    """One iteration of k-means, which also writes what emptying each cluster would cost.

    Changes `centers` (an empty cluster keeps its own), writes `labels`, `own` (squared distances to
    the moved centers) and `loss`. Returns the objective. O(G K d).
    """
    n_groups, n_features = points.shape
    n_clusters = len(centers)
    centers_t = transposed(centers)
    row = np.empty(n_clusters)
    total = np.zeros(n_clusters)
    sums = np.zeros((n_clusters, n_features))
    for k in range(n_clusters):
        loss[k] = 0.0
    for g in range(n_groups):
        squared_distances(points[g], centers, centers_t, row)
        if g < len(indptr) - 1:
            _forbid(g, indptr, indices, labels, row)
        first, second = two_least(row)
        w = weights[g]
        labels[g] = first
        loss[first] += w * (row[second] - row[first]) if second >= 0 else np.inf
        total[first] += w
        for j in range(n_features):
            sums[first, j] += w * points[g, j]
    for k in range(n_clusters):
        if total[k] > 0:
            for j in range(n_features):
                centers[k, j] = sums[k, j] / total[k]
    objective = 0.0
    for g in range(n_groups):
        own[g] = squared_distance(points[g], centers[labels[g]])
        objective += weights[g] * own[g]
    return objective


@kernel()
def _forbid(g, indptr, indices, labels, row):
    """Make the clusters of earlier cannot-linked groups infinitely far, unless all would be."""
    n_left = len(row)
    for e in range(indptr[g], indptr[g + 1]):
        u = indices[e]
        if u < g and labels[u] >= 0 and row[labels[u]] < np.inf:
            if n_left == 1:
                return
            row[labels[u]] = np.inf
            n_left -= 1


@kernel()
def _sort_by_cluster(labels, order, start):
    """Write the groups cluster by cluster to `order`; those of k begin at `start[k]`."""
    n_clusters = len(start) - 1
    for k in range(n_clusters + 1):
        start[k] = 0
    for g in range(len(labels)):
        start[labels[g] + 1] += 1
    for k in range(n_clusters):
        start[k + 1] += start[k]
    place = start.copy()
    for g in range(len(labels)):
        order[place[labels[g]]] = g
        place[labels[g]] += 1


@summing_kernel()
def _split(points, weights, members, center, halves):
    """Split a cluster along its longest axis, by 2-means; writes both means, returns the gain."""
    n_features = len(center)
    axis = np.zeros(n_features)
    farthest = -1.0
    for g in members:
        square = squared_distance(points[g], center) * weights[g]
        if square > farthest:
            farthest = square
            for j in range(n_features):
                axis[j] = points[g, j] - center[j]
    if farthest <= 0 or len(members) < 2:
        return 0.0
    turned = np.empty(n_features)
    for _ in range(3):  # power iterations on the covariance
        for j in range(n_features):
            turned[j] = 0.0
        for g in members:
            product = 0.0
            for j in range(n_features):
                product += axis[j] * (points[g, j] - center[j])
            product *= weights[g]
            for j in range(n_features):
                turned[j] += product * (points[g, j] - center[j])
        size = 0.0
        for j in range(n_features):
            size += turned[j] * turned[j]
        size = np.sqrt(size)
        if size <= 0:
            break
        for j in range(n_features):
            axis[j] = turned[j] / size
    # A group lies on one side of the hyperplane given by (axis, threshold).
    threshold = 0.0
    for j in range(n_features):
        threshold += axis[j] * center[j]
    gained = 0.0
    total = np.zeros(2)
    for _ in range(SPLIT_ITERATIONS):
        for j in range(n_features):
            halves[0, j] = halves[1, j] = 0.0
        total[0] = total[1] = 0.0
        for g in members:
            product = 0.0
            for j in range(n_features):
                product += axis[j] * points[g, j]
            side = 1 if product > threshold else 0
            total[side] += weights[g]
            for j in range(n_features):
                halves[side, j] += weights[g] * points[g, j]
        if total[0] <= 0 or total[1] <= 0:
            return 0.0
        squares, norm_0, norm_1 = 0.0, 0.0, 0.0
        for j in range(n_features):
            halves[0, j] /= total[0]
            halves[1, j] /= total[1]
            axis[j] = halves[1, j] - halves[0, j]
            squares += axis[j] * axis[j]
            norm_0 += halves[0, j] * halves[0, j]
            norm_1 += halves[1, j] * halves[1, j]
        fall = squares * total[0] * total[1] / (total[0] + total[1])
        if fall <= gained * (1 + 1e-6):
            break
        gained = fall
        threshold = 0.5 * (norm_1 - norm_0)
    return gained


@kernel()
def _clusters_near(centers, a, b, busy):
    """The clusters that a jump from a to b may change: a, b, and those next to them, none busy."""
    n_clusters = len(centers)
    chosen = np.empty(n_clusters, np.bool_)
    distance = np.empty(n_clusters)
    for k in range(n_clusters):
        chosen[k] = n_clusters <= 2 * NEAR + 2
    for end in (a, b):
        for k in range(n_clusters):
            distance[k] = squared_distance(centers[k], centers[end])
        # The nearest ones, one after the other: a sort would take seconds to compile.
        for _ in range(min(NEAR + 1, n_clusters)):
            nearest = 0
            for k in range(1, n_clusters):
                if distance[k] < distance[nearest]:
                    nearest = k
            distance[nearest] = np.inf
            chosen[nearest] = True
    chosen[a] = chosen[b] = True
    n_near = 0
    near = np.empty(n_clusters, np.int64)
    for k in range(n_clusters):
        if chosen[k] and not busy[k]:
            near[n_near] = k
            n_near += 1
    return near[:n_near]


@kernel()
def _groups_in(near, labels, n_linked, order, start, members):
    """Write the groups of these clusters, linked ones first, in order; returns how many."""
    inside = np.zeros(len(start) - 1, np.bool_)
    for k in near:
        inside[k] = True
    n = 0
    for g in range(n_linked):
        if inside[labels[g]]:
            members[n] = g
            n += 1
    for k in near:
        for p in range(start[k], start[k + 1]):
            if order[p] >= n_linked:
                members[n] = order[p]
                n += 1
    return n


@summing_kernel()
def _try(points, weights, indptr, indices, centers, own, members, near, a, b, halves, least_gain):
    """K-means among the clusters near the jump from a to b; returns whether that helps.

    Where the objective falls by more than `least_gain`, the new centers are written to `centers`;
    otherwise nothing changes.
    """
    n_features, n_linked = centers.shape[1], len(indptr) - 1
    m = len(near)
    trial = np.empty((m, n_features))
    for i in range(m):
        k = near[i]
        for j in range(n_features):
            trial[i, j] = halves[0, j] if k == a else halves[1, j] if k == b else centers[k, j]
    before = 0.0
    for g in members:
        before += weights[g] * own[g]
    row = np.empty(m)
    total = np.empty(m)
    sums = np.empty((m, n_features))
    found = np.full(n_linked, -1)  # the others lie in clusters that do not take part
    last = np.inf
    for n_left in range(LOCAL_ITERATIONS, 0, -1):
        trial_t = transposed(trial)
        cost = 0.0
        for i in range(m):
            total[i] = 0.0
            for j in range(n_features):
                sums[i, j] = 0.0
        for g in members:
            squared_distances(points[g], trial, trial_t, row)
            if g < n_linked:
                _forbid(g, indptr, indices, found, row)
            best, least = 0, row[0]
            for r in range(1, m):
                if row[r] < least:
                    best, least = r, row[r]
            if g < n_linked:
                found[g] = best
            w = weights[g]
            cost += w * least
            total[best] += w
            for j in range(n_features):
                sums[best, j] += w * points[g, j]
        for i in range(m):
            if total[i] > 0:
                for j in range(n_features):
                    gap = sums[i, j] / total[i] - trial[i, j]
                    cost -= total[i] * gap * gap
                    trial[i, j] += gap
        fall = last - cost
        last = cost  # that of `trial`, even where cannot-links made it rise
        if not fall > LEAST_PROGRESS * last or cost - before > n_left * fall:
            break  # at an end, or so far off that no such falls lead to where it began
    helps = before - last > least_gain
    if helps:
        for i in range(m):
            for j in range(n_features):
                centers[near[i], j] = trial[i, j]
    return helps
