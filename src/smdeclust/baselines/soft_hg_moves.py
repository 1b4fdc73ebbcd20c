"""What moving one point to another cluster does to the likelihood, by differences.

The prior stays fixed while points are relocated. Summed over all pairs of clusters the terms
``omega (n_r n_s + beta)`` add up to the number of links, so the annotation part is, but for
constants, a sum of ``-m ln(m / (n_r n_s + beta))``. A move from a to b changes the sizes in rows a
and b. `rows[r]` keeps the sum of row r as it is, and as it would be with one point less or more, so
that a move costs only what the point itself takes along: O(d + degree).
"""

from collections import namedtuple

import numpy as np

from smdeclust.baselines.pieces import shuffle
from smdeclust.kernels import kernel
from smdeclust.local_search.kempe import squared_distance

# Logarithms of rates and priors see no smaller number.
LOG_FLOOR = 1e-10
# Positions in a prior: links within a cluster, links between two.
WITHIN, BETWEEN = 0, 1
# A move must gain more than this; less is rounding.
LEAST_GAIN = 1e-7
# Reassigning follows the Gaussians alone and may go round in circles.
MOST_REASSIGNMENTS = 100
# Where a search stands; the kernels change the arrays.
#   labels (N,), sizes (K,), centers (K, d'), squares (K,): sum of squared distances to the center
#   links (2, K, K), beta (2, 2), rows (K, 3): rows of the annotation part with -1, 0, +1 points
#   carried (2, K): links of the point at hand to each cluster, zero between two points
#   touched (K,): clusters that it has links to
State = namedtuple(
    "State", "labels sizes centers squares links beta rows carried touched n_features least"
)


def make_state(model, labels, beta):
    """Everything that follows from `labels`, from scratch. The state owns all of its arrays."""
    k = model.n_clusters
    state = State(
        labels=np.array(labels, dtype=np.int64),
        sizes=np.zeros(k, dtype=np.int64),
        centers=np.zeros((k, model.points.shape[1])),
        squares=np.zeros(k),
        links=np.zeros((2, k, k)),
        beta=np.array(beta, dtype=np.float64),
        rows=np.zeros((k, 3)),
        carried=np.zeros((2, k)),
        touched=np.zeros(k, dtype=np.int64),
        n_features=model.n_features,
        least=model.least_variance,
    )
    reset(model.points, model.indptr, model.indices, model.layers, state)
    return state


@kernel()
def reset(points, indptr, indices, layers, state):
    """Recompute everything but labels and prior. O(N d + links + K^2)."""
    _measure(points, state)
    state.links[:] = 0.0
    for i in range(len(points)):
        for e in range(indptr[i], indptr[i + 1]):
            state.links[layers[e], state.labels[i], state.labels[indices[e]]] += 1.0
    for k in range(len(state.sizes)):
        _set_row(state, k)


@kernel()
def _measure(points, state):
    """Recompute sizes, centers and squares from the labels. O(N d)."""
    sizes, centers, squares = state.sizes, state.centers, state.squares
    sizes[:] = 0
    centers[:] = 0.0
    squares[:] = 0.0
    for i in range(len(points)):
        sizes[state.labels[i]] += 1
        centers[state.labels[i]] += points[i]
    for k in range(len(sizes)):
        centers[k] /= max(sizes[k], 1)
    for i in range(len(points)):
        squares[state.labels[i]] += squared_distance(points[i], centers[state.labels[i]])


@kernel()
def _fit(count, opportunities):
    """m ln omega with omega = m / opportunities."""
    if count <= 0.0 or opportunities <= 0.0:
        return 0.0
    return count * np.log(max(count / opportunities, LOG_FLOOR))


@kernel()
def _between(state, layer, count, n, other):
    """Term of two different clusters with n and `other` points."""
    return -_fit(count, n * other + state.beta[layer, BETWEEN])


@kernel()
def _within(state, layer, count, n):
    """Term of one cluster with n points."""
    return -0.5 * _fit(count, n * n + 2.0 * state.beta[layer, WITHIN])


@kernel()
def _set_row(state, r):
    """Recompute row r of the annotation part for one point less, as it is, one more. O(K)."""
    for shift in range(3):
        n = float(state.sizes[r] - 1 + shift)
        total = 0.0
        for layer in range(2):
            for s in range(len(state.sizes)):
                count = state.links[layer, r, s]
                if count <= 0.0:
                    continue
                if s == r:
                    total += _within(state, layer, count, n)
                else:
                    total += _between(state, layer, count, n, float(state.sizes[s]))
        state.rows[r, shift] = total


@kernel()
def likelihood(n_links, has_prior, state):
    """The objective of the state (minus the logarithm of the likelihood). O(K^2)."""
    n_clusters = len(state.sizes)
    total = 0.0
    for r in range(n_clusters):
        total += _gauss(state.squares[r], float(state.sizes[r]), state)
    for layer in range(2):
        if n_links[layer] == 0:
            continue
        total += n_links[layer]
        for r in range(n_clusters):
            n = float(state.sizes[r])
            total += _within(state, layer, state.links[layer, r, r], n)
            for s in range(r):
                total += _between(state, layer, state.links[layer, r, s], n, float(state.sizes[s]))
        if has_prior:
            n_between = n_clusters * (n_clusters - 1) / 2
            total -= n_clusters * np.log(max(state.beta[layer, WITHIN], LOG_FLOOR))
            total -= n_between * np.log(max(state.beta[layer, BETWEEN], LOG_FLOOR))
    return total


@kernel()
def pick_up(i, indptr, indices, layers, state):
    """Count the links of point i by layer and cluster; returns how many clusters. O(degree)."""
    n_touched = 0
    for e in range(indptr[i], indptr[i + 1]):
        s = state.labels[indices[e]]
        if state.carried[0, s] == 0.0 and state.carried[1, s] == 0.0:
            state.touched[n_touched] = s
            n_touched += 1
        state.carried[layers[e], s] += 1.0
    return n_touched


@kernel()
def put_down(n_touched, state):
    """Clear what `pick_up` counted."""
    for t in range(n_touched):
        state.carried[0, state.touched[t]] = 0.0
        state.carried[1, state.touched[t]] = 0.0


@kernel()
def _gauss(squares, n, state):
    """The Gaussian part of a cluster of n points."""
    share = n * state.n_features
    variance = max(squares / share, state.least)
    return squares / (2.0 * variance) + share * 0.5 * np.log(variance)


@kernel()
def _squares_after(x, a, b, state):
    """Sums of squares of a without x and of b with it; the means move along. O(d)."""
    n_a, n_b = float(state.sizes[a]), float(state.sizes[b])
    left = state.squares[a] - squared_distance(x, state.centers[a]) * n_a / (n_a - 1.0)
    joined = state.squares[b] + squared_distance(x, state.centers[b]) * n_b / (n_b + 1.0)
    return max(left, 0.0), joined


@kernel()
def gaussian_change(x, a, b, state):
    """Change of the Gaussian part if x moves from a (not its last point) to b. O(d)."""
    left, joined = _squares_after(x, a, b, state)
    n_a, n_b = float(state.sizes[a]), float(state.sizes[b])
    before = _gauss(state.squares[a], n_a, state) + _gauss(state.squares[b], n_b, state)
    return _gauss(left, n_a - 1.0, state) + _gauss(joined, n_b + 1.0, state) - before


@kernel()
def annotation_change(a, b, n_touched, state):
    """Change of the annotation part if the point picked up moves from a to b. O(degree)."""
    n_a, n_b = float(state.sizes[a]), float(state.sizes[b])
    change = state.rows[a, 0] + state.rows[b, 2] - state.rows[a, 1] - state.rows[b, 1]
    for layer in range(2):
        count = state.links[layer, a, b]
        to_a, to_b = state.carried[layer, a], state.carried[layer, b]
        # The rows count the pair (a, b) twice, and with only one of the two sizes changed.
        change += _between(state, layer, count, n_a, n_b)
        change -= _between(state, layer, count, n_a - 1.0, n_b)
        change -= _between(state, layer, count, n_a, n_b + 1.0)
        change += _between(state, layer, count + to_a - to_b, n_a - 1.0, n_b + 1.0)
        if to_a > 0.0:
            inside = state.links[layer, a, a]
            change += _within(state, layer, inside - 2.0 * to_a, n_a - 1.0)
            change -= _within(state, layer, inside, n_a - 1.0)
        if to_b > 0.0:
            inside = state.links[layer, b, b]
            change += _within(state, layer, inside + 2.0 * to_b, n_b + 1.0)
            change -= _within(state, layer, inside, n_b + 1.0)
    for t in range(n_touched):
        s = state.touched[t]
        if s in (a, b):
            continue
        n_s = float(state.sizes[s])
        for layer in range(2):
            moved = state.carried[layer, s]
            if moved > 0.0:
                out, into = state.links[layer, a, s], state.links[layer, b, s]
                change += _between(state, layer, out - moved, n_a - 1.0, n_s)
                change -= _between(state, layer, out, n_a - 1.0, n_s)
                change += _between(state, layer, into + moved, n_b + 1.0, n_s)
                change -= _between(state, layer, into, n_b + 1.0, n_s)
    return change


@kernel()
def move(i, x, a, b, n_touched, state):
    """Move point i, picked up, from a to b. O(d + degree), plus O(K) per cluster that shares
    links with a or b."""
    left, joined = _squares_after(x, a, b, state)
    state.squares[a], state.squares[b] = left, joined
    n_a, n_b = state.sizes[a], state.sizes[b]
    for j in range(len(x)):
        state.centers[a, j] -= (x[j] - state.centers[a, j]) / (n_a - 1)
        state.centers[b, j] += (x[j] - state.centers[b, j]) / (n_b + 1)
    state.sizes[a] -= 1
    state.sizes[b] += 1
    state.labels[i] = b
    for t in range(n_touched):
        s = state.touched[t]
        for layer in range(2):
            moved = state.carried[layer, s]
            state.links[layer, a, s] -= moved
            state.links[layer, s, a] -= moved
            state.links[layer, b, s] += moved
            state.links[layer, s, b] += moved
    for s in range(len(state.sizes)):
        shares = s in (a, b) or state.carried[0, s] > 0.0 or state.carried[1, s] > 0.0
        for layer in range(2):
            shares |= state.links[layer, a, s] > 0.0 or state.links[layer, b, s] > 0.0
        if shares:
            _set_row(state, s)


@kernel()
def relocate(points, indptr, indices, layers, linked, state, seed):
    """Move linked points to better clusters, first improvement, until a pass moves none.

    Points and clusters come in random order; no cluster is emptied. Changes `state` and `seed`.
    Returns the number of passes. An evaluation is O(d + degree).
    """
    order = linked.copy()
    clusters = np.arange(len(state.sizes))
    n_passes = 0
    improving = True
    while improving:
        improving = False
        n_passes += 1
        shuffle(order, seed)
        for i in order:
            n_touched = pick_up(i, indptr, indices, layers, state)
            shuffle(clusters, seed)
            for b in clusters:
                a = state.labels[i]
                if b == a or state.sizes[a] < 2:
                    continue
                change = gaussian_change(points[i], a, b, state)
                change += annotation_change(a, b, n_touched, state)
                if change < -LEAST_GAIN:
                    move(i, points[i], a, b, n_touched, state)
                    improving = True
            put_down(n_touched, state)
        reset(points, indptr, indices, layers, state)  # sums that must not drift
    return n_passes


@kernel()
def reassign(points, free, state, limit):
    """Put free points where d^2 / (2 sigma^2) + d ln sigma is least, until nothing moves.

    Changes labels, sizes, centers and squares of `state` (not its rows). Returns the number of
    passes that moved something. A pass is O(N K d).
    """
    n_clusters = len(state.sizes)
    twice = np.empty(n_clusters)
    offset = np.empty(n_clusters)
    for n_done in range(limit):
        for k in range(n_clusters):
            variance = state.squares[k] / (state.sizes[k] * state.n_features)
            twice[k] = 2.0 * max(variance, state.least)
            offset[k] = 0.5 * state.n_features * np.log(0.5 * twice[k])
        moved = False
        for i in free:
            a = state.labels[i]
            if state.sizes[a] < 2:
                continue
            best, least = a, squared_distance(points[i], state.centers[a]) / twice[a] + offset[a]
            for k in range(n_clusters):
                cost = squared_distance(points[i], state.centers[k]) / twice[k] + offset[k]
                if cost < least:
                    best, least = k, cost
            if best != a:
                state.labels[i] = best
                state.sizes[a] -= 1
                state.sizes[best] += 1
                moved = True
        if not moved:
            return n_done
        _measure(points, state)
    return limit
