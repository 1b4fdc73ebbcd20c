"""``choose_n_clusters``: how many clusters, judged by pairs that the fit has not seen."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from smdeclust.constraints import Constraints
from smdeclust.constraints.given import all_known
from smdeclust.exceptions import (
    InfeasibleConstraintsError,
    InvalidInputError,
    NoFeasibleSolutionError,
)
from smdeclust.points.validation import as_points
from smdeclust.views import Fold, folds

# Share of the points in each sample that stability is judged by.
SAMPLE = 0.8

_FAILURES = (InfeasibleConstraintsError, NoFeasibleSolutionError)


@dataclass(frozen=True)
class Candidate:
    """One number of clusters."""

    n_clusters: int  # K
    # of the clustering with all pairs; infinite where the pairs do not allow K clusters, or none
    # were found
    objective: float
    # share of held-out pairs that a clustering without them keeps: the mean of the share of
    # must-links and that of cannot-links. NaN without pairs.
    kept: float
    kept_error: float  # standard error of it over the folds
    # agreement (adjusted Rand index) between clusterings of random samples of the points
    stability: float
    note: str = ""  # why there is no clustering, or nothing


@dataclass(frozen=True)
class Choice:
    """The result of `choose_n_clusters`.

    Attributes
    ----------
    n_clusters
        The recommended number.
    reason
        A sentence that explains the recommendation.
    least
        The smallest tried number with which the pairs can be satisfied.
    table
        One entry for each tried number.
    """

    n_clusters: int
    reason: str
    least: int
    table: tuple[Candidate, ...]


def choose_n_clusters(
    X: Any,
    candidates: Iterable[int],
    *,
    constraints: Constraints | None = None,
    estimator: Any = None,
    n_folds: int = 5,
    n_samples: int = 3,
    random_state: Any = 0,
    progress: Callable[[int], None] | None = None,
) -> Choice:
    """Try several numbers of clusters, and recommend one.

    Parameters
    ----------
    X
        The (N, d) points.
    candidates
        The numbers to try.
    constraints
        The pairs. They are held out in turn, to evaluate each number.
    estimator
        The estimator, whose ``n_clusters`` is set. By default, ``SMDEClust(random_state=0)``.
    n_folds
        The number of parts into which the pairs are divided.
    n_samples
        The number of random samples of the points that measure stability.
    random_state
        The seed of the folds and the samples.
    progress
        A function that is called with each number before it is tried.

    Returns
    -------
    Choice
        The recommendation, the reason, and a table.
    """
    points = as_points(X)
    given = list(candidates)
    whole = [isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1 for k in given]
    if not given or not all(whole):
        wrong = f", got {given[whole.index(False)]!r}" if given else ""
        raise InvalidInputError(
            f"candidates must be one or more whole numbers of at least 1{wrong}."
        )
    numbers = sorted({int(k) for k in given})
    if n_folds < 2 or n_samples < 2:
        raise InvalidInputError("n_folds and n_samples must be at least 2.")
    if estimator is None:
        from smdeclust.estimators import SMDEClust

        estimator = SMDEClust(random_state=0)
    known = Constraints(n_points=len(points))
    known |= all_known(estimator, points, None, constraints, {}, soft=True, quotas=True)
    # The same folds and samples for every K.
    rng = np.random.default_rng(random_state)
    held_out = list(folds(known, rng, n_folds)) if known.n_pairs >= n_folds else []
    n, size = len(points), max(1, int(SAMPLE * len(points)))
    samples = [np.sort(rng.choice(n, size, replace=False)) for _ in range(n_samples)]
    table: list[Candidate] = []
    unproven = False
    for k in numbers:
        if progress is not None:
            progress(k)
        model = clone(estimator).set_params(n_clusters=k)
        try:
            table.append(_try(model, points, known, k, held_out, samples))
        except _FAILURES as error:
            unproven |= isinstance(error, NoFeasibleSolutionError)
            table.append(Candidate(k, np.inf, np.nan, np.nan, np.nan, str(error)))
    possible = [row for row in table if np.isfinite(row.objective)]
    if not possible and unproven:
        raise NoFeasibleSolutionError(
            f"No clustering was found with {numbers[0]} to {numbers[-1]} clusters: {table[-1].note}"
        )
    if not possible:
        raise InfeasibleConstraintsError(
            f"The pairs do not allow {numbers[0]} to {numbers[-1]} clusters: {table[-1].note}",
            "too_few_clusters",
        )
    chosen, reason = recommend(possible)
    return Choice(chosen, reason, possible[0].n_clusters, tuple(table))


def recommend(possible: list[Candidate]) -> tuple[int, str]:
    """The least K whose held-out pairs are kept as well as the best, up to one standard error."""
    judged = [row for row in possible if np.isfinite(row.kept)]
    if judged:
        best = max(judged, key=lambda row: (row.kept, -row.n_clusters))
        level = best.kept - best.kept_error
        chosen = next(row for row in judged if row.kept >= level)
        k = chosen.n_clusters
        reason = f"With {k} clusters, {chosen.kept:.1%} of held-out pairs are satisfied"
        if chosen is best:
            return k, f"{reason}, which is the highest share."
        return k, (
            f"{reason}. The highest share, {best.kept:.1%} with {best.n_clusters} clusters, is not "
            f"clearly higher, and fewer clusters are simpler."
        )
    best = max(possible, key=lambda row: (np.nan_to_num(row.stability, nan=-2.0), row.n_clusters))
    return best.n_clusters, (
        f"There are too few pairs to judge by. Clusterings of random samples agree most with "
        f"{best.n_clusters} clusters (adjusted Rand index {best.stability:.2f})."
    )


def _try(
    model: Any,
    points: np.ndarray,
    known: Constraints,
    k: int,
    held_out: list[Fold],
    samples: list[np.ndarray],
) -> Candidate:
    if k > len(points):
        note = f"There are only {len(points)} points."
        return Candidate(k, np.inf, np.nan, np.nan, np.nan, note)
    full = clone(model).fit(points, constraints=known)
    objective = float(getattr(full, "objective_", full.inertia_))
    shares = [_kept(model, points, fold) for fold in held_out]
    try:
        stability = _stability(model, points, known, samples)
    except _FAILURES:
        stability = np.nan  # bounds are those of all points: a sample may be too small for them
    shares = [share for share in shares if np.isfinite(share)]
    kept = float(np.mean(shares)) if shares else np.nan
    doubt = float(np.std(shares, ddof=1) / np.sqrt(len(shares))) if len(shares) > 1 else 0.0
    return Candidate(k, objective, kept, doubt, stability)


def _kept(model: Any, points: np.ndarray, fold: Fold) -> float:
    """Share of the pairs of a fold that a clustering without them keeps, mean of both kinds."""
    labels = clone(model).fit(points, constraints=fold.known).labels_
    right = (labels[fold.pairs[:, 0]] == labels[fold.pairs[:, 1]]) == fold.together
    kinds = [fold.together == kind for kind in np.unique(fold.together)]
    shares = [np.average(right[k], weights=fold.weight[k]) for k in kinds if fold.weight[k].any()]
    return float(np.mean(shares)) if shares else np.nan


def _stability(
    model: Any, points: np.ndarray, known: Constraints, samples: list[np.ndarray]
) -> float:
    """Mean agreement of clusterings of the samples, on the points that two of them share."""
    labels = []
    if len(samples[0]) < model.n_clusters:
        return np.nan
    for rows in samples:
        found = np.full(len(points), -1, dtype=np.int64)
        found[rows] = clone(model).fit(points[rows], constraints=known[rows]).labels_
        labels.append(found)
    both = ((a, b, (a >= 0) & (b >= 0)) for a, b in combinations(labels, 2))
    return float(np.mean([adjusted_rand_score(a[shared], b[shared]) for a, b, shared in both]))
