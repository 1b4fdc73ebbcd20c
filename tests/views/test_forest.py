"""A forest's votes come from trees that did not see the point; contrast favors what differs."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust import GuidedClustering
from smdeclust.datasets import make_constraints
from smdeclust.views import AsGiven, Scene, Seen
from smdeclust.views.refined import MAX_GROWN_FROM, Forest


class Spy(AsGiven):
    """A view that keeps its scene."""

    def see(self, scene: Scene) -> Seen:
        """Cluster the points as they are."""
        SCENES.append(scene)
        return super().see(scene)


SCENES: list[Scene] = []


def scene_of(X: np.ndarray, classes: np.ndarray, weight: np.ndarray | None = None) -> Scene:
    """The scene of a fit."""
    pairs = make_constraints(classes, len(X) // 8, random_state=0)
    model = GuidedClustering(len(np.unique(classes)), views=[Spy()], random_state=0)
    model.fit(X, constraints=pairs, sample_weight=weight)
    return SCENES.pop()


def stripes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes along one column of four."""
    X = np.random.default_rng(0).uniform(size=(n, 4))
    return X, (3 * X[:, 0]).astype(int)


@pytest.mark.parametrize("n", [200, MAX_GROWN_FROM + 200])
def test_votes_correct_wrong_labels(n: int) -> None:
    """A tenth of the labels are wrong, and the votes mend most of them."""
    X, classes = stripes(n)
    labels = classes.copy()
    labels[::10] = (labels[::10] + 1) % 3
    forest = Forest.of(scene_of(X, classes), labels)
    assert forest.shares.shape == (n, 3)
    assert forest.shares.sum(axis=1) == pytest.approx(1)
    right = forest.shares.argmax(axis=1) == classes
    assert right.mean() > 0.9
    assert right[::10].mean() > 0.6


def test_votes_know_nothing_of_labels_drawn_at_random() -> None:
    """Trees do not vote about points that they grew from: those would find their own labels."""
    X, classes = stripes(300)
    labels = np.random.default_rng(1).integers(0, 3, 300)
    forest = Forest.of(scene_of(X, classes), labels)
    assert (forest.shares.argmax(axis=1) == labels).mean() < 0.5


def test_all_points_have_votes_whatever_they_weigh() -> None:
    """Of eight points, one weighs a million times as much as the others, and four nothing."""
    X, labels = np.arange(16.0).reshape(8, 2), np.repeat([0, 1], 4)
    weight = np.array([1e6, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    shares = Forest.of(scene_of(X, labels, weight), labels).shares
    assert shares.sum(axis=1) == pytest.approx(1)


def test_outliers_do_not_spoil_the_thresholds() -> None:
    """One point in twenty is far away, and the votes of the others stay as they are."""
    X, classes = stripes(300)
    rng = np.random.default_rng(1)
    far = rng.permutation(300)[:15]
    X[far, 0] = 1e4 * np.exp(2 * rng.standard_normal(15))
    right = Forest.of(scene_of(X, classes), classes).shares.argmax(axis=1) == classes
    assert np.delete(right, far).mean() > 0.85


def test_new_points_get_the_votes_of_their_place() -> None:
    """`predict` places new points by the forest, too, and agrees with the classes."""
    X, classes = stripes(400)
    pairs = make_constraints(classes[:300], 60, random_state=0)
    model = GuidedClustering(3, random_state=0).fit(X[:300], constraints=pairs)
    same = model.labels_[:, None] == model.predict(X[:300])[None]
    assert same.diagonal().mean() > 0.9
    assert len(model.predict(X[300:])) == 100


@pytest.mark.parametrize("n", [80, 2000])
def test_directions_count_by_how_much_clusters_differ_in_them(n: int) -> None:
    """One column separates the clusters, five do not; of few points they count nearly alike."""
    rng = np.random.default_rng(0)
    classes = np.arange(n) % 2
    X = rng.standard_normal((n, 6))
    X[:, 0] += 6 * classes
    scene = scene_of(X, classes)
    spread = np.sort(scene.contrast.coordinates.std(axis=0)) / np.sort(
        scene.learned.coordinates.std(axis=0)
    )
    assert spread[-1] > 0.85
    few = 0.2 * (1 + (40 * 6 / n) ** 2)
    assert spread[0] == pytest.approx(np.sqrt(few / (1 + few)), rel=0.2)
    assert scene.contrast.map(scene.X) == pytest.approx(scene.contrast.coordinates)
