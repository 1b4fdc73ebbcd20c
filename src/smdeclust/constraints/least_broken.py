"""Labels that break few pairs, by annealing: a repair that holds, whatever the pairs."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from smdeclust.constraints.groups import contract
from smdeclust.constraints.numbered import NumberedPairs
from smdeclust.kernels import kernel

_MAX_STEPS = 20_000_000
_MAX_SWEEPS = 1000
_N_ROUNDS = 4


def least_broken(pairs: NumberedPairs, n_clusters: int, seed: int = 0) -> frozenset[int]:
    """Return numbers of pairs without which the others hold; few, but not proven fewest."""
    if pairs.n_rows == 0:
        return frozenset()
    rng = np.random.default_rng(seed)
    i, j = pairs.ends.T
    is_must = np.arange(pairs.n_pairs) < pairs.n_must
    pull = np.where(is_must, pairs.cost, -pairs.cost)
    labels = rng.integers(0, n_clusters, pairs.n_rows)
    best = np.full(pairs.n_pairs, True)
    for _ in range(_N_ROUNDS):
        # Rows by themselves, then whole groups of what holds together so far: chains of must-links
        # cross from label to label as one.
        for alone in (True, False):
            held = is_must & (labels[i] == labels[j]) & (not alone)
            group = contract(pairs.n_rows, pairs.ends[held], pairs.ends[:0]).of_point
            _move(group, group[i], group[j], pull, labels, n_clusters, rng)
        broken = np.where(is_must, labels[i] != labels[j], labels[i] == labels[j])
        if pairs.cost[broken].sum() < pairs.cost[best].sum():
            best = broken
    return _with_enough_groups(pairs, n_clusters, set(np.flatnonzero(best).tolist()))


def _with_enough_groups(pairs: NumberedPairs, n_clusters: int, drop: set[int]) -> frozenset[int]:
    """Must-links may leave fewer groups than clusters: the cheapest go until there are enough."""
    must, _ = pairs.split(pairs.without(drop))
    for number in must[np.argsort(pairs.cost[must], kind="stable")].tolist():
        if pairs.n_groups(pairs.without(drop)) >= n_clusters:
            break
        drop.add(number)
    return frozenset(drop)


def _move(
    group: np.ndarray,
    i: np.ndarray,
    j: np.ndarray,
    pull: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
) -> None:
    """Anneal the labels of groups of rows; `labels` of the rows are changed."""
    n_groups = int(group.max()) + 1
    ends = np.concatenate([i, j]), np.concatenate([j, i])
    graph = coo_array((np.concatenate([pull, pull]), ends), shape=(n_groups, n_groups)).tocsr()
    of_group = np.empty(n_groups, dtype=np.int64)
    of_group[group] = labels
    n_sweeps = int(np.clip(_MAX_STEPS // (graph.nnz + n_groups * n_clusters), 5, _MAX_SWEEPS))
    scale = float(np.abs(graph.data).mean())
    _anneal(graph.indptr, graph.indices, graph.data, of_group, n_clusters, n_sweeps, scale, rng)
    labels[:] = of_group[group]


@kernel()
def _anneal(
    indptr: np.ndarray,
    indices: np.ndarray,
    pull: np.ndarray,
    labels: np.ndarray,  # OUT
    n_clusters: int,
    n_sweeps: int,
    scale: float,
    rng: np.random.Generator,
) -> None:
    """Nodes draw labels by what their pairs gain there, at a temperature that falls to none."""
    gain = np.zeros(n_clusters)
    for sweep in range(n_sweeps + 1000):
        heat = scale * (1.0 - sweep / n_sweeps) if sweep < n_sweeps else 0.0
        moved = False
        for node in range(len(labels)):
            for k in range(n_clusters):
                gain[k] = 0.0
            for e in range(indptr[node], indptr[node + 1]):
                if indices[e] != node:
                    gain[labels[indices[e]]] += pull[e]
            if heat > 0.0:
                best, chosen = -np.inf, 0
                for k in range(n_clusters):  # the largest of gain + Gumbel noise: a soft maximum
                    value = gain[k] - heat * np.log(-np.log(rng.random() + 1e-300) + 1e-300)
                    if value > best:
                        best, chosen = value, k
                labels[node] = chosen
            else:
                best = gain[labels[node]] + 1e-9 * scale
                for k in range(n_clusters):
                    if gain[k] > best:
                        best, labels[node], moved = gain[k], k, True
        if heat == 0.0 and not moved:
            return
