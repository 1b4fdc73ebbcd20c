"""The paper's measures on cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from smdeclust.paper.results import best_share, relative_difference, spread, violated_share
from smdeclust.points.centers import cost_of


def test_relative_difference_by_hand() -> None:
    """100 (m - m_R) / m_R: 9 against 10 is -10%; 0 against 0 is 0; against 0 alone undefined."""
    found = relative_difference([9.0, 12.0, 0.0, 1.0], [10.0, 10.0, 0.0, 0.0])
    assert found[:3].tolist() == [-10.0, 20.0, 0.0]
    assert math.isnan(found[3])


def test_spread_by_hand() -> None:
    """Of the differences -50, 0, 100 two are not worse, and they are their own extremes."""
    found = spread([1.0, 3.0, 4.0], [2.0, 3.0, 2.0])
    assert found.share == pytest.approx(200 / 3)
    assert found[1:] == (-50.0, 0.0, 100.0)
    assert all(map(math.isnan, spread([], [])))


def test_rounding_is_no_difference() -> None:
    """Within the tolerance a value counts as equal, and prints as zero."""
    found = spread([1.0 + 1e-9], [1.0], tol=1e-6)
    assert (found.share, found.largest) == (100.0, 0.0)
    worse = spread([1.0 + 1e-5], [1.0], tol=1e-6)
    assert worse.share == 0.0


def test_best_share_by_hand() -> None:
    """Ties count for all; a method without a value never wins, nor does anyone where all fail."""
    nan = float("nan")
    found = best_share({"a": [1.0, 2.0, nan, nan], "b": [1.0, 3.0, 5.0, nan]})
    assert found.to_dict() == {"a": 50.0, "b": 50.0}


def test_violated_share_by_hand() -> None:
    """3 of 12 is a quarter; no pairs, no share."""
    assert violated_share(3, 12) == 25.0
    assert math.isnan(violated_share(0, 0))


def test_objective_by_hand() -> None:
    """Points 0, 2 | 10, 10, 13: 1 + 1 + 1 + 1 + 4, whatever the labels are called."""
    X = np.array([[0.0], [2.0], [10.0], [10.0], [13.0]])
    assert cost_of(X, np.array([7, 7, -1, -1, -1])) == pytest.approx(8.0)
