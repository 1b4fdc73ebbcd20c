"""PCCC (Baumann and Hochbaum 2024): hard pairs that hold and soft ones at a price."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist

from smdeclust.assignment.bounded import assign
from smdeclust.assignment.status import Budget
from smdeclust.baselines.base import Baseline, FromCenters, Task
from smdeclust.baselines.pieces import alternate, fill_empty_clusters, one_per_pair
from smdeclust.constraints import KINDS, Constraints
from smdeclust.constraints.given import all_known, n_rows_of
from smdeclust.estimators.base import all_or_nothing, deadline_after
from smdeclust.estimators.parameters import (
    check_parameters,
    documented,
    flag,
    number,
    warn_renamed,
    whole,
)
from smdeclust.estimators.soft import SoftPrices
from smdeclust.exceptions import InvalidInputError, NoFeasibleSolutionError
from smdeclust.local_search.lloyd import LEAST_FALL
from smdeclust.points.centers import costs_of, move_centers, nearest_centers, sum_of_squares
from smdeclust.problem import Contracted, Problem, Solution
from smdeclust.structure import SoftPairs
from smdeclust.structure.pairs import as_pairs, count_broken
from smdeclust.structure.rejections import reject_self_cannot_links

# Simplex pivots for one proof on a dense core; then the best labels found are used.
PCCC_PIVOTS = 20_000


@documented
class PCCC(FromCenters, Baseline):
    """PCCC (Baumann and Hochbaum 2024): k-means with exact assignments, for hard and soft pairs.

    All hard pairs are satisfied. A broken soft pair costs the penalty times its confidence. A start
    ends at the first iteration that does not lower the objective. Clusters that are empty or
    contribute little are repositioned.
    """

    _attributes = {  # noqa: RUF012
        "labels_": "The (N,) clusters of the points. They satisfy all hard pairs.",
        "objective_": "The minimized objective: ``inertia_`` plus the prices of broken pairs.",
        "n_violations_": "The number of broken soft pairs.",
        "penalty_": "The penalty that was used.",
        "n_repositions_": "The number of repositioned clusters, in all starts.",
    }

    q: int | None = whole(
        None,
        "How many of its nearest centers a group may be assigned to. If this is infeasible, more\n"
        "centers are allowed. ``None`` allows all centers, which makes every assignment optimal.",
        low=1,
    )
    penalty: float | None = number(
        None,
        "The price of a broken soft pair with confidence 1. By default, the mean squared distance\n"
        "of the points from their mean.",
        low=0,
        high=1e100,
    )
    repositioning: bool = flag(
        True,
        "Whether to improve a local optimum by moving the cluster that contributes least to where\n"
        "most soft pairs are broken, or where the sum of squares is largest.",
    )
    max_time: float | None = number(
        None,
        "The time limit in seconds. Then the best clustering so far is returned. The first\n"
        "assignment is always completed.",
        low=0,
    )

    _knows_soft = True

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        soft_must_link: Any = None,
        soft_cannot_link: Any = None,
        soft_must_link_confidence: Any = None,
        soft_cannot_link_confidence: Any = None,
        must_link_confidence: Any = None,
        cannot_link_confidence: Any = None,
        constraints: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster the rows of `X`. Confidences may be between 0 and 1.

        Parameters
        ----------
        X, y, must_link, cannot_link, constraints, sample_weight
            As in `SMDEClust.fit`.
        soft_must_link, soft_cannot_link
            Soft pairs. They may contradict each other. The prices of a repeated pair add up.
        soft_must_link_confidence, soft_cannot_link_confidence
            The confidences of the soft pairs: one number, or one for each pair. The default is 1.
        must_link_confidence, cannot_link_confidence
            Deprecated: the former names of these confidences.
        """
        deadline = deadline_after(self.max_time)
        check_parameters(self)
        pairs = must_link, cannot_link, soft_must_link, soft_cannot_link
        bare = dict(zip(KINDS, pairs, strict=True))
        for kind in KINDS[2:]:  # pairs alone
            as_pairs(bare[kind], n_rows_of(X), kind)
        known = all_known(self, X, y, constraints, bare, soft=True)
        sure = (
            _one_of("must_link", soft_must_link_confidence, must_link_confidence),
            _one_of("cannot_link", soft_cannot_link_confidence, cannot_link_confidence),
        )
        if constraints is not None:
            sure = known.soft_must_link_confidence, known.soft_cannot_link_confidence
            if np.isnan(np.concatenate(sure)).any():
                raise InvalidInputError(
                    "PCCC takes confidences of soft pairs, but some have a price."
                )
        return self._fit(X, known, sample_weight, deadline, sure)

    def _fit(
        self,
        X: Any,
        known: Constraints,
        weight: Any,
        deadline: float | None,
        sure: tuple[Any, Any] = (None, None),
    ) -> Self:
        problem = self._build_problem(X, known, weight, deadline)
        together, apart = known.soft_must_link, known.soft_cannot_link
        reject_self_cannot_links(apart)
        spread = problem.total_squares / problem.weights.sum()
        self.penalty_ = float(spread if self.penalty is None else self.penalty)
        paid = [
            self.penalty_
            * one_per_pair(
                f"{kind}_confidence", 1.0 if given is None else given, len(pairs),
                "above 0 and at most 1", lambda sure: (sure > 0) & (sure <= 1),
            )
            for kind, given, pairs in zip(KINDS[2:], sure, (together, apart), strict=True)
        ]  # fmt: skip
        soft = SoftPairs(together, paid[0], apart, paid[1])
        problem = Problem.of(problem.with_soft(soft), problem.X)
        self.n_repositions_ = 0
        labels = self._solve(Task(problem, deadline))
        self._set_solution(problem, labels)
        self.soft_prices_ = SoftPrices(self.soft_prices_.spread, self.penalty_)
        self.objective_ = self.inertia_ + problem.penalty(labels)
        self.n_violations_ = sum(count_broken(together, apart, self.labels_))
        return self

    def _search(self, task: Task, centers: np.ndarray, rng: np.random.Generator) -> Solution:
        """Run one start; the objective is f plus the prices of broken soft pairs."""
        problem = task.problem
        q = min(self.q or problem.n_clusters, problem.n_clusters)
        limits = q, self.max_iter, task.deadline
        best, n_repositions = _descend(problem, centers, *limits)
        n_iterations = best.n_iterations
        while self.repositioning and problem.n_clusters > 1 and not task.is_late:
            moved = best.centers.copy()
            poor = _least_needed(problem.contracted, moved)
            moved[poor] = _worst_served(problem.contracted, best.labels, moved, poor)
            found, n_more = _descend(problem, moved, *limits)
            n_iterations += found.n_iterations
            if not found.objective < best.objective * (1 - LEAST_FALL):
                break
            best, n_repositions = found, n_repositions + 1 + n_more
        self.n_repositions_ += n_repositions
        return replace(best, n_iterations=n_iterations)


def _one_of(kind: str, given: Any, earlier: Any) -> Any:
    """The confidences under their name or under the earlier one, not both."""
    if earlier is None:
        return given
    name = f"{kind}_confidence"
    warn_renamed("PCCC.fit", name, f"soft_{name}")
    if given is not None:
        raise InvalidInputError(f"Give soft_{name} or {name}, which means the same, not both.")
    return earlier


def soft_assignment(
    contracted: Contracted, centers: np.ndarray, q: int, deadline: float | None = None
) -> np.ndarray:
    """Return (G,) cheapest labels given (K, d') centers; clusters may be empty.

    A group with pairs may only use its q nearest centers; where that leaves no feasible labels,
    twice as many, and so on. With q = K the labels are optimal.
    """
    labels = np.empty(len(contracted.points), dtype=np.int64)
    nearest_centers(contracted.points, contracted.weights, 0, centers, labels)
    graph, n_linked, n_clusters = contracted.graph, contracted.n_linked, len(centers)
    if not graph.broken(labels[:n_linked]).any():
        return labels
    costs = costs_of(contracted.points, contracted.weights, np.arange(n_linked), centers)
    until = np.inf if deadline is None else deadline
    while True:
        budget = Budget(deadline=until, max_pivots=PCCC_PIVOTS)
        found, _, _ = assign(_nearest(costs, q), graph, None, labels[:n_linked], budget)
        if found is not None:
            labels[:n_linked] = found
            return labels
        if q >= n_clusters:
            raise NoFeasibleSolutionError()
        q = min(2 * q, n_clusters)


def _nearest(costs: np.ndarray, q: int) -> np.ndarray:
    """The costs, infinite but for the q least of each row."""
    if q >= costs.shape[1]:
        return costs
    allowed = np.full(costs.shape, np.inf)
    np.put_along_axis(allowed, np.argsort(costs, axis=1, kind="stable")[:, :q], 0.0, axis=1)
    return costs + allowed


def _descend(
    problem: Problem, centers: np.ndarray, q: int, max_iter: int, deadline: float | None
) -> tuple[Solution, int]:
    """Assign and move centers in turn; returns how many clusters were repositioned, too."""
    contracted, n_moved = problem.contracted, 0
    points, weights, k = contracted.points, contracted.weights, problem.n_clusters

    def step(start: np.ndarray) -> Solution:
        nonlocal n_moved
        centers = np.array(start, dtype=np.float64, order="C")
        labels = soft_assignment(contracted, centers, q, deadline)
        for empty in np.flatnonzero(np.bincount(labels, weights, k) == 0) if n_moved < k else ():
            centers[empty] = _worst_served(contracted, labels, centers, int(empty))
            labels = soft_assignment(contracted, centers, q, deadline)
            n_moved += 1
        n_moved += fill_empty_clusters(points, weights, labels, centers)
        move_centers(points, weights, labels, centers)
        squares = float(sum_of_squares(points, weights, labels, centers))
        return Solution(labels, centers, squares + problem.scatter + problem.penalty(labels))

    return alternate(step, centers, max_iter, deadline), n_moved


def _least_needed(contracted: Contracted, centers: np.ndarray) -> int:
    """The cluster whose groups lose least by going to their second nearest center instead."""
    squares = cdist(contracted.points, centers, "sqeuclidean")
    nearest = squares.argmin(axis=1)
    two = np.partition(squares, 1, axis=1)[:, :2]
    loss = np.bincount(nearest, contracted.weights * (two[:, 1] - two[:, 0]), contracted.n_clusters)
    return int(loss.argmin())


def _worst_served(
    contracted: Contracted, labels: np.ndarray, centers: np.ndarray, moving: int
) -> np.ndarray:
    """Where cluster `moving` should go: the group that costs most in the cluster with most broken
    soft pairs, of those the one with most inertia."""
    gaps = contracted.points - centers[labels]
    costs = contracted.weights * np.einsum("ij,ij->i", gaps, gaps)
    graph = contracted.graph
    ends = labels[graph.ends[graph.broken(labels[: graph.n_nodes])]]
    n_broken = np.bincount(ends, minlength=contracted.n_clusters)
    n_broken[moving] = -1
    inertia = np.bincount(labels, costs, contracted.n_clusters)
    cluster = np.lexsort((inertia, n_broken))[-1]
    return contracted.points[np.where(labels == cluster, costs, -1.0).argmax()]
