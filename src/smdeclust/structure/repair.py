"""The cheapest pairs to drop so that the rest hold: an implicit hitting set.

Every set of pairs that cannot hold together must lose one. Sets are found as they are needed: drop
the cheapest pairs that hit the sets known so far, look for other contradictions, repeat. The first
answer that leaves none is the cheapest of all, because every set that forced it is a real
contradiction. Labels that break few pairs give a first answer, in case time runs out.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array

from smdeclust.kernels import kernel
from smdeclust.structure.coloring import Verdict, find_coloring
from smdeclust.structure.graph import cannot_link_graph
from smdeclust.structure.groups import contract

# Costs that differ by no more than this share are the same.
_SAME = 1e-7


@dataclass(frozen=True)
class Repair:
    """Pairs to drop so that the others can be satisfied.

    Attributes
    ----------
    must_link, cannot_link
        The sorted positions of the pairs in the given arrays.
    cost
        The sum of their costs. By default, each pair costs 1.
    bound
        A lower bound on the cost of every repair.
    proven
        Whether the repair is proven to be the cheapest: its cost equals the bound.
    """

    must_link: np.ndarray
    cannot_link: np.ndarray
    cost: float
    bound: float
    proven: bool

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self.must_link) + len(self.cannot_link)


def find_repair(
    pairs: "NumberedPairs",
    n_clusters: int,
    sets: set[frozenset[int]],
    contradictions: Callable[[np.ndarray], set[frozenset[int]]],
    deadline: float,
) -> Repair:
    """Return the cheapest repair, or the best found at the `deadline` of ``time.monotonic()``.

    `sets` are sets of pairs that cannot hold together, known already; `contradictions` finds more
    of them among some of the pairs.
    """
    best = least_broken(pairs, n_clusters)
    cost = _cost(pairs, best)
    bound, n_before, n_rounds = 0.0, -1, 0
    while bound < cost * (1 - _SAME) and len(sets) > n_before:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        drop, least = _hit(sets, pairs.cost, left)
        bound = max(bound, least)
        n_before = len(sets)
        sets = sets | contradictions(pairs.without(drop))
        n_rounds += 1
        if len(sets) > n_before and n_rounds & (n_rounds - 1) == 0:  # now and then is enough
            drop = _complete(pairs, drop, contradictions, deadline)
        if _cost(pairs, drop) < cost and pairs.hold(pairs.without(drop), n_clusters):
            best, cost = drop, _cost(pairs, drop)
    must, cannot = pairs.positions(best)
    bound = float(min(bound, cost))
    return Repair(must, cannot, cost, bound, bool(bound >= cost * (1 - _SAME)))


def needed(
    items: Sequence[Any], still: Callable[[list[Any]], bool], deadline: float = np.inf
) -> list[Any]:
    """Deletion in blocks that halve: items without any of which `still` fails, or more if late."""
    items = list(items)
    size = (len(items) + 1) // 2
    while size:
        start = 0
        while start < len(items):
            if time.monotonic() > deadline:
                return items
            rest = items[:start] + items[start + size :]
            if still(rest):
                items = rest
            else:
                start += size
        size = 0 if size == 1 else (size + 1) // 2
    return items


def _complete(
    pairs: "NumberedPairs",
    drop: frozenset[int],
    contradictions: Callable[[np.ndarray], set[frozenset[int]]],
    deadline: float,
) -> frozenset[int]:
    """Drop more, the pair that hits most contradictions for its cost first, until none is left."""
    while left := contradictions(pairs.without(drop)):
        if time.monotonic() > deadline:
            break
        while left:
            hits = Counter(number for found in left for number in found)
            number = max(sorted(hits), key=lambda n: hits[n] / pairs.cost[n])
            drop |= {number}
            left = {found for found in left if number not in found}
    return drop


def _cost(pairs: "NumberedPairs", drop: frozenset[int]) -> float:
    return float(pairs.cost[sorted(drop)].sum())


def _hit(
    sets: set[frozenset[int]], cost: np.ndarray, seconds: float
) -> tuple[frozenset[int], float]:
    """Pairs that hit all sets, the cheapest within the time, and a lower bound on their cost."""
    rows_of = defaultdict(list)
    for row, found in enumerate(sorted(sets, key=sorted)):
        for number in found:
            rows_of[number].append(row)
    # Of the pairs in the same sets only the cheapest can be needed: a chain of must-links is one.
    cheapest: dict[tuple[int, ...], int] = {}
    for number in sorted(rows_of, key=lambda number: (cost[number], number)):
        cheapest.setdefault(tuple(rows_of[number]), number)
    numbers = np.array(list(cheapest.values()), dtype=np.int64)
    columns = np.repeat(np.arange(len(numbers)), [len(rows) for rows in cheapest])
    entries = np.ones(len(columns)), (np.concatenate(list(cheapest)), columns)
    matrix = csr_array(entries, shape=(len(sets), len(numbers)))
    scale = 1.0 / cost[numbers].min()  # costs from 1 on: far above the solver's absolute gap
    result = milp(
        cost[numbers] * scale,
        integrality=np.ones(len(numbers), dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, lb=1.0),
        options={"mip_rel_gap": 0.0, "time_limit": max(seconds, 0.1)},
    )
    bound = 0.0 if result.mip_dual_bound is None else float(result.mip_dual_bound) / scale
    chosen = numbers if result.x is None else numbers[result.x > 0.5]
    return frozenset(chosen.tolist()), bound


_MAX_STEPS = 20_000_000
_MAX_SWEEPS = 1000
_N_ROUNDS = 4


def least_broken(pairs: "NumberedPairs", n_clusters: int, seed: int = 0) -> frozenset[int]:
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


def _with_enough_groups(pairs: "NumberedPairs", n_clusters: int, drop: set[int]) -> frozenset[int]:
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
def _anneal(indptr, indices, pull, labels, n_clusters, n_sweeps, scale, rng):
    """Nodes draw labels by what their pairs gain, at a falling temperature. Changes `labels`."""
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


@dataclass(frozen=True, eq=False)
class NumberedPairs:
    """Different pairs of the rows that occur in any; repeated ones are one pair."""

    n_points: int  # N; rows that are in no pair are only counted
    n_rows: int  # rows that are in pairs; they are numbered from 0 here
    ends: np.ndarray  # (m, 2) rows, the must-links first
    n_must: int  # how many of the pairs are must-links
    cost: np.ndarray  # (m,) what dropping each costs, all its copies together
    copies: list[np.ndarray]  # where each stands in the arrays given

    @classmethod
    def of(
        cls,
        n_points: int,
        must_link: np.ndarray,
        cannot_link: np.ndarray,
        must_cost: np.ndarray | None = None,
        cannot_cost: np.ndarray | None = None,
    ) -> Self:
        """Number the pairs; costs are 1 where none are given."""
        ends, cost, copies = [], [], []
        for pairs, given in ((must_link, must_cost), (cannot_link, cannot_cost)):
            weight = np.ones(len(pairs)) if given is None else np.asarray(given, dtype=float)
            distinct, number = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)
            distinct, number = distinct.reshape(-1, 2), number.reshape(-1)
            order = np.argsort(number, kind="stable")
            starts = np.cumsum(np.bincount(number, minlength=len(distinct)))[:-1]
            ends.append(distinct)
            cost.append(np.bincount(number, weight, len(distinct)))
            copies += np.split(order, starts) if len(distinct) else []
        rows, local = np.unique(np.concatenate(ends), return_inverse=True)
        local = local.reshape(-1, 2)
        return cls(n_points, len(rows), local, len(ends[0]), np.concatenate(cost), copies)

    @property
    def n_pairs(self) -> int:
        """m."""
        return len(self.ends)

    def split(self, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the must-links and of the cannot-links among these."""
        return some[some < self.n_must], some[some >= self.n_must]

    def without(self, gone: frozenset[int] | set[int]) -> np.ndarray:
        """Numbers of all pairs but these."""
        kept = np.ones(self.n_pairs, dtype=bool)
        kept[np.fromiter(gone, dtype=np.int64, count=len(gone))] = False
        return np.flatnonzero(kept)

    def positions(
        self, some: frozenset[int], *, all_copies: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where these pairs (or the first copy of each) stand: must-links, cannot-links."""
        sides: tuple[list[int], list[int]] = ([], [])
        for number in sorted(some):
            copies = self.copies[number].tolist()
            sides[number >= self.n_must].extend(copies if all_copies else copies[:1])
        must, cannot = (np.array(sorted(side), dtype=np.int64) for side in sides)
        return must, cannot

    def n_groups(self, some: np.ndarray) -> int:
        """How many groups of points the must-links among these leave."""
        must, _ = self.split(some)
        alone = self.n_points - self.n_rows
        if self.n_rows == 0:
            return alone
        return contract(self.n_rows, self.ends[must], self.ends[:0]).n_groups + alone

    def hold(self, some: np.ndarray, n_clusters: int) -> bool | None:
        """Whether these pairs can hold in K clusters; None where it is not known."""
        if self.n_groups(some) < n_clusters:
            return False
        must, cannot = self.split(some)
        if len(cannot) == 0:
            return True
        grouping = contract(self.n_rows, self.ends[must], self.ends[cannot])
        edges = grouping.of_point[self.ends[cannot]]
        if (edges[:, 0] == edges[:, 1]).any():
            return False
        graph = cannot_link_graph(edges, grouping.n_linked)
        verdict = find_coloring(*graph, n_clusters).verdict
        return None if verdict is Verdict.UNKNOWN else verdict is Verdict.FEASIBLE
