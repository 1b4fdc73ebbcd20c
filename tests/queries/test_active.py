"""The loop learns from answers, saves each at once, shows contradictions, and says why it ended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from smdeclust import (
    ActiveClustering,
    Constraints,
    GuidedClustering,
    InvalidInputError,
    Search,
    SMDEClust,
    suggest_labels,
)
from smdeclust.queries.answers import Checks, as_answer, as_label_answers

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


@pytest.mark.parametrize("grow", [False, True])
def test_resumed_after_a_conflict(tmp_path: Path, grow: bool) -> None:
    """The file holds what was learned, and a second loop begins with as many clusters."""
    two = SMDEClust(2, search=Search(max_populations=1, max_generations=2), random_state=0)
    common = {
        "budget": 25, "strategy": "random", "patience": None, "random_state": 0, "grow": grow,
        "save_to": tmp_path / "answers.csv",
    }  # fmt: skip
    first = ActiveClustering(two, lambda i, j: False, **common).fit(X[:12])
    assert bool(first.conflicts_) != grow
    again = ActiveClustering(two, lambda i, j: None, **common).fit(X[:12])
    assert again.constraints_ == first.constraints_
    assert again.n_clusters_ == first.n_clusters_
    assert (again.n_clusters_ > 2) == grow


def test_answers_that_break_sizes_are_conflicts(tmp_path: Path) -> None:
    """Six points of which no more than three go together: the fourth "same" is not used."""
    sized = SMDEClust(2, size_max=3, search=Search(max_populations=1), random_state=0)
    common = {"save_to": tmp_path / "answers.csv", "refit_every": 5, "patience": None}
    loop = ActiveClustering(sized, lambda i, j: True, **common).fit(X[::30][:6])
    assert "size_max" in loop.conflicts_[0][1]
    assert np.bincount(loop.labels_).max() <= 3
    ActiveClustering(sized, lambda i, j: None, **common).fit(X[::30][:6])


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


def which(row: int, representatives: list[int]) -> int | str:
    same = [at for at, other in enumerate(representatives) if y[row] == y[other]]
    return same[0] if same else "none"


def test_labels_as_answers() -> None:
    """Asked for clusters, a perfect oracle needs fewer questions than asked about pairs."""
    pairs = ActiveClustering(small(), oracle, budget=25, patience=None).fit(X)
    labels = ActiveClustering(small(), which, ask="labels", budget=25, patience=None).fit(X)
    assert labels.n_questions_ == 25
    scores = [adjusted_rand_score(y, loop.labels_) for loop in (pairs, labels)]
    assert scores[1] >= scores[0] - 0.02
    assert scores[1] > 0.85
    must = labels.constraints_.must_link
    assert (y[must[:, 0]] == y[must[:, 1]]).all()


def test_representatives() -> None:
    """One row of each cluster that the row may be in; of clusters ruled out none."""
    model = small().fit(X)
    (found,) = suggest_labels(model, X)
    assert found.row not in found.representatives
    assert sorted(model.labels_[list(found.representatives)].tolist()) == [0, 1, 2]
    apart = Constraints(cannot_link=[(found.row, found.representatives[2])], n_points=len(X))
    again = suggest_labels(small().fit(X, constraints=apart), X, constraints=apart, n_rows=3)
    assert len({question.row for question in again}) == 3
    with pytest.raises(InvalidInputError, match="n_rows"):
        suggest_labels(model, X, n_rows=0)


def test_the_row_known_best_stands_for_its_cluster() -> None:
    """Of a group the row with most answers is shown: a wrong answer is then about one row only."""
    first = np.flatnonzero(y == 0)[:5]
    links = [(int(first[2]), int(row)) for row in first[[0, 1, 3, 4]]]
    known = Constraints(must_link=links, n_points=len(X))
    model = small().fit(X, constraints=known)
    (found,) = suggest_labels(model, X, constraints=known)
    assert set(first.tolist()) & set(found.representatives) == {int(first[2])}


def test_what_may_be_said_of_labels() -> None:
    """A position, none of them, don't know, a confidence; anything else is an error."""
    (told,) = as_label_answers(5, [7, 8], (1, 0.8))
    assert (told.pair, told.verdict, told.confidence) == ((5, 8), "same", 0.8)
    assert [a.verdict for a in as_label_answers(5, [7, 8], "none")] == ["different"] * 2
    assert [a.verdict for a in as_label_answers(5, [7, 8], None)] == ["unknown"] * 2
    for bad in (2, -1, True, "first"):
        with pytest.raises(InvalidInputError, match="position from 0 to 1"):
            as_label_answers(5, [7, 8], bad)


def test_error_rate_is_estimated() -> None:
    """Checks tell an oracle that errs from one that does not; answers are soft in both cases."""
    rng = np.random.default_rng(0)

    def sloppy(i: int, j: int) -> bool:
        return oracle(i, j) != (rng.random() < 0.2)

    common = {"budget": 120, "patience": None, "error_rate": "auto", "random_state": 0}
    good = ActiveClustering(small(), oracle, **common).fit(X)
    bad = ActiveClustering(small(), sloppy, **common).fit(X)
    assert good.error_rate_ < 0.05 < bad.error_rate_
    assert good.constraints_.n_soft == len(good.constraints_.soft_must_link_confidence) + len(
        good.constraints_.soft_cannot_link
    )
    assert len({tuple(sorted(answer.pair)) for answer in bad.answers_}) == 120


def test_answers_that_may_be_wrong_are_saved_as_such(tmp_path: Path) -> None:
    """Taken up again, answers of an oracle that errs are soft pairs, not hard ones."""
    path = tmp_path / "answers.csv"
    common = {"error_rate": 0.1, "save_to": path, "budget": 5, "patience": None}
    first = ActiveClustering(small(), oracle, **common).fit(X)
    again = ActiveClustering(small(), oracle, **common).fit(X)
    assert first.constraints_.n_soft == 5
    assert again.constraints_.n_soft == 10
    assert not again.constraints_.hard_only()
    with pytest.raises(InvalidInputError, match="ask='labels'"):
        ActiveClustering(small(), which, ask="labels", error_rate="auto").fit(X)


def test_error_rate_of_checks() -> None:
    """Without checks 5%; many checks give the rate that explains the share that disagrees."""
    assert Checks().error_rate == pytest.approx(0.05)
    share = (1 - (1 - 2 * 0.15) ** 3) / 2
    assert Checks(10_000, round(10_000 * share)).error_rate == pytest.approx(0.15, abs=0.002)
    assert Checks(50, 50).error_rate == 0.4


@pytest.mark.parametrize("grow", [False, True])
def test_more_clusters_than_asked_for(grow: bool) -> None:
    """Answers that show a fourth cluster: it is said, and used where that was asked for."""
    points, classes = make_blobs(
        80, centers=[[0, 0], [0, 9], [9, 0], [9, 9]], cluster_std=1.0, random_state=0
    )
    loop = ActiveClustering(
        small(), lambda i, j: bool(classes[i] == classes[j]), budget=40, grow=grow, patience=None
    ).fit(points)
    if grow:
        assert loop.n_clusters_ == 4
        assert adjusted_rand_score(classes, loop.labels_) == 1.0
        assert not loop.conflicts_
    else:
        assert loop.n_clusters_ == 3
        assert "at least 4 clusters" in loop.advice_


def test_number_of_clusters_is_enough() -> None:
    """A number stands for GuidedClustering: one view follows the answers, all decide in the end."""
    points, classes = make_moons(80, noise=0.05, random_state=0)
    loop = ActiveClustering(
        2, lambda i, j: bool(classes[i] == classes[j]), budget=12, random_state=0
    )
    sizes = {len(loop.estimator_.view_weights_) for _ in loop.steps(points)}
    assert isinstance(loop.estimator_, GuidedClustering)
    assert 1 in sizes
    assert len(loop.estimator_.view_weights_) > 1
    assert adjusted_rand_score(classes, loop.labels_) > 0.9
    again = ActiveClustering(
        2, lambda i, j: bool(classes[i] == classes[j]), budget=12, random_state=0
    ).fit(points)
    assert again.answers_ == loop.answers_


def test_constraints_with_ids() -> None:
    """Constraints that name points by id are taken up; answers are about rows."""
    ids = [f"p{row}" for row in range(len(X))]
    given = Constraints(must_link=[("p0", "p1")], ids=ids)
    loop = ActiveClustering(small(), oracle, budget=3).fit(X, given)
    assert loop.constraints_.n_pairs == 4
    assert loop.constraints_.ids is not None


def test_advice_to_stop() -> None:
    """When 20 answers moved next to nothing, that is said."""
    points, classes = make_blobs(90, centers=3, cluster_std=0.5, random_state=2)
    loop = ActiveClustering(
        small(), lambda i, j: bool(classes[i] == classes[j]), budget=25, patience=None
    )
    said = [loop.advice_ for _ in loop.steps(points)]
    assert said[0] == ""
    assert "The last 20 answers moved 0 of 90 points" in said[-1]


@pytest.mark.parametrize(
    ("name", "value"), [("ask", "both"), ("error_rate", 0.5), ("error_rate", "some"),
                        ("budget", -1), ("refit_every", 0), ("strategy", "best")]
)  # fmt: skip
def test_bad_parameters(name: str, value: object) -> None:
    """A parameter that cannot be is named."""
    with pytest.raises(InvalidInputError, match=name):
        ActiveClustering(small(), oracle, **{name: value}).fit(X)


def test_interrupted(tmp_path: Path) -> None:
    """Stopped by the oracle, the loop keeps its answers and clusters, and says that it was."""
    told = iter([True, False])

    def stops(i: int, j: int) -> bool:
        for answer in told:
            return answer
        raise KeyboardInterrupt

    path, ids = tmp_path / "answers.csv", [f"p{row}" for row in range(len(X))]
    loop = ActiveClustering(small(), stops, save_to=path, ids=ids)
    with pytest.raises(KeyboardInterrupt):
        loop.fit(X)
    assert len(loop.answers_) == 2
    assert len(loop.labels_) == len(X)
    assert "interrupted" in loop.stop_reason_
    assert Constraints.read(path, ids=ids).n_pairs == 2
    with pytest.raises(InvalidInputError, match="5 ids for 150 points"):
        ActiveClustering(small(), stops, save_to=path, ids=ids[:5]).fit(X)


@pytest.mark.parametrize("estimator", [3.5, "three", KMeans(3)])
def test_estimators_that_take_no_pairs(estimator: object) -> None:
    """Neither a number of clusters nor a clusterer that takes constraints: said in words."""
    with pytest.raises(InvalidInputError, match="estimator must be a number of clusters, or"):
        ActiveClustering(estimator, oracle).fit(X)


def test_conflicts_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """The first conflict is a warning; all are listed."""
    two = SMDEClust(2, search=Search(max_populations=1, max_generations=2), random_state=0)
    given = {"budget": 25, "strategy": "random", "patience": None, "random_state": 0}
    loop = ActiveClustering(two, lambda i, j: False, **given).fit(X[:12])
    assert len(loop.conflicts_) > 1
    assert sum(record.levelname == "WARNING" for record in caplog.records) == 1
