"""Claims about the picture of cluster sizes."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_iris

from smdeclust import InvalidInputError, SMDEClust
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
