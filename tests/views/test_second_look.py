"""The second look, and what decides whether it is taken."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from smdeclust import GuidedClustering
from smdeclust.datasets import make_constraints
from smdeclust.views.consensus import CONSENSUS, REFINED, choice
from smdeclust.views.second_look import SECOND_LOOK, directions


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
    ("skills", "chosen"),
    [
        ({"consensus": 0.5, "refined": 0.45}, REFINED),
        ({"consensus": 0.5, "refined": 0.3}, CONSENSUS),
        ({"consensus": 0.5, "refined": 0.5, "second_look": 0.49}, REFINED),
        ({"consensus": 0.5, "refined": 0.5, "second_look": 0.5}, SECOND_LOOK),
        ({"consensus": 0.5, "refined": 0.3, "second_look": 0.6}, SECOND_LOOK),
    ],
)
def test_the_second_look_needs_evidence(skills: dict[str, float], chosen: str) -> None:
    """Refining is the rule unless held-out pairs speak against it; a second look must be level."""
    assert choice(Stated(0.1, **skills)) == chosen  # type: ignore[arg-type]


def test_one_pair_does_not_decide_against_refining() -> None:
    """Where a single held-out must-link makes the difference, the rule holds; two can break it."""
    assert choice(Stated(0.1, 0.1, consensus=0.6, refined=0.49)) == REFINED  # type: ignore[arg-type]
    assert choice(Stated(0.14, 0.1, consensus=0.7, refined=0.5)) == CONSENSUS  # type: ignore[arg-type]


def test_a_small_cluster_is_not_lost_when_views_are_merged() -> None:
    """Three points far from all others stay a cluster of their own beside two large ones."""
    X, y = make_blobs([150, 150, 3], centers=[[0, 0], [3, 0], [0, 30]], random_state=0)
    pairs = make_constraints(y, 60, random_state=0)
    model = GuidedClustering(3, random_state=0)
    model.fit(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
    assert len(np.unique(model.labels_[y == 2])) == 1
    assert sorted(np.bincount(model.labels_))[0] == 3


def test_many_pairs_are_looked_at_twice_and_new_points_follow() -> None:
    """With many pairs the second look is judged; where it decides, new points are placed by it."""
    X, y = make_blobs(240, centers=4, cluster_std=2.0, random_state=3)
    pairs = make_constraints(y, 160, random_state=0)
    model = GuidedClustering(4, random_state=0)
    model.fit(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
    assert SECOND_LOOK in model.held_out_
    assert (model.predict(X[:50] + 1e-9) == model.labels_[:50]).mean() > 0.8
    few = make_constraints(y, 20, random_state=0)
    model.fit(X, must_link=few.must_link, cannot_link=few.cannot_link)
    assert SECOND_LOOK not in model.held_out_
