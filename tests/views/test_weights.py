"""Weights of views: chance does not decide, evidence does."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust import Constraints
from smdeclust.views import Fold, HeldOut
from smdeclust.views.consensus import weights_of


def record(labels: dict[str, np.ndarray], classes: np.ndarray, n_pairs: int) -> HeldOut:
    """What these labels keep of random pairs that follow the classes."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, len(classes), (2 * n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][:n_pairs]
    together = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    fold = Fold(Constraints(n_points=len(classes)), pairs, together, np.ones(len(pairs)))
    held_out = HeldOut()
    held_out.add(fold, labels)
    return held_out


@pytest.mark.parametrize("n_pairs", [30, 150, 1000])
def test_differences_by_chance_do_not_decide(n_pairs: int) -> None:
    """Seven views that know nothing: none has most of the weight, however many pairs there are."""
    rng = np.random.default_rng(1)
    classes = rng.integers(0, 4, 300)
    labels = {name: rng.integers(0, 4, 300) for name in "abcdefg"}
    weights = weights_of(record(labels, classes, n_pairs))
    assert sum(weights.values()) == pytest.approx(1)
    assert max(weights.values()) < 0.5


def test_evidence_decides() -> None:
    """A view that is right stands out among others, the more so the more pairs there are."""
    rng = np.random.default_rng(2)
    classes = rng.integers(0, 4, 300)
    labels = {
        name: np.where(rng.random(300) < 0.5, classes, rng.integers(0, 4, 300)) for name in "abcde"
    }
    labels["right"] = classes
    few, many = (weights_of(record(labels, classes, n))["right"] for n in (12, 300))
    assert 1 / 6 < few < many
    assert many > 0.9


def test_equal_views_have_equal_weights() -> None:
    """Views that say the same share the weight, and nothing is divided by zero."""
    classes = np.arange(60) % 3
    weights = weights_of(record(dict.fromkeys("abc", classes), classes, 40))
    assert list(weights.values()) == pytest.approx([1 / 3] * 3)
