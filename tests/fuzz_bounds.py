"""Random assignments under several bounds at once, against enumeration and the plain MILP.

Run with ``python -m tests.fuzz_bounds --instances 20000``. Sizes, categories, shares, sums of real
numbers, must-link groups, hard and soft pairs, ties, bounds that cannot hold.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import coo_array, vstack

from smdeclust.assignment import Budget, assign
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.graph import PairGraph
from tests.seeds import run


def random_case(rng: np.random.Generator, small: bool) -> tuple[np.ndarray, PairGraph, Bounds]:
    """Costs, pairs between the first groups, and one to four bounds."""
    n = int(rng.integers(3, 7)) if small else int(rng.integers(12, 30))
    k = int(rng.integers(2, 4)) if small else int(rng.integers(2, 6))
    costs = rng.random((n, k)) if rng.random() < 0.7 else rng.integers(0, 4, (n, k)) * 1.0
    if rng.random() < 0.3:
        costs[rng.random((n, k)) < 0.1] = np.inf
    members = np.ones(n) if rng.random() < 0.5 else rng.integers(1, 4, n) * 1.0
    counts, low, high = [], [], []
    slack = float(rng.choice([0.0, 0.1, 0.3, 1.0]))

    def add(counted: np.ndarray, least: float, most: float) -> None:
        counts.append(counted)
        low.append(np.full(k, least))
        high.append(np.full(k, most))

    for _ in range(int(rng.integers(1, 4))):
        kind = rng.integers(4)
        if kind == 0:  # sizes
            mean = members.sum() / k
            add(members, np.floor(mean * (1 - slack)), np.ceil(mean * (1 + slack)))
        elif kind == 1:  # how many of a category
            inside = np.minimum(members, rng.integers(0, 3, n))
            mean = inside.sum() / k
            add(inside, np.floor(mean * (1 - slack)), np.ceil(mean * (1 + slack)))
        elif kind == 2:  # the share of a category
            inside = np.minimum(members, rng.integers(0, 3, n))
            share = inside.sum() / members.sum()
            add(inside - max(0.0, share - slack / 2) * members, 0.0, np.inf)
            add(inside - min(1.0, share + slack / 2) * members, -np.inf, 0.0)
        else:  # the sum of a number
            value = rng.random(n) * 10
            mean, room = value.sum() / k, max(slack, 0.0 if small else 0.3)  # (the judge is slow)
            add(value, mean * (1 - room), mean * (1 + room))
    n_linked = int(rng.integers(0, n + 1)) if rng.random() < 0.6 else 0
    edges = np.array(
        [(i, j) for i in range(n_linked) for j in range(i) if rng.random() < 1.5 / n_linked]
    ).reshape(-1, 2)
    price = np.where(rng.random(len(edges)) < 0.5, np.inf, rng.random(len(edges)))
    together = np.isfinite(price) & (rng.random(len(edges)) < 0.5)
    graph = PairGraph.from_edges(edges.astype(np.int64), price, together, n_linked)
    return costs, graph, Bounds.of(counts, low, high)


def enumerate_all(costs: np.ndarray, graph: PairGraph, bounds: Bounds) -> float:
    """The least cost over all labels; infinite where there are none."""
    n, k = costs.shape
    best = np.inf
    for labels in itertools.product(range(k), repeat=n):
        found = np.array(labels)
        cost = float(costs[np.arange(n), found].sum()) + graph.penalty(found[: graph.n_nodes])
        if cost < best and bounds.hold(found):
            best = cost
    return best


def plain_milp(costs: np.ndarray, graph: PairGraph, bounds: Bounds) -> float | None:
    """The same by one integer program; ``None`` where that takes too long."""
    n, k = costs.shape
    group, label = np.divmod(np.arange(n * k), k)
    once = graph.ends < graph.indices
    u, v, price = graph.ends[once], graph.indices[once], graph.price[once]
    together, soft = graph.together[once], np.isfinite(graph.price[once])
    m = len(u)
    width = n * k + m
    rows = [coo_array((np.ones(n * k), (group, np.arange(n * k))), shape=(n, width))]
    low, high = [np.ones(n)], [np.ones(n)]
    for e in range(m):
        for a, b in ((u[e], v[e]), (v[e], u[e])):
            at = np.arange(k)
            sign = -1.0 if together[e] else 1.0
            values = np.concatenate([np.ones(k), np.full(k, sign), -np.ones(k)])
            columns = np.concatenate([a * k + at, b * k + at, np.full(k, n * k + e)])
            rows.append(coo_array((values, (np.tile(at, 3), columns)), shape=(k, width)))
            low.append(np.full(k, -np.inf))
            high.append(np.full(k, 0.0 if together[e] else 1.0))
    for b, counted in enumerate(bounds.counts):
        rows.append(coo_array((counted[group], (label, np.arange(n * k))), shape=(k, width)))
        low.append(bounds.low[b] - 1e-9)
        high.append(bounds.high[b] + 1e-9)
    finite = np.isfinite(costs)
    upper = np.concatenate([finite.ravel() * 1.0, soft * 1.0])
    cost = np.concatenate([np.where(finite, costs, 0.0).ravel(), np.where(soft, price, 0.0)])
    result = milp(
        cost, integrality=np.ones(width), bounds=Box(0, upper),
        constraints=LinearConstraint(
            vstack(rows).tocsr(), np.concatenate(low), np.concatenate(high)
        ),
        options={"mip_rel_gap": 0.0, "time_limit": 5.0},
    )  # fmt: skip
    if result.status == 0:
        return float(result.fun)
    return np.inf if result.status == 2 else None


def check(seed: int) -> str | None:
    """What is wrong with one instance, if anything."""
    rng = np.random.default_rng(seed)
    small = bool(rng.random() < 0.7)
    costs, graph, bounds = random_case(rng, small)
    expected = (enumerate_all if small else plain_milp)(costs, graph, bounds)
    if expected is None:
        return None
    labels, cost, bound = assign(costs.copy(), graph, bounds, None, Budget())
    if labels is None:
        known = "infeasible" if bound == np.inf else "not found"
        return None if expected == np.inf else f"{known}, but there are labels of {expected}"
    if not bounds.hold(labels):
        return "bounds are broken"
    own = float(costs[np.arange(len(costs)), labels].sum())
    own += graph.penalty(labels[: graph.n_nodes])
    if abs(own - cost) > 1e-9 * max(1, abs(cost)):
        return f"cost {cost} said, {own} true"
    if abs(cost - expected) > 1e-6 * max(1.0, abs(expected)):
        return f"cost {cost}, expected {expected}"
    if bound > expected + 1e-6 * max(1.0, abs(expected)):
        return f"bound {bound} above the optimum {expected}"
    return None if bound >= cost else f"not proven: {bound} < {cost}"


if __name__ == "__main__":
    run(check, __doc__)
