"""``suggest_pairs``: which pair to ask about next, and why."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from smdeclust.constraints import Constraints
from smdeclust.constraints.given import all_known
from smdeclust.exceptions import InvalidInputError
from smdeclust.points.validation import as_points
from smdeclust.queries.answers import DIFFERENT, SAME
from smdeclust.queries.influence import Nearness, Question, choose_questions
from smdeclust.queries.picture import Known, Picture
from smdeclust.queries.refits import measured_in
from smdeclust.structure.pairs import check_number

OURS, RANDOM = "influence", "random"
OLD = ("explore-consolidate", "min-max", "npu")


@dataclass(frozen=True)
class Suggestion:
    """A question about a pair.

    Attributes
    ----------
    pair
        The two row positions.
    reason
        A sentence about what is uncertain, and how many points depend on the answer.
    score
        How much the answer would help. Compare it only within one call.
    expected
        The answer of the current clustering, ``"same"`` or ``"different"``.
    """

    pair: tuple[int, int]
    reason: str
    score: float
    expected: str


class Check(Suggestion):
    """A pair whose answer follows from others, to estimate how often answers are wrong."""


@dataclass(frozen=True)
class LabelQuestion:
    """A question about the cluster of a row.

    Attributes
    ----------
    row
        The row position.
    representatives
        One row of each cluster that the row may belong to, the most likely first.
    reason
        A sentence about why the answer would help.
    score
        How much the answer would help. Compare it only within one call.
    """

    row: int
    representatives: tuple[int, ...]
    reason: str
    score: float


def suggest_pairs(
    model: Any,
    X: Any,
    *,
    constraints: Constraints | None = None,
    n_pairs: int = 1,
    strategy: str = "influence",
    skip: Any = (),
    random_state: Any = None,
    ids: Sequence[Any] | None = None,
) -> list[Suggestion]:
    """Suggest the pairs of rows whose answers would help most.

    A pair is not suggested if it already has a soft answer, or if its answer follows from other
    answers. The function returns fewer than `n_pairs` pairs if fewer would help. If there are
    several, they come from different regions of the data.

    Parameters
    ----------
    model
        A fitted estimator of this package.
    X
        The (N, d) points that it was fitted to.
    constraints
        What is already known.
    n_pairs
        The maximum number of pairs.
    strategy
        ``"influence"``, or ``"random"`` for comparison.
    skip
        Pairs whose answer was "don't know". They are not suggested again.
    random_state
        The seed for random strategies.
    ids
        The id of each row, for the reasons.

    Returns
    -------
    list of Suggestion
        The pairs, the most helpful first.
    """
    check_strategy("strategy", strategy)
    check_number("n_pairs", n_pairs, low=1, whole=True)
    picture = look_at(model, X, constraints, random_state, skip=skip, ids=ids)
    return suggest_from(picture, n_pairs, strategy)


def check_strategy(name: str, strategy: str) -> None:
    """Raise an error unless there is such a strategy; warn of those that are no longer offered."""
    if strategy in OLD:
        warnings.warn(
            f"strategy={strategy!r} is no longer offered, and 'influence', which needs fewer "
            f"answers, is used instead. (benchmarks/questioners.py has it for comparisons.)",
            FutureWarning,
            stacklevel=3,
        )
    elif strategy not in (OURS, RANDOM):
        raise InvalidInputError(f"strategy must be influence or random, got {strategy!r}.")


def suggest_labels(
    model: Any,
    X: Any,
    *,
    constraints: Constraints | None = None,
    n_rows: int = 1,
    skip: Any = (),
    ids: Sequence[Any] | None = None,
) -> list[LabelQuestion]:
    """Suggest the rows whose labels would help most.

    Each row comes with a representative of every cluster that it may belong to, so that you can ask
    "Which of these does it belong with?". One such answer helps more than several about pairs.

    Parameters
    ----------
    model, X, constraints, skip, ids
        As for :func:`suggest_pairs`.
    n_rows
        The maximum number of rows.

    Returns
    -------
    list of LabelQuestion
        The rows, the most helpful first.
    """
    check_number("n_rows", n_rows, low=1, whole=True)
    return suggest_labels_from(look_at(model, X, constraints, skip=skip, ids=ids), n_rows)


def suggest_labels_from(
    picture: Picture, n_rows: int, near: Nearness | None = None
) -> list[LabelQuestion]:
    """As `suggest_labels`; `near` of an earlier call with the same points saves time."""
    return [
        LabelQuestion(q.row, q.representatives, _reason(picture, q), q.score)
        for q in choose_questions(picture, near, n_rows, by_label=True)
    ]


def as_pair_set(pairs: Any) -> set[tuple[int, int]]:
    """Pairs of rows, the smaller first."""
    return {(min(pair), max(pair)) for pair in ((int(i), int(j)) for i, j in pairs)}


def implied_pair(picture: Picture, asked: Sequence[tuple[int, int]]) -> Check | None:
    """A pair that was not asked and whose answer follows from others: a check of the oracle."""
    known, rng = picture.known, picture.rng
    rows = np.flatnonzero(known.is_answered)
    done = as_pair_set(asked)
    for _ in range(200 if len(rows) > 1 else 0):
        i, j = sorted(int(row) for row in rng.choice(rows, 2, replace=False))
        if (i, j) not in done and known.follows(i, j):
            expected = SAME if known.group_of[i] == known.group_of[j] else DIFFERENT
            return Check((i, j), "A check: the answer follows from other answers.", 0.0, expected)
    return None


def suggest_from(
    picture: Picture, n_pairs: int, strategy: str, near: Nearness | None = None
) -> list[Suggestion]:
    """As `suggest_pairs`; `near` of an earlier call with the same points saves time."""
    if strategy == RANDOM:
        return _random_pairs(picture, n_pairs)
    return [
        _plain(picture, q.row, q.representatives[0], q.score, _reason(picture, q))
        for q in choose_questions(picture, near, n_pairs)
    ]


def look_at(
    model: Any,
    X: Any,
    constraints: Constraints | None,
    random_state: Any = 0,
    coordinates: np.ndarray | None = None,
    *,
    skip: Any = (),
    ids: Any = None,
) -> Picture:
    """The clustering as strategies see it, in these coordinates or those of the model."""
    check_is_fitted(model, "labels_")
    labels = np.asarray(model.labels_, dtype=np.int64)
    points = as_points(X)
    if len(points) != len(labels):
        raise InvalidInputError(
            f"X has {len(points)} rows, but the model was fitted to {len(labels)}."
        )
    if coordinates is None:
        coordinates = measured_in(model, points)
    given = all_known(model, points, None, constraints, {}, soft=True, quotas=True)
    views = getattr(model, "views_", {})
    weighed = tuple(
        (np.asarray(seen.labels), float(model.view_weights_[name]))
        for name, seen in views.items()
        if len(seen.labels) == len(labels)
    )
    known, rng = Known.read(given, labels), np.random.default_rng(random_state)
    named, k = Constraints(n_points=len(labels), ids=ids).ids, int(model.n_clusters)
    return Picture(coordinates, labels, k, known, rng, as_pair_set(skip), named, weighed)


def _plain(picture: Picture, row: int, partner: int, score: float, reason: str) -> Suggestion:
    same = picture.labels[row] == picture.labels[partner]
    return Suggestion((int(row), int(partner)), reason, score, "same" if same else "different")


def _reason(picture: Picture, question: Question) -> str:
    row, ids = question.row, picture.ids
    name = f"Row {row}" if ids is None else str(ids[row])
    about = f"row {row}" if ids is None else name
    size = len(picture.known.members.get(int(picture.known.group_of[row]), ()))
    if not question.known:
        n_inside = int(np.count_nonzero(picture.labels == question.cluster))
        why = (
            f"Nothing is known yet about cluster {question.cluster} ({_points(n_inside)}), to "
            f"which {about} may belong."
        )
    elif question.other < 0:
        why = f"{name} may not belong to the only cluster."
    else:
        why = f"{name} may belong to cluster {question.cluster} or to cluster {question.other}."
    if size > 1:
        why += f" It is one of {size} points that belong together."
    if question.n_near > 0:
        verb = "is" if question.n_near == 1 else "are"
        why += (
            f" {_points(question.n_near)} {verb} closer to {about} than to any point whose "
            f"cluster is known."
        )
    return why


def _points(count: int) -> str:
    return f"{count} point" + ("" if count == 1 else "s")


def _random_pairs(picture: Picture, n_pairs: int) -> list[Suggestion]:
    """Pairs drawn from all whose answer does not follow."""
    found: list[Suggestion] = []
    n, refused = picture.known.n_points, picture.unsure | picture.known.answered
    for _ in range(200 * n_pairs if n > 1 else 0):
        i, j = picture.rng.choice(n, 2, replace=False).tolist()
        key = (min(i, j), max(i, j))
        if key in refused or picture.known.follows(i, j):
            continue
        refused.add(key)
        found.append(_plain(picture, i, j, 1.0, "Drawn at random."))
        if len(found) == n_pairs:
            break
    return found
