"""Suggestions are worth asking, never known already, and reproducible."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError

from smdeclust import (
    Constraints,
    InfeasibleConstraintsError,
    InvalidInputError,
    SMDEClust,
    suggest_labels,
    suggest_pairs,
)
from smdeclust.queries.influence import Nearness
from smdeclust.queries.picture import Known

ALL = ["influence", "random"]


def blobs(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(n, centers=3, cluster_std=2.0, random_state=seed)
    return X, y


def known_from(y: np.ndarray, rng: np.random.Generator, n_pairs: int) -> Constraints:
    pairs = rng.integers(0, len(y), (n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Constraints(must_link=pairs[same], cannot_link=pairs[~same], n_points=len(y))


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_known_is_asked(strategy: str, seed: int) -> None:
    """No suggested pair follows from what is known, none twice, and rows are in range."""
    rng = np.random.default_rng(seed)
    X, y = blobs(seed=seed)
    constraints = known_from(y, rng, 5 * seed)
    model = SMDEClust(3, random_state=0).fit(X, constraints=constraints)
    found = suggest_pairs(
        model, X, constraints=constraints, n_pairs=8, strategy=strategy, random_state=1
    )
    known = Known(len(X), constraints.must_link, constraints.cannot_link)
    keys = {tuple(sorted(s.pair)) for s in found}
    assert len(keys) == len(found) > 0
    for suggestion in found:
        i, j = suggestion.pair
        assert i != j
        assert min(i, j) >= 0
        assert max(i, j) < len(X)
        assert not known.follows(i, j)
        assert suggestion.reason.endswith(".")
        same = model.labels_[i] == model.labels_[j]
        assert suggestion.expected == ("same" if same else "different")


@pytest.mark.parametrize("strategy", ALL)
def test_same_seed_same_pairs(strategy: str) -> None:
    """The same seed gives the same suggestions."""
    X, _ = blobs()
    model = SMDEClust(3, random_state=0).fit(X)
    first, second = (
        suggest_pairs(model, X, n_pairs=3, strategy=strategy, random_state=7) for _ in range(2)
    )
    assert first == second


def test_several_are_about_different_points() -> None:
    """Pairs asked for at once are about different points."""
    X, y = blobs()
    constraints = Constraints.from_labels(np.where(np.arange(len(y)) < 12, y, -1))
    model = SMDEClust(3, random_state=0).fit(X, constraints=constraints)
    found = suggest_pairs(model, X, constraints=constraints, n_pairs=6)
    assert len({s.pair[0] for s in found}) == 6
    assert len({s.reason for s in found}) == 6


@pytest.mark.parametrize("n_known", [0, 3, 12])
def test_several_are_about_different_places(n_known: int) -> None:
    """Four pairs at once: rows of several clusters, none near another one, no reason twice."""
    X, y = blobs(n=200)
    constraints = Constraints.from_labels(np.where(np.arange(len(y)) < n_known, y, -1))
    model = SMDEClust(3, random_state=0).fit(X, constraints=constraints)
    found = suggest_pairs(model, X, constraints=constraints, n_pairs=4)
    rows = [s.pair[0] for s in found]
    near = Nearness.of(X, np.arange(n_known))
    apart = near.cover[np.ix_(rows, rows)][~np.eye(4, dtype=bool)]
    assert len(found) == len({s.reason for s in found}) == 4
    assert apart.max() < 0.5
    if n_known == 0:
        assert len({row for s in found for row in s.pair}) == 8


def test_everything_known_leaves_nothing_to_ask() -> None:
    """Where all classes are known, no strategy finds a pair."""
    X, y = blobs()
    constraints = Constraints.from_labels(y)
    model = SMDEClust(3, random_state=0).fit(X, constraints=constraints)
    for strategy in ALL:
        assert suggest_pairs(model, X, constraints=constraints, strategy=strategy) == []


def test_what_follows() -> None:
    """Answers that follow: by must-links, and by a cannot-link between groups."""
    known = Known(7, np.array([[0, 1], [2, 3]]), np.array([[1, 2], [4, 0]]))
    assert known.follows(0, 1)
    assert known.follows(0, 3)
    assert known.follows(4, 1)
    assert not known.follows(4, 2), "only if there are two clusters and no more"
    assert not known.follows(5, 0)


def test_strategies_of_earlier_versions() -> None:
    """They are known by name, and replaced with a warning."""
    X, _ = blobs()
    model = SMDEClust(3, random_state=0).fit(X)
    with pytest.warns(FutureWarning, match="'npu' is no longer offered"):
        assert suggest_pairs(model, X, strategy="npu") == suggest_pairs(model, X)


def test_skipped_pairs_do_not_come_back() -> None:
    """A pair that nobody can answer is not suggested again."""
    X = load_iris().data
    model = SMDEClust(3, random_state=0).fit(X)
    skipped: list[tuple[int, int]] = []
    for _ in range(5):
        (found,) = suggest_pairs(model, X, skip=skipped)
        assert found.pair not in skipped
        assert found.pair[::-1] not in skipped
        skipped.append(found.pair)


def test_bad_input() -> None:
    """A wrong strategy, number or table is named."""
    X, _ = blobs()
    model = SMDEClust(3, random_state=0).fit(X)
    with pytest.raises(InvalidInputError, match="strategy must be influence or random"):
        suggest_pairs(model, X, strategy="best")
    with pytest.raises(InvalidInputError, match="n_pairs must be an integer of at least 1"):
        suggest_pairs(model, X, n_pairs=0)
    with pytest.raises(InvalidInputError, match="X has 10 rows"):
        suggest_pairs(model, X[:10])
    with pytest.raises(InvalidInputError, match="row 3"):
        suggest_pairs(model, np.where(np.arange(len(X))[:, None] == 3, np.nan, X))
    with pytest.raises(InvalidInputError, match="for 10 points"):
        suggest_pairs(model, X, constraints=Constraints(must_link=[(0, 1)], n_points=10))
    with pytest.raises(InvalidInputError, match="90"):
        suggest_pairs(model, X, constraints=Constraints(must_link=[(0, 90)]))
    both = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], n_points=len(X))
    with pytest.raises(InfeasibleConstraintsError, match="0 - 1 - 2"):
        suggest_pairs(model, X, constraints=both)
    with pytest.raises(NotFittedError):
        suggest_pairs(SMDEClust(3), X)


@pytest.mark.parametrize("strategy", ALL)
def test_one_point_has_no_pairs(strategy: str) -> None:
    """With one point there is nothing to ask."""
    model = SMDEClust(1, random_state=0).fit([[1.0, 2.0]])
    assert suggest_pairs(model, [[1.0, 2.0]], strategy=strategy, random_state=0) == []


@pytest.mark.parametrize("strategy", ALL)
def test_soft_answers_are_answers(strategy: str) -> None:
    """Neither a pair answered softly nor what follows from soft pairs that hold is asked."""
    X, y = blobs()
    known = Constraints(n_points=len(X))
    asked: set[tuple[int, int]] = set()
    for turn in range(25):
        model = SMDEClust(3, max_populations=1, max_generations=2, random_state=0)
        model.fit(X, constraints=known)
        found = suggest_pairs(model, X, constraints=known, strategy=strategy, random_state=turn)
        if not found:
            break
        i, j = found[0].pair
        assert (min(i, j), max(i, j)) not in asked
        assert not Known.read(known, model.labels_).follows(i, j)
        asked.add((min(i, j), max(i, j)))
        # Every fifth answer is wrong.
        kind = "soft_must_link" if (y[i] == y[j]) != (turn % 5 == 4) else "soft_cannot_link"
        known = known.add(**{kind: [(i, j, 0.9)]})
    assert len(asked) >= 8


def test_soft_pairs_that_hard_ones_contradict() -> None:
    """Hard pairs added after the fit count more than soft pairs that it keeps."""
    X, _ = blobs()
    known = Constraints(soft_must_link=[(0, 1, 0.9)], n_points=len(X))
    model = SMDEClust(3, random_state=0).fit(X, constraints=known)
    pair = (0, int(np.flatnonzero(model.labels_ == model.labels_[0])[1]))
    known = Constraints(soft_must_link=[(*pair, 0.9)], cannot_link=[pair], n_points=len(X))
    assert Known.read(known, model.labels_).group_of[pair[0]] != pair[1]
    assert suggest_pairs(model, X, constraints=known)


def test_ids_name_rows_by_position() -> None:
    """Ids may be a column of a filtered table, whose own numbers are not positions; one a row."""
    X, _ = blobs()
    model = SMDEClust(3, random_state=0).fit(X)
    ids = pd.Series([f"p{row}" for row in range(len(X))], index=np.arange(len(X)) + 100)
    (found,) = suggest_pairs(model, X, ids=ids)
    assert f"p{found.pair[0]} may be" in found.reason
    with pytest.raises(InvalidInputError, match="There are 5 ids for 60 points"):
        suggest_pairs(model, X, ids=ids[:5])
    with pytest.raises(InvalidInputError, match="same id"):
        suggest_labels(model, X, ids=["a"] * len(X))
