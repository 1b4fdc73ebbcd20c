"""The loop: ask, learn, cluster again, until the budget is spent or nothing is in doubt."""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from smdeclust.constraints import Constraints
from smdeclust.estimators.guided import GuidedClustering
from smdeclust.estimators.parameters import (
    anything,
    check_number,
    check_parameters,
    choice,
    documented,
    flag,
    whole,
)
from smdeclust.exceptions import InfeasibleConstraintsError, InvalidInputError
from smdeclust.points.validation import as_points
from smdeclust.queries import suggest
from smdeclust.queries.answers import (
    DIFFERENT,
    SAME,
    UNKNOWN,
    Answer,
    AnswerFile,
    Checks,
    as_answer,
    as_label_answers,
)
from smdeclust.queries.influence import Nearness
from smdeclust.queries.refits import LOOK_BACK, Refits, stop_advice
from smdeclust.structure.structure import Structure

logger = logging.getLogger("smdeclust")

# Contradictions that end where there are more clusters.
TOO_FEW = ("clique", "no_coloring")

# One in this many questions is a check, if an error rate is to be estimated.
CHECK_EVERY = 10


def _check_rate(name: str, rate: Any) -> None:
    if rate != "auto":
        check_number(f"{name}, if not 'auto',", rate, low=0, below=0.5)


@documented
class ActiveClustering:
    """Cluster in a loop that asks a person or a model questions.

    Parameters
    ----------
    estimator
        A number of clusters, for `GuidedClustering`, or an estimator of this package.
    oracle
        A function that answers questions. It gets two row positions, and returns ``True`` (same
        cluster), ``False`` (different clusters) or ``None`` (don't know). With ``ask="labels"``, it
        gets a row position and a list of row positions, one from each cluster, and returns an index
        into the list, ``"none"`` (none of them) or ``None`` (don't know). It may add a confidence,
        as in ``(True, 0.8)``, which makes the pair soft.
    budget
        The maximum number of questions.
    strategy
        As for :func:`~smdeclust.suggest_pairs`.
    ask
        ``"pairs"`` ("Do these two belong together?") or ``"labels"`` ("Which of these does this one
        belong with?").
    error_rate
        The share of wrong answers, if the oracle gives no confidence: 0, a number below 0.5, or
        ``"auto"``, which estimates it. For the estimate, every tenth question is about a pair whose
        answer follows from earlier ones. If the rate is above 0, answers are soft pairs.
        ``"auto"`` requires ``ask="pairs"``.
    grow
        Whether to add clusters if the answers require more than `n_clusters`. Otherwise, such an
        answer is a conflict.
    patience
        Stop after this many answers in a row that agreed with the clustering and changed nothing.
        ``None`` means that the whole budget is used.
    refit_every
        The number of answers after which the points are clustered again. By default, it is 1 or,
        with `GuidedClustering`, up to 10. Unexpected answers lead to a new clustering sooner.
    save_to
        A file that stores the answers as pairs. If it already exists, its answers are used.
    ids
        The id of each row, for this file.
    random_state
        The seed.

    Attributes
    ----------
    labels_, estimator_
        The final clustering, and the estimator that produced it.
    constraints_
        All constraints, including the answers.
    answers_
        The answers, in order.
    n_questions_
        The number of questions.
    conflicts_
        Answers that contradict earlier answers, bounds or quotas, each with an explanation. They
        were not used.
    error_rate_
        The share of wrong answers, as given or as estimated.
    n_clusters_
        The number of clusters, including those that `grow` added.
    advice_
        A sentence about whether to continue, or an empty text.
    stop_reason_
        A sentence about why the loop ended.
    """

    estimator: Any = field(kw_only=False)
    oracle: Callable[..., Any] = field(kw_only=False)
    budget: int = whole(100, low=0)
    strategy: str = anything("influence", check=suggest.check_strategy)
    ask: str = choice("pairs", ("pairs", "labels"))
    error_rate: float | str = anything(0.0, check=_check_rate)
    grow: bool = flag(False)
    patience: int | None = whole(20, low=0, optional=True)
    refit_every: int | None = whole(None, low=1)
    save_to: str | os.PathLike[str] | None = None
    ids: Sequence[Any] | None = None
    random_state: Any = None

    def fit(self, X: Any, constraints: Constraints | None = None) -> Self:
        """Ask questions and cluster until the loop ends."""
        for _ in self.steps(X, constraints):
            pass
        return self

    def steps(self, X: Any, constraints: Constraints | None = None) -> Iterator[Self]:
        """Do the same as `fit`, but yield this object after each answer other than "don't know"."""
        check_parameters(self)
        if self.error_rate == "auto" and self.ask == "labels":
            raise InvalidInputError(
                "error_rate='auto' only works for pairs. With ask='labels', pass a number."
            )
        points = as_points(X)
        rng = np.random.default_rng(self.random_state)
        self._begin(points, constraints)
        n_quiet = n_since = n_surprises = 0
        self.stop_reason_ = "The loop was interrupted."
        while self.n_questions_ < self.budget:
            question = self._next_question(points, rng)
            if question is None:
                self.stop_reason_ = "No question is left whose answer could change the clusters."
                break
            answers = self._ask(question)
            self.n_questions_ += 1
            self.answers_.extend(answers)
            surprise = False
            for answer in answers:
                if isinstance(question, suggest.Check) and answer.verdict != UNKNOWN:
                    self._checks.add(agreed=answer.verdict == question.expected)
                surprise |= self._take(answer)
            if all(answer.verdict == UNKNOWN for answer in answers):
                continue
            n_since, n_surprises, before = n_since + 1, n_surprises + surprise, self.labels_
            due = self._refits.is_due(self.n_questions_, n_since, n_surprises)
            if self.refit_every is not None:
                due = n_surprises > 0 or n_since >= self.refit_every
            if due:
                self._fit(points)
                n_since = n_surprises = 0
            self._earlier.append(self.labels_)
            quiet = not surprise and np.array_equal(before, self.labels_)
            n_quiet = n_quiet + 1 if quiet else 0
            self.advice_ = self._advice()
            yield self
            if self.patience is not None and n_quiet >= self.patience:
                self.stop_reason_ = (
                    f"The last {n_quiet} answers agreed with the clustering and changed nothing."
                )
                break
        else:
            self.stop_reason_ = f"The budget of {self.budget} questions is spent."
        if n_since or self._refits.has_views:
            self._fit(points, whole=True)
        logger.info(self.stop_reason_)

    def _begin(self, points: np.ndarray, constraints: Constraints | None) -> None:
        """Take up what is known and cluster a first time."""
        estimator = as_estimator(self.estimator, self.random_state)
        self._refits = Refits(estimator)
        none = Constraints(n_points=len(points), ids=self.ids)
        self._file = None if self.save_to is None else AnswerFile(self.save_to, none.ids)
        self._given = none if constraints is None else none | constraints
        if self.save_to is not None and os.path.exists(self.save_to):
            self._given |= Constraints.read(self.save_to, n_points=len(points), ids=self.ids)
        self.constraints_ = self._given
        self.n_clusters_ = int(estimator.n_clusters)
        while self.grow and any(
            conflict.reason in TOO_FEW
            for conflict in self._given.check(self.n_clusters_, max_time=1.0).conflicts
        ):
            self.n_clusters_ += 1
        self.answers_: list[Answer] = []
        self.conflicts_: list[tuple[Answer, str]] = []
        self.n_questions_, self.advice_, self._more = 0, "", ""
        self._used: list[Answer] = []
        self._checks: Checks = Checks()
        self._skipped: list[tuple[int, int]] = []
        self._near: Nearness | None = None
        self._set_rate()
        self._fit(points, whole=True)
        self._earlier: deque[np.ndarray] = deque([self.labels_], maxlen=LOOK_BACK + 1)

    def _set_rate(self) -> None:
        given = self.error_rate
        self.error_rate_ = self._checks.error_rate if isinstance(given, str) else float(given)

    def _next_question(
        self, points: np.ndarray, rng: np.random.Generator
    ) -> suggest.Suggestion | suggest.LabelQuestion | None:
        picture = suggest.look_at(
            self.estimator_, points, self.constraints_, rng, self._refits.coordinates,
            skip=self._skipped,
        )  # fmt: skip
        if self.error_rate == "auto" and self.n_questions_ % CHECK_EVERY == CHECK_EVERY - 1:
            check = suggest.implied_pair(picture, [answer.pair for answer in self.answers_])
            if check is not None:
                return check
        if self.strategy != suggest.RANDOM or self.ask == "labels":
            answered = np.flatnonzero(picture.known.is_answered)
            if self._near is None or not self._near.fits(picture.points, answered):
                self._near = Nearness.of(picture.points, answered)
        if self.ask == "labels":
            return next(iter(suggest.suggest_labels_from(picture, 1, self._near)), None)
        return next(iter(suggest.suggest_from(picture, 1, self.strategy, self._near)), None)

    def _ask(self, question: suggest.Suggestion | suggest.LabelQuestion) -> list[Answer]:
        if isinstance(question, suggest.Suggestion):
            return [as_answer(question.pair, self.oracle(*question.pair))]
        answer = self.oracle(question.row, list(question.representatives))
        return as_label_answers(question.row, question.representatives, answer)

    def _take(self, answer: Answer) -> bool:
        """Learn from an answer; returns whether the clustering had it wrong."""
        if answer.verdict == UNKNOWN or not self._learn(answer):
            self._skipped.append(answer.pair)
            return False
        if self._file is not None:
            self._file.append(replace(answer, confidence=self._confidence(answer)))
        first, second = answer.pair
        return bool((self.labels_[first] == self.labels_[second]) != (answer.verdict == SAME))

    def _learn(self, answer: Answer) -> bool:
        """Add an answer to what is known, unless it contradicts it."""
        self._set_rate()
        more = self._with_answers([*self._used, answer])
        if answer.confidence >= 1 and self.error_rate_ == 0:
            k, verdict, why = self.n_clusters_, more.check(self.n_clusters_, max_time=1.0), ""
            if verdict.feasible is False:
                why = str(verdict)
                if k < len(self.labels_) and more.check(k + 1, max_time=1.0).feasible:
                    self._more = (
                        f"The answers require at least {k + 1} clusters: with {k}, they contradict "
                        f"each other."
                    )
                    logger.info(self._more)
                    if self.grow:
                        k, why = k + 1, ""
            why = why or self._beyond_bounds(more, k)
            if why:
                self.conflicts_.append((answer, why))
                # In full once: further conflicts are often the same one again.
                log = logger.info if len(self.conflicts_) > 1 else logger.warning
                log("An answer that contradicts what is known is not used: %s", why)
                return False
            if k > self.n_clusters_:
                self.n_clusters_, self._more = k, ""
        self._used.append(answer)
        self.constraints_ = more
        return True

    def _beyond_bounds(self, known: Constraints, k: int) -> str:
        """Why K clusters cannot keep these pairs and the sizes and quotas; empty where they may."""
        given, hard = self._refits.estimator.get_params(), known.hardened()
        sizes = {name: given[name] for name in ("size_min", "size_max", "size_by") if name in given}
        pairs = hard.must_link, hard.cannot_link
        try:
            Structure.build(len(self.labels_), k, *pairs, quotas=hard.quotas, **sizes)
        except (InfeasibleConstraintsError, InvalidInputError) as error:
            return str(error)
        return ""

    def _with_answers(self, answers: list[Answer]) -> Constraints:
        """What was given, and these answers: soft where the oracle was not sure or errs."""
        pairs: dict[str, list[Any]] = {}
        for answer in answers:
            kind = {SAME: "must_link", DIFFERENT: "cannot_link"}[answer.verdict]
            sure = self._confidence(answer)
            if sure < 1:
                pairs.setdefault(f"soft_{kind}", []).append((*answer.pair, sure))
            else:
                pairs.setdefault(kind, []).append(answer.pair)
        return self._given.add(**pairs, by_row=True) if pairs else self._given

    def _confidence(self, answer: Answer) -> float:
        """As the oracle said; where it said nothing, how often it is right."""
        return answer.confidence if answer.confidence < 1 else 1 - self.error_rate_

    def _fit(self, points: np.ndarray, *, whole: bool = False) -> None:
        """Cluster again with what is known now."""
        self.estimator_ = self._refits.fit(
            points, self.constraints_, self.n_clusters_, len(self._used), whole=whole
        )
        self.labels_ = self.estimator_.labels_

    def _advice(self) -> str:
        """What the answers so far say about asking further."""
        looks_back = len(self._earlier) > LOOK_BACK
        said = stop_advice(self._earlier[0], self.labels_) if looks_back else ""
        return " ".join(part for part in (self._more, said) if part)


def as_estimator(estimator: Any, random_state: Any) -> Any:
    """The estimator, or `GuidedClustering` of this many clusters."""
    if isinstance(estimator, int | np.integer) and not isinstance(estimator, bool):
        return GuidedClustering(int(estimator), random_state=random_state)
    if not has_fit_parameter(estimator, "constraints"):
        raise InvalidInputError(
            f"estimator must be a number of clusters, or a clusterer of this package such as "
            f"SMDEClust(5), got {estimator!r}."
        )
    return clone(estimator)
