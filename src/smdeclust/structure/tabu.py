"""Labels that keep every hard pair and every bound, whatever they cost: a tabu search (TabuCol).

A move gives a node another label; what counts is by how much pairs and bounds are broken. Without
bounds only the nodes in conflict are looked at, and the cheaper label wins ties. Under bounds a
scrambled number of the move decides ties, and a broken pair weighs more the longer pairs are
broken, less the longer none is (strategic oscillation): a large group must leave although its move
breaks a bound by more than it repairs in pairs.
"""

import time
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from smdeclust.kernels import kernel
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph

# Moves of a search that mends labels.
MOST_MOVES = 50_000
# Labels that are looked at between two looks at the clock.
LOOKS_AT_ONCE = 20_000_000
# Under bounds: after this many moves in a row with broken pairs (or without), by how much their
# weight changes, and within what.
PATIENCE, CHANGE, HEAVIEST = 10, 1.3, 1000.0


def mend(
    costs: np.ndarray,
    graph: PairGraph,
    bounds: Bounds,
    labels: np.ndarray,
    deadline: float = np.inf,
    most_moves: int = MOST_MOVES,
) -> np.ndarray | None:
    """Labels near to these that keep the hard pairs and the bounds; ``None`` where none are found.

    Where pairs are broken, it begins from colors that keep them, matched to the clusters at the
    least cost. Infinite costs forbid. Deterministic, but for the time that is left.
    """
    if len(costs) == 0 or bounds.any_order:
        return None
    hard, n_linked = graph.hard_part, graph.n_nodes
    unit = np.abs(bounds.counts).mean(axis=1, keepdims=True)
    unit = np.where(unit > 0, unit, 1.0)  # what a group counts in each bound

    def search(start: np.ndarray) -> np.ndarray | None:
        found = np.array(start, dtype=np.int64)
        within = (
            np.ascontiguousarray((bounds.counts / unit).T), (bounds.low - bounds.slack) / unit,
            (bounds.high + bounds.slack) / unit, bounds.held(found) / unit,
        )  # fmt: skip
        done = tabu_repair(costs, hard.arrays, found, most_moves, deadline, within)
        return found if done and bounds.hold(found) else None

    found = None
    if (labels[hard.ends] == labels[hard.indices]).any():
        colors = hard.coloring(costs.shape[1], deadline)
        if colors is not None:
            colored = np.array(labels)
            colored[:n_linked] = best_renaming(costs[:n_linked], colors)
            found = search(colored)
    return search(labels) if found is None else found


def best_renaming(costs: np.ndarray, coloring: np.ndarray) -> np.ndarray:
    """The colors of a coloring matched to labels at the least cost: names do not matter to it."""
    k = costs.shape[1]
    table = np.zeros((k, k))
    largest = float(np.abs(costs[np.isfinite(costs)]).max(initial=1.0))
    np.add.at(table, coloring, np.where(np.isfinite(costs), costs, len(costs) * largest))
    return linear_sum_assignment(table)[1].astype(np.int64)[coloring]


def tabu_repair(
    costs: np.ndarray,
    graph: Any,
    labels: np.ndarray,
    max_moves: int,
    deadline: float,
    bounds: tuple[np.ndarray, ...] | None = None,
) -> bool:
    """Remove the conflicts of `labels` (changed in place); returns whether none is left.

    `graph` holds the arrays of a pair graph over the first nodes; infinite costs forbid a label.
    `bounds` are the (n, B) counts, (B, K) lows and highs, and (B, K) sums, which change.
    Deterministic, but for the time that is left.
    """
    n, k = costs.shape
    if bounds is None:
        none = np.empty((0, k))
        bounds = np.empty((n, 0)), none, none, none
    linked = len(graph[0]) - 1, k
    conflicts, tabu_until = np.zeros(linked, np.int64), np.zeros((n, k), np.int64)
    crowd, place = np.empty(linked[0], np.int64), np.empty(linked[0], np.int64)
    size = count_conflicts(graph, labels, conflicts, crowd, place)
    state = np.array([size, np.inf, 1.0, 0.0])
    step = max(1, LOOKS_AT_ONCE // (n * k * (1 + len(bounds[1]))))
    done = False
    for begin in range(0, max_moves + 1, step):
        done = tabu_moves(
            costs, graph, *bounds, labels, conflicts, crowd, place, tabu_until, state, begin,
            min(begin + step, max_moves),
        )  # fmt: skip
        if done or time.perf_counter() >= deadline:
            break
    return bool(done) and bool(np.isfinite(costs[np.arange(n), labels]).all())


@kernel()
def beyond(low, high, value):
    """By how much a sum is outside of its bounds."""
    return max(low - value, 0.0) + max(value - high, 0.0)


@kernel()
def count_conflicts(graph, labels, conflicts, crowd, place):
    """Fill the state of the tabu search for these labels; returns how many nodes are in conflict.

    Writes how many neighbors of each node have each label (`conflicts`), the nodes in conflict
    (`crowd`) and where each is among them (`place`, -1 elsewhere). Only hard pairs count.
    """
    indptr, indices, price, _ = graph
    for v in range(len(conflicts)):
        for j in range(indptr[v], indptr[v + 1]):
            if len(price) == 0 or price[j] == np.inf:
                conflicts[v, labels[indices[j]]] += 1
    size = 0
    for v in range(len(conflicts)):
        place[v] = -1
        if conflicts[v, labels[v]] > 0:
            crowd[size], place[v] = v, size
            size += 1
    return size


@kernel()
def tabu_moves(
    costs, graph, counts, low, high, held, labels, conflicts, crowd, place, tabu_until, state,
    begin, end,
):  # fmt: skip
    """Make the moves from `begin` to `end`; returns whether nothing is broken any more.

    The tabu tenure varies with a counter. Changes everything from `held` to `state`: how many nodes
    are in conflict, the least that was broken so far at this weight, the weight of a broken pair,
    and for how many moves in a row pairs were broken (negative: none). A move is O(nodes in
    conflict * K), or O(n K B) under bounds.
    """
    indptr, indices, price, _ = graph
    n, n_labels = costs.shape
    n_bounds, n_linked = len(low), len(conflicts)
    size, best, weight, streak = int(state[0]), state[1], state[2], state[3]
    for move in range(begin, end + 1):
        if n_bounds:
            streak = max(streak, 0) + 1 if size else min(streak, 0) - 1
            if abs(streak) >= PATIENCE:
                weight *= CHANGE if streak > 0 else 1 / CHANGE
                weight = min(max(weight, 1 / HEAVIEST), HEAVIEST)
                streak, best = 0.0, np.inf
        broken = 0.0
        for i in range(size):
            broken += 0.5 * weight * conflicts[crowd[i], labels[crowd[i]]]
        for b in range(n_bounds):
            for k in range(n_labels):
                broken += beyond(low[b, k], high[b, k], held[b, k])
        if broken <= 0.0:
            return True
        if move == end:
            break
        best = min(best, broken)
        best_v, best_k, best_change, best_loss = -1, -1, np.inf, np.inf
        for i in range(n if n_bounds else size):
            v = i if n_bounds else crowd[i]
            a = labels[v]
            # What leaving changes is the same for every new label.
            leaving = -weight * conflicts[v, a] if v < n_linked else 0.0
            for b in range(n_bounds):
                leaving += beyond(low[b, a], high[b, a], held[b, a] - counts[v, b])
                leaving -= beyond(low[b, a], high[b, a], held[b, a])
            for k in range(n_labels):
                if k == a or costs[v, k] == np.inf:
                    continue
                change = leaving + (weight * conflicts[v, k] if v < n_linked else 0.0)
                if change > best_change:
                    continue
                for b in range(n_bounds):
                    change += beyond(low[b, k], high[b, k], held[b, k] + counts[v, b])
                    change -= beyond(low[b, k], high[b, k], held[b, k])
                if change > best_change or (tabu_until[v, k] > move and broken + change >= best):
                    continue
                loss = costs[v, k] - costs[v, a] if costs[v, a] < np.inf else -np.inf
                if n_bounds and loss > -np.inf:
                    loss = float(((8191 * v + 127 * k + 1) * (move + 1)) % 65537)
                if change < best_change or loss < best_loss:
                    best_v, best_k, best_change, best_loss = v, k, change, loss
        if best_v < 0:
            continue
        v, a = best_v, labels[best_v]
        labels[v] = best_k
        tenure = (10 if n_bounds else 0) + (6 * size) // 10
        tabu_until[v, a] = move + 1 + tenure + (move * 7919) % 10
        for b in range(n_bounds):
            held[b, a] -= counts[v, b]
            held[b, best_k] += counts[v, b]
        if v >= n_linked:
            continue
        for j in range(indptr[v] - 1, indptr[v + 1]):
            u = v if j < indptr[v] else indices[j]
            if u != v:
                if len(price) > 0 and price[j] < np.inf:
                    continue
                conflicts[u, a] -= 1
                conflicts[u, best_k] += 1
            if conflicts[u, labels[u]] > 0 and place[u] < 0:
                crowd[size], place[u] = u, size
                size += 1
            elif conflicts[u, labels[u]] == 0 and place[u] >= 0:
                size -= 1
                crowd[place[u]] = crowd[size]
                place[crowd[size]] = place[u]
                place[u] = -1
    state[0], state[1], state[2], state[3] = size, best, weight, streak
    return False
