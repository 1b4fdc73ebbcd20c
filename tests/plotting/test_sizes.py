"""Claims about the picture of cluster sizes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from smdeclust import Constraints, InvalidInputError, SMDEClust
from smdeclust.plotting import plot_sizes


def test_bars_are_the_sizes_and_tight_ones_stand_out() -> None:
    """One bar a cluster; those at a bound have the other color; no bounds, no picture."""
    X = load_iris().data
    model = SMDEClust(3, size_max=55, random_state=0).fit(X)
    ax = plot_sizes(model)
    assert sorted(bar.get_width() for bar in ax.patches) == sorted(model.cluster_sizes_)
    colors = {bar.get_facecolor() for bar in ax.patches if bar.get_width() == 55}
    others = {bar.get_facecolor() for bar in ax.patches if bar.get_width() < 55}
    assert len(colors) == 1
    assert not colors & others
    with pytest.raises(InvalidInputError, match="size_min or size_max"):
        plot_sizes(SMDEClust(3, max_populations=1, random_state=0).fit(X))


def test_quotas():
    """The same for what clusters hold of a quota, whose bounds may be on one side, or below 0."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    known = Constraints(n_points=12).quota([True] * 5 + [False] * 7, 1, 2, name="senior")
    known = known.quota(np.arange(12.0) - 6, low=-4, name="balance")
    model = SMDEClust(3, search="quick", random_state=0).fit(X, constraints=known)
    ax = plot_sizes(model, quota=0)
    assert sorted(bar.get_width() for bar in ax.patches) == [1, 2, 2]
    assert ax.get_xlabel() == "count of senior True"
    ax = plot_sizes(model, quota=1)
    assert ax.get_xlim()[0] <= -4
    with pytest.raises(InvalidInputError, match="2 quotas, numbered from 0; there is no quota=2"):
        plot_sizes(model, quota=2)
