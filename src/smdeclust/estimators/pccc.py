"""PCCC as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from smdeclust.baselines.initialization import INITIALIZATIONS
from smdeclust.baselines.multi_start import Attempt
from smdeclust.baselines.pccc import pccc_search
from smdeclust.constraints import Constraints
from smdeclust.constraints.given import known_pairs
from smdeclust.estimators.base import (
    all_or_nothing,
    check_choice,
    check_number,
    deadline_after,
)
from smdeclust.estimators.multi_start import MultiStartClusterer
from smdeclust.estimators.soft import SoftPrices
from smdeclust.exceptions import InvalidInputError
from smdeclust.problem import Problem
from smdeclust.structure import SoftPairs
from smdeclust.structure.pairs import as_pairs, count_broken
from smdeclust.structure.rejections import reject_self_cannot_links


class PCCC(MultiStartClusterer):
    """PCCC (Baumann, Hochbaum 2024): hard pairs, and soft ones with confidences.

    k-means whose assignment step is a mixed-integer programme, solved by HiGHS to a gap of zero:
    hard pairs hold, and a broken soft pair costs penalty x confidence.

    Parameters
    ----------
    n_clusters
        K.
    q
        A group that the programme decides on may only use its `q` nearest centers, and more only
        where there is no other way. ``None``: all of them, which makes every assignment optimal.
    penalty
        Cost of breaking a soft pair of confidence 1. ``None``: the mean squared distance of the
        points from their mean.
    repositioning
        Whether, at a local optimum, the cluster that is needed least is moved to where most soft
        pairs are broken, then most inertia is, as long as that lowers the objective.
    init
        ``"random"`` points or ``"k-means++"``.
    n_init
        Starts; the best is kept.
    max_iter
        Most iterations of one descent; it also ends at the first that does not lower the objective.
    max_time
        Seconds; then the best solution so far is returned. (A start ends between two assignments,
        and the first assignment of the first start is always made.)
    random_state
        Seed, ``RandomState`` or ``None``. The same seed gives the same result.
    verbose
        1: log one line per start.

    Attributes
    ----------
    labels_
        (N,) cluster of each point; all hard constraints hold.
    cluster_centers_
        (K, d) means of the clusters, in lexicographic order.
    objective_
        What the method minimises: ``inertia_`` plus the cost of the broken soft pairs.
    inertia_
        Sum of (weighted) squared distances of the points to the centers of their clusters.
    n_violations_
        Broken soft pairs.
    penalty_
        The penalty used.
    n_repositions_
        Clusters repositioned, in all starts.
    n_iter_
        Iterations of the best start.
    n_local_searches_, n_local_iterations_
        Starts made, and the iterations of all of them.
    n_failed_starts_
        Starts that failed: none, an exact assignment does not fail.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        q: int | None = None,
        penalty: float | None = None,
        repositioning: bool = True,
        init: str = "random",
        n_init: int = 10,
        max_iter: int = 300,
        max_time: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.q = q
        self.penalty = penalty
        self.repositioning = repositioning
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

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
        """Cluster the rows of `X`.

        Parameters
        ----------
        X
            (N, d) points.
        y
            Not used. For partial labels see ``Constraints.from_labels``.
        must_link, cannot_link
            Pairs of row positions that must, or must not, share a cluster: (m, 2) integers.
        soft_must_link, soft_cannot_link
            Pairs that should, or should not; they may contradict each other and the hard ones.
            A pair listed several times counts once, with the largest of its confidences.
        soft_must_link_confidence, soft_cannot_link_confidence
            Confidence in the soft pairs, above 0 and up to 1: one number, or one per pair. ``None``
            stands for 1.
        must_link_confidence, cannot_link_confidence
            Earlier names of these two.
        constraints
            All of this as a :class:`~smdeclust.Constraints`, instead of bare pairs.
        sample_weight
            (N,) non-negative weights.
        """
        deadline = deadline_after(self.max_time)
        self._check_starts()
        check_choice("init", self.init, tuple(INITIALIZATIONS))
        check_number("q", self.q, low=1, whole=True, optional=True)
        check_number("penalty", self.penalty, low=0, high=1e100, optional=True)
        bare = {
            "must_link": must_link,
            "cannot_link": cannot_link,
            "soft_must_link": soft_must_link,
            "soft_cannot_link": soft_cannot_link,
        }
        known = known_pairs(self, X, y, constraints, bare, soft=True)
        if known is not None:
            must_link, cannot_link = known.must_link, known.cannot_link
            soft_must_link, soft_cannot_link = known.soft_must_link, known.soft_cannot_link
            must_link_confidence = known.soft_must_link_confidence
            cannot_link_confidence = known.soft_cannot_link_confidence
            _refuse_prices(known)
        problem = self._build_problem(X, must_link, cannot_link, sample_weight)
        together = as_pairs(soft_must_link, problem.n_points, "soft_must_link")
        apart = as_pairs(soft_cannot_link, problem.n_points, "soft_cannot_link")
        reject_self_cannot_links(apart)
        must_confidence = _one_of(
            "must_link_confidence", soft_must_link_confidence, must_link_confidence, together
        )
        cannot_confidence = _one_of(
            "cannot_link_confidence", soft_cannot_link_confidence, cannot_link_confidence, apart
        )
        self.penalty_ = _scale(problem) if self.penalty is None else float(self.penalty)
        soft = SoftPairs(
            together, self.penalty_ * must_confidence, apart, self.penalty_ * cannot_confidence
        )
        problem = self._build_problem(X, must_link, cannot_link, sample_weight, soft=soft)
        initialize = INITIALIZATIONS[self.init](problem)
        q = problem.n_clusters if self.q is None else min(self.q, problem.n_clusters)
        self.n_repositions_ = 0

        def attempt(rng: np.random.Generator) -> Attempt:
            outcome = pccc_search(
                problem,
                initialize(rng),
                q=q,
                max_iter=self.max_iter,
                repositioning=self.repositioning,
                deadline=np.inf if deadline is None else deadline,
            )
            self.n_repositions_ += outcome.n_repositions
            return Attempt(outcome.solution, outcome.n_iterations)

        best = self._best_start(attempt, deadline)
        assert best is not None
        self._set_solution(problem, best.labels)
        self.soft_prices_ = SoftPrices(self.soft_prices_.spread, self.penalty_)
        self.objective_ = self.inertia_ + problem.penalty(best.labels)
        self.n_violations_ = sum(count_broken(together, apart, self.labels_))
        return self


def _scale(problem: Problem) -> float:
    """The mean squared distance of the points from their mean: what a distance is like here."""
    gaps = problem.means
    between = float(np.einsum("ij,ij->i", gaps, gaps) @ problem.weights)
    return (between + problem.scatter) / float(problem.weights.sum())


def _refuse_prices(known: Constraints) -> None:
    for prices in (known.soft_must_link_price, known.soft_cannot_link_price):
        if np.isfinite(prices).any():
            raise InvalidInputError(
                "PCCC takes confidences of soft pairs, and some of the constraints have a price."
            )


def _one_of(name: str, given: Any, earlier: Any, pairs: np.ndarray) -> np.ndarray:
    """The confidences under their name or under the earlier one, not both."""
    if given is not None and earlier is not None:
        raise InvalidInputError(f"Give soft_{name} or {name}, which means the same, not both.")
    if given is None and earlier is not None:
        return _as_confidence(name, earlier, pairs)
    return _as_confidence(f"soft_{name}", given, pairs)


def _as_confidence(name: str, confidence: Any, pairs: np.ndarray) -> np.ndarray:
    """Return one number in (0, 1] per pair."""
    try:
        values = np.asarray(1.0 if confidence is None else confidence, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{name} must be a number or one number per pair, got {confidence!r}."
        ) from None
    if values.ndim == 0:
        values = np.full(len(pairs), float(values))
    if values.shape != (len(pairs),):
        raise InvalidInputError(
            f"{name} must be one number or one per soft pair: {len(pairs)} pairs were given, it "
            f"has shape {values.shape}."
        )
    bad = np.flatnonzero(~((values > 0) & (values <= 1)))
    if len(bad):
        raise InvalidInputError(
            f"{name} must be above 0 and at most 1, got {values[bad[0]]} at position {int(bad[0])}."
        )
    return values
