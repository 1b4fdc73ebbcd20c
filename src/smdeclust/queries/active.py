"""The loop: suggest a pair, ask, learn, cluster again, until the budget or the doubt is spent."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from smdeclust.constraints import Constraints
from smdeclust.exceptions import InvalidInputError
from smdeclust.queries.answers import DIFFERENT, SAME, UNKNOWN, Answer, AnswerFile, as_answer
from smdeclust.queries.suggest import suggest_pairs

logger = logging.getLogger("smdeclust")

Oracle = Callable[[int, int], Any]


class ActiveClustering:
    """Cluster with the help of somebody who answers questions about pairs.

    Parameters
    ----------
    estimator
        A clusterer of this package, for example ``SMDEClust(5)``. It is cloned.
    oracle
        Called with two rows. It answers same (``True``), different (``False``) or don't know
        (``None``); or one of these with a confidence, ``(True, 0.8)``: less than 1 makes a soft
        pair.
    budget
        Most questions.
    strategy
        As for :func:`~smdeclust.suggest_pairs`.
    patience
        Stop after so many answers in a row that were as the clustering had it and changed no
        cluster. ``None``: go on to the end of the budget.
    refit_every
        Cluster again after so many answers (and always after one that the clustering had wrong).
    save_to
        A pairs file that gets every answer as it comes; where it is there already, its answers
        are taken up and not asked again.
    ids
        Id of each row, for that file.
    random_state
        Seed.

    Attributes
    ----------
    labels_, estimator_
        The clustering in the end, and the estimator that made it.
    constraints_
        All that is known.
    answers_
        The answers, in the order in which they came.
    conflicts_
        Answers that contradict earlier ones, each with the sentence that says how: they are not
        used.
    stop_reason_
        Why it ended, in words.
    """

    estimator_: Any
    labels_: np.ndarray

    def __init__(
        self,
        estimator: Any,
        oracle: Oracle,
        *,
        budget: int = 100,
        strategy: str = "influence",
        patience: int | None = 20,
        refit_every: int = 1,
        save_to: str | os.PathLike[str] | None = None,
        ids: Sequence[Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator, self.oracle, self.budget = estimator, oracle, budget
        self.strategy, self.patience, self.refit_every = strategy, patience, refit_every
        self.save_to, self.ids, self.random_state = save_to, ids, random_state

    def fit(self, X: Any, constraints: Constraints | None = None) -> Self:
        """Ask and cluster in turn."""
        for _ in self.steps(X, constraints):
            pass
        return self

    def steps(self, X: Any, constraints: Constraints | None = None) -> Any:
        """The same one answer at a time: yields after each, when the clustering is up to date."""
        if self.budget < 0 or self.refit_every < 1:
            raise InvalidInputError("budget must not be negative, refit_every at least 1.")
        points = np.asarray(X, dtype=np.float64)
        rng = np.random.default_rng(self.random_state)
        file = None if self.save_to is None else AnswerFile(self.save_to, self.ids)
        self.constraints_ = self._take_up(constraints, len(points))
        self.answers_: list[Answer] = []
        self.conflicts_: list[tuple[Answer, str]] = []
        skipped: list[tuple[int, int]] = []
        self._fit(points)
        n_quiet = n_since_fit = 0
        self.stop_reason_ = f"The budget of {self.budget} questions is spent."
        while len(self.answers_) < self.budget:
            found = suggest_pairs(
                self.estimator_, points, constraints=self.constraints_, strategy=self.strategy,
                skip=skipped, random_state=rng,
            )  # fmt: skip
            if not found:
                self.stop_reason_ = "No pair is left whose answer could change the clusters."
                break
            suggestion = found[0]
            answer = as_answer(suggestion.pair, self.oracle(*suggestion.pair))
            self.answers_.append(answer)
            if answer.verdict == UNKNOWN:
                skipped.append(answer.pair)
                continue
            if file is not None:
                file.append(answer)
            surprise = answer.verdict != suggestion.expected
            if not self._learn(answer):
                skipped.append(answer.pair)
                continue
            n_since_fit += 1
            before = self.labels_
            if surprise or n_since_fit >= self.refit_every:
                self._fit(points)
                n_since_fit = 0
            quiet = not surprise and np.array_equal(before, self.labels_)
            n_quiet = n_quiet + 1 if quiet else 0
            yield self
            if self.patience is not None and n_quiet >= self.patience:
                self.stop_reason_ = (
                    f"The last {n_quiet} answers were as the clustering had it and changed nothing."
                )
                break
        if n_since_fit:
            self._fit(points)
        logger.info(self.stop_reason_)

    def _take_up(self, constraints: Constraints | None, n_points: int) -> Constraints:
        known = Constraints(n_points=n_points) if constraints is None else constraints
        if self.save_to is not None and os.path.exists(self.save_to):
            given = {"n_points": n_points} if self.ids is None else {"ids": self.ids}
            known = known | Constraints.read(self.save_to, **given)
        return known

    def _learn(self, answer: Answer) -> bool:
        """Add an answer to what is known, unless it contradicts it."""
        kind = {SAME: "must_link", DIFFERENT: "cannot_link"}[answer.verdict]
        pair: tuple[Any, ...] = answer.pair
        if answer.confidence < 1:
            kind, pair = f"soft_{kind}", (*pair, answer.confidence)
        more = self.constraints_.add(**{kind: [pair]})
        if answer.confidence >= 1:
            verdict = more.check(self.estimator.n_clusters, max_time=1.0)
            if verdict.feasible is False:
                self.conflicts_.append((answer, str(verdict)))
                logger.warning("An answer contradicts earlier ones and is not used: %s", verdict)
                return False
        self.constraints_ = more
        return True

    def _fit(self, points: np.ndarray) -> None:
        """Cluster again, from the clusters as they are."""
        model = clone(self.estimator)
        if hasattr(self, "labels_") and "init" in model.get_params():
            model.set_params(init=self.labels_)
        self.estimator_ = model.fit(points, constraints=self.constraints_)
        self.labels_ = self.estimator_.labels_
