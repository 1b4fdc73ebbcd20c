"""``suggest_pairs``: which pair to ask next, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from smdeclust.constraints import Constraints
from smdeclust.estimators.given import known_pairs
from smdeclust.exceptions import InvalidInputError
from smdeclust.points.validation import as_points
from smdeclust.queries.known import Known
from smdeclust.queries.picture import Picture
from smdeclust.queries.strategies import STRATEGIES
from smdeclust.queries.suggestion import Suggestion

RANDOM = "random"


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
    """Return the pairs of rows that are most worth asking somebody about.

    No pair is returned whose answer follows from the constraints (soft pairs count where the model
    keeps them) or that was answered softly before. Fewer than `n_pairs` come back
    where fewer are worth asking. Several at once are about different points.

    Parameters
    ----------
    model
        A fitted estimator of this package.
    X
        (N, d) the points that it was fitted to.
    constraints
        What is known already.
    n_pairs
        How many to return at most.
    strategy
        ``"influence"`` (ours), ``"random"``, ``"explore-consolidate"``, ``"min-max"`` or ``"npu"``.
    skip
        Pairs of rows that nobody could answer: they are not suggested again.
    random_state
        Seed for strategies that draw.
    ids
        Id of each row: reasons then name points by id and not by row.

    Returns
    -------
    list of Suggestion
        Each has ``pair`` (two rows), ``reason`` and ``expected``.
    """
    if strategy != RANDOM and strategy not in STRATEGIES:
        names = ", ".join([RANDOM, *STRATEGIES])
        raise InvalidInputError(f"strategy must be one of {names}, got {strategy!r}.")
    if n_pairs < 1:
        raise InvalidInputError(f"n_pairs must be at least 1, got {n_pairs}.")
    picture = look_at(model, X, constraints, np.random.default_rng(random_state))
    refused = {(min(pair), max(pair)) for pair in ((int(i), int(j)) for i, j in skip)}
    refused |= picture.known.answered
    if picture.known.n_points < 2:
        return []
    if strategy == RANDOM:
        return _random_pairs(picture, n_pairs, refused)
    found: list[Suggestion] = []
    done: set[int] = set()
    pending = [int(picture.known.members[group][0]) for group in picture.known.pending]
    while len(found) < n_pairs:
        # A point whose questions have begun is finished first.
        row, score = (pending.pop(0), np.inf) if pending else (None, 0.0)
        if row is None:
            chosen = STRATEGIES[strategy](picture, done)
            if chosen is None:
                break
            row, score = chosen
        if row in done:
            continue
        done.add(row)
        suggestion = _against_neighbourhoods(picture, row, score, refused, ids)
        if suggestion is not None:
            found.append(suggestion)
        if len(done) >= picture.known.n_points:
            break
    return found


def look_at(
    model: Any, X: Any, constraints: Constraints | None, rng: np.random.Generator
) -> Picture:
    """The clustering as strategies see it."""
    check_is_fitted(model, "labels_")
    labels = np.asarray(model.labels_, dtype=np.int64)
    points = as_points(X).astype(np.float64, copy=False)
    if len(points) != len(labels):
        raise InvalidInputError(
            f"X has {len(points)} rows, but the model was fitted to {len(labels)}."
        )
    distance = getattr(model, "distance_", None)
    if distance is not None:
        points = np.asarray(distance.transform(points), dtype=np.float64)
    n_clusters = len(model.cluster_centers_)
    centers = np.array([points[labels == k].mean(axis=0) for k in range(n_clusters)])
    given = Constraints(n_points=len(points)) if constraints is None else constraints
    known_pairs(model, points, None, given, {}, soft=True)
    return Picture(points, labels, centers, Known.read(given, labels, n_clusters), rng)


def match_labels(labels: np.ndarray, onto: np.ndarray, n_clusters: int) -> np.ndarray:
    """Renumber `labels` so that they agree with `onto` on as many points as possible."""
    table = np.zeros((n_clusters, n_clusters))
    np.add.at(table, (labels, onto), 1.0)
    rows, columns = linear_sum_assignment(-table)
    number = np.empty(n_clusters, dtype=np.int64)
    number[rows] = columns
    return number[labels]


def _against_neighbourhoods(
    picture: Picture,
    row: int,
    score: float,
    refused: set[tuple[int, int]],
    ids: Sequence[Any] | None,
) -> Suggestion | None:
    """The first question about this row: against the likeliest neighbourhood not yet answered."""
    known = picture.known
    group = int(known.group_of[row])
    hoods = picture.hood_chances(row)
    open_hoods = [hood for hood in hoods if hood not in known.apart_from(group) and hood != group]
    for hood in sorted(open_hoods, key=lambda h: -hoods[h]):
        partner = _partner(picture, row, known.members[hood], refused)
        if partner is not None and not known.follows(row, partner):
            return _explained(picture, row, partner, score, ids)
    if not hoods:
        # The very first question: against the middle of another cluster.
        return _first_question(picture, row, score, refused, ids)
    return None


def _partner(
    picture: Picture, row: int, members: np.ndarray, refused: set[tuple[int, int]]
) -> int | None:
    """The member most like the row, of those that were not refused."""
    free = [m for m in members.tolist() if (min(m, row), max(m, row)) not in refused]
    if not free:
        return None
    gaps = cdist(picture.points[[row]], picture.points[free])[0]
    return int(free[int(gaps.argmin())])


def _first_question(
    picture: Picture,
    row: int,
    score: float,
    refused: set[tuple[int, int]],
    ids: Sequence[Any] | None,
) -> Suggestion | None:
    order = np.argsort(picture.squares[row], kind="stable")
    for cluster in order.tolist():
        rows = np.flatnonzero(picture.labels == cluster)
        rows = rows[rows != row]
        if cluster == picture.labels[row] or len(rows) == 0:
            continue
        partner = int(rows[picture.squares[rows, cluster].argmin()])
        if (min(row, partner), max(row, partner)) not in refused:
            return _explained(picture, row, partner, score, ids)
    return None


def _explained(
    picture: Picture, row: int, partner: int, score: float, ids: Sequence[Any] | None
) -> Suggestion:
    name = f"Row {row}" if ids is None else str(ids[row])
    same = picture.labels[row] == picture.labels[partner]
    order = np.argsort(-picture.chances[row], kind="stable")[:2]
    first = int(picture.labels[row])
    hanging = n_hanging(picture, row)
    if first not in picture.labels[picture.known.settled_rows]:
        size = int(np.count_nonzero(picture.labels == first))
        why = f"Nothing is known about cluster {first} yet, which has {_points(size)}."
    elif len(order) > 1:
        second = int(order[1] if order[0] == first else order[0])
        if order[0] == first:
            why = f"{name} is most likely in cluster {first}, but could be in cluster {second}."
        else:
            why = f"{name} is in cluster {first}, but lies nearer to cluster {second}."
    else:
        why = "There is one cluster only."
    if hanging:
        lie = f"{_points(hanging, 'open ')} {'lies' if hanging == 1 else 'lie'}"
        about = name[0].lower() + name[1:] if ids is None else name
        why += f" {lie} nearer to {about} than to any point you have spoken about."
    return Suggestion((int(row), int(partner)), why, score, "same" if same else "different")


def _points(count: int, what: str = "") -> str:
    return f"{count} {what}point" + ("" if count == 1 else "s")


def n_hanging(picture: Picture, row: int) -> int:
    """How many open points lie nearer to this row than to any known one."""
    rows, told = picture.open_rows, picture.known.settled_rows
    rows = rows[:: -(-max(len(rows), 1) // 5000)]
    here = cdist(picture.points[rows], picture.points[[row]], metric="sqeuclidean")[:, 0]
    if len(told) == 0:
        return 0
    told = told[:: -(-len(told) // 500)]
    least = cdist(picture.points[rows], picture.points[told], metric="sqeuclidean").min(axis=1)
    return int(np.count_nonzero((here < least) & (rows != row)))


def _random_pairs(
    picture: Picture, n_pairs: int, refused: set[tuple[int, int]]
) -> list[Suggestion]:
    """Pairs drawn from all whose answer does not follow."""
    found: list[Suggestion] = []
    n = picture.known.n_points
    for _ in range(200 * n_pairs):
        i, j = (int(v) for v in picture.rng.choice(n, 2, replace=False))
        key = (min(i, j), max(i, j))
        if key in refused or picture.known.follows(i, j):
            continue
        refused = refused | {key}
        same = "same" if picture.labels[i] == picture.labels[j] else "different"
        found.append(Suggestion((i, j), "Drawn at random.", 1.0, same))
        if len(found) == n_pairs:
            break
    return found
