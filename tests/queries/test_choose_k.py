"""The number of clusters: pairs that were held out find it; impossible numbers are named."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from smdeclust import (
    Constraints,
    InfeasibleConstraintsError,
    InvalidInputError,
    NoFeasibleSolutionError,
    SMDEClust,
    choose_n_clusters,
)
from smdeclust.queries.choose_k import Candidate, recommend

QUICK = SMDEClust(max_populations=1, max_generations=2, random_state=0)


def test_pairs_find_k() -> None:
    """Well separated blobs and some pairs: the number is found, and the table is whole."""
    X, y = make_blobs(120, centers=4, cluster_std=1.0, random_state=1)
    rows = np.random.default_rng(0).integers(0, 120, (60, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    same = y[rows[:, 0]] == y[rows[:, 1]]
    pairs = Constraints(must_link=rows[same], cannot_link=rows[~same], n_points=120)
    choice = choose_n_clusters(X, range(2, 7), constraints=pairs, estimator=QUICK)
    assert choice.n_clusters == 4
    assert "4 clusters" in choice.reason
    assert [row.n_clusters for row in choice.table] == [2, 3, 4, 5, 6]
    best = next(row for row in choice.table if row.n_clusters == 4)
    assert best.kept > 0.9
    assert best.stability > 0.95


def test_least_that_the_pairs_allow() -> None:
    """Four points all apart: fewer than four clusters are impossible, with the reason."""
    X, _ = make_blobs(40, centers=4, random_state=0)
    apart = [(i, j) for i in range(4) for j in range(i)]
    pairs = Constraints(cannot_link=apart, n_points=40)
    choice = choose_n_clusters(X, [2, 3, 4, 5], constraints=pairs, estimator=QUICK)
    assert choice.least == 4
    assert [np.isinf(row.objective) for row in choice.table] == [True, True, False, False]
    assert choice.table[0].note
    with pytest.raises(InfeasibleConstraintsError):
        choose_n_clusters(X, [2, 3], constraints=pairs, estimator=QUICK)


def test_without_pairs_stability_decides() -> None:
    """Without pairs the reason says so."""
    X, _ = make_blobs(90, centers=3, cluster_std=0.5, random_state=2)
    choice = choose_n_clusters(X, [2, 3, 4, 5], estimator=QUICK)
    assert "too few pairs" in choice.reason


def test_fewest_within_the_error() -> None:
    """Of numbers that keep pairs as well up to the error, the smallest is taken."""
    rows = [Candidate(2, 9.0, 0.7, 0.05, 1.0), Candidate(3, 5.0, 0.9, 0.05, 1.0),
            Candidate(4, 4.0, 0.92, 0.05, 1.0)]  # fmt: skip
    chosen, reason = recommend(rows)
    assert chosen == 3
    assert "not clearly higher" in reason


def test_bad_input() -> None:
    """Halves, pairs of other points and missing values are errors, not impossible numbers."""
    X, _ = make_blobs(20, centers=3, random_state=0)
    with pytest.raises(InvalidInputError, match="2.5"):
        choose_n_clusters(X, [2, 2.5])
    with pytest.raises(InvalidInputError, match="whole numbers"):
        choose_n_clusters(X, [])
    with pytest.raises(InvalidInputError, match="for 30 points"):
        choose_n_clusters(X, [2], constraints=Constraints(must_link=[(0, 1)], n_points=30))
    with pytest.raises(InvalidInputError, match="row 0"):
        choose_n_clusters(np.where(np.arange(20)[:, None] == 0, np.nan, X), [2])


def test_more_clusters_than_points() -> None:
    """A number above N is impossible; one that samples cannot have has no stability."""
    X, _ = make_blobs(10, centers=3, random_state=0)
    choice = choose_n_clusters(X, [2, 9, 11], estimator=QUICK)
    assert [np.isinf(row.objective) for row in choice.table] == [False, False, True]
    assert "only 10 points" in choice.table[2].note
    assert np.isnan(choice.table[1].stability)
    assert choice.n_clusters == 2


def test_soft_pairs_are_kept_in_every_fold() -> None:
    """Hard pairs are held out in turn; soft ones always count, in the objective as well."""
    X, y = make_blobs(40, centers=3, random_state=0)
    rows = np.flatnonzero(y == 0)[:6]
    pairs = Constraints(
        must_link=[(int(a), int(b)) for a, b in pairwise(rows)],
        soft_cannot_link=[(int(rows[0]), int(rows[5]), 0.9)],
        n_points=40,
    )
    choice = choose_n_clusters(X, [3], constraints=pairs, estimator=QUICK)
    model = SMDEClust(3, random_state=0).fit(X, constraints=pairs)
    assert choice.table[0].objective == pytest.approx(model.objective_)
    assert model.objective_ > model.inertia_


class Recorder(SMDEClust):
    """Keeps what it was fitted on; finds nothing with two clusters."""

    seen: ClassVar[dict[int, list[np.ndarray]]] = {}

    def fit(self, X: np.ndarray, y: object = None, **known: object) -> Recorder:
        self.seen.setdefault(self.n_clusters, []).append(X)
        if self.n_clusters == 2:
            raise NoFeasibleSolutionError
        return super().fit(X, y, **known)


def test_same_samples_for_every_k_and_failures_are_told() -> None:
    """A generator draws once for all K; a K for which nothing was found does not end the choice."""
    X, _ = make_blobs(30, centers=3, random_state=0)
    rng = np.random.default_rng(0)
    choice = choose_n_clusters(X, [2, 3, 4], estimator=Recorder(), random_state=rng)
    assert "No feasible" in choice.table[0].note
    for one, other in zip(Recorder.seen[3], Recorder.seen[4], strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(NoFeasibleSolutionError, match="2 to 2 clusters"):
        choose_n_clusters(X, [2], estimator=Recorder())
    wrong = Constraints([(0, 1), (1, 2)], [(0, 2), (3, 4), (4, 5), (5, 6)], n_points=30)
    with pytest.raises(InfeasibleConstraintsError):
        choose_n_clusters(X, [3], constraints=wrong, estimator=QUICK)
