"""The local search: relocate linked points one by one, reassign the others, until nothing moves."""

from __future__ import annotations

import numpy as np

from smdeclust.baselines.shuffle import make_seed, shuffle
from smdeclust.baselines.soft_hg.model import Model
from smdeclust.baselines.soft_hg.relocation import (
    annotation_change,
    gaussian_change,
    likelihood,
    make_state,
    move,
    pick_up,
    put_down,
    reset,
    square_distance,
)
from smdeclust.kernels import kernel
from smdeclust.problem import Solution

# A move must gain more than this; less is rounding.
LEAST_GAIN = 1e-7
# Reassigning follows the Gaussians alone and may go round in circles.
MOST_REASSIGNMENTS = 100


def descend(model: Model, labels: np.ndarray, rng: np.random.Generator) -> Solution:
    """Improve (N,) labels without empty clusters.

    The prior is that of the sizes at the start of each round; rounds go on while the objective,
    with the prior of its own sizes, falls.
    """
    linked = np.flatnonzero(np.diff(model.indptr) > 0)
    free = np.flatnonzero(np.diff(model.indptr) == 0)
    seed = make_seed(rng)
    sizes = np.bincount(labels, minlength=model.n_clusters)
    state = make_state(model, labels, model.prior(sizes))
    graph = model.points, model.indptr, model.indices, model.layers
    rest = model.n_links, model.accuracy is not None
    best, objective, n_passes = np.array(labels), likelihood(*rest, state), 0
    while True:
        passes = relocate(*graph, linked, state, seed) if len(linked) else 0
        changed = reassign(model.points, free, state, MOST_REASSIGNMENTS) if len(free) else 0
        n_passes += passes + changed
        state.beta[:] = model.prior(state.sizes)
        reset(*graph, state)
        found = likelihood(*rest, state)
        if not found < objective - LEAST_GAIN:
            break
        best, objective = state.labels.copy(), found
    centers = np.array([model.points[best == k].mean(axis=0) for k in range(model.n_clusters)])
    return Solution(best, centers, objective, max(n_passes, 1), proven=False)


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
            best, least = a, square_distance(points[i], state.centers[a]) / twice[a] + offset[a]
            for k in range(n_clusters):
                cost = square_distance(points[i], state.centers[k]) / twice[k] + offset[k]
                if cost < least:
                    best, least = k, cost
            if best != a:
                state.labels[i] = best
                state.sizes[a] -= 1
                state.sizes[best] += 1
                moved = True
        if not moved:
            return n_done
        state.centers[:] = 0.0
        state.squares[:] = 0.0
        for i in range(len(points)):
            state.centers[state.labels[i]] += points[i]
        for k in range(n_clusters):
            state.centers[k] /= state.sizes[k]
        for i in range(len(points)):
            k = state.labels[i]
            state.squares[k] += square_distance(points[i], state.centers[k])
    return limit
