"""Branch and cut: nodes by lowest bound first, each bounded by the relaxation with cuts."""

import heapq
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from smdeclust.exact import cuts as cutting
from smdeclust.exact.admm import Ending, Outcome, Settings, State, cold_start, solve
from smdeclust.exact.certificate import Multipliers, Proof
from smdeclust.exact.relaxation import FloatArray, IntArray, PointData, Relaxation, relax
from smdeclust.exact.verify_bound import Leaf, leaf_bound

logger = logging.getLogger(__name__)

Round = Callable[[Relaxation, FloatArray], float]
"""Tries to round a relaxation to a better clustering; returns the best upper bound known."""

# Seconds to close a node of n groups are this times n^3; measured as soon as one is closed.
_CLOSING = 1e-9
# Seconds below which no processes are started.
STARTING = 10.0


@dataclass
class Node:
    """One node: its branching pairs, its relaxation, its bound and the multipliers behind it."""

    number: int
    together: IntArray
    apart: IntArray
    relaxation: Relaxation
    state: State
    bound: float = 0.0
    multipliers: Multipliers = field(default_factory=Multipliers)


@dataclass
class Search:
    """Raises the global lower bound to ``target(upper bound)``, or as far as time allows."""

    data: PointData
    round_node: Round
    upper_bound: float  # cost of the best clustering known
    target: Callable[[float], float]
    deadline: float = np.inf  # on the clock of `time.perf_counter`
    settings: Settings = Settings()
    n_jobs: int = 1  # processes that bound nodes side by side

    def __post_init__(self) -> None:
        self.decisions = [(-1, 0, -1, -1)]  # parent, kind and pair of every node
        self.leaves: dict[int, Multipliers] = {}
        self.closed = np.inf
        self.n_nodes = self.n_iterations = 0
        self.ending = Ending.TARGET
        none = np.empty((0, 2), np.int64)
        relaxation = relax(self.data, none, none)
        assert relaxation is not None
        root = Node(0, none, none, relaxation, cold_start(relaxation))
        # Seconds to close a node when its time is up.
        self.closing = _CLOSING * relaxation.n_groups**3
        # The bound without multipliers: free, and there even if no time is given.
        bound, self.lost = proven_bound(self.data, relaxation, root.multipliers)
        root.bound = self.root_bound = max(bound - self.lost, 0.0)
        self.heap: list[tuple[float, int, Node]] = [(root.bound, 0, root)]

    def aim(self) -> float:
        """Bound to reach: the target with room for rounding, unless that is out of reach."""
        within_reach = self.upper_bound - max(3.0 * self.lost, 1e-9 * self.upper_bound)
        return min(self.target(self.upper_bound) + 2.0 * self.lost, within_reach)

    def run(self) -> Self:
        """Take the open node of the lowest bound until an end; sets `lower_bound` and `proof`."""
        while self.heap and self.heap[0][0] < self.target(self.upper_bound):
            size = len(self.decisions)
            if time.perf_counter() > self.deadline - self.closing:
                self.ending = Ending.TIME
                break
            if self.n_nodes >= self.settings.max_nodes:
                self.ending = Ending.NODES
                break
            wanted = self.target(self.upper_bound)
            # Processes take a while to begin.
            n_jobs = self.n_jobs if time.perf_counter() + STARTING < self.deadline else 1
            batch = [node for bound, _, node in heapq.nsmallest(n_jobs, self.heap)
                     if bound < wanted]  # fmt: skip
            try:
                outcomes = self._bound(batch)
                found = [
                    self._settle(node, outcome)
                    for node, outcome in zip(batch, outcomes, strict=True)
                ]
            except KeyboardInterrupt:
                del self.decisions[size:]
                self.ending = Ending.INTERRUPTED
                break
            for _ in batch:
                heapq.heappop(self.heap)  # the lowest ones are the batch
            for node, children in zip(batch, found, strict=True):
                if children is None:
                    self._close(node)
                for child in children or ():
                    heapq.heappush(self.heap, (child.bound, child.number, child))
            if self.ending in (Ending.TIME, Ending.INTERRUPTED):
                break
        for _, _, node in self.heap:
            self._close(node)
        self.lower_bound = max(self.closed, 0.0)
        # Nodes whose pairs contradict each other are leaves that need no multipliers.
        inner = {parent for parent, *_ in self.decisions}
        childless = (number for number in range(len(self.decisions)) if number not in inner)
        leaves = {number: self.leaves.get(number, Multipliers()) for number in childless}
        self.proof = Proof.of_tree(self.decisions, leaves)
        return self

    def _close(self, node: Node) -> None:
        self.leaves[node.number] = node.multipliers
        self.closed = min(self.closed, node.bound)

    def _bound(self, batch: list[Node]) -> list[Outcome]:
        """Raise the bounds of some nodes: one here, several on processes."""
        if len(batch) > 1:
            left = self.deadline - len(batch) * self.closing - time.perf_counter()
            end = time.time() + left
            jobs = [(n.relaxation, n.state, self.aim(), end, self.settings) for n in batch]
            # (Larger arrays would come to the processes as files that cannot be written to.)
            parallel = Parallel(self.n_jobs, max_nbytes=None)
            return list(parallel(delayed(solve_alone)(*job) for job in jobs))
        node = batch[0]

        def on_round(Y: FloatArray) -> float:
            self.upper_bound = self.round_node(node.relaxation, Y)
            return self.aim()

        settings = replace(self.settings, n_threads=self.n_jobs)
        limits = {"target": self.aim(), "deadline": self.deadline - self.closing}
        return [solve(node.relaxation, node.state, **limits, on_round=on_round, settings=settings)]

    def _settle(self, node: Node, outcome: Outcome) -> list[Node] | None:
        """Keep what was found about a node; return its children, or None if it is settled."""
        relaxation = node.relaxation
        self.n_nodes += 1
        self.n_iterations += outcome.iterations
        began = time.perf_counter()
        multipliers = as_rows(relaxation, outcome.state)
        bound, lost = proven_bound(self.data, relaxation, multipliers)
        self.closing = time.perf_counter() - began
        self.lost = max(self.lost, lost)
        if bound - lost > node.bound:
            node.bound, node.multipliers = bound - lost, multipliers
        if node.number == 0:
            self.root_bound = node.bound
        logger.debug(
            "node %d: %d groups, bound %.9g of %.9g, %d iterations (%s), %d open",
            node.number, relaxation.n_groups, node.bound, self.upper_bound, outcome.iterations,
            outcome.ending.value, len(self.heap),
        )  # fmt: skip
        if outcome.ending in (Ending.TIME, Ending.INTERRUPTED):
            self.ending = outcome.ending
            return None
        if node.bound < self.target(self.upper_bound):
            self.upper_bound = self.round_node(relaxation, outcome.Y)
        if node.bound >= self.target(self.upper_bound):
            return None
        pair = branching_pair(relaxation, outcome.Y)
        # Reached as far as rounding allows, or nothing left to decide: no branching can help.
        if outcome.bound >= self.aim() or pair is None:
            self.ending = Ending.PRECISION
            return None
        children = [self._child(node, outcome.state, kind, pair) for kind in (1, -1)]
        return [child for child in children if child is not None]

    def _child(self, node: Node, state: State, kind: int, pair: tuple[int, int]) -> Node | None:
        """The child that puts the pair together (1) or apart (-1); None if others contradict."""
        number = len(self.decisions)
        self.decisions.append((node.number, kind, *pair))
        decision = np.array([pair], np.int64)
        together = np.vstack([node.together, decision]) if kind > 0 else node.together
        apart = np.vstack([node.apart, decision]) if kind < 0 else node.apart
        relaxation = relax(self.data, together, apart)
        if relaxation is None:
            return None
        start = child_state(node.relaxation, relaxation, state)
        return Node(number, together, apart, relaxation, start, node.bound, node.multipliers)


def solve_alone(
    relaxation: Relaxation, state: State, target: float, end: float, settings: Settings
) -> Outcome:
    """Bound one node in a process of its own, on one thread, without looking for clusterings.

    `end` is a moment of `time.time`, which processes share: some take a second to begin.
    """
    with threadpool_limits(limits=1):
        deadline = time.perf_counter() + end - time.time()
        return solve(relaxation, state, target=target, deadline=deadline, settings=settings)


def proven_bound(
    data: PointData, node: Relaxation, multipliers: Multipliers
) -> tuple[float, float]:
    """The bound that `verify` will find for a node, and what rounding takes off it there."""
    apart = np.argwhere(np.triu(node.apart))
    given = data.points, data.weights, node.group_of_point, apart, data.n_clusters, *data.sizes
    return leaf_bound(Leaf(*given), multipliers, sys.maxsize)


def representatives(node: Relaxation) -> IntArray:
    """First point of every group."""
    _, first = np.unique(node.group_of_point, return_index=True)
    return first.astype(np.int64)


def branching_pair(node: Relaxation, Y: FloatArray) -> tuple[int, int] | None:
    """Pair of rows whose groups are most undecided: ``max min(Z_ij, |Z_i - Z_j|^2)``.

    Both are zero for some pair only if the groups are clearly apart or clearly together. Where Y is
    a projector, ``|Z_i - Z_j|^2`` in the metric of the weights is ``Z_ii + Z_jj - 2 Z_ij``.
    Returns None where no two groups can still be decided.
    """
    weight = np.outer(node.sqrt_weights, node.sqrt_weights)
    Z = Y / weight
    size = np.diag(Z)
    difference = size[:, None] + size[None, :] - 2.0 * Z
    # Heavy groups first: deciding them moves the bound of both children most.
    score = np.minimum(Z, difference) * weight
    score[node.apart] = -np.inf
    score[np.tril_indices(len(score))] = -np.inf
    i, j = divmod(int(np.argmax(score)), len(score))
    if not np.isfinite(score[i, j]):
        return None
    rows = representatives(node)
    return int(rows[i]), int(rows[j])


def child_state(parent: Relaxation, child: Relaxation, state: State) -> State:
    """Start of a child: V averaged over merged groups, multipliers summed, cuts renamed.

    Multipliers are taken on the scale of Z, where merging two groups adds up the coefficients of
    what becomes the same entry. Cuts in which two names coincide are dropped.
    """
    new_of_old = child.group_of_point[representatives(parent)]
    n_old, n_new = parent.n_groups, child.n_groups
    join = np.zeros((n_new, n_old))
    join[new_of_old, np.arange(n_old)] = 1.0
    root, child_root = parent.sqrt_weights, child.sqrt_weights
    # Y_child = (E' W^1/2) ... : projector onto vectors constant on the merged groups.
    embed = join * root[None, :] / child_root[:, None]
    V = embed @ state.V @ embed.T

    ratio = parent.scale / child.scale
    Lambda = -state.U - cutting.combined(state.cuts, state.mu, root)
    Lambda = (join @ (Lambda * np.outer(root, root)) @ join.T) / np.outer(child_root, child_root)
    free = child.apart | (np.eye(n_new, dtype=bool) & (child.z_high < np.inf))
    Lambda = np.where(free, Lambda, np.maximum(Lambda, 0.0)) * ratio
    cuts, mu = _rename(state.cuts, state.mu * ratio, new_of_old)
    U = -Lambda - cutting.combined(cuts, mu, child_root)
    return State(0.5 * (V + V.T), 0.5 * (U + U.T), state.rho, cuts, mu)


def _rename(cuts: IntArray, mu: FloatArray, new_of_old: IntArray) -> tuple[IntArray, FloatArray]:
    renamed = np.where(cuts < 0, -1, new_of_old[cuts])
    big = np.iinfo(np.int64).max
    ordered = np.sort(np.where(renamed < 0, big, renamed), axis=1)
    distinct = ~np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != big), axis=1)
    members = np.sort(np.where(renamed[:, 1:] < 0, big, renamed[:, 1:]), axis=1)
    members[members == big] = -1
    renamed = np.column_stack([renamed[:, 0], members])
    return np.ascontiguousarray(renamed[distinct]), mu[distinct].copy()


def as_rows(node: Relaxation, dual: State) -> Multipliers:
    """Translate the multipliers of a node to rows of the data, one representative per group."""
    rows = representatives(node).astype(np.int32)
    root = node.sqrt_weights
    factor = node.scale * dual.rho
    Lambda = -dual.U - cutting.combined(dual.cuts, dual.mu, root)
    Lambda = 0.5 * (Lambda + Lambda.T)
    # Rounding leaves specks of either sign where a multiplier is zero.
    speck = 1e-15 * np.abs(Lambda).max(initial=0.0)
    sizes = np.zeros(node.n_groups)
    leans = np.diag(Lambda) > speck if node.z_low > 0.0 else np.zeros(node.n_groups, bool)
    if node.z_high < np.inf:
        leans |= np.diag(Lambda) < -speck
    sizes[leans] = np.diag(Lambda)[leans] * factor * node.weights[leans]
    np.fill_diagonal(Lambda, np.where(leans, 0.0, np.diag(Lambda)))
    Lambda[~node.apart & (Lambda <= speck)] = 0.0
    Lambda *= factor * np.outer(root, root)
    i, j = np.nonzero(np.triu(Lambda))
    value = np.where(i == j, 1.0, 2.0) * Lambda[i, j]  # Z_ij and Z_ji are one and the same
    used = dual.mu > 0.0
    cuts = dual.cuts[used]
    cut_rows = np.where(cuts < 0, np.int32(-1), rows[cuts]).astype(np.int32)
    return Multipliers(
        rows[i], rows[j], value, cut_rows, dual.mu[used] * factor, rows[leans], sizes[leans]
    )
