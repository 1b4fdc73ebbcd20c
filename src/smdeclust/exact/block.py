"""Prove a bound for one block of points: the whole problem, or one part of it."""

import contextlib
import logging
import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from smdeclust.exact.admm import Ending, Settings
from smdeclust.exact.certificate import Multipliers, Proof
from smdeclust.exact.relaxation import FloatArray, IntArray, PointData, Relaxation
from smdeclust.exact.tree import Search
from smdeclust.exact.verify_bound import EPS, Leaf, gamma, leaf_bound
from smdeclust.exact.verify_tree import close
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search import local_search
from smdeclust.points.stored import PointsInMemory
from smdeclust.problem import Problem

logger = logging.getLogger(__name__)

# Pivots for the proof of one assignment: a heuristic that is called often must not dwell.
_PROOF_PIVOTS = 20_000


@dataclass(frozen=True)
class Proven:
    """What was proven about a block, by its rows; ``ending`` is None where memory ran out."""

    lower_bound: float
    upper_bound: float
    labels: IntArray
    improved: bool
    root_bound: float
    ending: Ending | None
    proof: Proof
    n_nodes: int = 0
    n_iterations: int = 0


def bound_block(
    problem: Problem,
    labels: IntArray,
    *,
    tol: float,
    deadline: float = np.inf,
    sizes: tuple[float, float] = (0.0, np.inf),
    settings: Settings = Settings(),
    n_jobs: int = 1,
) -> Proven:
    """Raise the lower bound to within ``tol`` of the cost of these feasible labels, or as far as
    the deadline (on the clock of `time.perf_counter`) allows; ``sizes`` bound all clusters."""
    block = Block.of(problem, labels, sizes)
    incumbent = _Incumbent(problem, labels, block, sizes, deadline)
    result: Search | None = None
    with contextlib.suppress(MemoryError):
        result = Search(
            block.data, incumbent.round, incumbent.cost,
            lambda upper: upper * (1.0 - 0.999 * tol), deadline, settings, n_jobs,
        ).run()  # fmt: skip
    upper = cost_of(problem, incumbent.labels)
    if result is None:
        return replace(without_search(problem, incumbent.labels), improved=incumbent.improved)
    return Proven(
        block.lower(result.lower_bound, upper), upper, incumbent.labels, incumbent.improved,
        block.lower(result.root_bound, upper), result.ending, block.rows_of(result.proof),
        result.n_nodes, result.n_iterations,
    )  # fmt: skip


def without_search(problem: Problem, labels: IntArray) -> Proven:
    """The groups' own scatter, and what K - 1 principal directions leave (Ding & He, 2004)."""
    block = Block.of(problem, labels)
    data = block.data
    lower = 0.0
    if data.points.shape[1] <= 1000:
        groups = close(data.n_points, data.must_link, data.cannot_link, data.n_clusters)
        assert groups is not None
        leaf = Leaf(data.points, data.weights, groups, np.empty((0, 2), np.int64), data.n_clusters)
        bound, lost = leaf_bound(leaf, Multipliers())
        lower = block.lower(bound - lost, np.inf)
    upper = cost_of(problem, labels)
    return Proven(min(lower, upper), upper, labels, False, lower, None, Proof())


@dataclass(frozen=True)
class Block:
    """The rows that have weight, scaled by powers of two (which rounds nothing) to size about 1."""

    data: PointData
    rows: IntArray
    shift: int
    weight_shift: int

    @classmethod
    def of(
        cls, problem: Problem, labels: IntArray, sizes: tuple[float, float] = (0.0, np.inf)
    ) -> Self:
        """The block of a problem, cluster by cluster; pairs that run over rows without weight are
        kept.

        Rows without weight cost nothing wherever they go, and a cluster can be split until every
        cluster has weight. Cuts run inside clusters: so they find what they need side by side.
        """
        weights = problem.sample_weight
        rows = np.argsort(labels, kind="stable")
        if weights is not None:
            rows = rows[weights[rows] > 0]
        # One row stands for each group: all others of the group are linked to it.
        first = np.full(problem.n_groups, -1)
        groups = problem.group_of_point[rows]
        first[groups[::-1]] = np.arange(len(rows))[::-1]
        cannot = first[problem.group_of_point[problem.cannot_link]]
        points = np.asarray(problem.X[rows], dtype=np.float64)
        spread = float(np.ptp(points, axis=0).max())
        shift = math.frexp(spread)[1] if spread > 0 else 0
        weight_shift = 0 if weights is None else math.frexp(float(weights.max()))[1] - 1
        data = PointData.build(
            np.ldexp(points, -shift),
            problem.n_clusters,
            np.column_stack([np.arange(len(rows)), first[groups]]),
            cannot[np.all(cannot >= 0, axis=1)],
            None if weights is None else np.ldexp(weights[rows], -weight_shift),
            sizes if weights is None else (0.0, np.inf),  # only there is Z one over the size
        )
        return cls(data, rows, shift, weight_shift)

    @property
    def exponent(self) -> int:
        """Costs of the problem are 2 to this power larger than those of the block."""
        return 2 * self.shift + self.weight_shift

    def lower(self, bound: float, upper: float) -> float:
        """A bound on the scale of the problem, less what centering the points can round off."""
        squares = float(np.sum(self.data.weights[:, None] * self.data.points**2))
        moved = 4.0 * EPS * math.sqrt(squares)
        root = max(math.sqrt(max(bound, 0.0)) * (1.0 - 4.0 * EPS) - moved, 0.0)
        return min(math.ldexp(root * root * (1.0 - 8.0 * EPS), self.exponent), upper)

    def rows_of(self, proof: Proof) -> Proof:
        """The proof on the scale and by the rows of the problem."""
        return proof.renamed(self.rows).scaled(2 * (self.shift + self.weight_shift))


@dataclass
class _Incumbent:
    """The best clustering known."""

    problem: Problem
    labels: IntArray
    block: Block
    sizes: tuple[float, float]
    deadline: float
    improved: bool = False

    def __post_init__(self) -> None:
        self.cost = self._scaled_cost(self.labels)

    def _scaled_cost(self, labels: IntArray) -> float:
        return math.ldexp(cost_of(self.problem, labels), -self.block.exponent)

    def round(self, node: Relaxation, Y: FloatArray) -> float:
        """Round a relaxation; keep the result if it is better. Returns the best cost."""
        start = np.zeros(self.problem.n_points, np.int64)
        start[self.block.rows] = rounded_labels(node, Y)
        found = improve(self.problem, start, self.deadline)
        if found is None:
            return self.cost
        counts = np.unique(found, return_counts=True)[1]
        value = self._scaled_cost(found)
        fits = self.sizes[0] <= counts.min() and counts.max() <= self.sizes[1]
        if fits and value < self.cost * (1.0 - 1e-12):
            logger.debug("better clustering: %.12g instead of %.12g", value, self.cost)
            self.labels, self.cost, self.improved = found, value, True
        return self.cost


def cost_of(problem: Problem, labels: IntArray) -> float:
    """Cost of labels, rounded up; about the first row of each cluster, so that it has digits."""
    weights, total = problem.point_weights, 0.0
    for label in np.unique(labels):
        rows = (labels == label) & (weights > 0)
        X, w = np.asarray(problem.X[rows], dtype=np.float64), weights[rows]
        if len(X) == 0 or not np.ptp(X, axis=0).any():
            continue
        center = X[0] + (w @ (X - X[0])) / w.sum()
        total += math.fsum(w * np.sum((X - center) ** 2, axis=1))
    return total * (1.0 + gamma(problem.n_features + 8))


def rounded_labels(node: Relaxation, Y: FloatArray) -> IntArray:
    """Labels of the points that the relaxation suggests; they may break cannot-links.

    Row i of ``Z S`` (S the group sums) is the mean of the cluster of i where Z is integral, and a
    blend where it is not. The rows are seeded farthest-first, weighted, and clustered by Lloyd.
    """
    rows = (Y @ node.factor) / node.sqrt_weights[:, None]
    weights = node.weights
    centers = rows[[int(np.argmax(weights))]]
    nearest = np.sum((rows - centers[0]) ** 2, axis=1)
    while len(centers) < node.n_clusters:
        chosen = int(np.argmax(weights * nearest))
        centers = np.vstack([centers, rows[chosen]])
        nearest = np.minimum(nearest, np.sum((rows - rows[chosen]) ** 2, axis=1))
    labels = np.zeros(node.n_groups, np.int64)
    for _ in range(20):
        distances = np.sum(centers**2, axis=1) - 2.0 * rows @ centers.T
        before, labels = labels, np.argmin(distances, axis=1)
        if np.array_equal(before, labels):
            break
        for k in range(node.n_clusters):
            mine = labels == k
            if mine.any():
                centers[k] = weights[mine] @ rows[mine] / weights[mine].sum()
    return labels[node.group_of_point]


def improve(problem: Problem, labels: IntArray, deadline: float = np.inf) -> IntArray | None:
    """Feasible labels near given ones, by a local search until the deadline, or None."""
    assert isinstance(problem.points, PointsInMemory)
    means = problem.points.centers_of(labels, problem.n_clusters) + problem.offset
    empty = np.isnan(means).any(axis=1)  # these sit on far points
    far = np.argsort(-np.sum((problem.X - problem.offset) ** 2, axis=1), kind="stable")
    means = np.where(empty[:, None], problem.X[far[: problem.n_clusters]], means)
    limits: dict[str, Any] = {"proof_pivots": _PROOF_PIVOTS, "deadline": deadline}
    try:
        found = local_search(problem, problem.enter(means), deep=True, **limits)
    except NoFeasibleSolutionError:
        return None
    return problem.expand(found.labels)
