"""Claims about the picture of column weights."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust import InvalidInputError, LearnedDistance, SMDEClust
from smdeclust.plotting import plot_feature_weights


def test_columns_are_drawn_by_weight() -> None:
    """Those that count most come first, and no more than asked for."""
    ax = plot_feature_weights([0.5, 2.0, 0.1, 1.4], ["a", "b", "c", "d"], max_features=3)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b", "d", "a"]
    assert [bar.get_width() for bar in ax.patches] == [2.0, 1.4, 0.5]
    assert "3 of 4 columns" in ax.get_title()


def test_takes_fitted_models() -> None:
    """A distance and a model that has one: Euclid's weights are marked as well."""
    X = np.random.default_rng(0).normal(size=(30, 3)) * [1, 2, 4]
    distance = LearnedDistance(2, random_state=0).fit(X, must_link=[(0, 1)])
    assert distance.euclidean_weights_.mean() == pytest.approx(1.0)
    assert len(plot_feature_weights(distance).lines) == 2
    model = SMDEClust(2, metric="diagonal", max_populations=1, random_state=0)
    model.fit(X, must_link=[(0, 1), (2, 3)])
    assert len(plot_feature_weights(model).patches) == 3


def test_what_cannot_be_drawn_is_said() -> None:
    """No learned distance, a wrong number of names, something else."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(InvalidInputError, match="Euclid"):
        plot_feature_weights(SMDEClust(2, max_populations=1, random_state=0).fit(X))
    with pytest.raises(InvalidInputError, match="3 names"):
        plot_feature_weights([1.0, 1.0], ["a", "b", "c"])
    with pytest.raises(InvalidInputError, match="one weight per column"):
        plot_feature_weights("weights")
