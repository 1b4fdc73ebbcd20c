"""Refining: its passes, the second look, and what decides how far to go."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from smdeclust import Constraints, GuidedClustering, InvalidInputError
from smdeclust.datasets import make_constraints
from smdeclust.views import Classes, NeighborGraph, Scene, Seen, consensus
from smdeclust.views.consensus import AGAIN, CONSENSUS, N_PASSES, REFINED, choice
from smdeclust.views.refined import (
    SECOND_LOOK,
    Borders,
    Forest,
    Refined,
    can_look_again,
    directions,
    renumbered,
)


def test_directions_have_unit_spread_inside_clusters() -> None:
    """A loud column that tells nothing is scaled down, the one that separates is kept."""
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 3
    features = rng.standard_normal((600, 4)) * [1.0, 1.0, 5.0, 0.5]
    features[:, 3] += 5 * labels
    shown = features @ directions(features, labels)
    assert shown.shape == (600, 2)
    inside = shown - np.stack([shown[labels == c].mean(axis=0) for c in range(3)])[labels]
    assert inside.std(axis=0) == pytest.approx([1, 1], rel=0.2)
    first, _, last = (shown[labels == c].mean(axis=0) for c in range(3))
    assert np.linalg.norm(last - first) > 10


def test_equal_points_have_directions() -> None:
    """Points that are all equal are no reason to fail."""
    assert np.isfinite(directions(np.ones((6, 3)), np.arange(6) % 2)).all()


class Stated:
    """Held-out results with given skills and one standard error."""

    def __init__(self, error: float, one_pair: float = 0.0, **skills: float) -> None:
        self.error, self.one_pair = error, one_pair
        self.skills = {n.replace("_", " "): s for n, s in skills.items()}

    @property
    def names(self) -> list[str]:
        return list(self.skills)

    def lead(self, name: str, other: str) -> tuple[float, float]:
        return self.skills[name] - self.skills[other], self.error


@pytest.mark.parametrize(
    ("error", "skills", "chosen"),
    [
        (0.1, {"consensus": 0.5, "refined": 0.45}, REFINED),
        (0.1, {"consensus": 0.5, "refined": 0.3}, CONSENSUS),
        # With many pairs a small loss is enough, with few even a large one is not.
        (0.02, {"consensus": 0.5, "refined": 0.49}, CONSENSUS),
        (0.2, {"consensus": 0.5, "refined": 0.3}, REFINED),
        (0.1, {"consensus": 0.5, "refined": 0.5, "refined_again": 0.45}, AGAIN),
        (0.1, {"consensus": 0.5, "refined": 0.5, "refined_again": 0.2}, REFINED),
        (0.1, {"consensus": 0.5, "refined": 0.3, "refined_again": 0.6}, AGAIN),
        (0.0, {"consensus": 0.5, "refined": 0.5}, REFINED),
    ],
)
def test_refining_is_the_rule_unless_pairs_speak_against_it(
    error: float, skills: dict[str, float], chosen: str
) -> None:
    """What a step gains as a rule is weighed against what held-out pairs say of it."""
    assert choice(Stated(error, **skills)) == chosen  # type: ignore[arg-type]


def test_one_pair_does_not_decide_against_refining() -> None:
    """Where a single held-out must-link makes the difference, the rule holds; more can break it."""
    assert choice(Stated(0.1, 0.1, consensus=0.6, refined=0.49)) == REFINED  # type: ignore[arg-type]
    assert choice(Stated(0.1, 0.1, consensus=0.7, refined=0.5)) == CONSENSUS  # type: ignore[arg-type]


def test_passes_number_the_clusters_alike() -> None:
    """The clusters of a second look get the numbers of those that they are like."""
    labels = np.array([0, 0, 1, 1, 2, 2, 2])
    turned = np.array([2, 2, 0, 0, 1, 1, 0])
    assert renumbered(turned, labels, 3).tolist() == [0, 0, 1, 1, 2, 2, 1]


def test_passes_are_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three passes decide together, by the mean of their log probabilities, of the same clusters.

    What a search calls its clusters means nothing, so it is turned round here.
    """
    monkeypatch.setattr(consensus, "choice", lambda held_out: AGAIN)
    cluster, assign, assigned = Scene.cluster, Scene.assign, []

    def turned(scene: Scene, *given: Any) -> np.ndarray:
        return (cluster(scene, *given) + 1) % scene.n_clusters

    def noted(scene: Scene, costs: np.ndarray, *given: Any) -> np.ndarray:
        assigned.append(costs)
        return assign(scene, costs, *given)

    monkeypatch.setattr(Scene, "cluster", turned)
    monkeypatch.setattr(Scene, "assign", noted)
    X, y = make_blobs(240, centers=4, cluster_std=2.5, random_state=5)
    pairs = make_constraints(y, 160, random_state=0)
    model = GuidedClustering(4, random_state=0)
    model.fit(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
    refined = model._guided.decision
    assert isinstance(refined, Refined)
    assert len(refined.passes) == N_PASSES
    assert len(refined.looks) == N_PASSES - 1
    said = [one.log_p for one in refined.passes]
    assert not np.allclose(said[0], said[-1])
    np.testing.assert_allclose(assigned[-1], -np.mean(said, axis=0))
    for one in said[1:]:
        assert (one.argmax(axis=1) == said[0].argmax(axis=1)).mean() > 0.8
    looks = []

    def number(one: Borders, seen: dict[str, Seen], X: np.ndarray) -> np.ndarray:
        looks.append(seen.get(SECOND_LOOK))
        return np.full((len(X), 4), float(refined.passes.index(one)))

    monkeypatch.setattr(Borders, "place", number)
    assert (model._guided.costs(model._frame.enter(X[:5])) == -1.0).all()  # of 0, 1 and 2
    assert looks[0] is None
    assert all(isinstance(look, Seen) for look in looks[1:])


def test_many_pairs_are_looked_at_again_and_new_points_follow() -> None:
    """With many pairs further passes are judged; where they decide, they place new points, too."""
    X, y = make_blobs(240, centers=4, cluster_std=1.5, random_state=2)
    pairs = make_constraints(y, 160, random_state=0)
    model = GuidedClustering(4, random_state=0)
    model.fit(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
    assert model.decided_by_ == AGAIN
    assert AGAIN in model.held_out_
    assert (model.predict(X[:50] + 1e-9) == model.labels_[:50]).mean() > 0.8
    few = make_constraints(y, 20, random_state=0)
    model.fit(X, must_link=few.must_link, cannot_link=few.cannot_link)
    assert AGAIN not in model.held_out_


def test_points_without_weight_follow_their_neighbors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point of weight 0 counts for nothing, and is nevertheless put where it belongs."""
    X, y = make_blobs(300, centers=3, cluster_std=1.5, random_state=2)
    weight = np.repeat([1.0, 0.0], 150)
    pairs = make_constraints(y[:150], 150, random_state=0)
    given = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
    for way in (CONSENSUS, REFINED, AGAIN):
        monkeypatch.setattr(consensus, "choice", lambda held_out, way=way: way)
        model = GuidedClustering(3, random_state=0).fit(X, sample_weight=weight, **given)
        assert model.decided_by_ == way
        assert adjusted_rand_score(y, model.labels_) > 0.8


def test_a_point_that_every_tree_saw_has_the_usual_votes() -> None:
    """Few trees leave some points without votes; no warning, and no outlier."""
    X, y = make_blobs(300, centers=3, random_state=0)
    scene = Scene(X, 3, Constraints(n_points=300), None, 0, n_searches=1)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shares = Forest.of(scene, y).shares
    assert np.allclose(shares.sum(axis=1), 1)


def test_a_look_needs_our_own_views() -> None:
    """A view of somebody else that has the name of ours may lack what a second look builds on."""

    class Mine(Classes):
        name = "classes"

    learned, graph = NeighborGraph(learned=True), NeighborGraph()
    assert can_look_again([Classes(), learned])
    assert not can_look_again([Mine(), learned])
    assert not can_look_again([Classes(), graph])
    mine = Classes()
    mine.name = "refined"  # type: ignore[misc]
    with pytest.raises(InvalidInputError, match="may not be consensus, forest, refined"):
        GuidedClustering(2, views=["given", mine]).fit(np.arange(8.0)[:, None])
