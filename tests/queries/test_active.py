"""The loop learns from answers, saves each at once, shows contradictions, and says why it ended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from smdeclust import ActiveClustering, Constraints, InvalidInputError, SMDEClust
from smdeclust.queries.answers import as_answer

X, y = load_iris(return_X_y=True)


def oracle(i: int, j: int) -> bool:
    return bool(y[i] == y[j])


def small() -> SMDEClust:
    return SMDEClust(3, max_populations=1, max_generations=3, random_state=0)


def test_answers_help() -> None:
    """After 40 answers of a perfect oracle the clusters agree better with the classes."""
    before = adjusted_rand_score(y, small().fit(X).labels_)
    loop = ActiveClustering(small(), oracle, budget=40, patience=None).fit(X)
    assert len(loop.answers_) == 40
    assert adjusted_rand_score(y, loop.labels_) > before + 0.1
    assert "budget of 40" in loop.stop_reason_
    must, cannot = loop.constraints_.must_link, loop.constraints_.cannot_link
    assert (loop.labels_[must[:, 0]] == loop.labels_[must[:, 1]]).all()
    assert (loop.labels_[cannot[:, 0]] != loop.labels_[cannot[:, 1]]).all()


def test_saved_and_resumed(tmp_path: Path) -> None:
    """Every answer is in the file at once; a second loop takes them up and asks none again."""
    path = tmp_path / "answers.csv"
    asked: list[tuple[int, int]] = []

    def counting(i: int, j: int) -> bool:
        lines = path.read_text().splitlines() if path.exists() else ["header"]
        assert len(lines) == len(asked) + 1
        asked.append((i, j))
        return oracle(i, j)

    ActiveClustering(small(), counting, budget=6, save_to=path).fit(X)
    first = list(asked)
    again = ActiveClustering(small(), counting, budget=6, save_to=path).fit(X)
    assert len(asked) == 12
    assert not set(first) & set(asked[6:])
    assert again.constraints_ == Constraints.read(path, n_points=len(X))


def test_unknown_is_not_asked_again() -> None:
    """Don't know leaves no pair, and another pair is asked."""
    asked = []

    def unsure(i: int, j: int) -> None:
        asked.append((i, j))

    loop = ActiveClustering(small(), unsure, budget=5).fit(X)
    assert len(set(asked)) == len(asked) == 5
    assert loop.constraints_ == Constraints(n_points=len(X))


def test_contradictions_are_shown() -> None:
    """An oracle that calls random pairs different soon needs a third cluster: shown, not used."""
    loop = ActiveClustering(
        SMDEClust(2, max_populations=1, max_generations=2, random_state=0),
        lambda i, j: False,
        budget=25,
        strategy="random",
        patience=None,
        random_state=0,
    ).fit(X[:12])
    answer, sentence = loop.conflicts_[0]
    assert answer.verdict == "different"
    assert sentence
    assert loop.constraints_.check(2)


def test_stops_when_nothing_changes() -> None:
    """Answers that are all as expected end the loop, with a sentence."""
    wide = np.concatenate([X[y == 0], X[y == 0] + 50.0])
    half = np.arange(len(wide)) < 50
    loop = ActiveClustering(
        SMDEClust(2, random_state=0), lambda i, j: bool(half[i] == half[j]), patience=5
    ).fit(wide)
    assert len(loop.answers_) < 30
    assert "changed nothing" in loop.stop_reason_ or "No pair is left" in loop.stop_reason_


def test_what_an_oracle_may_say() -> None:
    """Words, truth values and confidences; anything else is an error that shows it."""
    assert as_answer((0, 1), True).verdict == "same"
    assert as_answer((0, 1), np.bool_(False)).verdict == "different"
    assert as_answer((0, 1), " Y ").verdict == "same"
    assert as_answer((0, 1), "?").verdict == "unknown"
    assert as_answer((0, 1), ("different", 0.8)).confidence == 0.8
    with pytest.raises(InvalidInputError, match="'perhaps'"):
        as_answer((0, 1), "perhaps")
    with pytest.raises(InvalidInputError, match="0.5 to 1"):
        as_answer((0, 1), (True, 0.2))


def test_soft_answers_are_asked_once() -> None:
    """An oracle that is never quite sure is asked about another pair each time."""
    asked = []

    def unsure(i: int, j: int) -> tuple[bool, float]:
        asked.append((min(i, j), max(i, j)))
        return oracle(i, j), 0.9

    loop = ActiveClustering(small(), unsure, budget=30, patience=None).fit(X)
    assert len(set(asked)) == len(asked) == 30
    assert loop.constraints_.n_soft == 30
