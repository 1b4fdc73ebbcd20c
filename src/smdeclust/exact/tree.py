"""Branch and cut: nodes by lowest bound first, each bounded by the relaxation with cuts."""

from __future__ import annotations

import heapq
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from smdeclust.exact.admm import Ending, Settings, State, cold_start, solve
from smdeclust.exact.branching import LeafMultipliers, as_rows, branching_pair, child_state
from smdeclust.exact.certificate import Proof
from smdeclust.exact.relaxation import FloatArray, IntArray, PointData, Relaxation, relax

logger = logging.getLogger(__name__)

Round = Callable[[Relaxation, FloatArray], float]
"""Tries to round a relaxation to a better clustering; returns the best upper bound known."""

_NO_MULTIPLIERS = LeafMultipliers(
    np.empty(0, np.int32),
    np.empty(0, np.int32),
    np.empty(0),
    np.empty((0, 6), np.int32),
    np.empty(0),
)


@dataclass
class Node:
    """One node: its branching pairs, its bound and the multipliers behind it."""

    number: int
    together: IntArray
    apart: IntArray
    bound: float
    multipliers: LeafMultipliers = _NO_MULTIPLIERS
    relaxation: Relaxation | None = None
    state: State | None = None


@dataclass
class SearchResult:
    """Outcome of the search: a global lower bound and the tree that proves it."""

    lower_bound: float
    root_bound: float
    ending: Ending
    proof: Proof
    n_nodes: int
    n_iterations: int


@dataclass
class _Tree:
    """The branching decisions so far, and the multipliers of closed nodes."""

    parent: list[int] = field(default_factory=lambda: [-1])
    kind: list[int] = field(default_factory=lambda: [0])
    first: list[int] = field(default_factory=lambda: [-1])
    second: list[int] = field(default_factory=lambda: [-1])
    leaves: dict[int, LeafMultipliers] = field(default_factory=dict)

    def add(self, parent: int, kind: int, pair: tuple[int, int]) -> int:
        self.parent.append(parent)
        self.kind.append(kind)
        self.first.append(pair[0])
        self.second.append(pair[1])
        return len(self.parent) - 1

    def proof(self) -> Proof:
        order = sorted(self.leaves)
        parts = [self.leaves[number] for number in order]
        return Proof(
            parent=np.array(self.parent),
            kind=np.array(self.kind),
            first=np.array(self.first),
            second=np.array(self.second),
            leaf_node=np.array(order),
            lambda_ptr=np.cumsum([0, *(len(p.value) for p in parts)]),
            lambda_row=np.concatenate([p.row for p in parts]),
            lambda_column=np.concatenate([p.column for p in parts]),
            lambda_value=np.concatenate([p.value for p in parts]),
            cut_ptr=np.cumsum([0, *(len(p.cut_value) for p in parts)]),
            cut_rows=np.concatenate([p.cut_rows for p in parts]),
            cut_value=np.concatenate([p.cut_value for p in parts]),
        )


def branch_and_cut(
    data: PointData,
    round_node: Round,
    *,
    upper_bound: float,
    target: Callable[[float], float],
    deadline: float = np.inf,
    settings: Settings = Settings(),  # noqa: B008 (frozen)
) -> SearchResult:
    """Raise the global lower bound to ``target(upper bound)``, or as far as time allows.

    Parameters
    ----------
    data
        Points and pairs.
    round_node
        See `Round`.
    upper_bound
        Cost of the best clustering known.
    target
        Lower bound that is good enough for a given upper bound.
    deadline
        On the clock of `time.perf_counter`.
    settings
        Of the relaxation's solver.
    """
    none = np.empty((0, 2), np.int64)
    tree = _Tree()
    root = Node(0, none, none, 0.0, relaxation=relax(data, none, none))
    if root.relaxation is not None:
        root.state = cold_start(root.relaxation)
    heap: list[tuple[float, int, Node]] = [(root.bound, 0, root)]
    closed = np.inf
    root_bound = 0.0
    n_solved = n_iterations = 0
    ending = Ending.TARGET
    while heap and heap[0][0] < target(upper_bound):
        if time.perf_counter() > deadline:
            ending = Ending.TIME
            break
        _, _, node = heapq.heappop(heap)
        if node.relaxation is None or node.state is None:  # the pairs contradict each other
            tree.leaves[node.number] = _NO_MULTIPLIERS
            continue
        relaxation = node.relaxation

        def on_round(Y: FloatArray, relaxation: Relaxation = relaxation) -> float:
            nonlocal upper_bound
            upper_bound = round_node(relaxation, Y)
            return target(upper_bound)

        outcome = solve(
            relaxation,
            node.state,
            target=target(upper_bound),
            deadline=deadline,
            on_round=on_round,
            settings=settings,
        )
        n_solved += 1
        n_iterations += outcome.iterations
        if outcome.dual.bound > node.bound:
            node.bound = outcome.dual.bound
            node.multipliers = as_rows(node.relaxation, outcome.dual)
        if node.number == 0:
            root_bound = node.bound
        logger.debug(
            "node %d: %d groups, bound %.9g of %.9g, %d iterations (%s), %d open",
            node.number, node.relaxation.n_groups, node.bound, upper_bound, outcome.iterations,
            outcome.ending.value, len(heap),
        )  # fmt: skip
        if node.bound < target(upper_bound):
            upper_bound = round_node(node.relaxation, outcome.Y)
        if node.bound >= target(upper_bound):
            tree.leaves[node.number] = node.multipliers
            closed = min(closed, node.bound)
            continue
        pair = branching_pair(node.relaxation, outcome.Y)
        if outcome.ending is Ending.TIME or pair is None:
            ending = Ending.TIME if outcome.ending is Ending.TIME else ending
            tree.leaves[node.number] = node.multipliers
            closed = min(closed, node.bound)
            continue
        for kind in (1, -1):
            heapq.heappush(heap, _child(data, tree, node, outcome.state, kind, pair))
        node.state = None
    for bound, _, node in heap:
        tree.leaves[node.number] = node.multipliers
        closed = min(closed, bound)
    return SearchResult(closed, root_bound, ending, tree.proof(), n_solved, n_iterations)


def _child(
    data: PointData, tree: _Tree, node: Node, state: State, kind: int, pair: tuple[int, int]
) -> tuple[float, int, Node]:
    """Make the child that puts the pair together (1) or apart (-1), started from its parent."""
    assert node.relaxation is not None
    number = tree.add(node.number, kind, pair)
    decision = np.array([pair], np.int64)
    together = np.vstack([node.together, decision]) if kind > 0 else node.together
    apart = np.vstack([node.apart, decision]) if kind < 0 else node.apart
    relaxation = relax(data, together, apart)
    child = Node(number, together, apart, node.bound, node.multipliers, relaxation)
    if relaxation is None:
        return -np.inf, number, child  # closed as soon as it is looked at
    child.state = child_state(node.relaxation, relaxation, state)
    return child.bound, number, child
